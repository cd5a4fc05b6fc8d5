// What a call says while it runs, as the client hands it out: one ordered stream, and one end.
import type { RetryOptions } from "./retry.ts";
import type { Execution, WithOutputText } from "./types.ts";

interface Numbered {
  /** Grows by one; where it leaps, a `gap` stands before it. */
  readonly seq: number;
  /** ISO 8601. */
  readonly ts: string;
}

/** A worker has the call; again for every further attempt. */
export interface StartEvent extends Numbered {
  readonly type: "start";
  readonly data: { readonly sandbox: string | null; readonly worker: string; readonly attempt: number };
}

export interface TextEvent extends Numbered {
  readonly type: "stdout" | "stderr" | "partial" | "log";
  /** `missed_chunks`: so many chunks before this one never came to the runtime. */
  readonly data: { readonly text: string; readonly missed_chunks?: number };
}

export interface ProgressEvent extends Numbered {
  readonly type: "progress";
  /** 0 to 100. */
  readonly data: { readonly percent: number; readonly message: string };
}

export interface EmitEvent extends Numbered {
  readonly type: "emit";
  readonly data: { readonly type: string; readonly payload: unknown };
}

/** People are asked, before it runs or about how it ended. */
export interface ApprovalEvent extends Numbered {
  readonly type: "approval";
  readonly data: { readonly approval_id: string; readonly status: string };
}

/** Events that the runtime does not keep any more, or never kept. */
export interface GapEvent {
  readonly type: "gap";
  readonly from: number;
  readonly to: number;
}

/** The end: `done` for a call that succeeded, else `error`, whose record holds it. Nothing follows. */
export interface EndEvent<Output = unknown> extends Numbered {
  readonly type: "done" | "error";
  readonly data: WithOutputText<Execution<Output>>;
}

export type CallStreamEvent<Output = unknown> =
  | StartEvent
  | TextEvent
  | ProgressEvent
  | EmitEvent
  | ApprovalEvent
  | GapEvent
  | EndEvent<Output>;

export interface FollowOptions {
  /** Of the last event that the caller has; without it from the beginning. */
  readonly afterSeq?: number;
  readonly signal?: AbortSignal;
  /** `attemptsMax`: connections in a row that bring no event (10). */
  readonly retry?: RetryOptions;
}
