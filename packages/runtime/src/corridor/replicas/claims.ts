// Claims calls that wait and are with nobody, as long as connected workers have room for them.
import type { Call } from "../../call/types.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { replicaTimes, type ReplicaPorts } from "./ports.ts";
import type { Returns } from "./returns.ts";
import { takeUp } from "./take-up.ts";

export class Claims {
  readonly #ports: ReplicaPorts;
  readonly #returns: Returns;
  /** Calls that were given back a moment ago, and until when they are left to others (monotonic ms). */
  readonly #left = new Map<string, number>();
  #running = false;
  #again = false;
  #everything = false;
  #stopped = false;
  #disarm: () => void = () => {};
  #armedFor = Number.POSITIVE_INFINITY;

  constructor(ports: ReplicaPorts, returns: Returns) {
    this.#ports = ports;
    this.#returns = returns;
  }

  /** Calls wait in these lanes. */
  queued(lanes: readonly string[]): void {
    const { sharing } = this.#ports.hub;
    for (const lane of lanes) sharing?.waiting.add(lane);
    this.poke();
  }

  /** @param everything asks for lanes too in which nobody is known to wait */
  poke(everything = false): void {
    if (this.#stopped) return;
    if (everything) this.#everything = true;
    else if ((this.#ports.hub.sharing?.waiting.size ?? 0) === 0) return;
    this.#again = true;
    if (!this.#running) void this.#run();
  }

  /** A call that waits till then may go to a worker. */
  notBefore(at: number): void {
    if (at >= this.#armedFor || this.#stopped) return;
    this.#disarm();
    this.#armedFor = at;
    const { clock } = this.#ports;
    this.#disarm = clock.after(Math.max(1, at - clock.now()), () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      this.poke(true);
    });
  }

  /** Nothing became of these here: for a while others have them to themselves. */
  gaveBack(calls: readonly { readonly callId: string }[]): void {
    const until = this.#ports.clock.monotonic() + replicaTimes.leaveAloneMs;
    for (const { callId } of calls) {
      if (this.#left.size >= replicaTimes.leftAloneMax) this.#left.delete(this.#left.keys().next().value as string);
      this.#left.set(callId, until);
    }
  }

  stop(): void {
    this.#stopped = true;
    this.#disarm();
  }

  async #run(): Promise<void> {
    this.#running = true;
    try {
      while (this.#again && !this.#stopped) {
        this.#again = false;
        if (await this.#claim()) this.#again = true;
      }
    } catch (error) {
      // The poll asks again.
      if (!(error instanceof LedgerUnavailable)) this.#ports.log.error({ reason: String(error) }, "calls that wait could not be claimed; it is tried again");
    } finally {
      this.#running = false;
    }
    if (this.#again && !this.#stopped) this.poke();
  }

  /** @returns whether there may be more */
  async #claim(): Promise<boolean> {
    const { hub, ledger, clock, replica, driver } = this.#ports;
    const everything = this.#everything;
    this.#everything = false;
    const waiting = hub.sharing?.waiting ?? new Set<string>();
    const { slots, lanes: served } = hub.room(clock.now());
    const lanes = everything ? served : served.filter((lane) => waiting.has(lane));
    const limit = Math.min(slots, replicaTimes.claimMax);
    if (lanes.length === 0 || limit <= 0) return false;
    // Whoever queues a call while the ledger is asked says so again.
    for (const lane of lanes) waiting.delete(lane);
    const query = { replica, lanes, limit, now: clock.now(), caps: this.#ports.caps(), not: this.#leftAlone() };
    const claimed = await this.#returns.sure(() => ledger.claim(query));
    if (claimed.nextAt !== undefined) this.notBefore(claimed.nextAt);
    const full = claimed.calls.length >= limit;
    if (full) for (const lane of lanes) waiting.add(lane);
    await this.#give(claimed.calls);
    driver.pump();
    return full;
  }

  async #give(calls: readonly Call[]): Promise<void> {
    const back = new Set(calls);
    try {
      for (const call of calls) if (await takeUp(this.#ports, call)) back.delete(call);
    } finally {
      // Also those that could not be taken up: they are with this replica, and nobody else can have them.
      await this.#returns.giveBack([...back]);
    }
  }

  #leftAlone(): readonly string[] {
    const now = this.#ports.clock.monotonic();
    for (const [callId, until] of this.#left) if (until <= now) this.#left.delete(callId);
    return [...this.#left.keys()];
  }
}
