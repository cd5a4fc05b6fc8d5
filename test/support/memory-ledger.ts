// A ledger in memory for tests of the driver: it keeps its guards, can be made to wait, to fail and to lie about what it has.
import { leaseOf } from "../../packages/runtime/src/call/lease-of.ts";
import { isTerminal, type Attempt, type Call } from "../../packages/runtime/src/call/types.ts";
import { LedgerUnavailable, type CallCount, type CommitOutcome, type Ledger, type Unit, type Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Notice } from "../../packages/runtime/src/ledger/webhooks.ts";
import type { ApprovalWithVotes } from "../../packages/runtime/src/policy/approval/types.ts";
import { ApprovalShelf, isApprovalWrite, isCounted } from "../walk/approval-shelf.ts";
import { unitWords } from "./hand-hub.ts";

interface Waiting {
  readonly unit: Unit;
  readonly go: () => void;
}

type Kept = "commit" | "flush" | "probe" | "getCall" | "attempts" | "approval" | "dueApprovals" | "nextApprovalAt" | "countCalls";

export class MemoryLedger implements Pick<Ledger, Kept> {
  readonly calls = new Map<string, Call>();
  readonly #attempts = new Map<string, Attempt>();
  /** Approvals with their votes, and the notices about them. */
  readonly shelf = new ApprovalShelf();
  /** Set: what calls are said to count, in place of the calls that are here. */
  counted: ((of: CallCount) => number) | undefined;
  /** Units that were written, in short words. */
  readonly written: string[][] = [];
  /** Set: every write fails with this. */
  failing: Error | undefined;
  /** True: units wait until `release`. */
  holding = false;
  #waiting: Waiting[] = [];

  commit(unit: Unit): Promise<CommitOutcome> {
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>();
    const go = (): void => {
      try {
        if (this.failing !== undefined) throw this.failing;
        resolve(this.#apply(unit));
      } catch (error) {
        reject(error);
      }
    };
    if (this.holding) this.#waiting.push({ unit, go });
    else queueMicrotask(go);
    return promise;
  }

  /** Lets what waits be written (or fail), in order. */
  release(): void {
    this.holding = false;
    for (const { go } of this.#waiting.splice(0)) go();
  }

  get waiting(): string[][] {
    return this.#waiting.map(({ unit }) => unitWords(unit.writes));
  }

  /** Resolves when everything that was handed over before is written, or has failed. */
  flush(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    if (this.holding) this.#waiting.push({ unit: { writes: [] }, go: resolve });
    else queueMicrotask(resolve);
    return promise;
  }

  async probe(): Promise<void> {
    if (this.failing instanceof LedgerUnavailable) throw this.failing;
  }

  async getCall(tenant: string, callId: string): Promise<Call | undefined> {
    return this.calls.get(`${tenant}/${callId}`);
  }

  async attempts(tenant: string, callId: string): Promise<readonly Attempt[]> {
    const ended = [...this.#attempts.values()].filter((one) => one.tenant === tenant && one.callId === callId);
    const call = this.calls.get(`${tenant}/${callId}`);
    const running = call === undefined ? null : leaseOf(call);
    return running === null ? ended : [...ended, running];
  }

  async approval(tenant: string, approvalId: string): Promise<ApprovalWithVotes | undefined> {
    return this.shelf.approval(tenant, approvalId);
  }

  async dueApprovals(until: number, limit: number): Promise<readonly { readonly tenant: string; readonly approvalId: string }[]> {
    const due = this.shelf.pending().filter(({ expiresAt }) => expiresAt <= until);
    return due.slice(0, limit).map(({ tenant, approvalId }) => ({ tenant, approvalId }));
  }

  async nextApprovalAt(): Promise<number | undefined> {
    return this.shelf.pending()[0]?.expiresAt;
  }

  async countCalls(of: CallCount): Promise<number> {
    return this.#count(of);
  }

  get notices(): readonly Notice[] {
    return this.shelf.notices;
  }

  get asLedger(): Ledger {
    return this as unknown as Ledger;
  }

  #apply(unit: Unit): CommitOutcome {
    const refused = unit.writes.findIndex((write) => !this.#holds(write) || !this.#goesOn(write, unit));
    if (refused >= 0) return { applied: false, write: refused };
    for (const write of unit.writes) this.#write(write);
    this.written.push(unitWords(unit.writes));
    return { applied: true };
  }

  #holds(write: Write): boolean {
    if (isApprovalWrite(write)) return this.shelf.holds(write);
    if (write.op === "expect_count") return this.#count(write.of) === write.calls;
    if (write.op === "insert_call") return !this.calls.has(`${write.row.tenant}/${write.row.callId}`);
    if (write.op !== "update_call") return true;
    const row = this.calls.get(`${write.row.tenant}/${write.row.callId}`);
    const { state, fence, replica } = write.expect;
    const isExpected = row !== undefined && row.state === state && row.fence === fence && !isTerminal(row.state);
    return isExpected && (replica === undefined || row.replica === replica);
  }

  /** What is told of a call follows what is told already. */
  #goesOn(write: Write, unit: Unit): boolean {
    if (write.op !== "update_call") return true;
    const { tenant, callId, eventSeq } = write.row;
    const told = unit.writes.filter((one) => one.op === "append_event" && one.event.callId === callId && one.event.tenant === tenant);
    return this.calls.get(`${tenant}/${callId}`)?.eventSeq === eventSeq - told.length;
  }

  #count(of: CallCount): number {
    return this.counted?.(of) ?? [...this.calls.values()].filter((call) => isCounted(of, call)).length;
  }

  #write(write: Write): void {
    const broken = isApprovalWrite(write) ? this.shelf.write(write) : undefined;
    if (broken !== undefined) throw new Error(broken);
    if (write.op === "insert_call" || write.op === "update_call") this.calls.set(`${write.row.tenant}/${write.row.callId}`, write.row);
    if (write.op === "end_attempt") this.#attempts.set(`${write.row.tenant}/${write.row.callId}#${write.row.fence}`, write.row);
  }
}
