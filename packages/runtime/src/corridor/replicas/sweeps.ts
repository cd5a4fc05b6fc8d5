// Looks for what nobody looks after: calls whose time is over, leases that ended with their replica, approvals and deliveries that are due.
import { limits } from "@signalbox/protocol";
import { isParked, isTerminal, type CallState } from "../../call/types.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { waitKey } from "../driver.ts";
import { replicaTimes, type ReplicaPorts } from "./ports.ts";
import { takeUp } from "./take-up.ts";

export class Sweeps {
  readonly #ports: ReplicaPorts;
  #sweeping = false;
  #failing = false;
  /** Monotonic ms: when the ledger answered last, and since when it has without a pause. */
  #reachedAt = Number.NEGATIVE_INFINITY;
  #steadySince = Number.POSITIVE_INFINITY;

  constructor(ports: ReplicaPorts) {
    this.#ports = ports;
  }

  /** The ledger has answered a beat. */
  reached(): void {
    const now = this.#ports.clock.monotonic();
    if (now - this.#reachedAt > replicaTimes.livesMs) this.#steadySince = now;
    this.#reachedAt = now;
  }

  /**
   * Where the ledger was away, nobody could renew a lease or say that it lives: every other replica looks dead then, and every
   * lease over. They get a lease time to say otherwise; so do those whom a starting replica finds.
   */
  maySweepLeases(): boolean {
    const now = this.#ports.clock.monotonic();
    // A sweep may be the first to meet a ledger that is back: what a beat has not confirmed is not steady.
    return now - this.#reachedAt <= replicaTimes.livesMs && now - this.#steadySince >= limits.leaseMs;
  }

  /** One pass; a second one while it is under way does nothing. What fails is tried again by the next. */
  async sweep(): Promise<void> {
    if (this.#sweeping) return;
    this.#sweeping = true;
    try {
      await this.#claimDue();
      await this.#tellWaiting();
      await this.#ports.sweepApprovals();
      await this.#ports.deliver();
      this.#failing = false;
    } catch (error) {
      if (!this.#failing && !(error instanceof LedgerUnavailable)) this.#ports.log.error({ reason: String(error) }, "what is overdue could not be looked for; it is tried again");
      this.#failing = true;
    } finally {
      this.#sweeping = false;
    }
  }

  async #claimDue(): Promise<void> {
    const { ledger, clock, replica, driver } = this.#ports;
    const { leaseGraceMs: graceMs, claimMax: limit } = replicaTimes;
    for (let full = true; full; ) {
      const calls = await ledger.claimDue({ replica, now: clock.now(), graceMs, leasesToo: this.maySweepLeases(), limit });
      let taken = 0;
      for (const call of calls) if (await takeUp(this.#ports, call)) taken++;
      driver.pump();
      // What memory has already is found again by every look.
      full = taken > 0 && calls.length >= limit;
    }
  }

  /** A told call may have been told while the way between replicas was closed. */
  async #tellWaiting(): Promise<void> {
    const { ledger, hub, driver } = this.#ports;
    const elsewhere = driver.waiters.calls().filter(({ tenant, callId }) => hub.find(tenant, callId) === undefined);
    if (elsewhere.length === 0) return;
    for (const { tenant, callId, state } of await ledger.statesOf(elsewhere)) if (isOver(state)) await this.tell(tenant, callId);
  }

  /** Wakes whoever waits here for a call that ended or parked elsewhere. */
  async tell(tenant: string, callId: string): Promise<void> {
    const { ledger, driver } = this.#ports;
    const key = waitKey(tenant, callId);
    if (!driver.waiters.has(key)) return;
    const row = await ledger.getCall(tenant, callId);
    if (row !== undefined && isOver(row.state)) driver.waiters.tell(key, row);
  }

}

const isOver = (state: CallState): boolean => isTerminal(state) || isParked({ state });
