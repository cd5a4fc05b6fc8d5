// Sees that every session that has something to do is driven by somebody: takes it up, keeps its lease, and lets go of it.
import { SignalboxError } from "@signalbox/protocol";
import type { Call } from "../../call/types.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import type { Approval } from "../../policy/approval/types.ts";
import { callEnded, endOrphan, runChild, type ChildAnswer, type ChildOrder } from "./child.ts";
import { sessionTimes, type SessionPorts } from "./ports.ts";
import { LeaseLost } from "./row.ts";
import { SessionRun } from "./run.ts";
import { sessionKey } from "./signals.ts";

interface Live {
  readonly tenant: string;
  readonly sessionId: string;
  readonly leaving: AbortController;
  /** Undefined while it is being claimed. */
  run: SessionRun | undefined;
  /** Somebody asked for it while it was being let go of. */
  again: boolean;
  readonly done: Promise<void>;
}

export class SessionDriver {
  readonly #ports: SessionPorts;
  readonly #live = new Map<string, Live>();
  #disarm: () => void = () => {};
  #disarmRenewal: () => void = () => {};
  #sweeping = false;
  readonly #leaving = new AbortController();
  #stopped = false;
  /** Leases of an earlier process of this replica's name are given up. */
  #freed = false;

  constructor(ports: SessionPorts) {
    this.#ports = ports;
  }

  /** Sessions that are driven here now. */
  get count(): number {
    return this.#live.size;
  }

  /**
   * Takes up what an earlier process, or another replica, left; to be called once calls are found again.
   * @param alone nobody else can hold a lease: what the last process held is free at once
   */
  start(alone: boolean): void {
    this.#freed = !alone;
    void this.#sweep().finally(() => (this.#stopped ? undefined : this.#sweepAgain(sessionTimes.sweepMs)));
    this.#renewAgain();
  }

  /** The session has something to do, or its inbox something new. */
  kick(tenant: string, sessionId: string): void {
    if (this.#stopped || !this.#freed) return;
    const key = sessionKey(tenant, sessionId);
    const live = this.#live.get(key);
    if (live !== undefined) {
      live.again = true;
      live.run?.look().catch((error: unknown) => this.#unread(error, sessionId));
      return;
    }
    const leaving = new AbortController();
    const begun: { live?: Live } = {};
    const done = Promise.resolve().then(() => this.#drive(begun.live as Live));
    begun.live = { tenant, sessionId, leaving, run: undefined, again: false, done };
    this.#live.set(key, begun.live);
  }

  /** A call ended or parked. Whoever drives its session here hears it by itself. */
  told(call: Call): void {
    const { tenant, sessionId } = call;
    callEnded(this.#childPorts, call);
    if (sessionId === "") return;
    const live = this.#live.get(sessionKey(tenant, sessionId));
    if (live === undefined) this.kick(tenant, sessionId);
    else live.again = true;
  }

  /** An approval was closed: its session may go on. */
  closed({ tenant, subject }: Approval): void {
    if (subject.sessionId !== null) this.kick(tenant, subject.sessionId);
  }

  /** An agent's call: see there. */
  runChild(order: ChildOrder): Promise<ChildAnswer> {
    return runChild(this.#childPorts, order);
  }

  get #childPorts() {
    return { ...this.#ports, sessions: this, leaving: this.#leaving.signal };
  }

  /** Another replica stored something of it. */
  heard(tenant: string, sessionId: string): void {
    this.#ports.signals.changed(tenant, sessionId);
    const live = this.#live.get(sessionKey(tenant, sessionId));
    // It may be just about to be let go of.
    if (live !== undefined) live.again = true;
    live?.run?.look().catch((error: unknown) => this.#unread(error, sessionId));
  }

  /** Lets go of all sessions where they are, for another replica or the next start; calls that run go on. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#leaving.abort();
    this.#disarm();
    this.#disarmRenewal();
    const all = [...this.#live.values()];
    for (const { leaving } of all) leaving.abort();
    await Promise.all(all.map(({ done }) => done));
  }

  async #drive(live: Live): Promise<void> {
    const { tenant, sessionId } = live;
    const key = sessionKey(tenant, sessionId);
    try {
      do {
        live.again = false;
        const { ledger, clock, replica } = this.#ports;
        const claimed = await ledger.claimSession({ tenant, sessionId, replica, now: clock.now(), leaseMs: sessionTimes.leaseMs });
        if (claimed === undefined) return;
        await endOrphan(this.#childPorts, claimed);
        live.run = new SessionRun(this.#ports, claimed, live.leaving.signal);
        await live.run.go();
        live.run = undefined;
      } while (live.again && !this.#stopped);
    } catch (error) {
      this.#failed(live, error);
    } finally {
      this.#live.delete(key);
      this.#ports.signals.changed(tenant, sessionId);
      if (live.again && !this.#stopped) this.kick(tenant, sessionId);
    }
  }

  /** What was not stored did not happen: the session is taken up again from its row. */
  #failed(live: Live, error: unknown): void {
    const { log, clock } = this.#ports;
    const { tenant, sessionId } = live;
    live.again = false;
    const lost = error instanceof LeaseLost;
    if (lost) log.info({ session_id: sessionId }, "another replica goes on with a session");
    const away = lost || error instanceof LedgerUnavailable || (error instanceof SignalboxError && (error.code === "ledger_unavailable" || error.code === "draining"));
    if (!away) log.error({ reason: error instanceof Error ? (error.stack ?? error.message) : String(error), session_id: sessionId }, "a session could not be gone on with; it is tried again");
    // One that was lost is claimed in vain, unless it was lost to a unit of our own that failed.
    if (!this.#stopped) clock.after(sessionTimes.againMs, () => this.kick(tenant, sessionId));
  }

  #unread(error: unknown, sessionId: string): void {
    this.#ports.log.warn({ reason: String(error), session_id: sessionId }, "the inbox of a session could not be read; it is read again");
  }

  #sweepAgain(ms: number): void {
    this.#disarm = this.#ports.clock.after(ms, () => void this.#sweep().finally(() => (this.#stopped ? undefined : this.#sweepAgain(sessionTimes.sweepMs))));
  }

  async #sweep(): Promise<void> {
    if (this.#sweeping || this.#stopped) return;
    this.#sweeping = true;
    try {
      const { ledger, clock, replica } = this.#ports;
      if (!this.#freed) await ledger.freeSessions(replica);
      this.#freed = true;
      for (const { tenant, sessionId } of await ledger.idleSessions(clock.now(), sessionTimes.sweepMax)) this.kick(tenant, sessionId);
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) this.#ports.log.error({ reason: String(error) }, "sessions that nobody looks after could not be looked for; it is tried again");
    } finally {
      this.#sweeping = false;
    }
  }

  #renewAgain(): void {
    this.#disarmRenewal = this.#ports.clock.after(sessionTimes.renewMs, () => void this.#renew().finally(() => (this.#stopped ? undefined : this.#renewAgain())));
  }

  /** Leases in one go; and since a wake-up may be lost, the inboxes too. */
  async #renew(): Promise<void> {
    const { ledger, clock, replica } = this.#ports;
    const mine = [...this.#live.values()].flatMap(({ tenant, sessionId, run }) => (run === undefined ? [] : [{ tenant, sessionId, fence: run.session.fence }]));
    if (mine.length === 0) return;
    try {
      const renewed = await ledger.renewSessions(replica, mine, clock.now() + sessionTimes.leaseMs);
      const held = new Set(renewed.map(({ tenant, sessionId }) => sessionKey(tenant, sessionId)));
      for (const { tenant, sessionId, fence } of mine) {
        const live = this.#live.get(sessionKey(tenant, sessionId));
        // Another drives it: nothing of what is done here would be kept. One that ended meanwhile leaves by itself.
        if (!held.has(sessionKey(tenant, sessionId)) && live?.run?.session.fence === fence) live.leaving.abort();
      }
    } catch (error) {
      if (!(error instanceof LedgerUnavailable)) this.#ports.log.error({ reason: String(error) }, "the leases of sessions could not be renewed; it is tried again");
      return;
    }
    for (const { run, sessionId } of this.#live.values()) run?.look().catch((error: unknown) => this.#unread(error, sessionId));
  }
}
