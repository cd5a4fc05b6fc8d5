// The store that both replicas share: rows in memory, each unit whole or not at all, its guards asked at the instant it lands.
import { isTerminal, type Attempt, type Call } from "../../packages/runtime/src/call/types.ts";
import type { CommitOutcome, Unit, Write } from "../../packages/runtime/src/ledger/port.ts";
import { ApprovalShelf, isApprovalWrite, isCounted } from "../walk/approval-shelf.ts";

type Row = { readonly tenant: string; readonly callId: string };
export const keyOf = ({ tenant, callId }: Row): string => `${tenant}/${callId}`;

export class SimStore {
  readonly calls = new Map<string, Call>();
  readonly #attempts: Attempt[] = [];
  /** Approvals with their votes, and the notices about them. */
  readonly shelf = new ApprovalShelf();
  /** Rules of the ledger that a unit broke although its guards held. */
  readonly violations: string[] = [];

  apply(unit: Unit): CommitOutcome {
    const refused = unit.writes.findIndex((write) => !this.#holds(write, unit));
    if (refused >= 0) return { applied: false, write: refused };
    for (const write of unit.writes) this.#write(write);
    return { applied: true };
  }

  openCalls(): readonly Call[] {
    return [...this.calls.values()].filter(({ state }) => !isTerminal(state));
  }

  attemptsOf(tenant: string, callId: string): readonly Attempt[] {
    return this.#attempts.filter((one) => one.tenant === tenant && one.callId === callId);
  }

  #holds(write: Write, unit: Unit): boolean {
    if (isApprovalWrite(write)) return this.shelf.holds(write);
    if (write.op === "insert_call") return !this.calls.has(keyOf(write.row));
    if (write.op === "expect_count")
      return [...this.calls.values()].filter((call) => isCounted(write.of, call)).length === write.calls;
    if (write.op !== "update_call") return true;
    const row = this.calls.get(keyOf(write.row));
    if (row === undefined || isTerminal(row.state)) return false;
    // What a unit tells goes on behind what is told already: a replica whose memory is old is refused, also where state and fence are still the same.
    return (
      row.state === write.expect.state && row.fence === write.expect.fence && row.eventSeq === behind(write.row, unit)
    );
  }

  #write(write: Write): void {
    if (isApprovalWrite(write)) {
      const broken = this.shelf.write(write);
      if (broken !== undefined) this.violations.push(broken);
    } else if (write.op === "insert_call" || write.op === "update_call") {
      this.calls.set(keyOf(write.row), write.row);
    } else if (write.op === "end_attempt") {
      this.#attempts.push(write.row);
    } else if (write.op === "renew_leases") {
      for (const lease of write.leases) this.#renew(lease);
    }
  }

  #renew(lease: Row & { readonly fence: number; readonly leaseExpiresAt: number }): void {
    const row = this.calls.get(keyOf(lease));
    if (row === undefined || row.fence !== lease.fence || isTerminal(row.state)) return;
    this.calls.set(keyOf(lease), { ...row, leaseExpiresAt: lease.leaseExpiresAt });
  }
}

/** The number of the last event before those of this unit. */
function behind(row: Call, { writes }: Unit): number {
  return (
    row.eventSeq - writes.filter((write) => write.op === "append_event" && keyOf(write.event) === keyOf(row)).length
  );
}
