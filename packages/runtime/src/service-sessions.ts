// What a front door can ask about sessions: start one, talk to it, stop it, follow it, and look at what it did.
import type { Call } from "./call/types.ts";
import type { Page } from "./ledger/port.ts";
import type { Approval } from "./policy/approval/types.ts";
import type { HistoryItem, InboxEntry, Session, SessionEvent, SessionState } from "./session/types.ts";
import type { Asked } from "./tenancy/types.ts";

export interface StartSession {
  readonly agent: string;
  /** Exact; left out: the deployed one. */
  readonly version?: string;
  readonly project?: string;
  /** The first message; left out: the session waits for one. */
  readonly message?: string;
  readonly context?: Readonly<Record<string, unknown>>;
  /** For the whole session; no call of it outlives this. */
  readonly deadlineMs?: number;
  readonly idempotencyKey?: string;
  /** How long the answer may wait for the turn's end; 0 answers at once. */
  readonly waitMs?: number;
}

export interface SentMessage {
  readonly text: string;
  readonly idempotencyKey?: string;
  readonly waitMs?: number;
}

export interface SessionQuery {
  readonly project?: string;
  readonly agent?: string;
  readonly status?: SessionState;
  readonly principal?: string;
  readonly parent?: string;
  readonly limit: number;
  readonly cursor?: string;
}

/** A session and what it said last. */
export interface SessionView {
  readonly session: Session;
  /** The text of the last completion of its last turn; null when there is none. */
  readonly reply: string | null;
  /** Questions to people that are open, about its calls and its limits. */
  readonly approvalIds: readonly string[];
  /** True where an idempotency key named one that was there. */
  readonly replayed: boolean;
}

export interface CancelSession {
  /** `turn` unless it says otherwise. */
  readonly scope: "session" | "turn" | "batch" | "call";
  /** With scope `call`. */
  readonly callId?: string;
  readonly reason?: string;
}

/** Pieces of an answer on its way: they are not kept, have no seq, and are told where the session is driven. */
export interface SessionDelta {
  readonly turn: number;
  readonly step: number;
  readonly type: "text" | "thought" | "tool_call";
  readonly text: string;
}

export type SessionTold =
  | { readonly kind: "event"; readonly event: SessionEvent }
  | { readonly kind: "delta"; readonly delta: SessionDelta }
  /** Pieces were dropped, for the reader was too slow; the whole answer comes as an event. */
  | { readonly kind: "gap"; readonly dropped: number };

export interface SessionFollower {
  /** Waits for what is new, at most `ms`; empty = nothing came in time. */
  next(ms: number): Promise<readonly SessionTold[]>;
  /** True when the session has ended and everything was told, or the runtime leaves. */
  readonly over: boolean;
  close(): void;
}

/** Everything that a session and its children did. */
export interface Timeline {
  readonly session: Session;
  readonly history: readonly HistoryItem[];
  readonly calls: readonly Call[];
  readonly approvals: readonly Approval[];
  readonly events: readonly SessionEvent[];
  readonly children: readonly Timeline[];
  /** There is more of it than is shown. */
  readonly cut: boolean;
}

export interface SessionService {
  startSession(asked: Asked, start: StartSession): Promise<SessionView>;
  getSession(asked: Asked, sessionId: string): Promise<SessionView>;
  listSessions(asked: Asked, query: SessionQuery): Promise<Page<Session>>;
  /** @throws SignalboxError session_not_found · conflict when it has ended */
  sendMessage(asked: Asked, sessionId: string, message: SentMessage): Promise<SessionView & { readonly entry: InboxEntry }>;
  /** Idempotent; one that has ended is answered as it is. */
  cancelSession(asked: Asked, sessionId: string, cancel: CancelSession): Promise<SessionView>;
  /** Ends a session that waits for input; one that works ends when its turn does. */
  completeSession(asked: Asked, sessionId: string): Promise<SessionView>;
  listSessionEvents(asked: Asked, sessionId: string, afterSeq: number, limit: number): Promise<readonly SessionEvent[]>;
  /** @param afterSeq of the last event that the reader has; 0 = from the beginning */
  followSession(asked: Asked, sessionId: string, afterSeq: number): Promise<SessionFollower>;
  sessionTimeline(asked: Asked, sessionId: string): Promise<Timeline>;
}
