// The open lease of a call as the ledger has it.
import type { Attempt, Call } from "../call/types.ts";
import type { Ledger } from "../ledger/port.ts";

export async function leaseOf(ledger: Ledger, row: Call): Promise<Attempt | null> {
  if (row.state !== "dispatched" && row.state !== "running") return null;
  const attempts = await ledger.attempts(row.tenant, row.callId);
  return attempts.find((attempt) => attempt.fence === row.fence) ?? null;
}
