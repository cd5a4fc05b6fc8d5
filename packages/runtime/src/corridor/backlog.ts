// Hands units to the ledger, and keeps those that it cannot write, in order, until it writes again.
import { LedgerUnavailable, type CommitOutcome, type Ledger, type Unit } from "../ledger/port.ts";
import type { Clock, Log } from "./ports.ts";

/** How long a unit that the ledger could not take waits for the next try. */
export const retryMs = 500;

export interface BacklogPorts {
  readonly ledger: Pick<Ledger, "commit" | "probe">;
  readonly clock: Clock;
  readonly log: Log;
  /** The unit's fate is known. */
  readonly settled: (ticket: number, outcome: CommitOutcome) => void;
  /** It can never be written. */
  readonly dropped: (ticket: number) => void;
  /** The ledger writes again, and nothing waits. */
  readonly caughtUp: () => void;
}

interface Backlogged {
  readonly ticket: number;
  readonly unit: Unit;
}

export class Backlog {
  readonly #ports: BacklogPorts;
  /** Transitions that the ledger could not take. What they say is not acknowledged to anybody yet. */
  readonly #waiting: Backlogged[] = [];
  #failing = false;
  #stopped = false;

  constructor(ports: BacklogPorts) {
    this.#ports = ports;
  }

  /** True while stored state lags behind what happened. */
  get behind(): boolean {
    return this.#waiting.length > 0;
  }

  /** True from the first write that failed to the first one (or probe) that went well again. */
  get failing(): boolean {
    return this.#failing;
  }

  commit(ticket: number, unit: Unit): void {
    if (this.behind) {
      // Renewals come again with the next heartbeat, and no rule rests on them: they must not pile up.
      if (!unit.writes.every((write) => write.op === "renew_leases")) this.#waiting.push({ ticket, unit });
      return;
    }
    this.#ports.ledger.commit(unit).then(
      (outcome) => this.#ports.settled(ticket, outcome),
      (error: unknown) => {
        this.#waiting.push({ ticket, unit });
        this.fails(error);
      },
    );
  }

  /** Said once; from here on the ledger is tried again at intervals until it writes. */
  fails(error: unknown): void {
    if (this.#failing) return;
    this.#failing = true;
    this.#ports.log.error({ reason: String(error) }, "the ledger cannot write; changes wait and nothing is acknowledged");
    this.#retryLater();
  }

  stop(): void {
    this.#stopped = true;
  }

  #retryLater(): void {
    if (this.#stopped) return;
    this.#ports.clock.after(retryMs, () => void this.#retry());
  }

  /** Tries what waits in order; the first failure ends the try. */
  async #retry(): Promise<void> {
    const { ledger, log, settled, dropped, caughtUp } = this.#ports;
    try {
      await ledger.probe();
    } catch {
      return this.#retryLater();
    }
    for (let item = this.#waiting[0]; item !== undefined; item = this.#waiting[0]) {
      try {
        const outcome = await ledger.commit(item.unit);
        this.#waiting.shift();
        settled(item.ticket, outcome);
      } catch (error) {
        if (error instanceof LedgerUnavailable) return this.#retryLater();
        // Not for want of space: trying again will not help, and what stands behind it must go on.
        log.error({ reason: String(error) }, "a change could not be written and was dropped");
        this.#waiting.shift();
        dropped(item.ticket);
      }
    }
    this.#failing = false;
    log.info({}, "the ledger writes again");
    caughtUp();
  }
}
