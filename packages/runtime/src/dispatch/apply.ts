// Carries one step of the machine out: memory first, then the unit for the ledger, then what follows once it is stored.
import { nextDueAt } from "../call/due.ts";
import type { Effect, Happening, StepResult } from "../call/machine.ts";
import { step } from "../call/step.ts";
import { isParked, isTerminal, type Call, type LateResult } from "../call/types.ts";
import { usageOf } from "../call/usage-of.ts";
import { isSafe, type FileRef } from "@signalbox/protocol";
import type { GuardedWrite, PlainWrite, Unit, Write } from "../ledger/port.ts";
import { learnFrom, leavesBreaker, wouldBeOpen } from "./breakers.ts";
import { noteRan } from "./choose.ts";
import { makesRoom } from "./gate.ts";
import { works } from "./occupancy.ts";
import { isResting, lineUp } from "./resting.ts";
import { callKey, isHeld, leaseKey, sessionOf, workerKey, workerTenantOf, type HubState, type Ticket } from "./state.ts";
import type { LiveCall, Session } from "./types.ts";

/** What stands in the same unit as a change of a call: the approval that it comes from, or that ends with it. */
export interface Beside {
  readonly guards: readonly GuardedWrite[];
  readonly writes: readonly PlainWrite[];
  /** The approval that was read: when the call is under another by now, nothing of this holds. Undefined = any. */
  readonly under?: string | null;
}

/** Applies one happening to an open call. `session`: who said it, so that an acknowledgement finds its way. */
export function apply(
  state: HubState,
  entry: LiveCall,
  happening: Happening,
  now: number,
  session = 0,
  beside?: Beside,
): StepResult & { readonly ticket?: number } {
  const before = entry.live;
  if (beside?.under !== undefined && beside.under !== before.call.approvalId) return { ok: false, reason: "other_question", effects: [] };
  const result = step(before, withRetries(state, entry, happening), now, state.limits);
  if (beside === undefined && result.ok && endsQuestion(before.call, result.live.call)) {
    state.out.push({ type: "approval", call: before.call, happening });
    return { ok: false, reason: "through_approval", effects: [] };
  }
  if (!result.ok) {
    // A settled call that is still in memory waits for its commit: the answer to its result comes with that, not sooner.
    const answers = isTerminal(before.call.state) ? result.effects.filter((one) => one.type !== "ack" || one.verdict !== "stored") : result.effects;
    if (answers.length > 0) keepRefused(state, before.call.callId, answers, session);
    return result;
  }
  entry.live = result.live;
  moved(state, before.call, result.live.call);
  learnFrom(state, entry, before.call, result.effects, happening.type === "result" && happening.result.toolIsDown === true, now);
  if (before.call.state === "queued" && result.live.call.state !== "queued") leaveLine(state, entry, before.call);
  if (happening.type === "assign") state.line.takeTurn(before.call.tenant);
  const writes = writesOf(result.effects);
  let ticket: number | undefined;
  if (result.durability === "lazy") {
    entry.unsaved ??= { writes: [], since: now };
    entry.unsaved.writes.push(...writes);
    state.unsaved.add(entry);
  } else if (result.durability === "commit") {
    ticket = commit(state, entry, [...writes, ...(beside?.writes ?? [])], { effects: result.effects, session, guards: beside?.guards ?? [] });
  }
  atOnce(state, entry, result.effects, session, now);
  schedule(state, entry, now);
  return ticket === undefined ? result : { ...result, ticket };
}

/** A tool whose breaker opens with this failure is not tried again. */
function withRetries(state: HubState, entry: LiveCall, happening: Happening): Happening {
  if (happening.type !== "result" && happening.type !== "due") return happening;
  return wouldBeOpen(state, entry) ? { ...happening, mayRetry: false } : happening;
}

/** Counts the change; who leaves its worker may make room for others that a cap held back. */
export function moved(state: HubState, before: Call | null, after: Call | null): void {
  const room = before !== null && works(before) && !works(after) && makesRoom(state, before);
  state.occupancy.moved(before, after);
  if (!room) return;
  state.line.wake(before);
  state.roomUnderCap = true;
}

/** When it comes back it is looked at anew, whatever an answer says that is still on its way. */
function leaveLine(state: HubState, entry: LiveCall, call: Call): void {
  state.line.remove(entry.lineKey, call);
  if (isResting(entry)) entry.lineKey = entry.laneKey;
  entry.lookedAt = false;
  entry.askedAbout = false;
}

/** A parked call does not leave its question behind: the approval ends in the unit in which the call goes on or ends. */
function endsQuestion(before: Call, after: Call): boolean {
  return isParked(before) && before.approvalId !== null && after.state !== before.state;
}

/** The rows that a step adds; the call's own row is written when its unit is made. */
export function writesOf(effects: readonly Effect[]): Write[] {
  const writes: Write[] = [];
  for (const effect of effects) {
    if (effect.type === "event") writes.push({ op: "append_event", event: effect.event });
    else if (effect.type === "audit") writes.push({ op: "append_audit", draft: effect.draft });
    else if (effect.type === "late_result") writes.push({ op: "keep_late_result", row: effect.row });
    else if (effect.type === "attempt_ended") writes.push({ op: "end_attempt", row: effect.row });
  }
  return writes;
}

function updateOf({ stored: before, live: { call } }: LiveCall): Write {
  return { op: "update_call", expect: { state: before.state, fence: before.fence, replica: before.replica }, before, row: call };
}

function commit(
  state: HubState,
  entry: LiveCall,
  writes: readonly Write[],
  { effects, session, guards }: { readonly effects: readonly Effect[]; readonly session: number; readonly guards: readonly GuardedWrite[] },
): number {
  const { call } = entry.live;
  const earlier = entry.unsaved?.writes ?? [];
  const usage = isTerminal(call.state) ? [usageWrite(state, call, true)] : [];
  const unit: Unit = { writes: [updateOf(entry), ...guards, ...earlier, ...writes, ...usage] };
  entry.unsaved = null;
  state.unsaved.delete(entry);
  entry.stored = call;
  if (call.leaseExpiresAt !== null) entry.storedLeaseAt = call.leaseExpiresAt;
  return order(state, unit, entry, effects, session, false);
}

/** Every call is counted once: in the unit that settles it. */
export function usageWrite(state: HubState, call: Call, admitted: boolean): PlainWrite {
  return { op: "add_usage", row: usageOf(call, { day: state.dayOf(call.tenant, call.admittedAt), admitted }) };
}

export function order(
  state: HubState,
  unit: Unit,
  entry: LiveCall | null,
  effects: readonly Effect[],
  session: number,
  admission: boolean,
  callId: string = entry === null ? "" : entry.live.call.callId,
): number {
  const ticket = state.nextTicket++;
  state.tickets.set(ticket, { entry, call: entry?.live.call ?? null, callId, effects, session, admission });
  for (const effect of effects) {
    if (effect.type === "late_result") state.keeping.add(lateKey(effect.row));
    else if (effect.type === "send_cancel" && effect.reason === "lost" && entry !== null) state.losing.set(lossKey(entry, effect), entry);
  }
  state.out.push({ type: "commit", ticket, unit, admission });
  return ticket;
}

/** The unit's fate is known: whatever waited for it no longer does. */
export function closeTicket(state: HubState, ticketId: number): Ticket | undefined {
  const ticket = state.tickets.get(ticketId);
  if (ticket === undefined) return undefined;
  state.tickets.delete(ticketId);
  for (const effect of ticket.effects) {
    if (effect.type === "late_result") state.keeping.delete(lateKey(effect.row));
    else if (effect.type === "send_cancel" && ticket.entry !== null) state.losing.delete(lossKey(ticket.entry, effect));
  }
  return ticket;
}

function lateKey(row: LateResult): string {
  return `${callKey(row.tenant, row.callId)}\u0000${row.fence}`;
}

function lossKey(entry: LiveCall, { workerId, incarnation, fence }: Extract<Effect, { type: "send_cancel" }>): string {
  const { callId } = entry.live.call;
  return leaseKey(workerKey(workerTenantOf(entry.live.call), workerId, incarnation), { callId, fence });
}

/** Sends lazy writes that have waited long enough on their way. */
export function flushUnsaved(state: HubState, now: number, everything: boolean): void {
  for (const entry of state.unsaved) {
    const waiting = entry.unsaved;
    if (waiting === null) continue;
    if (!everything && waiting.since + state.limits.lazyWriteMs > now) break;
    const { call } = entry.live;
    const unit: Unit = { lazy: true, writes: [updateOf(entry), ...waiting.writes] };
    entry.stored = call;
    if (call.leaseExpiresAt !== null) entry.storedLeaseAt = call.leaseExpiresAt;
    entry.unsaved = null;
    state.unsaved.delete(entry);
    order(state, unit, entry, [], 0, false);
  }
}

/** A refusal changes no call, but what it proves is kept, and only then answered. */
export function keepRefused(state: HubState, callId: string, effects: readonly Effect[], session: number): void {
  const writes: Write[] = [];
  for (const effect of effects) {
    if (effect.type !== "late_result") continue;
    if (state.keeping.has(lateKey(effect.row))) return;
    writes.push({ op: "keep_late_result", row: effect.row });
  }
  const acks = effects.filter((effect) => effect.type === "ack");
  if (writes.length === 0) for (const ack of acks) sendAck(state, callId, ack, session);
  else order(state, { writes }, null, effects, session, false, callId);
}

function sendAck(state: HubState, callId: string, ack: Extract<Effect, { type: "ack" }>, session: number): void {
  if (!state.sessions.has(session)) return;
  state.out.push({ type: "send", session, message: { type: "result_ack", callId, fence: ack.fence, verdict: ack.verdict } });
}

/** Effects that rest on nothing that is not stored yet. */
function atOnce(state: HubState, entry: LiveCall, effects: readonly Effect[], session: number, now: number): void {
  for (const effect of effects) {
    if (effect.type === "send_go") sendGo(state, entry, effect.fence, session);
    else if (effect.type === "avoid") entry.avoid.add(effect.workerId);
    else if (effect.type === "enqueue") {
      // Once it is stored, it is everybody's.
      if (state.sharing !== null) continue;
      lineUp(state, entry, now);
      state.unplaced.push(entry);
    } else if (effect.type === "attempt_ended") {
      const reason = effect.row.endReason;
      if (reason === "lease_expired" || reason === "indeterminate") state.out.push({ type: "routed", outcome: reason });
    }
  }
  const { state: at, routingOutcome } = entry.live.call;
  if (at === "failed" && (routingOutcome === "no_handler" || routingOutcome === "capacity_exhausted")) {
    state.out.push({ type: "routed", outcome: routingOutcome });
  }
}

function sendGo(state: HubState, entry: LiveCall, fence: number, session: number): void {
  const to = state.sessions.get(session) ?? sessionOf(state, entry);
  if (to === undefined) return;
  state.out.push({ type: "send", session: to.id, message: { type: "go", callId: entry.live.call.callId, fence } });
}

/** In place of a session id: the Invoke waits for its commit. */
export const invokePending = -1;

/**
 * The unit is in the ledger: now the world may hear of it.
 * @returns the open call that it was about, and its row as this unit stored it
 */
export function stored(state: HubState, ticketId: number, now: number): { readonly entry: LiveCall; readonly call: Call } | undefined {
  const ticket = closeTicket(state, ticketId);
  if (ticket === undefined) return undefined;
  for (const effect of ticket.effects) afterStored(state, ticket, effect, now);
  // Only the unit that stores the end lets go of the call; an earlier one may come in when memory has it ended already.
  const { entry, call } = ticket;
  if (entry === null || call === null) return undefined;
  if (isTerminal(call.state)) forget(state, entry);
  return { entry, call };
}

function afterStored(state: HubState, ticket: Ticket, effect: Effect, now: number): void {
  const { entry, session, callId } = ticket;
  switch (effect.type) {
    case "send_invoke":
      if (entry !== null) sendInvoke(state, entry, effect.fence, now);
      return;
    case "send_cancel": {
      if (entry === null) return;
      const to = state.byWorker.get(workerKey(workerTenantOf(entry.live.call), effect.workerId, effect.incarnation));
      if (to === undefined) return;
      const { fence, graceMs, reason } = effect;
      state.out.push({ type: "send", session: to.id, message: { type: "cancel", callId, fence, graceMs, reason } });
      return;
    }
    case "ack":
      return sendAck(state, callId, effect, session);
    case "tell":
      if (ticket.call !== null) tellStored(state, ticket.call);
      return;
    default:
  }
}

function tellStored(state: HubState, call: Call): void {
  state.out.push({ type: "tell", call });
  const { routingOutcome } = call;
  // It is parked and safe; that people are asked about it comes on top.
  if (call.state === "indeterminate" && routingOutcome !== null && state.triggers.has(routingOutcome))
    state.out.push({ type: "trigger", call, outcome: routingOutcome });
}

function sendInvoke(state: HubState, entry: LiveCall, fence: number, now: number): void {
  const { call } = entry.live;
  // A cancel, a lost lease or a requeue may have overtaken the commit; then this lease is history.
  if (call.state !== "dispatched" || call.fence !== fence || entry.invokedOn !== invokePending) return;
  const session = sessionOf(state, entry);
  if (session === undefined) return void apply(state, entry, { type: "disowned", fence: call.fence }, now);
  entry.invokedOn = session.id;
  state.out.push({ type: "send", session: session.id, message: invokeMessage(call) });
}

export function invokeMessage(call: Call) {
  return {
    type: "invoke",
    callId: call.callId,
    fence: call.fence,
    attempt: call.attempt,
    idempotencyKey: call.callId,
    tenant: call.tenant,
    project: call.project,
    principal: call.principal,
    tool: call.tool,
    version: call.version,
    argsJson: call.effectiveArgsJson ?? call.inputJson ?? "null",
    contextJson: call.contextJson,
    files: call.filesJson === "[]" ? [] : (JSON.parse(call.filesJson) as FileRef[]),
    timeoutMs: call.timeoutMs,
    deadlineAtMs: call.totalDeadlineAt ?? 0,
    sideEffectClass: call.sideEffectClass,
    needsGo: !isSafe(call.sideEffectClass),
    traceparent: call.traceparent,
    ...boxOf(call),
  } as const;
}

/** An agent needs none; that there is one says that the call is of no handler. */
function boxOf({ executor, boxJson }: Call): { readonly boxJson?: string } {
  if (executor === "agent") return { boxJson: "{}" };
  return boxJson === null ? {} : { boxJson };
}

/** An ended call leaves memory; slots are the sessions' own and stay until the worker lets go. */
export function forget(state: HubState, entry: LiveCall): void {
  const { tenant, callId } = entry.live.call;
  const key = callKey(tenant, callId);
  if (state.calls.get(key) === entry) {
    moved(state, entry.live.call, null);
    state.calls.delete(key);
  }
  state.unsaved.delete(entry);
  leavesBreaker(state, entry);
}

export function schedule(state: HubState, entry: LiveCall, now: number): void {
  // What a freeze or a twin holds up waits for nobody: only the caller's own deadline goes on.
  const held = entry.live.call.state === "queued" && isHeld(state, entry) && !isResting(entry);
  let at = held ? (entry.live.call.totalDeadlineAt ?? Number.POSITIVE_INFINITY) : nextDueAt(entry.live.call, now);
  // Due already, but held back until its absent worker had its time; else a look in the next instant, never in this one.
  const away = entry.live.call.workerId !== null && sessionOf(state, entry) === undefined;
  if (at <= now) at = away && now < state.sweepFrom ? state.sweepFrom : now + 1;
  // Later than what is on the heap already: the earlier look will push it again.
  if (at >= entry.dueAt) return;
  entry.dueAt = at;
  state.due.push(at, callKey(entry.live.call.tenant, entry.live.call.callId));
}

export function holdSlot(session: Session, entry: LiveCall, fence: number = entry.live.call.fence): void {
  const { tenant, callId } = entry.live.call;
  session.holding.set(callId, { tenant, callId, fence, laneKey: entry.laneKey, missed: 0 });
  noteRan(session, entry);
  const handler = session.handlers.get(entry.laneKey);
  if (handler !== undefined) handler.busy++;
}
