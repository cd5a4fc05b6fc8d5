// The attempt that a call's row tells of: its running lease, or the one that settled it.
//
// Nearly every call is settled by its first lease. All that its attempt would say then stands in the row already, but for
// two facts that have columns of their own; only leases that end otherwise get a row in `attempts`.
import { leaseOf } from "../../call/lease-of.ts";
import { isTerminal, type Attempt, type Call } from "../../call/types.ts";

/** The columns of `calls` that an attempt is read from. */
export const attemptFacts = [
  "tenant",
  "callId",
  "state",
  "fence",
  "attempt",
  "workerId",
  "incarnation",
  "replica",
  "dispatchedAt",
  "startedAt",
  "settledAt",
  "error",
  "usage",
] as const satisfies readonly (keyof Call)[];

export type AttemptFacts = Pick<Call, (typeof attemptFacts)[number]>;

function sameJson(a: object | null, b: object | null): boolean {
  return a === b || (a !== null && b !== null && JSON.stringify(a) === JSON.stringify(b));
}

/** Whether the settled row says all that this attempt says, but for when it was accepted and why it ended. */
export function tellsAttempt(call: AttemptFacts, attempt: Attempt): boolean {
  return (
    isTerminal(call.state) &&
    attempt.endReason !== null &&
    attempt.fence === call.fence &&
    attempt.callId === call.callId &&
    attempt.tenant === call.tenant &&
    attempt.attempt === call.attempt &&
    attempt.workerId === call.workerId &&
    attempt.incarnation === call.incarnation &&
    attempt.replica === call.replica &&
    attempt.dispatchedAt === call.dispatchedAt &&
    attempt.startedAt === call.startedAt &&
    attempt.endedAt === call.settledAt &&
    sameJson(attempt.error, call.error) &&
    sameJson(attempt.usage, call.usage)
  );
}

/** @param endReason what the row keeps of the lease that settled it; null when that is not told by the row */
export function attemptOf(call: AttemptFacts, acceptedAt: number | null, endReason: string | null): Attempt | null {
  if (endReason === null) return leaseOf(call);
  const held = leaseOf({ ...call, state: "running" });
  return held === null
    ? null
    : { ...held, acceptedAt, endedAt: call.settledAt, endReason, error: call.error, usage: call.usage };
}
