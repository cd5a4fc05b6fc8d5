// Writes a batch of units in one transaction, and sees to it that a faulty unit harms nobody but itself.
import type { AuditHead } from "../../ledger/audit-chain.ts";
import { LedgerUnavailable, type CommitOutcome, type Unit } from "../../ledger/port.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import type { AuditLane } from "./audit-lane.ts";
import type { BatchOutcome } from "./group-commit.ts";
import { asLedgerError, isConnectionLoss, storeFailure } from "./store-errors.ts";
import { Gathered } from "./transaction.ts";
import { takeLocks } from "./unit-locks.ts";
import { OutcomeUnknown, type Writer } from "./writer.ts";
import type { UnitWriter } from "./writers.ts";

export interface Queued {
  readonly planned: PlannedUnit;
  /** The unit as it was handed over: one that is handed over again is known by it. */
  readonly unit: Unit;
}

/** A unit that was rejected although it may be stored. */
interface Doubt {
  readonly batch: number;
  readonly outcome: CommitOutcome | Error;
}

export interface BatchWriterOptions {
  readonly writer: Writer;
  readonly units: UnitWriter;
  readonly lane: AuditLane;
  /** Applies the units in order, as it likes. */
  readonly together: (gathered: Gathered, units: readonly PlannedUnit[]) => Promise<readonly CommitOutcome[]>;
  readonly onHeads: (heads: readonly AuditHead[]) => void;
  /** How long a lost COMMIT is asked after before its units are rejected. */
  readonly doubtMsMax: number;
  readonly sleep: (ms: number) => Promise<void>;
  readonly now: () => number;
}

/** Transactions that PostgreSQL took back because of others', in a row, before that is told. */
const triesMax = 4;
const askAgainMs = 100;

export class BatchWriter {
  readonly #options: BatchWriterOptions;
  readonly #doubts = new WeakMap<Unit, Doubt>();

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  async write(batch: readonly Queued[]): Promise<BatchOutcome> {
    try {
      await this.#options.writer.ready();
    } catch (error) {
      return batch.map(() => asLedgerError(error));
    }
    const outcomes: (CommitOutcome | Error | undefined)[] = batch.map(({ unit }) => this.#known(unit));
    const left = batch.filter((_, at) => outcomes[at] === undefined);
    const written = left.length === 0 ? [] : await this.#writeAll(left);
    let next = 0;
    return outcomes.map((outcome) => outcome ?? written[next++] ?? new LedgerUnavailable("The ledger gave no answer for this unit."));
  }

  /** What became of a unit that was rejected before and is handed over again, where it is stored. */
  #known(unit: Unit): CommitOutcome | Error | undefined {
    const doubt = this.#doubts.get(unit);
    if (doubt === undefined) return undefined;
    this.#doubts.delete(unit);
    return this.#options.writer.isStored(doubt.batch) ? doubt.outcome : undefined;
  }

  async #writeAll(batch: readonly Queued[]): Promise<BatchOutcome> {
    for (let tries = 1; ; tries += 1) {
      try {
        return await this.#attempt(batch, (gathered) =>
          this.#options.together(
            gathered,
            batch.map(({ planned }) => planned),
          ),
        );
      } catch (error) {
        // Nothing of it is stored. Without a new connection the next try says so.
        if ((isTakenBack(error) || isConnectionLoss(error)) && tries < triesMax) continue;
        if (batch.length === 1 || error instanceof LedgerUnavailable || storeFailure(error) !== undefined) {
          return batch.map(() => asLedgerError(error));
        }
        break;
      }
    }
    try {
      return await this.#attempt(batch, (gathered) => this.#oneByOne(gathered, batch));
    } catch (error) {
      return batch.map(() => asLedgerError(error));
    }
  }

  /** Each unit behind a savepoint, still one commit: slower, so it is the second try only. */
  async #oneByOne(gathered: Gathered, batch: readonly Queued[]): Promise<BatchOutcome> {
    const outcomes: (CommitOutcome | Error)[] = [];
    for (const { planned } of batch) {
      try {
        outcomes.push(await this.#options.units.applyAlone(gathered, planned, true));
      } catch (error) {
        if (storeFailure(error) !== undefined) throw error;
        outcomes.push(asLedgerError(error));
      }
    }
    return outcomes;
  }

  async #attempt(batch: readonly Queued[], work: (gathered: Gathered) => Promise<BatchOutcome>): Promise<BatchOutcome> {
    const { writer, lane, onHeads } = this.#options;
    let outcomes: BatchOutcome = [];
    let gathered: Gathered | undefined;
    try {
      await writer.transaction(async (tx) => {
        await takeLocks(tx, batch.map(({ planned }) => planned));
        gathered = new Gathered(tx, lane);
        outcomes = await work(gathered);
        await gathered.write();
      });
    } catch (error) {
      // Whatever happened, what the lane knew before it still holds, unless the transaction is there after all.
      if (!(error instanceof OutcomeUnknown)) throw error;
      const stored = await this.#learn(batch, outcomes, error);
      if (!stored) return this.#writeAll(batch);
    }
    if (gathered !== undefined) onHeads(lane.keep(gathered.moved));
    return outcomes;
  }

  /** @throws LedgerUnavailable when it cannot be found out in time; the units are then known when they are handed over again */
  async #learn(batch: readonly Queued[], outcomes: BatchOutcome, lost: OutcomeUnknown): Promise<boolean> {
    const { writer, now, sleep, doubtMsMax } = this.#options;
    const until = now() + doubtMsMax;
    for (;;) {
      try {
        await writer.ready();
        return writer.isStored(lost.batch);
      } catch (error) {
        if (now() < until) {
          await sleep(askAgainMs);
          continue;
        }
        batch.forEach(({ unit }, at) => {
          const outcome = outcomes[at];
          if (outcome !== undefined) this.#doubts.set(unit, { batch: lost.batch, outcome });
        });
        throw asLedgerError(error);
      }
    }
  }
}

/** Deadlocks with another replica, and what else another try mends. */
function isTakenBack(error: unknown): boolean {
  return error instanceof Error && "code" in error && typeof error.code === "string" && error.code.startsWith("40");
}
