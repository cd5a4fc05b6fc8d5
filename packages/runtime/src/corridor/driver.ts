// Carries out what the hub orders: commits to the ledger, messages to workers, timers, and waking those who wait.
import { boxNotProvisioned, timeInWords, type ErrorBody, type RuntimeMessage, type WorkerMessage, type WorkStream } from "@signalbox/protocol";
import type { CachedResult, Happening, StepResult } from "../call/machine.ts";
import { isParked, isTerminal, type Call, type CallIdentity } from "../call/types.ts";
import type { Beside } from "../dispatch/apply.ts";
import type { Admission } from "../dispatch/admission.ts";
import type { Hub } from "../dispatch/hub.ts";
import type { Clearance, HubOutput, WorkerIdentity } from "../dispatch/types.ts";
import { LedgerUnavailable, type CommitOutcome, type Unit } from "../ledger/port.ts";
import { afterArrival } from "./arrivals.ts";
import { Backlog, retryMs } from "./backlog.ts";
import { noFacts, type Companions, type DriverPorts, type Vetting } from "./driver-ports.ts";
import { Repeats } from "./repeats.ts";
import { Waiters } from "./waiters.ts";

/** A stream that says nothing is no worker; it may not stay for ever. */
const registerMsMax = 10_000;
/** How often a wish about a call that changes hands is tried before its author is asked to. */
const wishTriesMax = 10;

export class Driver {
  readonly waiters = new Waiters();
  readonly #ports: DriverPorts;
  readonly #streams = new Map<number, WorkStream<WorkerMessage, RuntimeMessage>>();
  readonly #backlog: Backlog;
  readonly #repeats: Repeats;
  readonly #admittedAt = new Map<string, number>();
  readonly #idle = new Set<() => void>();
  #streamCount = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};
  #stopped = false;
  #companions: Companions | undefined;

  constructor(ports: DriverPorts) {
    this.#ports = ports;
    const { ledger, clock, log, hub } = ports;
    this.#repeats = new Repeats({ clock, log });
    this.#backlog = new Backlog({
      ledger,
      clock,
      log,
      settled: (ticket, outcome) => this.#settled(ticket, outcome),
      dropped: (ticket) => hub.overtaken(ticket),
      caughtUp: () => this.pump(),
    });
  }

  /** Other replicas share the ledger from now on. */
  share(companions: Companions): void {
    this.#companions = companions;
    this.#ports.hub.share();
  }

  /** True while stored state lags behind what happened because the ledger cannot write. */
  get behind(): boolean {
    return this.#backlog.behind;
  }

  /** True from the first write that failed to the first one (or probe) that went well again. */
  get failing(): boolean {
    return this.#backlog.failing;
  }

  /**
   * Admits a call. Resolves when its row (and its dispatch, where a worker was free) is stored.
   * @param since monotonic instant at which the request was read, for the dispatch figure
   * @throws LedgerUnavailable when nothing could be stored; the call does not exist then
   */
  async admit(admission: Admission, since: number): Promise<CommitOutcome> {
    const { hub, clock } = this.#ports;
    const { identity } = admission;
    this.#refuseWhileBehind();
    const ticket = hub.admit(admission, clock.now());
    this.#admittedAt.set(identity.callId, since);
    let applied = false;
    try {
      const outcome = await this.#admission(ticket);
      applied = outcome.applied;
      return outcome;
    } finally {
      if (!applied) this.#admittedAt.delete(identity.callId);
    }
  }

  /** Admits a call that an earlier one's result answers. @throws LedgerUnavailable when nothing could be stored */
  async answer(admission: Admission, cached: CachedResult): Promise<CommitOutcome> {
    this.#refuseWhileBehind();
    return this.#admission(this.#ports.hub.answer(admission, cached, this.#ports.clock.now()));
  }

  /** Admits a call that waits for people. @throws LedgerUnavailable when nothing could be stored */
  async park(admission: Parameters<Hub["park"]>[0]): Promise<CommitOutcome> {
    this.#refuseWhileBehind();
    return this.#admission(this.#ports.hub.park(admission, this.#ports.clock.now()));
  }

  /**
   * A change of a call in one unit with its approval. `refused`: the call or the approval is another by now, read again;
   * `other_question`: the call is not under the approval that `beside` names.
   * @throws LedgerUnavailable when nothing could be stored; memory then goes back to what the ledger says
   */
  async decide(
    tenant: string,
    callId: string,
    happening: Happening,
    beside: Beside,
    clearance: Clearance | undefined,
  ): Promise<"stored" | "refused" | "other_question" | "not_open"> {
    const { hub, ledger, clock } = this.#ports;
    this.#refuseWhileBehind();
    await this.#companions?.reach(tenant, callId);
    const decided = hub.decide(tenant, callId, happening, beside, clearance, clock.now());
    if (decided === undefined) return "not_open";
    if (!decided.ok) return decided.reason === "other_question" ? "other_question" : "refused";
    const unit = this.#carryOut(decided.ticket);
    if (unit === undefined) throw new Error("the hub gave no unit for a decision");
    try {
      const outcome = await ledger.commit(unit);
      if (outcome.applied) hub.stored(decided.ticket, clock.now());
      else hub.overtaken(decided.ticket);
      return outcome.applied ? "stored" : "refused";
    } catch (error) {
      hub.overtaken(decided.ticket);
      if (error instanceof LedgerUnavailable) this.#backlog.fails(error);
      throw error;
    } finally {
      this.pump();
    }
  }

  /** Stores the row of a denied call. */
  async deny(identity: CallIdentity, error: ErrorBody): Promise<Call> {
    this.#refuseWhileBehind();
    const { ticket, call } = this.#ports.hub.deny(identity, error, this.#ports.clock.now());
    await this.#admission(ticket);
    return call;
  }

  #refuseWhileBehind(): void {
    if (this.behind) throw new LedgerUnavailable("the ledger cannot write at the moment");
  }

  async #admission(ticket: number): Promise<CommitOutcome> {
    const unit = this.#carryOut(ticket);
    if (unit === undefined) throw new Error("the hub gave no unit for an admission");
    const { hub, ledger, clock } = this.#ports;
    try {
      const outcome = await ledger.commit(unit);
      if (outcome.applied) hub.stored(ticket, clock.now());
      else hub.withdrawn(ticket, clock.now());
      return outcome;
    } catch (error) {
      hub.withdrawn(ticket, clock.now());
      if (error instanceof LedgerUnavailable) this.#backlog.fails(error);
      throw error;
    } finally {
      this.pump();
    }
  }

  /** Takes a parked call into memory that only the ledger knows of. */
  async adopt(row: Call): Promise<void> {
    const { hub, clock } = this.#ports;
    const facts = await this.#ports.factsFor(row);
    if (hub.find(row.tenant, row.callId) === undefined) hub.restore(row, facts, clock.now());
  }

  /**
   * What a person or a program wants of a call, whichever replica has it.
   * @returns `elsewhere` when the wish is stored and another replica tells the worker of it; undefined when the call is not open
   * @throws LedgerUnavailable
   */
  async wish(tenant: string, callId: string, happening: Happening): Promise<StepResult | "elsewhere" | undefined> {
    const { hub, ledger, clock } = this.#ports;
    const companions = this.#companions;
    if (companions === undefined) return this.happen(tenant, callId, happening);
    for (let tries = 0; tries < wishTriesMax; tries++) {
      const row = await companions.reach(tenant, callId);
      const here = this.happen(tenant, callId, happening);
      if (here !== undefined || row === undefined || isTerminal(row.state)) return here;
      if (row.state === "queued" || isParked(row)) continue;
      const wished = hub.wishElsewhere(row, happening, clock.now());
      if (!("unit" in wished)) return "elsewhere";
      if (!(await ledger.commit(wished.unit)).applied) continue;
      companions.touched(row);
      return "elsewhere";
    }
    throw new LedgerUnavailable("the call changes hands all the time");
  }

  /** The same, where nobody waits to hear of it. */
  wishInPassing(tenant: string, callId: string, happening: Happening): void {
    this.wish(tenant, callId, happening).catch((error: unknown) => {
      this.#ports.log.warn(
        { reason: String(error), execution_id: callId },
        "what somebody who went away wanted of a call could not be stored",
      );
    });
  }

  happen(tenant: string, callId: string, happening: Happening): StepResult | undefined {
    const result = this.#ports.hub.happen(tenant, callId, happening, this.#ports.clock.now());
    this.pump();
    return result;
  }

  /** Takes a worker's stream in; from here on its messages move calls. */
  attach(stream: WorkStream<WorkerMessage, RuntimeMessage>, identity: WorkerIdentity): void {
    const { hub, clock } = this.#ports;
    const id = ++this.#streamCount;
    this.#streams.set(id, stream);
    hub.connect(id, identity, clock.now());
    const stopWaiting = clock.after(registerMsMax, () => {
      if (!hub.isRegistered(id)) stream.close(`the worker did not register within ${timeInWords(registerMsMax)}`);
    });
    const hear = (message: WorkerMessage): void => {
      hub.message(id, message, clock.now());
      if (message.type === "register") stopWaiting();
      if (message.type === "nack" && message.code === boxNotProvisioned)
        this.#ports.meters.count("sandbox_provision_failures_total");
      this.pump();
    };
    stream.listen({
      message: this.#companions === undefined ? hear : afterArrival(this.#companions, identity, { hear, stream }),
      closed: () => {
        stopWaiting();
        this.#streams.delete(id);
        hub.disconnect(id);
        this.pump();
      },
    });
  }

  /** Carries out everything the hub has ordered. */
  pump(): void {
    this.#carryOut(0);
  }

  /** @returns the unit of `ownTicket`, which the caller commits itself */
  #carryOut(ownTicket: number): Unit | undefined {
    let own: Unit | undefined;
    const { hub } = this.#ports;
    for (let orders = hub.take(); orders.length > 0; orders = hub.take()) {
      for (const order of orders) {
        if (order.type === "commit" && order.ticket === ownTicket) own = order.unit;
        else this.#obey(order);
      }
    }
    this.#arm();
    this.#noticeIdle();
    this.#companions?.room();
    return own;
  }

  #obey(order: HubOutput): void {
    switch (order.type) {
      case "commit":
        return this.#backlog.commit(order.ticket, order.unit);
      case "send":
        return this.#send(order.session, order.message);
      case "close":
        this.#streams.get(order.session)?.close(order.reason);
        return;
      case "tell":
        return this.#tell(order.call);
      case "breaker":
        return this.#ports.meters.count("breaker_transitions_total", { tool: order.tool, to: order.to });
      case "routed":
        return this.#ports.meters.count("routing_outcome_total", { outcome: order.outcome });
      case "reload":
        return void this.#reload(order.tenant, order.callId);
      case "stray":
        return void this.#stray(order);
      case "said":
        return this.#ports.consult.said(order.call, order.message);
      case "recheck":
        return void this.#recheck(order.call);
      case "approval":
        return void this.#endApproval(order.call, order.happening);
      case "trigger":
        return void this.#ports.consult.trigger(order.call, order.outcome).then(
          () => this.pump(),
          (error: unknown) => this.#unheard(order.call, error),
        );
      case "vet":
        return void this.#vet(order);
      case "queued":
        return this.#companions?.queued(order.lane, order.notBefore);
      case "release":
        return this.#companions?.release(order.calls);
    }
  }

  async #recheck(call: Call): Promise<void> {
    const { hub, clock, log, consult } = this.#ports;
    try {
      hub.cleared(call.tenant, call.callId, await consult.recheck(call), clock.now());
    } catch (error) {
      log.error(
        { reason: String(error), execution_id: call.callId },
        "whether a call may still run could not be found out; it waits",
      );
      hub.notCleared(call.tenant, call.callId, clock.now() + retryMs, clock.now());
    }
    this.pump();
  }

  /** Without its approval the call cannot end: what failed is tried again. */
  async #endApproval(call: Call, happening: Happening): Promise<void> {
    const { clock, log, consult } = this.#ports;
    try {
      await consult.endApproval(call, happening);
    } catch (error) {
      log.error(
        { reason: String(error), execution_id: call.callId },
        "the approval of a call that ends could not be closed; it is tried again",
      );
      // A deadline that has passed is looked at again by itself, and by then the call may be where other facts count.
      if (!this.#stopped && happening.type !== "due")
        clock.after(retryMs, () => void this.happen(call.tenant, call.callId, happening));
    }
    this.pump();
  }

  #unheard(call: Call, error: unknown): void {
    const { hub, clock, log } = this.#ports;
    log.error(
      { reason: String(error), execution_id: call.callId },
      "nobody could be asked about a routing outcome; it stands",
    );
    hub.untriggered(call.tenant, call.callId, clock.now());
    this.pump();
  }

  /** A worker that may not run a tool gets none of its calls in any case; here its offer is taken down and recorded. */
  async #vet(offer: Vetting): Promise<void> {
    const { hub, log, consult } = this.#ports;
    try {
      hub.vetted(offer.session, await consult.vet(offer));
    } catch (error) {
      log.error(
        { reason: String(error) },
        "the handlers of a worker could not be checked when it registered; they are when a call comes",
      );
    }
    this.pump();
  }

  #send(session: number, message: RuntimeMessage): void {
    if (message.type === "invoke") {
      const since = this.#admittedAt.get(message.callId);
      if (since !== undefined) {
        this.#admittedAt.delete(message.callId);
        this.#ports.meters.observe("tool_dispatch_seconds", (this.#ports.clock.monotonic() - since) / 1000);
      }
      this.#ports.consult.given(message.tenant, message.callId);
    }
    this.#streams.get(session)?.send(message);
  }

  #tell(call: Call): void {
    const { meters } = this.#ports;
    this.#admittedAt.delete(call.callId);
    if (call.settledAt !== null) {
      meters.count("tool_executions_total", { tool: call.tool, version: call.version, status: call.state });
      if (call.usage !== null)
        meters.observe("tool_duration_seconds", call.usage.durationMs / 1000, { tool: call.tool });
      if (call.dispatchedAt !== null)
        meters.observe("tool_queue_seconds", (call.dispatchedAt - call.admittedAt) / 1000, {
          pool: call.sandbox ?? "application",
        });
    }
    this.waiters.tell(waitKey(call.tenant, call.callId), call);
    this.#ports.consult.told(call);
    this.#companions?.told(call);
  }

  #settled(ticket: number, outcome: CommitOutcome): void {
    const { hub, clock } = this.#ports;
    if (outcome.applied) {
      hub.stored(ticket, clock.now());
    } else {
      // Where replicas share the ledger, somebody else was first now and then.
      const level = this.#companions === undefined ? "warn" : "info";
      this.#repeats.note(level, "a guarded change met another row in the ledger", hub.overtaken(ticket), { write: outcome.write });
    }
    this.pump();
  }

  /** The row is another than memory has it: takes it as it is. */
  async reload(tenant: string, callId: string): Promise<void> {
    if (this.#ports.hub.find(tenant, callId) !== undefined) await this.#reload(tenant, callId);
  }

  async #reload(tenant: string, callId: string): Promise<void> {
    const { hub, ledger, clock } = this.#ports;
    try {
      const row = await ledger.getCall(tenant, callId);
      const facts = row === undefined ? noFacts : await this.#ports.factsFor(row);
      hub.reloaded(row, tenant, callId, facts, clock.now());
      if (hub.find(tenant, callId) === undefined) this.#companions?.gone(tenant, callId);
    } catch (error) {
      this.#repeats.note("error", "a call could not be read again; it is tried again", callId, { reason: String(error) });
      if (!this.#stopped) clock.after(retryMs, () => void this.#reload(tenant, callId));
    }
    this.pump();
  }

  async #stray(order: Extract<HubOutput, { type: "stray" }>): Promise<void> {
    const { hub, ledger, clock, log } = this.#ports;
    const { callId } = order.result;
    try {
      const row = await ledger.getCall(order.tenant, callId);
      const attempts = row === undefined ? [] : await ledger.attempts(order.tenant, callId);
      const facts = row === undefined ? noFacts : await this.#ports.factsFor(row);
      hub.strayResult(
        order.session,
        row === undefined ? undefined : { row, attempts },
        order.result,
        facts,
        clock.now(),
      );
    } catch (error) {
      log.error({ reason: String(error), execution_id: callId }, "a late result could not be judged");
    }
    this.pump();
  }

  #arm(): void {
    const { hub, clock } = this.#ports;
    const at = hub.nextDueAt();
    if (this.#stopped || at >= this.#armedFor) return;
    this.#disarm();
    this.#armedFor = at;
    this.#disarm = clock.after(Math.max(0, at - clock.now()), () => {
      this.#armedFor = Number.POSITIVE_INFINITY;
      hub.due(clock.now());
      this.pump();
    });
  }

  #noticeIdle(): void {
    if (this.#idle.size === 0 || this.#ports.hub.busyCount() > 0 || this.behind) return;
    for (const wake of this.#idle) wake();
    this.#idle.clear();
  }

  /**
   * Stops taking new work and waits until no worker holds a call, at most `ms`.
   * Queued calls stay in the ledger; the next start, or another replica, finds them.
   * @param elsewhere Work doors of other replicas, `host:port`: workers go there when they hold nothing, or when the time is up
   */
  async drain(ms: number, elsewhere: readonly string[] = []): Promise<{ readonly idle: boolean }> {
    const { hub, clock } = this.#ports;
    hub.drain(clock.now(), elsewhere);
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#idle.add(() => resolve(true));
    const takeBack = clock.after(ms, () => resolve(false));
    this.pump();
    const idle = await promise;
    takeBack();
    hub.drained();
    this.pump();
    return { idle };
  }

  /** Ends timers and streams; open calls are the ledger's. */
  stop(): void {
    this.#stopped = true;
    this.#backlog.stop();
    this.#repeats.stop();
    this.#disarm();
    for (const stream of this.#streams.values()) stream.close("the runtime stops");
    this.#streams.clear();
  }
}

export function waitKey(tenant: string, callId: string): string {
  return `${tenant}\u0000${callId}`;
}
