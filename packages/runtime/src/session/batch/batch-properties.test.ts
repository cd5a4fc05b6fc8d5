// What holds of a batch whatever its calls, their times and their cancels are.
import fc from "fast-check";
import { expect, test } from "vitest";
import { preparedCall, refusedCall, rowResult, runBatch, type Window } from "../../../../../test/support/batches.ts";
import type { PreparedCall } from "../turn/types.ts";
import { Batch } from "./batch.ts";
import type { BatchEvent } from "./types.ts";

/** A kind of call, and by hand which kinds it may not meet. */
const kinds: Readonly<Record<string, { readonly scheduling: string; readonly args: unknown; readonly tool: string; readonly meetsNot: readonly string[] }>> = {
  free: { scheduling: "parallel", args: {}, tool: "look", meetsNot: ["alone"] },
  payA: { scheduling: "serial({args.account})", args: { account: "a" }, tool: "pay", meetsNot: ["alone", "payA", "refundA"] },
  payB: { scheduling: "serial({args.account})", args: { account: "b" }, tool: "pay", meetsNot: ["alone", "payB"] },
  refundA: { scheduling: "serial(args.from)", args: { from: "a" }, tool: "refund", meetsNot: ["alone", "payA", "refundA"] },
  plain: { scheduling: "serial", args: {}, tool: "write", meetsNot: ["alone", "plain"] },
  alone: { scheduling: "exclusive", args: {}, tool: "migrate", meetsNot: ["free", "payA", "payB", "refundA", "plain", "alone"] },
};
const names = [...Object.keys(kinds), "refused"];

function callOf(kind: string, index: number): PreparedCall {
  const known = kinds[kind];
  return known === undefined ? refusedCall(index) : preparedCall(index, known.scheduling, known.args, { tool: known.tool });
}

const plan = fc.record({
  kinds: fc.array(fc.constantFrom(...names), { maxLength: 9 }),
  bound: fc.integer({ min: 1, max: 4 }),
  times: fc.array(fc.integer({ min: 0, max: 30 }), { minLength: 9, maxLength: 9 }),
});

function pairsAreWhole(events: readonly BatchEvent[], count: number): void {
  for (let index = 0; index < count; index++) {
    expect(events.filter((event) => event.index === index).map(({ type }) => type)).toEqual(["tool.started", "tool.completed"]);
  }
}

const meet = (one: Window, other: Window): boolean => one.from < other.to && other.from < one.to;

test("without cancels: n results in their slots, settled once each, windows of those in conflict apart, the bound kept, pairs whole", () => {
  fc.assert(
    fc.property(plan, ({ kinds: chosen, bound, times }) => {
      const calls = chosen.map(callOf);
      const batch = Batch.start(calls, bound);
      const { windows, events, mostAtOnce } = runBatch(batch, calls, times.map((runsMs) => ({ runsMs })));
      const outcome = batch.outcome();
      expect(outcome?.results.map(({ index }) => index)).toEqual(chosen.map((_, index) => index));
      expect(outcome?.settled.toSorted((a, b) => a - b)).toEqual(chosen.map((_, index) => index));
      expect(mostAtOnce).toBeLessThanOrEqual(bound);
      pairsAreWhole(events, chosen.length);
      for (const one of windows) {
        for (const other of windows) {
          const [a, b] = [chosen[one.index] ?? "", chosen[other.index] ?? ""];
          if (one.index < other.index && kinds[a]?.meetsNot.includes(b) === true) {
            expect(meet(one, other)).toBe(false);
            // And in the order of the calls.
            expect(one.to).toBeLessThanOrEqual(other.from);
          }
        }
      }
    }),
    { numRuns: 400 },
  );
});

test("nothing waits without a cause: as long as there is room, whatever meets nobody earlier starts at once", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("free", "payA", "payB"), { minLength: 1, maxLength: 8 }), (chosen) => {
      const batch = Batch.start(chosen.map(callOf), 100);
      const firsts = chosen.flatMap((kind, index) => (kind === "free" || chosen.indexOf(kind) === index ? [index] : []));
      expect(batch.next()).toEqual(firsts);
    }),
  );
});

type Move = { readonly do: "start" | "settle" | "park" | "unpark" | "cancel one"; readonly of: number } | { readonly do: "cancel" | "pass"; readonly of: number };
const move: fc.Arbitrary<Move> = fc.record({
  do: fc.constantFrom("start", "start", "start", "settle", "settle", "park", "unpark", "cancel one", "cancel", "pass"),
  of: fc.integer({ min: 0, max: 60 }),
});

/** Plays moves that may be nonsense, then ends the batch by a cancel and enough time. */
function play(calls: readonly PreparedCall[], bound: number, moves: readonly Move[]) {
  const batch = Batch.start(calls, bound);
  const events: BatchEvent[] = [];
  const entered = new Set<number>();
  const out = new Set<number>();
  const toldAt = new Map<number, string>();
  let now = 0;
  for (const { do: what, of } of [...moves, { do: "cancel", of: 0 }, { do: "pass", of: 51 }] as const) {
    const index = calls.length === 0 ? undefined : of % calls.length;
    if (what === "pass") now += of;
    if (what === "pass") batch.tick(now);
    if (what === "cancel") batch.cancel({ scope: of % 2 === 0 ? "turn" : "batch" }, now);
    if (index !== undefined && what === "cancel one") batch.cancel({ scope: "call", index }, now);
    const next = batch.next()[0];
    if (what === "start" && next !== undefined && batch.started(next)) {
      expect(entered.size - out.size).toBeLessThan(bound);
      entered.add(next);
    }
    const call = index === undefined ? undefined : calls[index];
    if (call !== undefined && what === "settle" && entered.has(call.index)) {
      batch.settled(call.index, rowResult(call), now);
      out.add(call.index);
    }
    if (call !== undefined && what === "park") batch.parked(call.index);
    events.push(...batch.takeEvents());
    for (const event of events) if (event.type === "tool.completed" && !toldAt.has(event.index)) toldAt.set(event.index, event.result.told);
  }
  return { batch, events, entered, toldAt };
}

test("with any moves and cancels: n results, a permutation, whole pairs, and what was told first is what is told", () => {
  fc.assert(
    fc.property(plan, fc.array(move, { maxLength: 60 }), ({ kinds: chosen, bound }, moves) => {
      const calls = chosen.map(callOf);
      // Parked calls give their place away, so the bound is held only where nobody parks.
      const { batch, events, entered, toldAt } = play(calls, moves.some((one) => one.do === "park") ? 100 : bound, moves);
      const outcome = batch.outcome();
      expect(outcome?.results.map(({ callId }) => callId)).toEqual(calls.map(({ callId }) => callId));
      expect(outcome?.settled.toSorted((a, b) => a - b)).toEqual(calls.map(({ index }) => index));
      pairsAreWhole(events, calls.length);
      for (const { index, told } of outcome?.results ?? []) {
        expect(toldAt.get(index)).toBe(told);
        // A row's word only of what was entered: a cancelled call that never started has none.
        if (told === "row") expect(entered.has(index)).toBe(true);
      }
    }),
    { numRuns: 400 },
  );
});

test("taken up again in the middle: the same results and the same pairs as without the break", () => {
  fc.assert(
    fc.property(plan, fc.integer({ min: 0, max: 8 }), ({ kinds: chosen, bound, times }, breakAfter) => {
      const calls = chosen.map(callOf);
      const courses = times.map((runsMs) => ({ runsMs }));
      const whole = Batch.start(calls, bound);
      const straight = runBatch(whole, calls, courses);

      const endedFirst = straight.windows.slice(0, breakAfter);
      const known = calls.map((call) => {
        const window = endedFirst.find(({ index }) => index === call.index);
        return window === undefined ? undefined : ({ state: "ended", result: rowResult(call), settledAt: window.to, saidStarted: true, told: { result: rowResult(call), at: window.to } } as const);
      });
      const second = Batch.resume(calls, known, bound);
      const { events } = runBatch(second, calls, courses);
      expect(second.outcome()?.results).toEqual(whole.outcome()?.results);
      expect(events.map(({ index }) => index).filter((index) => known[index] !== undefined)).toEqual([]);
    }),
  );
});
