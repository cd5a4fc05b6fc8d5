// A call as the ledger has it, and who held its leases.
import type { Attempt, Call } from "../call/types.ts";
import { workerTenantOf } from "./state.ts";
import type { Session } from "./types.ts";

/** What the ledger has of one call. */
export interface StoredCall {
  readonly row: Call;
  readonly attempts: readonly Attempt[];
}

export function hadLease(session: Session, { row, attempts }: StoredCall, fence: number): boolean {
  if (workerTenantOf(row) !== session.identity.tenant) return false;
  const attempt = attempts.find((one) => one.fence === fence);
  return attempt !== undefined && attempt.workerId === session.workerId && attempt.incarnation === session.incarnation;
}
