// The vocabulary of the call machine: what may happen to a call, and what must be done about it.
import type { ErrorBody, Usage } from "@signalbox/protocol";
import type { Attempt, Call, CallEvent, LateResult } from "./types.ts";
import type { AuditDraft } from "./audit-draft.ts";

/** A call together with its current lease, if a worker has one. */
export interface Live {
  readonly call: Call;
  readonly lease: Attempt | null;
}

/** A worker's answer after the runtime has checked it (size, JSON, output schema). */
export interface CheckedResult {
  readonly fence: number;
  readonly workerId: string;
  readonly status: "succeeded" | "failed" | "cancelled";
  readonly outputJson: string | null;
  readonly outputHash: string | null;
  readonly outputBytes: number;
  readonly outputIllFormed: boolean;
  readonly error: ErrorBody | null;
  readonly usage: Usage;
  /** The tool itself says that it cannot serve anybody at the moment, whatever its class. */
  readonly toolIsDown?: boolean;
}

/** The result of an earlier call that answers this one, and which call that was. */
export interface CachedResult {
  readonly from: string;
  readonly output: { readonly json: string; readonly hash: string; readonly bytes: number; readonly illFormed: boolean };
}

/** Arguments that validation changed before they run, and where (RFC 6901 pointers). */
export interface EditedArgs {
  readonly argsJson: string;
  readonly pointers: readonly string[];
}

/** Arguments that run in place of those that were sent, because people chose or let by them. */
export interface ApprovedArgs {
  readonly argsJson: string;
  /** The person who changed them. */
  readonly editedBy: string;
  /** What the rules for these very arguments leave of time and size. */
  readonly timeoutMs: number;
  readonly resultBytesMax: number;
}

export type Happening =
  /** `args`: changed by the very word that approves; null = as the call has them. */
  | { readonly type: "approved"; readonly by: readonly string[]; readonly args: ApprovedArgs | null }
  | { readonly type: "rejected"; readonly error: ErrorBody; readonly by: string | null }
  /** People are asked (again): a rule wants it, after a routing outcome or an edit, or another role goes on asking. */
  | {
      readonly type: "asked";
      readonly approvalId: string;
      /** Why a queued call is parked; null for a call that is parked already. */
      readonly outcome: "no_handler" | "capacity_exhausted" | null;
      /** Arguments that were changed while it waits; null = they stand. */
      readonly args: ApprovedArgs | null;
      readonly data: Readonly<Record<string, unknown>>;
    }
  /** Its tool is down, and a breaker keeps calls from it for so long. */
  | { readonly type: "broken"; readonly againMs: number }
  /** It waited for a slot, and today it may not run any more. */
  | { readonly type: "barred"; readonly error: ErrorBody }
  /** A twin of it has run in the meantime: its result is this call's too. */
  | ({ readonly type: "cached" } & CachedResult)
  /** A freeze was lifted, or a twin has run for nothing: what was held up gets its time in the queue anew. */
  | { readonly type: "thawed"; readonly reason: "unfrozen" | "twin_ended" }
  /** `startTag`: of the turn in which it is served; absent = the one that it has. */
  | { readonly type: "assign"; readonly workerId: string; readonly incarnation: string; readonly replica: string; readonly startTag?: number }
  | { readonly type: "accepted"; readonly fence: number }
  | { readonly type: "started"; readonly fence: number }
  /** `mayRetry`: false where no attempt may follow a failed one, whatever the call's own policy says. */
  | { readonly type: "result"; readonly result: CheckedResult; readonly mayRetry?: boolean }
  | {
      readonly type: "nack";
      readonly fence: number;
      readonly reason: "retry_elsewhere" | "reject";
      readonly code: string;
      readonly message: string;
    }
  | { readonly type: "cancel"; readonly by: string }
  /** A heartbeat named the call. */
  | { readonly type: "renew"; readonly fence: number }
  /** The worker went on living without the call: it left the call out of its heartbeats. */
  | { readonly type: "missing"; readonly fence: number }
  /** The same incarnation came back and does not know the call: it cannot have run there. */
  | { readonly type: "disowned"; readonly fence: number }
  /** Some stored instant may have passed. What the hub knows and the call does not comes along. */
  | {
      readonly type: "due";
      readonly streamAlive: boolean;
      readonly handlerKnown: boolean;
      readonly mayExpireLeases: boolean;
      /** It waited because so many calls of its tenant or project worked already; absent = it did not. */
      readonly capped?: "quota" | "tool" | undefined;
      readonly mayRetry?: boolean;
    }
  | {
      readonly type: "resolve";
      readonly verdict: "confirm" | "retry" | "fail";
      readonly by: string;
      readonly comment: string;
      readonly output: { readonly json: string; readonly hash: string; readonly bytes: number } | null;
    };

export type Effect =
  /** To the worker that holds the lease, once the change is stored. */
  | { readonly type: "send_invoke"; readonly fence: number }
  | { readonly type: "send_go"; readonly fence: number }
  | {
      readonly type: "send_cancel";
      readonly fence: number;
      readonly workerId: string;
      readonly incarnation: string;
      readonly reason: "cancel" | "timeout" | "lost";
      readonly graceMs: number;
    }
  | { readonly type: "ack"; readonly fence: number; readonly verdict: "stored" | "lease_lost" }
  | { readonly type: "event"; readonly event: CallEvent }
  | { readonly type: "audit"; readonly draft: AuditDraft }
  | { readonly type: "late_result"; readonly row: LateResult }
  /** The attempt row as it ended, when the live lease is gone or replaced. */
  | { readonly type: "attempt_ended"; readonly row: Attempt }
  /** Not to this worker again while another could do it. */
  | { readonly type: "avoid"; readonly workerId: string }
  | { readonly type: "enqueue" }
  /** Wakes everybody who waits for an end, a park, or for a person's word to be stored. */
  | { readonly type: "tell" };

/**
 * How firmly a change must be kept before its effects go out.
 * `none`: memory only, no rule rests on it. `lazy`: rides with the next commit. `commit`: stored first, then effects.
 */
export type Durability = "none" | "lazy" | "commit";

export type StepResult =
  | { readonly ok: true; readonly live: Live; readonly effects: readonly Effect[]; readonly durability: Durability }
  | { readonly ok: false; readonly reason: string; readonly effects: readonly Effect[] };

/** Bounds in ms and counts that the machine applies; taken from `limits` in production, small in tests. */
export interface MachineLimits {
  readonly queueWaitMs: number;
  readonly startDeadlineMs: number;
  readonly leaseMs: number;
  /** Added to a call's grace before an unconfirmed stop is given up: one message each way plus the kill. */
  readonly stopMarginMs: number;
  readonly lostAttemptsMax: number;
  readonly placementsMax: number;
}
