// What goes in and out of the turn machine: effects, responses, its configuration and its snapshot.
import type { AgentLimits } from "../../registry/agents/types.ts";
import type { ModelOutcome } from "../model.ts";
import type { HistoryItem, ProviderMetadata, SessionReason, ToldResult } from "../types.ts";

/** What the machine knows of a tool that it may ask for. */
export interface BoundTool {
  readonly alias: string;
  readonly tool: string;
  readonly version: string;
  /** `parallel`, `serial(template over args)` or `exclusive`. */
  readonly scheduling: string;
}

export interface TurnConfig {
  readonly sessionId: string;
  readonly agentVersionId: string;
  /** Agent version and machine schema; a snapshot of another one is not restored. */
  readonly fingerprint: string;
  readonly turn: number;
  readonly tools: readonly BoundTool[];
  readonly limits: AgentLimits;
}

/** A call as preparation froze it: what is hashed, journaled and executed. */
export interface PreparedCall {
  readonly index: number;
  readonly callId: string;
  readonly providerId: string;
  /** As the model wrote it. */
  readonly name: string;
  /** Null where it names nothing that the agent may call. */
  readonly tool: string | null;
  readonly version: string | null;
  /** JSON text; null where the arguments cannot be read. */
  readonly argsJson: string | null;
  readonly scheduling: string;
  /** As the provider gave it with the call. */
  readonly metadata?: ProviderMetadata;
  /** Settled already, in its slot: nothing of it is run. */
  readonly settled: ToldResult | null;
}

export type LimitName = "steps" | "tokens" | "wall_clock" | "tool_calls" | "approval_wait";

/** At most one of these is outstanding. The id is a counter: effect n is the same thing on every replay. */
export type Request =
  /** `historyLength` items are to be shown: history by reference. */
  | { readonly type: "CompleteModel"; readonly id: number; readonly step: number; readonly historyLength: number; readonly activeMsLeft: number }
  | { readonly type: "RunTools"; readonly id: number; readonly step: number; readonly calls: readonly PreparedCall[]; readonly activeMsLeft: number }
  | { readonly type: "Checkpoint"; readonly id: number; readonly step: number; readonly when: "after_work" | "before_completion" }
  /** People are asked whether there is to be one more budget of the same size. */
  | { readonly type: "AskLimit"; readonly id: number; readonly step: number; readonly limit: LimitName; readonly used: number; readonly budget: number };

export type Notice =
  /** Something for the session's stream that is no item of history. */
  | { readonly type: "Emit"; readonly event: string; readonly step: number; readonly data: Readonly<Record<string, unknown>> }
  /** Only what was added to the history since the last report. */
  | { readonly type: "Progress"; readonly added: readonly HistoryItem[] }
  /** The last effect of a turn; carries what was never reported. */
  | { readonly type: "Done"; readonly end: "ended" | "failed" | "cancelled"; readonly reason: SessionReason; readonly added: readonly HistoryItem[] };

export type Effect = Request | Notice;

/** A new message of a person, as the inbox held it. */
export interface UserMessage {
  readonly by: string;
  readonly text: string;
  readonly inboxSeq: number;
}

/** Names an event that a tool of the batch emitted; its payload stays with its call. */
export interface HostEventRef {
  readonly index: number;
  readonly callId: string;
  readonly type: string;
  readonly ordinal: number;
}

/** `spentMs`: how long the effect took, without the time in which people were waited for. */
export type Response =
  | { readonly type: "ModelCompleted"; readonly id: number; readonly outcome: ModelOutcome; readonly spentMs: number }
  | {
      readonly type: "ToolsRan";
      readonly id: number;
      /** One for each call, by index. */
      readonly results: readonly ToldResult[];
      readonly settled: readonly number[];
      /** What the calls that are told by their rows emitted, in the order of settlement; never in the history. Absent: nothing. */
      readonly hostEvents?: readonly HostEventRef[];
      readonly spentMs: number;
      /** `turn`: the turn ends with these results. `batch`: they are what the model is told next. */
      readonly cancelled: "turn" | "batch" | null;
      /** Set where a refusal by people ends the session (`on_reject: fail`), or a question was waited for too long. */
      readonly stop: SessionReason | null;
    }
  | { readonly type: "CheckpointKept"; readonly id: number; readonly messages: readonly UserMessage[]; readonly cancelled: boolean }
  | { readonly type: "LimitAnswered"; readonly id: number; readonly granted: boolean; readonly cancelled: boolean }
  /** The machinery failed, not a tool and not a model: the turn fails with this code. */
  | { readonly type: "Broken"; readonly id: number; readonly code: string; readonly message: string };

export type Handled = { readonly accepted: true } | { readonly accepted: false; readonly reason: "wrong_id" | "wrong_type" | "wrong_shape" | "over" };
