// The hub: every open call and every connected worker of this replica, moved by events and answered in orders.
import type { ErrorBody, Result, WorkerMessage } from "@signalbox/protocol";
import { admit, answered, deny, park } from "../call/admit.ts";
import type { CachedResult, Effect, Happening, StepResult } from "../call/machine.ts";
import { step } from "../call/step.ts";
import { isParked, isTerminal, type Call, type CallIdentity, type CallState, type RoutingOutcome } from "../call/types.ts";
import type { Write } from "../ledger/port.ts";
import type { Admission } from "./admission.ts";
import { apply, type Beside, closeTicket, flushUnsaved, forget, holdSlot, invokePending, moved, order, schedule, stored, usageWrite, writesOf } from "./apply.ts";
import { beginsUnder, refusedCallMs, viewBreaker, type BreakerView } from "./breakers.ts";
import { enter } from "./enter.ts";
import { endedRuns, flightKey, join, leave } from "./flights.ts";
import { cleared, look, notCleared, thaw, untriggered } from "./look.ts";
import { sendAway } from "./send-away.ts";
import { newSession } from "./session.ts";
import { chooseSession } from "./choose.ts";
import { assignHappening, placeWaiting } from "./place.ts";
import {
  backendsElsewhere,
  isCappedAnywhere,
  keepHere,
  lanesServed,
  letGoOfIdle,
  lineWaits,
  newSharing,
  nextLeaveAt,
  roomOf,
  seeGuestsOff,
  stepElsewhere,
} from "./sharing.ts";
import { agentBackend, callKey, freezeKey, isFrozen, laneOf, newState, sessionOf, type HubState } from "./state.ts";
import type { StoredCall } from "./stored-call.ts";
import { claimedAgain, reloaded, strayResult, takeUp } from "./take-up.ts";
import { disbar, dropSession, hear, letGo } from "./talk.ts";
import type { CapBook, Clearance, Cleared, HubLimits, HubOutput, LiveCall, Session, Sharing, ToolFacts, WaitingLine, WorkerIdentity } from "./types.ts";

/**
 * Synchronous and deterministic: no clock, no chance, no promise; `now` is wall clock (ms since 1970) and never
 * goes back between calls. After every method the driver takes the orders with {@link Hub.take} and carries them
 * out in order; what must follow a commit comes out only after {@link Hub.stored}.
 */
export class Hub {
  readonly #state: HubState;
  #brakesPulled = 0;

  constructor(replica: string, limits: HubLimits, line: WaitingLine, startedAt: number) {
    this.#state = newState(replica, limits, line, startedAt);
  }

  take(): HubOutput[] {
    const out = this.#state.out;
    this.#state.out = [];
    return out;
  }

  /** The call as memory has it; one that has ended or parked here is on its way to the ledger, and not to be told of yet. */
  find(tenant: string, callId: string): Call | undefined {
    return this.#state.calls.get(callKey(tenant, callId))?.live.call;
  }

  openCount(): number {
    return this.#state.calls.size;
  }

  /** Calls that a worker holds or that wait for a commit; drain waits for these, not for the queue. */
  busyCount(): number {
    let busy = this.#state.tickets.size;
    for (const { live } of this.#state.calls.values()) {
      const { state, executor } = live.call;
      // A call that waits for a child session is taken up again wherever the child goes on.
      if ((state === "dispatched" || state === "running") && executor !== "agent") busy++;
    }
    return busy;
  }

  /** @param tenant whose calls; undefined = everybody's */
  countIn(state: CallState, tenant?: string): number {
    let count = 0;
    for (const { live } of this.#state.calls.values())
      if (live.call.state === state && (tenant === undefined || live.call.tenant === tenant)) count++;
    return count;
  }

  queueDepth(tenant: string): number {
    const { sharing, line } = this.#state;
    return sharing === null ? line.depth(tenant) : (sharing.depth.get(tenant) ?? 0);
  }

  /** Calls that may wait per tenant; over it, admission refuses. */
  get queueDepthMax(): number {
    return this.#state.limits.queueDepthPerTenantMax;
  }

  serversOf(toolTenant: string, tool: string, version: string): number {
    return this.#state.servers.get(laneOf({ executor: "worker", toolTenant, tool, version, sandbox: null }))?.size ?? 0;
  }

  /** Isolation backends that a connected sandbox worker offers now. */
  backends(): ReadonlySet<string> {
    const offered = new Set<string>();
    for (const session of this.#state.sessions.values()) for (const backend of session.backends) offered.add(backend);
    for (const backend of backendsElsewhere(this.#state)) offered.add(backend);
    offered.delete(agentBackend);
    return offered;
  }

  sessions(): Iterable<Session> {
    return this.#state.sessions.values();
  }

  /**
   * Admits a call, and dispatches it in the same commit when a worker is free. Returns the ticket of its unit.
   * `beside`: further guards and writes of the unit, e.g. how many calls are counted.
   */
  admit(admission: Admission, now: number): number {
    const { identity, edited, facts, clearance, beside } = admission;
    const state = this.#state;
    this.#mustBeNew(identity);
    const born = must(admit(identity, now, { startTag: state.line.nextTag(identity.tenant), queueWaitMs: state.limits.queueWaitMs, edited }));
    const entry = enter(this.#state, born.live, facts, clearance);
    const effects: Effect[] = [...born.effects];
    // What changed since the rules were asked may forbid it: then it waits for another look.
    const role = join(state, entry);
    const held = role === "follows" || isFrozen(state, born.live.call) || isCappedAnywhere(state, entry);
    const mayStart = !held && clearance.epoch === state.epoch && !lineWaits(state, entry.laneKey) && refusedCallMs(state, entry, now) === null;
    const session = mayStart ? chooseSession(state, entry, now) : undefined;
    if (session !== undefined) {
      const given = must(step(born.live, assignHappening(state, session, born.live.call), now, state.limits));
      entry.live = given.live;
      moved(state, born.live.call, given.live.call);
      state.line.takeTurn(identity.tenant);
      entry.invokedOn = invokePending;
      beginsUnder(state, entry, now);
      effects.push(...given.effects);
      holdSlot(session, entry);
    } else if (state.sharing === null || role === "follows") {
      keepHere(state, entry);
      state.line.add(entry.lineKey, entry.live.call);
      if (!mayStart && role !== "follows") state.unplaced.push(entry);
    }
    return this.#admitted(entry, effects, beside, now);
  }

  /** Writes a call that an earlier one's result answers; nothing is dispatched. */
  answer({ identity, edited, facts, clearance, beside }: Admission, cached: CachedResult, now: number): number {
    this.#mustBeNew(identity);
    const born = must(answered(identity, now, { edited, cached }));
    return this.#admitted(enter(this.#state, born.live, facts, clearance), born.effects, beside, now);
  }

  /** Runs of this cache key that have ended, as far as is remembered. A look at the ledger that began before the last one is stale. */
  endedRuns(tenant: string, cacheKey: string): number {
    return endedRuns(this.#state, flightKey({ tenant, cacheKey }) ?? "");
  }

  breaker(whose: Parameters<typeof viewBreaker>[1], now: number): BreakerView {
    return viewBreaker(this.#state, whose, now);
  }

  isFrozen(tenant: string, tool: string): boolean {
    return isFrozen(this.#state, { tenant, tool });
  }

  /** Admits a call that people are asked about first. `beside` opens the approval in the same unit. */
  park(admission: Admission & { readonly approvalId: string; readonly asked: Readonly<Record<string, unknown>> }, now: number): number {
    const { identity, edited, facts, clearance, beside, approvalId, asked } = admission;
    const state = this.#state;
    this.#mustBeNew(identity);
    const born = must(park(identity, now, { startTag: state.line.nextTag(identity.tenant), edited, approvalId, asked }));
    return this.#admitted(enter(this.#state, born.live, facts, clearance), born.effects, beside, now);
  }

  #mustBeNew({ tenant, callId }: CallIdentity): void {
    if (this.#state.calls.has(callKey(tenant, callId))) throw new Error(`the call ${callId} is open already`);
  }

  #admitted(entry: LiveCall, effects: readonly Effect[], beside: Beside | undefined, now: number): number {
    const state = this.#state;
    const { call } = entry.live;
    entry.stored = call;
    entry.storedLeaseAt = call.leaseExpiresAt ?? 0;
    schedule(state, entry, now);
    const insert = { op: "insert_call", row: call } as const;
    const more = isTerminal(call.state) ? [...writesOf(effects), usageWrite(state, call, true)] : writesOf(effects);
    // The common case makes no lists that it does not need.
    const writes: Write[] = beside === undefined ? [insert, ...more] : [insert, ...beside.guards, ...more, ...beside.writes];
    return order(state, { writes }, entry, effects, 0, true);
  }

  /** Writes the row of a call that was denied; nothing is dispatched. */
  deny(identity: CallIdentity, error: ErrorBody, now: number): { readonly ticket: number; readonly call: Call } {
    const denied = must(deny(identity, now, error));
    const { call } = denied.live;
    const writes: Write[] = [{ op: "insert_call", row: call }, ...writesOf(denied.effects), usageWrite(this.#state, call, false)];
    const ticket = order(this.#state, { writes }, null, [], 0, true, call.callId);
    return { ticket, call };
  }

  /** An admission that did not come to be (lost race, no space): its slot and its place in line are given back. */
  withdrawn(ticket: number, now: number): void {
    const state = this.#state;
    const entry = closeTicket(state, ticket)?.entry;
    if (entry === undefined || entry === null) return;
    const { call } = entry.live;
    if (call.state === "queued") state.line.remove(entry.lineKey, call);
    forget(state, entry);
    leave(state, entry, now);
    const session = sessionOf(state, entry);
    if (session !== undefined) letGo(state, session, call.callId, call.fence, now);
    placeWaiting(state, now);
  }

  stored(ticket: number, now: number): void {
    const done = stored(this.#state, ticket, now);
    // Nobody may wait for its run any more.
    if (done !== undefined && (isTerminal(done.call.state) || isParked(done.call))) leave(this.#state, done.entry, now);
    if (done !== undefined) letGoOfIdle(this.#state, done.entry, done.call, now);
    placeWaiting(this.#state, now);
    if (this.#state.draining) sendAway(this.#state, "idle");
  }

  /** The ledger refused a guarded unit: its row is another than ours. Memory gives way. @returns the call's id, where one is still known */
  overtaken(ticket: number): string | undefined {
    const entry = closeTicket(this.#state, ticket)?.entry;
    if (entry === undefined || entry === null) return undefined;
    entry.overtaken = true;
    const { tenant, callId } = entry.live.call;
    this.#state.out.push({ type: "reload", tenant, callId });
    return callId;
  }

  /** The row as the ledger has it, after `reload`. */
  reloaded(row: Call | undefined, tenant: string, callId: string, facts: ToolFacts, now: number): void {
    reloaded(this.#state, row, { tenant, callId }, facts, now);
  }

  /** An open call found in the ledger. Its worker, if it had one, gets a lease time to come back. */
  restore(row: Call, facts: ToolFacts, now: number): void {
    takeUp(this.#state, row, facts, now);
  }

  /** The row of a call that memory has still, as a claim brought it: another replica may have had its lease meanwhile. */
  claimedAgain(row: Call): void {
    claimedAgain(this.#state, row);
  }

  /** From now on other replicas have the same ledger: calls that wait are with nobody, and memory holds what this one works on. */
  share(): void {
    this.#state.sharing = newSharing();
  }

  get sharing(): Sharing | null {
    return this.#state.sharing;
  }

  /** Room that connected workers have now, and the lanes that they serve. */
  room(now: number): ReturnType<typeof roomOf> {
    return roomOf(this.#state, now);
  }

  lanesServed(): readonly string[] {
    return lanesServed(this.#state);
  }

  /** The unit that stores a wish about a call that another living replica has; or why there is none. */
  wishElsewhere(row: Call, happening: Happening, now: number): ReturnType<typeof stepElsewhere> {
    return stepElsewhere(this.#state, row, happening, now);
  }

  /** Anything that a person or a program wants of an open call. */
  happen(tenant: string, callId: string, happening: Happening, now: number): StepResult | undefined {
    const entry = this.#state.calls.get(callKey(tenant, callId));
    if (entry === undefined) return undefined;
    const result = apply(this.#state, entry, happening, now);
    placeWaiting(this.#state, now);
    return result;
  }

  /**
   * The same for what comes from an approval, or ends with one: `beside` stands in the unit of the change.
   * `clearance`: what the call was found to be allowed under, when it goes on.
   * @returns the ticket of the unit; a reason when the call knows no such step (any more), undefined when it is not open
   */
  decide(
    tenant: string,
    callId: string,
    happening: Happening,
    beside: Beside,
    clearance: Clearance | undefined,
    now: number,
  ): { readonly ok: true; readonly ticket: number } | { readonly ok: false; readonly reason: string } | undefined {
    const entry = this.#state.calls.get(callKey(tenant, callId));
    if (entry === undefined) return undefined;
    if (entry.overtaken) return { ok: false, reason: "overtaken" };
    if (clearance !== undefined) entry.clearance = clearance;
    const result = apply(this.#state, entry, happening, now, 0, beside);
    if (!result.ok) return { ok: false, reason: result.reason };
    if (result.ticket === undefined) throw new Error(`${happening.type} is not stored at once`);
    // Nothing is placed here: whether the unit holds is known when it is stored.
    return { ok: true, ticket: result.ticket };
  }

  /** What a look found at a call that waits: it may run until then, or not any more. */
  cleared(tenant: string, callId: string, found: Cleared | { readonly error: ErrorBody }, now: number): void {
    cleared(this.#state, callKey(tenant, callId), found, now);
    placeWaiting(this.#state, now);
  }

  /** The look could not be had (a store that cannot be read): nothing is given away, and it is tried again at `again`. */
  notCleared(tenant: string, callId: string, again: number, now: number): void {
    notCleared(this.#state, callKey(tenant, callId), again, now);
  }

  /** Rules have no say on the routing outcome of a call that waits: it ends as it would have. */
  untriggered(tenant: string, callId: string, now: number): void {
    untriggered(this.#state, callKey(tenant, callId), now);
    placeWaiting(this.#state, now);
  }

  /** What calls were cleared under has changed: every one that waits is looked at again before it goes to a worker. */
  newEpoch(): number {
    return ++this.#state.epoch;
  }

  get epoch(): number {
    return this.#state.epoch;
  }

  /** Routing outcomes on which some rule may have a say. */
  triggersAre(triggers: ReadonlySet<RoutingOutcome>): void {
    this.#state.triggers = triggers;
  }

  /** How many calls of whom may work at once, from now on; asked whenever one could go to a worker. */
  capsAre(caps: CapBook, now: number): void {
    this.#state.caps = caps;
    this.#state.line.wake();
    this.#state.roomUnderCap = true;
    placeWaiting(this.#state, now);
  }

  /** What share of the workers a tenant has beside others, from now on. */
  weigh(tenant: string, weight: number): void {
    this.#state.line.weigh(tenant, weight);
  }

  /** Under which day of its tenant an ended call is counted, by the instant of its admission. UTC's, if nobody says. */
  daysAre(dayOf: (tenant: string, at: number) => string): void {
    this.#state.dayOf = dayOf;
  }

  /** Calls of a project that wait for a worker. */
  queueDepthOfProject(tenant: string, project: string): number {
    return this.#state.occupancy.ofProject({ tenant, project }).waiting;
  }

  /** Nothing of this scope goes to a worker from now on. `tenant` may be `platform`: all; an empty tool: all tools. */
  freeze(tenant: string, tool: string): void {
    this.#brakesPulled++;
    this.#state.frozen.add(freezeKey(tenant, tool));
  }

  unfreeze(tenant: string, tool: string, now: number): void {
    thaw(this.#state, () => this.#state.frozen.delete(freezeKey(tenant, tool)), now);
    placeWaiting(this.#state, now);
  }

  /** Nothing of this tenant goes to a worker from now on; what a worker has goes on to its end. */
  suspend(tenant: string): void {
    this.#brakesPulled++;
    this.#state.suspended.add(tenant);
  }

  resume(tenant: string, now: number): void {
    thaw(this.#state, () => this.#state.suspended.delete(tenant), now);
    placeWaiting(this.#state, now);
  }

  /** How often something was frozen or suspended here. */
  get brakesPulled(): number {
    return this.#brakesPulled;
  }

  /**
   * Everything that is frozen or suspended, as the ledger had it.
   * @param pulled `brakesPulled` before it was read: what was stopped here since then stays stopped
   */
  brakesAre(pulled: number, freezes: readonly { readonly tenant: string; readonly tool: string }[], suspended: ReadonlySet<string>, now: number): void {
    const frozen = new Set(freezes.map(({ tenant, tool }) => freezeKey(tenant, tool)));
    for (const key of frozen) this.#state.frozen.add(key);
    for (const tenant of suspended) this.#state.suspended.add(tenant);
    const lift = (): void => {
      if (pulled !== this.#brakesPulled) return;
      for (const key of this.#state.frozen) if (!frozen.has(key)) this.#state.frozen.delete(key);
      for (const tenant of this.#state.suspended) if (!suspended.has(tenant)) this.#state.suspended.delete(tenant);
    };
    thaw(this.#state, lift, now);
    placeWaiting(this.#state, now);
  }

  isSuspended(tenant: string): boolean {
    return this.#state.suspended.has(tenant);
  }

  /** Those of one tenant that have not ended, as far as memory knows. */
  openCallsOf(tenant: string): readonly Call[] {
    const open: Call[] = [];
    for (const { live } of this.#state.calls.values()) if (live.call.tenant === tenant) open.push(live.call);
    return open;
  }

  /** Calls that no worker has: for a look at whether they may still run. */
  waitingCalls(): readonly Call[] {
    const waiting: Call[] = [];
    for (const { live } of this.#state.calls.values())
      if (live.call.state === "queued" || live.call.state === "awaiting_approval") waiting.push(live.call);
    return waiting;
  }

  /** Takes away handlers that this worker may not run, after `vet`. */
  vetted(sessionId: number, refused: readonly { readonly tool: string; readonly version: string }[]): void {
    const session = this.#state.sessions.get(sessionId);
    if (session !== undefined) disbar(this.#state, session, refused);
  }

  connect(sessionId: number, identity: WorkerIdentity, now: number): void {
    this.#state.sessions.set(sessionId, newSession(sessionId, identity, now));
  }

  message(sessionId: number, message: WorkerMessage, now: number): void {
    const session = this.#state.sessions.get(sessionId);
    if (session === undefined) return;
    hear(this.#state, session, message, now);
    placeWaiting(this.#state, now);
    if (this.#state.draining) sendAway(this.#state, "idle");
  }

  isRegistered(sessionId: number): boolean {
    return this.#state.sessions.get(sessionId)?.registered ?? false;
  }

  disconnect(sessionId: number): void {
    const session = this.#state.sessions.get(sessionId);
    if (session !== undefined) dropSession(this.#state, session);
  }

  /** A result that the sender holds no slot for; `found` is what the ledger has of the call, in the sender's own tenant. */
  strayResult(sessionId: number, found: StoredCall | undefined, result: Result, facts: ToolFacts, now: number): void {
    const session = this.#state.sessions.get(sessionId);
    if (session !== undefined) strayResult(this.#state, session, { found, result, facts }, now);
  }

  /** The instant at which {@link Hub.due} wants to be called next; Infinity when nothing waits. */
  nextDueAt(): number {
    const [first] = this.#state.unsaved;
    const since = first?.unsaved?.since ?? Number.POSITIVE_INFINITY;
    const lazy = since + this.#state.limits.lazyWriteMs;
    return Math.min(lazy, this.#state.due.nextAt(), nextLeaveAt(this.#state));
  }

  due(now: number): void {
    const state = this.#state;
    flushUnsaved(state, now, false);
    for (let key = state.due.popDue(now); key !== undefined; key = state.due.popDue(now)) {
      const entry = state.calls.get(key);
      if (entry !== undefined) look(state, entry, now);
    }
    placeWaiting(state, now);
    seeGuestsOff(state, now);
  }

  /**
   * No new work from now on: neither admissions nor dispatches. Lazy writes go out.
   * Workers are not told to drain: they finish what they hold, and come back to whoever listens next.
   * @param elsewhere Work doors of other replicas, `host:port`: a worker that holds nothing (any more) goes to one of them
   */
  drain(now: number, elsewhere: readonly string[] = []): void {
    this.#state.draining = true;
    this.#state.elsewhere = elsewhere;
    flushUnsaved(this.#state, now, true);
    sendAway(this.#state, "idle");
  }

  /** The time to drain is over: who still holds something goes elsewhere with it, where there is an elsewhere. */
  drained(): void {
    sendAway(this.#state, "all");
  }

  get draining(): boolean {
    return this.#state.draining;
  }
}

function must(result: StepResult): Extract<StepResult, { ok: true }> {
  if (!result.ok) throw new Error(`the call machine refused its own first step: ${result.reason}`);
  return result;
}
