// A session as data: its row, its history, what waits for it, what it told, and what its effects brought.

export const sessionStates = ["running", "awaiting_tool", "awaiting_approval", "awaiting_input", "completed", "failed", "cancelled"] as const;
export type SessionState = (typeof sessionStates)[number];
export const endedStates = ["completed", "failed", "cancelled"] as const;

export function isEnded(state: SessionState): boolean {
  return (endedStates as readonly SessionState[]).includes(state);
}

/** Why a session waits, or ended: a code for programs and a sentence for people. */
export interface SessionReason {
  /** `end_turn`, `limit_steps`, `limit_tokens`, `model_failed`, `cancelled`, `approval_rejected`, `tool_surface_resolution_failed` … */
  readonly code: string;
  readonly message: string;
}

export interface SessionUsage {
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly modelCalls: number;
  readonly toolCalls: number;
}

/** What never changes. Times are wall clock, ms since 1970. */
export interface SessionIdentity {
  readonly tenant: string;
  /** `sess_…`; of a child: made from its parent's call id. */
  readonly sessionId: string;
  readonly project: string;
  readonly agent: string;
  readonly agentVersion: string;
  readonly agentVersionId: string;
  /** Who started it; its calls have this principal's rights at most. */
  readonly principal: string;
  readonly keyId: string;
  /** The session and the call that it is the child of; empty for a root. */
  readonly parentSessionId: string;
  readonly parentCallId: string;
  /** 0 for a root. */
  readonly depth: number;
  /** JSON text: what the caller gave beside the message. */
  readonly contextJson: string;
  readonly idempotencyKey: string | null;
  readonly createdAt: number;
  /** No call of it outlives this; null = none. */
  readonly deadlineAt: number | null;
}

/** What whoever holds the session's lease moves. */
export interface SessionProgress {
  readonly state: SessionState;
  readonly reason: SessionReason | null;
  /** Of the turn that runs, or ran last; 0 before the first. */
  readonly turn: number;
  /** Items of history so far. */
  readonly historyLength: number;
  /** The last entry of the inbox that was taken. */
  readonly inboxTaken: number;
  /** The last seq given in the session's stream; gap-free from 1. */
  readonly eventSeq: number;
  /** The turn machine, JSON text; null between turns. */
  readonly snapshotJson: string | null;
  /** The approval of a limit that it waits for. */
  readonly approvalId: string | null;
  readonly usage: SessionUsage;
  readonly updatedAt: number;
  readonly endedAt: number | null;
}

/** Whose it is for now. The fence grows by one with every claim; writes under an old one are refused. */
export interface SessionLease {
  readonly fence: number;
  /** Null: nobody drives it. */
  readonly replica: string | null;
  readonly leaseExpiresAt: number | null;
}

export interface Session extends SessionIdentity, SessionProgress, SessionLease {
  /** The last entry that was put into the inbox; moved by whoever writes one, not by the lease's holder. */
  readonly inboxSeq: number;
}

/** Opaque to us and given back to the provider as it came (signatures of thoughts and the like). */
export type ProviderMetadata = Readonly<Record<string, unknown>>;

export type AssistantPart =
  | { readonly type: "text"; readonly text: string; readonly metadata?: ProviderMetadata }
  | { readonly type: "thought"; readonly text: string; readonly metadata?: ProviderMetadata }
  | {
      readonly type: "tool_call";
      /** As the provider gave it; an attribute, never an identity. */
      readonly providerId: string;
      /** As the model wrote it. */
      readonly name: string;
      /** As the model wrote them, whole or cut off; never repaired. */
      readonly argumentsText: string;
      readonly metadata?: ProviderMetadata;
    };

export type StopReason = "end_turn" | "tool_use" | "max_tokens" | "refusal" | "stop_sequence" | "cancelled";

/** Where what a model is told comes from: a call's row, the runtime after a cancel, or a refusal before there was a row. */
export type Told = "row" | "synthetic" | "refused";

/** What a model is told of one call. Exactly one for each call, in the order of the calls. */
export interface ToldResult {
  readonly index: number;
  readonly callId: string;
  readonly providerId: string;
  readonly name: string;
  readonly told: Told;
  readonly status: "succeeded" | "failed" | "denied" | "timed_out" | "cancelled" | "indeterminate";
  /** Model-visible text (JSON text of the output, or words). */
  readonly text: string;
  readonly isError: boolean;
  readonly errorCode: string | null;
  /** Set when a person changed the arguments: what ran instead, JSON text. */
  readonly editedArgsJson: string | null;
  readonly editedBy: string | null;
  readonly durationMs: number;
  /** Set where the runtime itself told the model of a cancel, in place of the call's own end. */
  readonly cancelledBy?: "runtime";
  readonly metadata?: ProviderMetadata;
}

/** One item of the conversation; written once, never changed. */
export type HistoryItem =
  | { readonly type: "user"; readonly turn: number; readonly by: string; readonly text: string; readonly inboxSeq: number }
  | {
      readonly type: "assistant";
      readonly turn: number;
      readonly step: number;
      readonly parts: readonly AssistantPart[];
      readonly stop: StopReason;
      readonly usage: { readonly inputTokens: number; readonly outputTokens: number };
    }
  | {
      readonly type: "results";
      readonly turn: number;
      readonly step: number;
      readonly results: readonly ToldResult[];
      /** Indexes in the order in which the calls settled. */
      readonly settled: readonly number[];
    };

/** What others want of a session; the lease's holder takes them in order. */
export type Wish =
  | { readonly type: "message"; readonly text: string }
  | { readonly type: "cancel"; readonly scope: "session" | "turn" | "batch" | "call"; readonly callId: string | null; readonly reason: string }
  | { readonly type: "complete" };

export interface InboxEntry {
  readonly tenant: string;
  readonly sessionId: string;
  /** Counts from 1 without a gap, given by the ledger. */
  readonly seq: number;
  readonly at: number;
  readonly by: string;
  readonly wish: Wish;
  /** The same key again is the same entry. */
  readonly idempotencyKey: string | null;
}

/** One line of the session's ordered stream; written in the commit of what it tells. */
export interface SessionEvent {
  readonly tenant: string;
  readonly sessionId: string;
  readonly seq: number;
  readonly at: number;
  /** `session.started`, `turn.started`, `message`, `assistant`, `tool.started`, `tool.completed`, `approval.requested`, `turn.ended`, `session.ended` … */
  readonly type: string;
  readonly turn: number;
  readonly step: number;
  /** JSON text. */
  readonly dataJson: string;
}

/** What a tool emitted while it ran; at most once per (call, type, ordinal). */
export interface HostEvent {
  readonly tenant: string;
  readonly callId: string;
  readonly ordinal: number;
  readonly type: string;
  readonly payloadJson: string;
  readonly at: number;
}

/** One effect of a session in the journal. */
export interface JournalRow {
  readonly tenant: string;
  readonly sessionId: string;
  /** Names the effect in its session, e.g. `t2.e5`. */
  readonly key: string;
  readonly kind: string;
  /** SHA-256 (hex) of the canonical envelope without its volatile fields. */
  readonly hash: string;
  /** The canonical envelope, kept so that a mismatch can name the paths that differ. */
  readonly envelopeJson: string;
  readonly state: "claimed" | "completed";
  /** The session's fence under which it was claimed. */
  readonly fence: number;
  readonly claimedAt: number;
  readonly claimExpiresAt: number;
  readonly completedAt: number | null;
  /** JSON text; null until it is completed. */
  readonly outcomeJson: string | null;
}
