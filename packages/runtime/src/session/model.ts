// The port to a model: one completion, streamed, with whatever the provider speaks behind it.
import type { ModelChoice } from "../registry/agents/types.ts";
import type { AssistantPart, HistoryItem, StopReason } from "./types.ts";

/** A tool as the model is shown it. */
export interface ShownTool {
  /** Provider-safe: 1 … 64 of `A-Z a-z 0-9 _ -`. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema, as parsed JSON. */
  readonly input: unknown;
}

export interface ModelRequest {
  readonly choice: ModelChoice;
  readonly system: string;
  /** Whole; every tool call has its result right behind it. */
  readonly history: readonly HistoryItem[];
  readonly tools: readonly ShownTool[];
  /** Names this completion for logs and the provider's idempotency, where it has one. */
  readonly key: string;
}

export interface ModelUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
}

/** A model's failure is data: it ends the turn with a reason and is recorded like an answer. */
export type ModelOutcome =
  | { readonly ok: true; readonly parts: readonly AssistantPart[]; readonly stop: StopReason; readonly usage: ModelUsage }
  | {
      readonly ok: false;
      /** `rate_limited`, `overloaded`, `refused_request`, `unauthorized`, `context_too_long`, `cut_off`, `unreachable`, `malformed`, `cancelled`, `timeout` */
      readonly code: string;
      readonly message: string;
      readonly retryAfterMs: number | null;
      /** What had come until then. */
      readonly parts: readonly AssistantPart[];
      readonly usage: ModelUsage;
    };

/** Pieces of an answer that is on its way; nothing durable rests on them. */
export type ModelDelta =
  | { readonly type: "text"; readonly text: string }
  | { readonly type: "thought"; readonly text: string }
  | { readonly type: "tool_call"; readonly name: string };

export interface Model {
  /** Never rejects for what the provider or the network does; rejects only for a defect of ours. Ends soon after `signal` aborts. */
  complete(request: ModelRequest, signal: AbortSignal, onDelta: (delta: ModelDelta) => void): Promise<ModelOutcome>;
}

/** Finds the provider that an agent names; undefined = nobody configured it. */
export type Models = (provider: string) => Model | undefined;
