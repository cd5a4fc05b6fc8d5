// The order of a batch: which calls may start now, what a cancel means to each, and one result for every call.
import { cancelledResult } from "../turn/told.ts";
import type { PreparedCall } from "../turn/types.ts";
import type { ToldResult } from "../types.ts";
import { cancelGraceMsDefault } from "./bounds.ts";
import { conflict, wantedBy, type Wanted } from "./scheduling.ts";
import type { BatchBounds, BatchEvent, BatchOutcome, CancelOrder, CancelScope, KnownCall } from "./types.ts";

/** `ended`: it neither runs nor will; what a model is told of it may be known long before. */
type Phase = "waiting" | "running" | "parked" | "ended";

interface Slot {
  readonly call: PreparedCall;
  readonly wanted: Wanted;
  phase: Phase;
  result: ToldResult | null;
  /** The last instant at which its own result counts; null = it was not told to stop. */
  deadlineAt: number | null;
  said: BatchEvent["type"] | null;
}

/** What the model is told of a call by what was known when the batch was taken up; undefined = nothing yet. */
function toldFirst(call: PreparedCall, was: KnownCall | undefined): { readonly result: ToldResult; readonly at: number } | undefined {
  if (call.settled !== null) return { result: call.settled, at: -Infinity };
  if (was?.told !== undefined) return was.told;
  return was?.state === "ended" ? { result: was.result, at: was.settledAt } : undefined;
}

/** Pure: time comes in with every message, and is ms since 1970 everywhere. */
export class Batch {
  readonly #slots: readonly Slot[];
  readonly #bounds: BatchBounds;
  readonly #settled: number[] = [];
  #events: BatchEvent[] = [];
  #cancelled: "turn" | "batch" | null = null;

  /** @throws RangeError for bounds or indexes that make no batch */
  private constructor(calls: readonly PreparedCall[], bounds: BatchBounds) {
    const { concurrentCallsMax, cancelGraceMs } = bounds;
    if (!Number.isInteger(concurrentCallsMax) || concurrentCallsMax < 1) throw new RangeError("concurrentCallsMax must be a whole number from 1");
    if (!(cancelGraceMs >= 0)) throw new RangeError("cancelGraceMs must be 0 or more");
    if (calls.some((call, place) => call.index !== place)) throw new RangeError("the calls of a batch are numbered from 0 in their order");
    this.#bounds = bounds;
    this.#slots = calls.map((call) => ({ call, wanted: wantedBy(call), phase: "waiting", result: null, deadlineAt: null, said: null }));
  }

  static start(calls: readonly PreparedCall[], concurrentCallsMax: number, cancelGraceMs: number = cancelGraceMsDefault): Batch {
    return Batch.resume(calls, [], concurrentCallsMax, cancelGraceMs);
  }

  /**
   * Goes on where another left off; a call that `known` says nothing of was not submitted. What preparation settled comes first, then what
   * ended, by its time; a cancel that was asked for before has to be told again, with its own time, and ends nothing that has a result.
   */
  static resume(calls: readonly PreparedCall[], known: readonly (KnownCall | undefined)[], concurrentCallsMax: number, cancelGraceMs: number = cancelGraceMsDefault): Batch {
    const batch = new Batch(calls, { concurrentCallsMax, cancelGraceMs });
    const told: { readonly slot: Slot; readonly result: ToldResult; readonly at: number }[] = [];
    for (const slot of batch.#slots) {
      const was = known[slot.call.index];
      slot.said = was?.told !== undefined ? "tool.completed" : was?.saidStarted === true ? "tool.started" : null;
      const first = toldFirst(slot.call, was);
      if (first !== undefined) told.push({ slot, ...first });
      if (was?.state === "open") batch.#enter(slot, was.parked ? "parked" : "running");
      else if (first !== undefined) slot.phase = "ended";
    }
    // The sort is stable, so what settled at the same time stays in the order of the calls.
    for (const { slot, result } of told.toSorted((a, b) => (a.at === b.at ? 0 : a.at - b.at))) batch.#tell(slot, result);
    return batch;
  }

  /** Everything was settled while it was prepared: there is nothing to dispatch. */
  get nothingToRun(): boolean {
    return this.#slots.every(({ call }) => call.settled !== null);
  }

  /** Every call has its result. */
  get done(): boolean {
    return this.#slots.every(({ result }) => result !== null);
  }

  /** What is unfinished waits for people, or for calls that do: nothing will happen until they answer. */
  get waitsForPeople(): boolean {
    return !this.done && this.tickAt === null && this.#running() === 0 && this.next().length === 0;
  }

  /** When `tick` has something to do next; null = no deadline is open. */
  get tickAt(): number | null {
    const open = this.#slots.flatMap(({ result, deadlineAt }) => (result === null && deadlineAt !== null ? [deadlineAt] : []));
    return open.length === 0 ? null : Math.min(...open) + 1;
  }

  /** Calls that may be started now, lowest index first; each is to be reported by `started` before it is asked again. */
  next(): number[] {
    const free = this.#bounds.concurrentCallsMax - this.#running();
    const found: number[] = [];
    for (const slot of this.#slots) {
      if (found.length >= free) break;
      if (slot.phase === "waiting" && !this.#isBlocked(slot)) found.push(slot.call.index);
    }
    return found;
  }

  /** It was handed to the pipeline. Nothing happens to one that was cancelled before: its body must not be entered. */
  started(index: number): boolean {
    const slot = this.#slot(index);
    if (slot.phase !== "waiting") return false;
    this.#enter(slot, "running");
    return true;
  }

  /** It waits for people: it takes no place among those that run, and goes on keeping off what conflicts with it. */
  parked(index: number): void {
    const slot = this.#slot(index);
    if (slot.phase === "running") slot.phase = "parked";
  }

  /** People answered and it goes on. It is not held back for the bound: the pipeline has it already. */
  unparked(index: number): void {
    const slot = this.#slot(index);
    if (slot.phase === "parked") slot.phase = "running";
  }

  /**
   * The call's own result. After its grace it changes nothing that is told; what had to wait for the call's end may start.
   * @param at when the call settled, by its row
   */
  settled(index: number, result: ToldResult, at: number): void {
    const slot = this.#slot(index);
    if (result.index !== index || result.callId !== slot.call.callId) throw new RangeError(`the result is of another call than ${index}`);
    this.tick(at);
    this.#end(slot, slot.result ?? result);
  }

  /** The first cancel that reaches a call counts: a later one moves no deadline. */
  cancel(scope: CancelScope, at: number): CancelOrder {
    this.tick(at);
    const meant = scope.scope === "call" ? [this.#slot(scope.index)] : this.#slots;
    const open = meant.filter(({ result }) => result === null);
    if (open.length === 0) return { took: false, cancelled: [], stop: [], deadlineAt: null };
    if (scope.scope !== "call" && this.#cancelled !== "turn") this.#cancelled = scope.scope;
    const cancelled = open.filter(({ phase }) => phase === "waiting");
    const stop = open.filter(({ phase, deadlineAt }) => phase !== "waiting" && deadlineAt === null);
    const deadlineAt = at + this.#bounds.cancelGraceMs;
    for (const slot of stop) slot.deadlineAt = deadlineAt;
    for (const slot of cancelled) this.#end(slot, cancelledResult(slot.call));
    const indexes = (slots: readonly Slot[]): number[] => slots.map(({ call }) => call.index);
    return { took: true, cancelled: indexes(cancelled), stop: indexes(stop), deadlineAt: stop.length === 0 ? null : deadlineAt };
  }

  /** Past a deadline the model is told of a cancelled call; the call itself ends when it ends. */
  tick(at: number): void {
    for (const slot of this.#slots) {
      if (slot.result === null && slot.deadlineAt !== null && at > slot.deadlineAt) this.#tell(slot, cancelledResult(slot.call));
    }
  }

  /** What happened since it was asked last. */
  takeEvents(): readonly BatchEvent[] {
    const events = this.#events;
    this.#events = [];
    return events;
  }

  /** Undefined until every call has its result. */
  outcome(): BatchOutcome | undefined {
    const results = this.#slots.flatMap(({ result }) => result ?? []);
    if (results.length < this.#slots.length) return undefined;
    return { results, settled: [...this.#settled], cancelled: this.#cancelled };
  }

  #slot(index: number): Slot {
    const slot = this.#slots[index];
    if (slot === undefined) throw new RangeError(`the batch has no call ${index}`);
    return slot;
  }

  #running(): number {
    return this.#slots.filter(({ phase }) => phase === "running").length;
  }

  #isBlocked(slot: Slot): boolean {
    return this.#slots.some((other) => other.call.index < slot.call.index && other.phase !== "ended" && conflict(other.wanted, slot.wanted));
  }

  #enter(slot: Slot, phase: Phase): void {
    slot.phase = phase;
    this.#say(slot, "tool.started");
  }

  #end(slot: Slot, result: ToldResult): void {
    slot.phase = "ended";
    this.#tell(slot, result);
  }

  #tell(slot: Slot, result: ToldResult): void {
    if (slot.result !== null) return;
    slot.result = result;
    this.#settled.push(slot.call.index);
    this.#say(slot, "tool.started");
    this.#say(slot, "tool.completed");
  }

  #say(slot: Slot, type: BatchEvent["type"]): void {
    if (slot.said === type || slot.said === "tool.completed") return;
    slot.said = type;
    const { index, callId, name } = slot.call;
    if (type === "tool.started") this.#events.push({ type, index, callId, name });
    else if (slot.result !== null) this.#events.push({ type, index, callId, name, result: slot.result });
  }
}
