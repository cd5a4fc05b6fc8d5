// When a call next needs looking at: the earliest of its stored instants.
import type { Call } from "./types.ts";

function earliest(...instants: readonly (number | null)[]): number {
  let least = Number.POSITIVE_INFINITY;
  for (const at of instants) if (at !== null && at < least) least = at;
  return least;
}

/** Wall clock, ms since 1970; Infinity when nothing is due. */
export function nextDueAt(call: Call, now: number): number {
  switch (call.state) {
    case "queued":
      return earliest(call.queueDeadlineAt, call.totalDeadlineAt, call.notBefore > now ? call.notBefore : null);
    case "awaiting_approval":
      return earliest(call.totalDeadlineAt);
    case "dispatched":
    case "running": {
      const stopping = call.stopReason !== null;
      return earliest(
        call.leaseExpiresAt,
        call.graceDeadlineAt,
        call.startDeadlineAt,
        stopping ? null : call.runDeadlineAt,
        stopping ? null : call.totalDeadlineAt,
      );
    }
    default:
      return Number.POSITIVE_INFINITY;
  }
}
