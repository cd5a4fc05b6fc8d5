// A ledger in memory for tests of the driver: it keeps its guards, can be made to wait, to fail and to lie about what it has.
import { leaseOf } from "../../packages/runtime/src/call/lease-of.ts";
import { isTerminal, type Attempt, type Call } from "../../packages/runtime/src/call/types.ts";
import { LedgerUnavailable, type CommitOutcome, type Ledger, type Unit, type Write } from "../../packages/runtime/src/ledger/port.ts";
import { unitWords } from "./hand-hub.ts";

interface Waiting {
  readonly unit: Unit;
  readonly go: () => void;
}

export class MemoryLedger implements Pick<Ledger, "commit" | "probe" | "getCall" | "attempts"> {
  readonly calls = new Map<string, Call>();
  readonly #attempts = new Map<string, Attempt>();
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
      if (this.failing === undefined) resolve(this.#apply(unit));
      else reject(this.failing);
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

  get asLedger(): Ledger {
    return this as unknown as Ledger;
  }

  #apply(unit: Unit): CommitOutcome {
    const [guard] = unit.writes;
    if (guard !== undefined && !this.#holds(guard)) return { applied: false, write: 0 };
    for (const write of unit.writes) this.#write(write);
    this.written.push(unitWords(unit.writes));
    return { applied: true };
  }

  #holds(write: Write): boolean {
    if (write.op === "insert_call") return !this.calls.has(`${write.row.tenant}/${write.row.callId}`);
    if (write.op !== "update_call") return true;
    const row = this.calls.get(`${write.row.tenant}/${write.row.callId}`);
    return row !== undefined && row.state === write.expect.state && row.fence === write.expect.fence && !isTerminal(row.state);
  }

  #write(write: Write): void {
    if (write.op === "insert_call" || write.op === "update_call") this.calls.set(`${write.row.tenant}/${write.row.callId}`, write.row);
    if (write.op === "end_attempt") this.#attempts.set(`${write.row.tenant}/${write.row.callId}#${write.row.fence}`, write.row);
  }
}
