// How calls that the ledger has come (back) into the hub's memory: at a start, after somebody was first, or by a result that nobody waited for.
import type { Result } from "@signalbox/protocol";
import { leaseOf } from "../call/lease-of.ts";
import type { Effect } from "../call/machine.ts";
import { step } from "../call/step.ts";
import { isParked, isTerminal, type Call } from "../call/types.ts";
import { apply, forget, invokePending, keepRefused, schedule } from "./apply.ts";
import { enter } from "./enter.ts";
import { join, leave } from "./flights.ts";
import { welcome } from "./guests.ts";
import { dispatchIfFree, placeWaiting } from "./place.ts";
import { lineUp } from "./resting.ts";
import { carryOver, isNobodys } from "./sharing.ts";
import { callKey, sessionOf, type HubState } from "./state.ts";
import { hadLease, type StoredCall } from "./stored-call.ts";
import { letGo } from "./talk.ts";
import { noClearance, type LiveCall, type Session, type ToolFacts } from "./types.ts";

/** An open call found in the ledger. Its worker, if it had one, gets a lease time to come back. */
export function takeUp(state: HubState, row: Call, facts: ToolFacts, now: number): LiveCall {
  const lease = leaseOf(row);
  // Whether `Go` went out died with the process that sent it: assume that it did.
  const call: Call = lease !== null
    ? { ...row, mayHaveRun: true, leaseExpiresAt: Math.max(row.leaseExpiresAt ?? 0, state.sweepFrom) }
    : row;
  // Nobody has looked at it since the start: whoever gives it a worker looks first.
  const entry = enter(state, { call, lease }, facts, noClearance);
  entry.stored = row;
  entry.storedLeaseAt = row.leaseExpiresAt ?? 0;
  state.line.saw(call, lease !== null);
  // They come in the order of the queue, so whoever ran for the others leads them again.
  join(state, entry);
  if (call.state === "queued") {
    lineUp(state, entry, now);
    dispatchIfFree(state, entry, now);
  }
  const { routingOutcome } = call;
  if (call.state === "indeterminate" && routingOutcome !== null && state.triggers.has(routingOutcome))
    state.out.push({ type: "trigger", call, outcome: routingOutcome });
  schedule(state, entry, now);
  welcome(state, entry, now);
  return entry;
}

/** Memory does not know that the lease was away: that another replica may have told its worker to start, only the row says. */
export function claimedAgain(state: HubState, row: Call): void {
  const entry = state.calls.get(callKey(row.tenant, row.callId));
  if (entry === undefined || !row.mayHaveRun || entry.live.lease === null || entry.live.call.fence !== row.fence) return;
  entry.live = { ...entry.live, call: { ...entry.live.call, mayHaveRun: true } };
  entry.stored = { ...entry.stored, mayHaveRun: true };
}

/** The row as the ledger has it, after `reload`. */
export function reloaded(state: HubState, row: Call | undefined, id: Pick<Call, "tenant" | "callId">, facts: ToolFacts, now: number): void {
  const old = state.calls.get(callKey(id.tenant, id.callId));
  if (old !== undefined) {
    if (old.live.call.state === "queued") state.line.remove(old.lineKey, old.live.call);
    forget(state, old);
  }
  // Its twins hear of the row that there is, and not of what memory made of it.
  if (old !== undefined) leave(state, old, now, row);
  if (row !== undefined) rowFound(state, row, old, facts, now);
  // A worker that was chosen for what did not come to be has not heard of it: its slot is given back.
  const chosen = old?.invokedOn === invokePending ? sessionOf(state, old) : undefined;
  if (old !== undefined && chosen !== undefined) letGo(state, chosen, id.callId, old.live.call.fence, now);
}

function rowFound(state: HubState, row: Call, old: LiveCall | undefined, facts: ToolFacts, now: number): void {
  const elsewhere = state.sharing !== null && (row.replica !== state.replica || isNobodys(row));
  if (isTerminal(row.state) || (elsewhere && isParked(row))) return void state.out.push({ type: "tell", call: row });
  // Another replica's, or everybody's.
  if (elsewhere) return;
  const entry = takeUp(state, row, facts, now);
  if (old !== undefined && state.sharing !== null) carryOver(state, old, entry);
}

/**
 * A result that the sender holds no slot for. `found` is what the ledger has of the call, in the sender's own tenant.
 * Only the very worker that had the lease may settle a call by it, or add evidence to one.
 */
export function strayResult(
  state: HubState,
  session: Session,
  { found, result, facts }: { readonly found: StoredCall | undefined; readonly result: Result; readonly facts: ToolFacts },
  now: number,
): void {
  if (found === undefined || !hadLease(session, found, result.fence)) {
    const ack: Effect = { type: "ack", fence: result.fence, verdict: "lease_lost" };
    return keepRefused(state, result.callId, [ack], session.id);
  }
  const { row } = found;
  const checked = facts.check(row, result, session.workerId);
  const key = callKey(row.tenant, row.callId);
  const elsewhere = state.sharing !== null && row.replica !== state.replica;
  if (!state.calls.has(key) && !isTerminal(row.state) && !elsewhere) {
    // Open in the ledger and unknown here: memory takes it up again, and the result counts as it would have.
    takeUp(state, row, facts, now);
  }
  const entry = state.calls.get(key);
  if (entry === undefined) {
    const outcome = step({ call: row, lease: null }, { type: "result", result: checked }, now, state.limits);
    // Of a lease that is another replica's now: it counts there, or nowhere.
    return keepRefused(state, row.callId, outcome.ok ? [] : outcome.effects, session.id);
  }
  apply(state, entry, { type: "result", result: checked }, now, session.id);
  placeWaiting(state, now);
}
