// Sessions as the client hands them out: where they stand, what happens in them, and all that they did.
import type { RetryOptions } from "./retry.ts";
import type { ExecutionStatus } from "./types.ts";

export type SessionState = "running" | "awaiting_tool" | "awaiting_approval" | "awaiting_input" | "completed" | "failed" | "cancelled";

/** One session in a list. Instants are ISO 8601 text. */
export interface SessionLine {
  readonly session_id: string;
  readonly agent: string;
  /** The version that it runs, whatever is deployed since. */
  readonly version: string;
  readonly status: SessionState;
  /** Of the last turn's end, or the session's. */
  readonly reason: { readonly code: string; readonly message: string } | null;
  /** The turn that runs, or ran last; 0: none began. */
  readonly turn: number;
  readonly usage: { readonly input_tokens: number; readonly output_tokens: number; readonly model_calls: number; readonly tool_calls: number };
  readonly principal: string;
  readonly project: string;
  /** 0: it is nobody's child. */
  readonly depth: number;
  readonly parent_session_id: string | null;
  /** The call that it is the child of. */
  readonly parent_execution_id: string | null;
  /** The number of its last event. */
  readonly event_seq: number;
  readonly created_at: string;
  readonly updated_at: string;
  readonly ended_at: string | null;
  readonly deadline_at: string | null;
}

export interface Session extends SessionLine {
  readonly context: Readonly<Record<string, unknown>>;
  /** The text of the last completion of its last turn. */
  readonly reply: string | null;
  readonly waiting: {
    /** Messages, cancels and completions that it has not taken yet. */
    readonly messages: number;
    /** Questions to people that are open. */
    readonly approval_ids: readonly string[];
  };
}

export interface SentSession extends Session {
  /** The place of the message among all that was asked of the session, from 1. */
  readonly message_seq: number;
}

export interface StartSession {
  readonly agent: string;
  /** Exact; left out: the deployed one. */
  readonly version?: string;
  readonly project?: string;
  /** The first message; left out: the session waits for one. */
  readonly message?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  /** For the whole session. */
  readonly deadline_ms?: number;
  /** With one the request is sent again when it is lost, and starts one session all the same. */
  readonly idempotency_key?: string;
  /** How long the answer may wait for the turn's end (0). */
  readonly wait_ms?: number;
}

export interface SendOptions {
  /** With one the message is sent again when it is lost, and is heard once all the same. */
  readonly idempotency_key?: string;
  /** How long the answer may wait for the turn's end (0). */
  readonly wait_ms?: number;
}

export interface CancelOptions {
  /** `turn` unless it says otherwise. */
  readonly scope?: "session" | "turn" | "batch" | "call";
  /** With scope `call`. */
  readonly execution_id?: string;
  readonly reason?: string;
}

export interface SessionQuery {
  readonly project?: string;
  readonly agent?: string;
  readonly status?: SessionState;
  readonly principal?: string;
  /** Children of this session. */
  readonly parent?: string;
  readonly limit?: number;
  readonly cursor?: string;
}

export interface SessionEvent {
  /** From 1 without holes. */
  readonly seq: number;
  readonly ts: string;
  /** `session.started`, `turn.started`, `message`, `assistant`, `tool.started`, `tool.completed`, `approval.requested`, `turn.ended`, `session.ended` … */
  readonly type: string;
  readonly turn: number;
  readonly step: number;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface SessionEventPage {
  readonly items: readonly SessionEvent[];
  /** `after_seq` for the next page; null on the last one. */
  readonly next_after_seq: number | null;
}

/** A piece of an answer on its way; the whole answer comes as an event `assistant`. */
export interface SessionDelta {
  readonly turn: number;
  readonly step: number;
  readonly type: "text" | "thought" | "tool_call";
  readonly text: string;
}

export type SessionTold =
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "delta"; readonly delta: SessionDelta }
  /** So many pieces were dropped, for this reader was too slow; events never are. */
  | { readonly kind: "gap"; readonly dropped: number };

export interface FollowSessionOptions {
  /** Of the last event that the caller has; without it from the beginning. */
  readonly afterSeq?: number;
  readonly signal?: AbortSignal;
  /** `attemptsMax`: connections in a row that bring no event (10). */
  readonly retry?: RetryOptions;
}

export interface HistoryItem {
  /** Which of the fields of these names is there. */
  readonly type: "user" | "assistant" | "results";
  readonly turn: number;
  /** 0 for `user`. */
  readonly step: number;
  readonly user?: { readonly by: string; readonly message_seq: number; readonly text: string };
  readonly assistant?: {
    readonly text: string;
    /** Empty where its provider shows none. */
    readonly thought: string;
    readonly calls: readonly { readonly provider_id: string; readonly name: string; readonly arguments: string }[];
    readonly stop: string;
    readonly input_tokens: number;
    readonly output_tokens: number;
  };
  readonly results?: {
    /** In the order of the calls. */
    readonly results: readonly {
      readonly index: number;
      readonly execution_id: string;
      readonly name: string;
      /** `row`: how the call ended; `synthetic`: the runtime, after a cancel; `refused`: it was never made. */
      readonly told: "row" | "synthetic" | "refused";
      readonly status: string;
      readonly text: string;
      readonly is_error: boolean;
      readonly error_code: string | null;
      readonly edited_by: string | null;
      readonly duration_ms: number;
    }[];
    /** Indexes in the order in which the calls ended. */
    readonly settled: readonly number[];
  };
}

/** A call that a session made; its arguments and result stand in its own record. */
export interface SessionCall {
  readonly execution_id: string;
  readonly turn: number;
  readonly step: number;
  readonly index: number;
  readonly tool: string;
  readonly version: string;
  readonly status: ExecutionStatus;
  readonly error_code: string | null;
  readonly approval_id: string | null;
  readonly created_at: string;
  readonly dispatched_at: string | null;
  readonly started_at: string | null;
  readonly settled_at: string | null;
  /** From admission to a slot. */
  readonly queued_ms: number | null;
  /** From the slot to running code. */
  readonly start_ms: number | null;
  readonly duration_ms: number | null;
}

export interface SessionApproval {
  readonly approval_id: string;
  readonly kind: "call" | "resolve" | "limit";
  readonly status: string;
  readonly execution_id: string | null;
  readonly tool: string;
  readonly reason: string;
  readonly outcome: string | null;
  readonly closed_by: string | null;
  readonly opened_at: string;
  readonly expires_at: string;
  readonly closed_at: string | null;
}

/** Everything that a child did; `session` names its parent. */
export interface ChildTimeline {
  readonly session: SessionLine;
  readonly history: readonly HistoryItem[];
  readonly calls: readonly SessionCall[];
  readonly approvals: readonly SessionApproval[];
  readonly events: readonly SessionEvent[];
  /** There is more of it than is shown. */
  readonly cut: boolean;
}

export interface SessionTimeline extends ChildTimeline {
  /** The sessions that its calls ran, and theirs: each stands before its own children. */
  readonly children: readonly ChildTimeline[];
}
