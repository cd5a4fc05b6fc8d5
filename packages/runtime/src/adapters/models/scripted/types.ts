// A file of turns as data: which answers a scripted model gives, and when.
import type { StopReason } from "../../../session/types.ts";

export interface ScriptedCall {
  /** What the model calls the tool. */
  readonly tool: string;
  /** Parsed JSON with templates in its texts; of no meaning where `argumentsText` is set. */
  readonly input: unknown;
  /** Played as it stands: cut off, empty or no JSON at all. */
  readonly argumentsText: string | undefined;
}

export interface ScriptedFailure {
  readonly code: string;
  readonly message: string;
  readonly retryAfterMs: number | null;
  /** From this turn of the session on the completion is played instead; undefined = it always fails. */
  readonly untilTurn: number | undefined;
}

export interface ScriptedCompletion {
  readonly text: string | undefined;
  readonly thought: string | undefined;
  readonly calls: readonly ScriptedCall[];
  readonly stop: StopReason;
  /** Before the first piece. */
  readonly delayMs: number;
  /** Undefined: counted from the texts. */
  readonly usage: { readonly inputTokens: number; readonly outputTokens: number } | undefined;
  readonly fail: ScriptedFailure | undefined;
}

export interface ScriptedBranch {
  /** Whether it is the answer to this message. */
  readonly matches: (lastUser: string) => boolean;
  readonly completions: readonly ScriptedCompletion[];
}

/** `completions` play over the whole session; of `branches` the first that matches plays from its start after every message. */
export interface Script {
  readonly branches: readonly ScriptedBranch[] | undefined;
  readonly completions: readonly ScriptedCompletion[];
  readonly loop: boolean;
}

export type Scripts = ReadonlyMap<string, Script>;
