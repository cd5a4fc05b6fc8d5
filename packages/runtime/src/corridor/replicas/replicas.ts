// One of several replicas on one ledger: says that it lives, knows the others, and sees that whatever concerns it is heard.
import type { Register } from "@signalbox/protocol";
import type { Call } from "../../call/types.ts";
import { isParked, isTerminal } from "../../call/types.ts";
import type { WorkerIdentity } from "../../dispatch/types.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import type { Peer, Wake } from "../../ledger/shared.ts";
import type { Companions } from "../driver-ports.ts";
import { Claims } from "./claims.ts";
import { replicaTimes, type ReplicaPorts } from "./ports.ts";
import { Returns } from "./returns.ts";
import { Sweeps } from "./sweeps.ts";
import { takeUp } from "./take-up.ts";

export class Replicas implements Companions {
  readonly #ports: ReplicaPorts;
  readonly #claims: Claims;
  readonly #returns: Returns;
  readonly #sweeps: Sweeps;
  readonly #timers = new Set<() => void>();
  #peers: readonly Peer[] = [];
  #revision = -1;
  #reloading = false;
  #draining = false;
  #stopped = false;
  #beating: Promise<void> = Promise.resolve();
  #roomAsked = false;

  constructor(ports: ReplicaPorts) {
    this.#ports = ports;
    this.#returns = new Returns(ports);
    this.#claims = new Claims(ports, this.#returns);
    this.#sweeps = new Sweeps(ports);
  }

  /** The first beat; rejects when the ledger cannot be reached. */
  async start(): Promise<void> {
    const { ledger } = this.#ports;
    await this.#beat(true);
    ledger.onWake((wake) => this.#hear(wake));
    this.#every(replicaTimes.beatMs, () => this.#beatAgain());
    this.#every(replicaTimes.pollMs, () => {
      void this.#returns.again();
      this.#claims.poke(true);
    });
    this.#every(replicaTimes.sweepMs, () => void this.#sweeps.sweep());
  }

  /** The living ones, this one left out. */
  others(): readonly Peer[] {
    return this.#peers.filter(({ replica }) => replica !== this.#ports.replica);
  }

  /** Where workers can go. */
  addresses(): readonly string[] {
    return this.others().flatMap(({ grpcAddress, draining }) => (draining || grpcAddress === "" ? [] : [grpcAddress]));
  }

  /** From now on the others know that workers are better off with them. */
  async drain(): Promise<void> {
    this.#draining = true;
    await this.#beat(false).catch(() => undefined);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const disarm of this.#timers) disarm();
    this.#claims.stop();
    await this.#beating;
    await this.#ports.ledger.leave(this.#ports.replica).catch(() => undefined);
  }

  queued(lane: string, notBefore: number): void {
    const { clock, ledger } = this.#ports;
    if (notBefore > clock.now()) this.#claims.notBefore(notBefore);
    else this.#claims.queued([lane]);
    if (this.others().length > 0) ledger.wake([{ type: "queued", lanes: [lane] }]);
  }

  release(calls: readonly { readonly tenant: string; readonly callId: string }[]): void {
    this.#claims.gaveBack(calls);
    void this.#returns.giveBack(calls);
  }

  told({ tenant, callId }: Call): void {
    if (this.others().length > 0) this.#ports.ledger.wake([{ type: "told", tenant, callId }]);
  }

  async arriving(identity: WorkerIdentity, register: Register): Promise<boolean> {
    const { ledger, replica, log } = this.#ports;
    const { workerId, incarnation } = register;
    try {
      const held = await ledger.claimHeld({ replica, workerTenant: identity.tenant, workerId, incarnation });
      for (const call of held) await takeUp(this.#ports, call);
      return true;
    } catch (error) {
      log.error({ reason: String(error), worker: workerId }, "what a worker holds could not be taken over");
      // Who holds nothing loses nothing: it may work on what is in memory.
      return register.inFlight.length === 0;
    }
  }

  async reach(tenant: string, callId: string): Promise<Call | undefined> {
    const { hub, ledger, replica } = this.#ports;
    const inMemory = hub.find(tenant, callId);
    if (inMemory !== undefined) return inMemory;
    const row = await ledger.getCall(tenant, callId);
    if (row === undefined || isTerminal(row.state)) return row;
    if (isParked(row)) {
      await takeUp(this.#ports, row);
      return row;
    }
    // A wish can be stored under a lease that nobody may take yet.
    if (row.state !== "queued" && !this.#sweeps.maySweepLeases()) return row;
    const mine = await this.#returns.sure(() => ledger.claimOne(tenant, callId, replica));
    if (mine === undefined) return ledger.getCall(tenant, callId);
    try {
      await takeUp(this.#ports, mine);
    } catch (error) {
      void this.#returns.giveBack([mine]);
      throw error;
    }
    return mine;
  }

  touched({ replica, tenant, callId }: Call): void {
    if (replica !== null) this.#ports.ledger.wake([{ type: "touched", replica, tenant, callId }]);
  }

  gone(tenant: string, callId: string): void {
    this.#ports.leaveStream(tenant, callId);
  }

  room(): void {
    if (this.#roomAsked || this.#stopped) return;
    this.#roomAsked = true;
    queueMicrotask(() => {
      this.#roomAsked = false;
      this.#claims.poke();
    });
  }

  #every(ms: number, act: () => void): void {
    const { clock } = this.#ports;
    let disarm = (): void => {};
    const arm = (): void => {
      this.#timers.delete(disarm);
      if (this.#stopped) return;
      disarm = clock.after(ms, () => {
        act();
        arm();
      });
      this.#timers.add(disarm);
    };
    arm();
  }

  #beatAgain(): void {
    this.#beating = this.#beating.then(async () => {
      if (this.#stopped) return;
      await this.#beat(false).catch((error: unknown) => {
        if (!(error instanceof LedgerUnavailable)) this.#ports.log.error({ reason: String(error) }, "this replica could not say that it lives; it is tried again");
      });
    });
  }

  async #beat(first: boolean): Promise<void> {
    const { ledger, hub, replica, grpcAddress, clock, storeTime } = this.#ports;
    const { livesMs } = replicaTimes;
    const asked = clock.now();
    const fleet = await ledger.beat({ replica, grpcAddress: grpcAddress(), draining: this.#draining, lanes: hub.lanesServed(), livesMs });
    storeTime(fleet.storeNow, asked, clock.now());
    this.#sweeps.reached();
    this.#peers = fleet.peers;
    const { sharing } = hub;
    if (sharing !== null) {
      sharing.servedElsewhere = new Set(this.others().flatMap(({ lanes, draining }) => (draining ? [] : lanes)));
      sharing.depth.clear();
      for (const [tenant, calls] of Object.entries(fleet.queued)) sharing.depth.set(tenant, calls);
    }
    // What is read at the start is not older than the first beat.
    if (!first && fleet.revision !== this.#revision) await this.#reload();
    this.#revision = fleet.revision;
  }

  async #reload(): Promise<void> {
    if (this.#reloading) return;
    this.#reloading = true;
    try {
      await this.#ports.reloadGovernance();
    } finally {
      this.#reloading = false;
    }
  }

  #hear(wake: Wake | { readonly type: "lost" }): void {
    if (this.#stopped) return;
    switch (wake.type) {
      case "queued":
        return this.#claims.queued(wake.lanes);
      case "touched":
        if (wake.replica === this.#ports.replica) void this.#ports.driver.reload(wake.tenant, wake.callId);
        return;
      case "told":
        this.#ports.streamSaid(wake.tenant, wake.callId);
        return void this.#sweeps.tell(wake.tenant, wake.callId).catch(() => undefined);
      case "said":
        return this.#ports.streamSaid(wake.tenant, wake.callId);
      case "governance":
        return this.#beatAgain();
      case "session":
        return this.#ports.sessionHeard?.(wake.tenant, wake.sessionId);
      case "approvals":
      case "notices":
      case "lost":
        this.#claims.poke(true);
        this.#beatAgain();
        return void this.#sweeps.sweep();
    }
  }
}
