// The lease that a call's row tells of: the one that is running, as the ledger has it.
import type { Attempt, Call } from "./types.ts";

export type LeaseFacts = Pick<
  Call,
  | "tenant"
  | "callId"
  | "state"
  | "fence"
  | "attempt"
  | "workerId"
  | "incarnation"
  | "replica"
  | "dispatchedAt"
  | "startedAt"
>;

/** Null when nobody holds the call. Whether the worker has accepted is known only to the process that heard it. */
export function leaseOf(call: LeaseFacts): Attempt | null {
  if (call.state !== "dispatched" && call.state !== "running") return null;
  const { workerId, incarnation, replica, dispatchedAt } = call;
  if (workerId === null || incarnation === null || replica === null || dispatchedAt === null) return null;
  return {
    tenant: call.tenant,
    callId: call.callId,
    fence: call.fence,
    attempt: call.attempt,
    workerId,
    incarnation,
    replica,
    dispatchedAt,
    acceptedAt: null,
    startedAt: call.startedAt,
    endedAt: null,
    endReason: null,
    error: null,
    usage: null,
  };
}
