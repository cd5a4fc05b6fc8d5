// Gathers units while a transaction is under way, so that the next one serves all of them.
import { LedgerUnavailable, type CommitOutcome } from "../../ledger/port.ts";

/** What became of each unit, in the order of the units; an error is that unit's rejection. */
export type BatchOutcome = readonly (CommitOutcome | Error)[];

export interface CommitStats {
  /** Transactions that were tried. */
  readonly commits: number;
  readonly units: number;
  /** Units whose guard did not hold. */
  readonly refused: number;
  /** Units that were rejected. */
  readonly failed: number;
  readonly batchMax: number;
  readonly waiting: number;
}

export interface GroupCommitOptions<Item> {
  /** Never rejects. */
  readonly write: (items: readonly Item[]) => Promise<BatchOutcome>;
  /** After every batch; `ms` is the time it took. */
  readonly onCommit?: (commit: { readonly units: number; readonly ms: number }) => void;
  /** Hears why a lazy unit was rejected. */
  readonly onLazyFailure: (error: Error) => void;
  readonly batchUnitsMax: number;
  readonly waitingUnitsMax: number;
  readonly lazyWriteMs: number;
}

interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: Error) => void;
}

export class GroupCommit<Item> {
  readonly #options: GroupCommitOptions<Item>;
  #waiting: Waiting<Item>[] = [];
  #soon: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  /** The batch that is being written; no other begins before it is over. */
  #running: Promise<void> | undefined;
  #closed = false;
  #stats = { commits: 0, units: 0, refused: 0, failed: 0, batchMax: 0 };

  constructor(options: GroupCommitOptions<Item>) {
    this.#options = options;
  }

  commit(item: Item, lazy: boolean): Promise<CommitOutcome> {
    if (this.#closed) return Promise.reject(new LedgerUnavailable("The ledger is closed."));
    if (this.#waiting.length >= this.#options.waitingUnitsMax) {
      const message = `The ledger has ${this.#waiting.length} writes waiting; try again when PostgreSQL has caught up.`;
      return Promise.reject(new LedgerUnavailable(message));
    }
    const outcome = new Promise<CommitOutcome>((resolve, reject) => {
      this.#waiting.push({ item, resolve, reject });
      if (lazy) this.#writeLater();
      else this.#writeSoon();
    });
    // Nobody waits for a lazy unit, so its failure must not end the process as an unhandled rejection.
    if (lazy) outcome.catch(this.#options.onLazyFailure);
    return outcome;
  }

  /** Resolves when all that waits now is written, or rejected. */
  async flush(): Promise<void> {
    const last = this.#waiting.at(-1);
    while (this.#running !== undefined || (last !== undefined && this.#waiting.includes(last))) {
      if (this.#running === undefined) this.#writeNext();
      await this.#running;
    }
  }

  async close(): Promise<void> {
    this.#closed = true;
    while (this.#waiting.length > 0 || this.#running !== undefined) {
      if (this.#running === undefined) this.#writeNext();
      await this.#running;
    }
  }

  stats(): CommitStats {
    return { ...this.#stats, waiting: this.#waiting.length };
  }

  /** At the end of this turn of the event loop, or of the transaction that is under way: nobody waits for a timer. */
  #writeSoon(): void {
    if (this.#running !== undefined) return;
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#writeNext();
    });
  }

  #writeLater(): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#writeSoon();
    }, this.#options.lazyWriteMs);
  }

  #writeNext(): void {
    if (this.#running !== undefined || this.#waiting.length === 0) return;
    const batch = this.#waiting.splice(0, this.#options.batchUnitsMax);
    clearImmediate(this.#soon);
    this.#soon = undefined;
    if (this.#waiting.length === 0) {
      clearTimeout(this.#later);
      this.#later = undefined;
    }
    this.#running = this.#write(batch).finally(() => {
      this.#running = undefined;
      // Whoever was told will hand over more in this turn: they share the next transaction.
      if (this.#waiting.length > 0) this.#writeSoon();
    });
  }

  /** Units are applied in their order: none behind one that was rejected for the store's sake may be written before it. */
  #rejectWaiting(error: Error): void {
    for (const { reject } of this.#waiting.splice(0)) {
      this.#stats.failed += 1;
      reject(error);
    }
  }

  async #write(batch: readonly Waiting<Item>[]): Promise<void> {
    const start = performance.now();
    const outcomes = await this.#options.write(batch.map(({ item }) => item));
    const ms = performance.now() - start;
    this.#stats.commits += 1;
    this.#stats.units += batch.length;
    this.#stats.batchMax = Math.max(this.#stats.batchMax, batch.length);
    batch.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes[at] ?? new LedgerUnavailable("The ledger gave no answer for this unit.");
      if (outcome instanceof Error) {
        this.#stats.failed += 1;
        reject(outcome);
      } else {
        if (!outcome.applied) this.#stats.refused += 1;
        resolve(outcome);
      }
    });
    this.#options.onCommit?.({ units: batch.length, ms });
    const unavailable = outcomes.find((outcome): outcome is LedgerUnavailable => outcome instanceof LedgerUnavailable);
    if (unavailable !== undefined) this.#rejectWaiting(unavailable);
  }
}
