// Gathers units that wait for the disk, so that one fsync serves all of them.
import { LedgerUnavailable, type CommitOutcome, type Unit } from "../../ledger/port.ts";

/** What became of each unit, in the order of the units; an error is that unit's rejection. */
export type GroupOutcome = readonly (CommitOutcome | Error)[];

export interface CommitStats {
  /** Transactions that were tried; each that wrote something took one fsync. */
  readonly commits: number;
  readonly units: number;
  /** Units whose guard did not hold. */
  readonly refused: number;
  /** Units that were rejected. */
  readonly failed: number;
  readonly batchMax: number;
  readonly waiting: number;
}

export interface GroupCommitOptions<Planned extends Unit> {
  readonly write: (units: readonly Planned[]) => GroupOutcome;
  /** After every transaction; `ms` is the time it took, fsync included. */
  readonly onCommit?: (commit: { readonly units: number; readonly ms: number }) => void;
  /** Hears why a lazy unit was rejected. */
  readonly onLazyFailure: (error: Error) => void;
  readonly groupUnitsMax: number;
  /** Guards against a disk that stalls while callers go on. */
  readonly waitingUnitsMax: number;
  readonly lazyWriteMs: number;
}

interface Waiting<Planned> {
  readonly unit: Planned;
  readonly resolve: (outcome: CommitOutcome) => void;
  readonly reject: (error: Error) => void;
}

export class GroupCommit<Planned extends Unit> {
  readonly #options: GroupCommitOptions<Planned>;
  #waiting: Waiting<Planned>[] = [];
  #soon: NodeJS.Immediate | undefined;
  #later: NodeJS.Timeout | undefined;
  #closed = false;
  #stats = { commits: 0, units: 0, refused: 0, failed: 0, batchMax: 0 };

  constructor(options: GroupCommitOptions<Planned>) {
    this.#options = options;
  }

  commit(unit: Planned): Promise<CommitOutcome> {
    if (this.#closed) return Promise.reject(new LedgerUnavailable("The ledger is closed."));
    if (this.#waiting.length >= this.#options.waitingUnitsMax) {
      return Promise.reject(
        new LedgerUnavailable(
          `The ledger has ${this.#waiting.length} writes waiting; try again when the disk has caught up.`,
        ),
      );
    }
    const outcome = new Promise<CommitOutcome>((resolve, reject) => {
      this.#waiting.push({ unit, resolve, reject });
      if (unit.lazy === true) this.#writeLater();
      else this.#writeSoon();
    });
    // Nobody waits for a lazy unit, so its failure must not end the process as an unhandled rejection.
    if (unit.lazy === true) outcome.catch(this.#options.onLazyFailure);
    return outcome;
  }

  /** Writes all that waits, before it returns. */
  flush(): void {
    while (this.#waiting.length > 0) this.#writeNext();
  }

  close(): void {
    this.flush();
    this.#closed = true;
  }

  stats(): CommitStats {
    return { ...this.#stats, waiting: this.#waiting.length };
  }

  /** At the end of this turn of the event loop: what arrives until then shares the fsync, and nobody waits for a timer. */
  #writeSoon(): void {
    this.#soon ??= setImmediate(() => {
      this.#soon = undefined;
      this.#writeNext();
    });
  }

  #writeLater(): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.#writeNext();
    }, this.#options.lazyWriteMs);
  }

  #writeNext(): void {
    const group = this.#waiting.splice(0, this.#options.groupUnitsMax);
    if (this.#waiting.length > 0) {
      this.#writeSoon();
    } else {
      clearImmediate(this.#soon);
      clearTimeout(this.#later);
      this.#soon = this.#later = undefined;
    }
    if (group.length > 0) this.#write(group);
  }

  #write(group: readonly Waiting<Planned>[]): void {
    const start = performance.now();
    const outcomes = this.#options.write(group.map(({ unit }) => unit));
    const ms = performance.now() - start;
    this.#stats.commits += 1;
    this.#stats.units += group.length;
    this.#stats.batchMax = Math.max(this.#stats.batchMax, group.length);
    group.forEach(({ resolve, reject }, at) => {
      const outcome = outcomes[at] ?? new LedgerUnavailable("The ledger gave no answer for this unit.");
      if (outcome instanceof Error) {
        this.#stats.failed += 1;
        reject(outcome);
      } else {
        if (!outcome.applied) this.#stats.refused += 1;
        resolve(outcome);
      }
    });
    this.#options.onCommit?.({ units: group.length, ms });
  }
}
