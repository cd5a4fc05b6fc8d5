// What must hold of every trace: sentences about the ledger and about what handlers really did.
import { isSafe } from "@signalbox/protocol";
import { leaseOf } from "../../packages/runtime/src/call/lease-of.ts";
import { isTerminal, type Call, type CallEvent } from "../../packages/runtime/src/call/types.ts";
import { approvalRules } from "./predicates-approvals.ts";
import { retryRules } from "./predicates-retries.ts";
import { keyOf, type SimStore } from "./sim-ledger.ts";
import type { Acknowledged, Entry } from "./sim-worker.ts";
import type { Spans } from "./spans.ts";

const ends = new Set(["succeeded", "failed", "timed_out", "cancelled", "denied"]);

export interface Trace {
  readonly store: SimStore;
  readonly entries: readonly Entry[];
  /** Calls that a client was told were admitted. */
  readonly acknowledged: readonly string[];
  /** Ends that a caller was told. */
  readonly told: readonly Call[];
  /** Results that workers were told are stored. */
  readonly stored: readonly Acknowledged[];
  /** Tools that might not run, and tools whose dispatch was stopped, while these held; an empty name stands for all. */
  readonly barred: Spans;
  readonly frozen: Spans;
  /** When everything had come to rest. */
  readonly endedAt: number;
  /** How far the clocks of two processes are apart at most; 0 if not given. */
  readonly skewMsMax?: number;
}

/** Every broken rule, in words; empty when the trace is good. */
export function brokenRules(trace: Trace): string[] {
  const broken = [...trace.store.violations];
  const entriesOf = Map.groupBy(trace.entries, (entry) => entry.callId);
  for (const call of trace.store.calls.values()) {
    const entries = entriesOf.get(call.callId) ?? [];
    const events = trace.store.events.get(keyOf(call)) ?? [];
    broken.push(...enteredAtMostOnce(call, entries, retriesByPeople(events)));
    broken.push(...notStranded(call), ...attemptsMakeSense(call, trace.store), ...successIsReal(call, entries));
    broken.push(...eventsTellIt(call, events), ...sharedIsReal(call, entries, trace.store));
  }
  for (const callId of trace.acknowledged) {
    if (!trace.store.calls.has(callId)) broken.push(`${callId}: acknowledged, but not in the ledger`);
  }
  for (const call of trace.told) {
    const row = trace.store.calls.get(keyOf(call));
    if (isTerminal(call.state) && row?.state !== call.state) broken.push(`${call.callId}: told ${call.state}, stored ${row?.state}`);
  }
  broken.push(...onceALease(trace.entries), ...writtenBefore(trace), ...storedIsStored(trace));
  broken.push(...startedWhenItMight(trace), ...approvalRules(trace), ...usageIsOfTheEnds(trace.store), ...retryRules(trace.store));
  return broken;
}

/** The promise of the house: an unsafe handler is entered once, or once more for each person who said "it did not happen". */
function enteredAtMostOnce(call: Call, entries: readonly Entry[], retries: number): string[] {
  if (isSafe(call.sideEffectClass) || entries.length <= 1 + retries) return [];
  return [`${call.callId}: an unsafe handler was entered ${entries.length} times (${retries} retries by people)`];
}

/** How often a person said of a call that it did not happen. */
function retriesByPeople(events: readonly CallEvent[]): number {
  return events.filter(({ type, dataJson }) => type === "resolved" && (JSON.parse(dataJson) as { verdict?: unknown }).verdict === "retry").length;
}

/** Nothing goes to a worker while its tool is barred, or its dispatch stopped. */
function startedWhenItMight({ store, barred, frozen }: Trace): string[] {
  const toolOf = new Map([...store.calls.values()].map((call) => [call.callId, call.tool]));
  const running = [...store.calls.values()].map(leaseOf).filter((lease) => lease !== null);
  return [...store.attempts.values(), ...running].flatMap(({ callId, fence, dispatchedAt }) => {
    const tool = toolOf.get(callId) ?? "";
    if (barred.held(tool, dispatchedAt)) return [`${callId}#${fence}: started while ${tool} was barred`];
    return frozen.held(tool, dispatchedAt) || frozen.held("", dispatchedAt) ? [`${callId}#${fence}: started while ${tool} was frozen`] : [];
  });
}

/** Every call that has ended is counted in the usage, once and under its end. */
function usageIsOfTheEnds({ calls, usage }: SimStore): string[] {
  const missing = new Map<string, number>();
  const count = (what: string, by: number): void => void missing.set(what, (missing.get(what) ?? 0) + by);
  for (const { tool, state } of calls.values()) if (isTerminal(state)) count(`${state} ${tool}`, 1);
  for (const { tool, executions, succeeded, failed, timedOut: timed_out, cancelled, denied } of usage) {
    const ended = { succeeded, failed, timed_out, cancelled, denied };
    for (const [state, calls] of Object.entries(ended)) count(`${state} ${tool}`, -calls);
    // What was denied before its admission was never begun.
    const begun = denied === 1 && executions === 0 ? 1 : executions;
    if (begun !== 1) count("that are no executions", 1);
  }
  return [...missing].flatMap(([what, by]) => (by === 0 ? [] : [`the usage lacks ${by} calls ${what}`]));
}

function onceALease(entries: readonly Entry[]): string[] {
  const seen = new Set<string>();
  return entries.flatMap(({ callId, fence }) => {
    const lease = `${callId}#${fence}`;
    if (seen.has(lease)) return [`${lease}: one lease entered the handler twice`];
    seen.add(lease);
    return [];
  });
}

/** The lease was in the ledger before a worker heard of the call. */
function writtenBefore({ entries, store }: Trace): string[] {
  return entries.flatMap(({ callId, fence }) =>
    store.leases.has(`${callId}#${fence}`) ? [] : [`${callId}#${fence}: a handler was entered for a lease that was never written`],
  );
}

/** Who was told "stored" finds its own result in the ledger, never another attempt's. */
function storedIsStored({ stored, store }: Trace): string[] {
  const rows = new Map([...store.calls.values()].map((call) => [call.callId, call]));
  return stored.flatMap(({ callId, fence, outputJson }) => {
    const row = rows.get(callId);
    if (row?.state !== "succeeded" || row.outputJson === outputJson) return [];
    // The failure of an attempt that another one followed is kept with the attempt.
    const ended = store.attempts.get(`${keyOf(row)}#${fence}`)?.endReason;
    if (outputJson === undefined && (ended === "failed" || ended === "timed_out")) return [];
    return [`${callId}#${fence}: the worker was told "stored", but the ledger holds another result`];
  });
}

/** After everything has come to rest: an end, or a question put to a person. */
function notStranded(call: Call): string[] {
  return isTerminal(call.state) || call.state === "indeterminate" ? [] : [`${call.callId}: stranded in ${call.state}`];
}

/** Every lease was answered, given back or taken away, and its end recorded; only a call in work has an open one. */
function attemptsMakeSense(call: Call, store: SimStore): string[] {
  const broken: string[] = [];
  const open = leaseOf(call)?.fence;
  for (let fence = 1; fence <= call.fence; fence++) {
    const given = store.leases.has(`${call.callId}#${fence}`);
    const recorded = store.attempts.has(`${keyOf(call)}#${fence}`);
    if (given && !recorded && fence !== open) broken.push(`${call.callId}: the lease ${fence} never ended`);
    if (recorded && fence === open) broken.push(`${call.callId}: the lease ${fence} has ended and goes on`);
    if (recorded && !given) broken.push(`${call.callId}: the lease ${fence} ended, but was never written`);
  }
  for (const attempt of store.attempts.values()) {
    if (attempt.callId !== call.callId) continue;
    if (attempt.endedAt === null) broken.push(`${call.callId}: the lease ${attempt.fence} never ended`);
    if (attempt.fence > call.fence) broken.push(`${call.callId}: a lease is newer than the call's fence`);
  }
  return broken;
}

/** A success says what some handler really returned. */
function successIsReal(call: Call, entries: readonly Entry[]): string[] {
  if (call.state !== "succeeded" || call.outputJson === '"confirmed"' || call.cachedFrom !== null) return [];
  const output = JSON.parse(call.outputJson ?? "null") as { callId?: string; fence?: number } | null;
  const real = entries.some((entry) => entry.callId === output?.callId && entry.fence === output.fence);
  return real && output?.callId === call.callId ? [] : [`${call.callId}: succeeded with an output that no handler gave`];
}

/** A shared result is that of a call under the same key which ran itself; who was answered with it never ran, or failed and waited to be tried again. */
function sharedIsReal(call: Call, entries: readonly Entry[], store: SimStore): string[] {
  if (call.cachedFrom === null) return [];
  const broken: string[] = [];
  const origin = store.calls.get(keyOf({ ...call, callId: call.cachedFrom }));
  if (call.state !== "succeeded") broken.push(`${call.callId}: ${call.state} with somebody else's result`);
  // Under an earlier lease it may have failed, or a worker that stood still may have entered it when that lease was long over.
  if (entries.some(({ fence }) => fence === call.fence)) broken.push(`${call.callId}: ran, and was answered with another's result`);
  if (origin?.state !== "succeeded" || origin.cachedFrom !== null) broken.push(`${call.callId}: answered with a call that did not succeed by itself`);
  if (call.cacheKey === null || origin?.cacheKey !== call.cacheKey) broken.push(`${call.callId}: answered with the result of another question`);
  if (origin?.outputJson !== call.outputJson) broken.push(`${call.callId}: its result is not the one it was taken from`);
  return broken;
}

function eventsTellIt(call: Call, events: readonly CallEvent[]): string[] {
  const broken: string[] = [];
  const settled = events.filter((event) => ends.has(event.type));
  if (settled.length > 1) broken.push(`${call.callId}: ${settled.length} ends in its events`);
  if (settled.length === 1 && events.at(-1) !== settled[0]) broken.push(`${call.callId}: the end is not the last event`);
  if (isTerminal(call.state) && settled[0]?.type !== call.state) broken.push(`${call.callId}: the events do not tell its end`);
  if (events.length !== call.eventSeq) broken.push(`${call.callId}: ${events.length} events, but the row says ${call.eventSeq}`);
  return broken;
}
