// What a cancel means to each call of a batch: at once, within one shared grace, or after it.
import { describe, expect, test } from "vitest";
import { preparedCall, preparedCalls, refusedCall, rowResult, spoken } from "../../../../../test/support/batches.ts";
import { Batch } from "./batch.ts";
import { cancelGraceMsDefault } from "./bounds.ts";

const synthetic = (index: number) => ({
  index,
  callId: `sess_1:agv_1:t1.1:${index}`,
  providerId: `toolu_${index}`,
  name: `tool_${index}`,
  told: "synthetic",
  status: "cancelled",
  cancelledBy: "runtime",
  text: "[Tool execution cancelled]\ntool call cancelled",
  isError: true,
  errorCode: "cancelled",
  editedArgsJson: null,
  editedBy: null,
  durationMs: 0,
});

function running(count: number): Batch {
  const batch = Batch.start(preparedCalls(...Array.from({ length: count }, () => "parallel")), count);
  for (const index of batch.next()) batch.started(index);
  batch.takeEvents();
  return batch;
}

describe("the grace", () => {
  test("is 50 ms", () => {
    expect(cancelGraceMsDefault).toBe(50);
    expect(running(1).cancel({ scope: "turn" }, 1_000)).toEqual({ took: true, cancelled: [], stop: [0], deadlineAt: 1_050 });
  });

  test.each([
    [49, "row"],
    [50, "row"],
    [51, "synthetic"],
  ])("a result %d ms after the cancel: the model is told the %s", (after, told) => {
    const batch = running(1);
    batch.cancel({ scope: "batch" }, 1_000);
    batch.settled(0, rowResult(preparedCall(0)), 1_000 + after);
    expect(batch.outcome()?.results.map((result) => result.told)).toEqual([told]);
  });

  test.each([
    [49, false],
    [50, false],
    [51, true],
  ])("%d ms after the cancel, without a result: done is %s", (after, done) => {
    const batch = running(1);
    batch.cancel({ scope: "batch" }, 1_000);
    expect(batch.tickAt).toBe(1_051);
    batch.tick(1_000 + after);
    expect(batch.done).toBe(done);
  });

  test.each(["succeeded", "failed", "cancelled", "timed_out"] as const)("an own result within it wins: %s", (status) => {
    const batch = running(1);
    batch.cancel({ scope: "turn" }, 0);
    batch.settled(0, rowResult(preparedCall(0), { status }), 20);
    expect(batch.outcome()).toEqual({ results: [rowResult(preparedCall(0), { status })], settled: [0], cancelled: "turn" });
  });

  test("a result from within it counts though it arrives after other news, as long as nothing else was told", () => {
    const batch = running(2);
    batch.cancel({ scope: "turn" }, 0);
    batch.tick(50);
    batch.settled(0, rowResult(preparedCall(0)), 50);
    batch.tick(51);
    batch.settled(1, rowResult(preparedCall(1)), 50);
    expect(batch.outcome()?.results.map(({ told }) => told)).toEqual(["row", "synthetic"]);
  });

  test("after it: cancelled by the runtime, one text, no time, and the call's own names", () => {
    const metadata = { thought_signature: "c2ln" };
    const batch = Batch.start([preparedCall(0), preparedCall(1, "parallel", {}, { metadata })], 2);
    for (const index of batch.next()) batch.started(index);
    batch.cancel({ scope: "turn" }, 0);
    batch.tick(51);
    expect(batch.outcome()).toEqual({ results: [synthetic(0), { ...synthetic(1), metadata }], settled: [0, 1], cancelled: "turn" });
    batch.settled(0, rowResult(preparedCall(0)), 4_000);
    expect(batch.outcome()?.results[0]).toEqual(synthetic(0));
    expect(batch.outcome()?.settled).toEqual([0, 1]);
  });

  test("C1: a call that would run 10 s, cancelled at 100 ms: it is told to stop at once and the batch is over at 151 ms", () => {
    const batch = running(1);
    expect(batch.cancel({ scope: "turn" }, 100).stop).toEqual([0]);
    expect(batch.tickAt).toBe(151);
    batch.tick(151);
    expect(batch.outcome()?.results).toEqual([synthetic(0)]);
  });

  test("is one shared instant, not a grace per call", () => {
    const batch = running(3);
    expect(batch.cancel({ scope: "batch" }, 200)).toEqual({ took: true, cancelled: [], stop: [0, 1, 2], deadlineAt: 250 });
    batch.settled(1, rowResult(preparedCall(1)), 249);
    expect(batch.tickAt).toBe(251);
    batch.tick(251);
    expect(batch.outcome()?.settled).toEqual([1, 0, 2]);
    expect(batch.outcome()?.results.map(({ told }) => told)).toEqual(["synthetic", "row", "synthetic"]);
  });

  test("is not added up over serial calls: of three in a row one runs, and all is over after one grace", () => {
    const calls = preparedCalls("serial(ledger)", "serial(ledger)", "serial(ledger)");
    const batch = Batch.start(calls, 8);
    batch.started(0);
    expect(batch.cancel({ scope: "batch" }, 100)).toEqual({ took: true, cancelled: [1, 2], stop: [0], deadlineAt: 150 });
    batch.tick(151);
    expect(batch.outcome()).toEqual({ results: [synthetic(0), synthetic(1), synthetic(2)], settled: [1, 2, 0], cancelled: "batch" });
  });

  test("a second cancel does not make it longer, and a wider one is remembered", () => {
    const batch = running(2);
    batch.cancel({ scope: "batch" }, 100);
    expect(batch.cancel({ scope: "turn" }, 140)).toEqual({ took: true, cancelled: [], stop: [], deadlineAt: null });
    expect(batch.cancel({ scope: "batch" }, 145)).toEqual({ took: true, cancelled: [], stop: [], deadlineAt: null });
    expect(batch.tickAt).toBe(151);
    batch.tick(151);
    expect(batch.outcome()?.cancelled).toBe("turn");
  });

  test("can be set, to nothing as well", () => {
    const calls = preparedCalls("parallel");
    const batch = Batch.start(calls, 1, 0);
    batch.started(0);
    expect(batch.cancel({ scope: "turn" }, 10).deadlineAt).toBe(10);
    batch.tick(10);
    expect(batch.done).toBe(false);
    batch.tick(11);
    expect(batch.done).toBe(true);
    expect(() => Batch.start(calls, 1, -1)).toThrow("cancelGraceMs must be 0 or more");
    expect(() => Batch.start(calls, 1, Number.NaN)).toThrow("cancelGraceMs must be 0 or more");
  });
});

describe("not started", () => {
  test("C2: cancelled before anything started: all cancelled at once, nothing ran, every pair is there", () => {
    const batch = Batch.start(preparedCalls("parallel", "exclusive"), 8);
    expect(batch.cancel({ scope: "turn" }, 0)).toEqual({ took: true, cancelled: [0, 1], stop: [], deadlineAt: null });
    expect(batch.next()).toEqual([]);
    expect(batch.tickAt).toBeNull();
    expect(batch.outcome()).toEqual({ results: [synthetic(0), synthetic(1)], settled: [0, 1], cancelled: "turn" });
    expect(spoken(batch.takeEvents())).toEqual(["0 started", "0 completed", "1 started", "1 completed"]);
  });

  test("a start that comes after the cancel is refused: the body must not be entered", () => {
    const batch = Batch.start(preparedCalls("parallel"), 1);
    expect(batch.next()).toEqual([0]);
    batch.cancel({ scope: "batch" }, 0);
    expect(batch.started(0)).toBe(false);
    expect(batch.outcome()?.results).toEqual([synthetic(0)]);
  });

  test("what preparation settled keeps its result", () => {
    const refused = refusedCall(0);
    const batch = Batch.start([refused, preparedCall(1)], 8);
    batch.cancel({ scope: "turn" }, 0);
    expect(batch.outcome()).toEqual({ results: [refused.settled, synthetic(1)], settled: [0, 1], cancelled: "turn" });
  });
});

describe("one call", () => {
  test("is cancelled alone, and the batch goes on", () => {
    const calls = preparedCalls("parallel", "parallel", "parallel");
    const batch = Batch.start(calls, 2);
    for (const index of batch.next()) batch.started(index);
    expect(batch.cancel({ scope: "call", index: 2 }, 5)).toEqual({ took: true, cancelled: [2], stop: [], deadlineAt: null });
    expect(batch.cancel({ scope: "call", index: 0 }, 10)).toEqual({ took: true, cancelled: [], stop: [0], deadlineAt: 60 });
    batch.tick(61);
    batch.settled(1, rowResult(preparedCall(1)), 70);
    expect(batch.outcome()).toEqual({ results: [synthetic(0), rowResult(preparedCall(1)), synthetic(2)], settled: [2, 0, 1], cancelled: null });
  });

  test("has its own instant when the whole batch is cancelled later", () => {
    const batch = running(2);
    batch.cancel({ scope: "call", index: 0 }, 100);
    expect(batch.cancel({ scope: "batch" }, 120)).toEqual({ took: true, cancelled: [], stop: [1], deadlineAt: 170 });
    batch.settled(0, rowResult(preparedCall(0)), 151);
    batch.settled(1, rowResult(preparedCall(1)), 170);
    expect(batch.outcome()?.results.map(({ told }) => told)).toEqual(["synthetic", "row"]);
  });

  test("that still runs after its grace keeps off what conflicts with it until it really ends, and keeps its place", () => {
    const calls = preparedCalls("serial(ledger)", "serial(ledger)", "parallel");
    const batch = Batch.start(calls, 1);
    batch.started(0);
    batch.cancel({ scope: "call", index: 0 }, 0);
    batch.tick(51);
    expect(batch.next()).toEqual([]);
    batch.settled(0, rowResult(preparedCall(0)), 3_000);
    expect(batch.next()).toEqual([1]);
    expect(batch.cancel({ scope: "call", index: 0 }, 3_001)).toEqual({ took: false, cancelled: [], stop: [], deadlineAt: null });
  });
});

describe("races, people, and a new owner", () => {
  test("C10: of the last result and a cancel one wins, and the receipt says which", () => {
    const first = running(1);
    first.settled(0, rowResult(preparedCall(0)), 10);
    expect(first.cancel({ scope: "turn" }, 10)).toEqual({ took: false, cancelled: [], stop: [], deadlineAt: null });
    expect(first.outcome()).toEqual({ results: [rowResult(preparedCall(0))], settled: [0], cancelled: null });

    const other = running(1);
    expect(other.cancel({ scope: "turn" }, 10).took).toBe(true);
    other.settled(0, rowResult(preparedCall(0)), 10);
    expect(other.outcome()).toEqual({ results: [rowResult(preparedCall(0))], settled: [0], cancelled: "turn" });
  });

  test("a cancel behind the grace of an earlier one comes too late", () => {
    const batch = running(1);
    batch.cancel({ scope: "batch" }, 0);
    expect(batch.cancel({ scope: "turn" }, 51)).toEqual({ took: false, cancelled: [], stop: [], deadlineAt: null });
    expect(batch.outcome()).toEqual({ results: [synthetic(0)], settled: [0], cancelled: "batch" });
  });

  test("C10: the same cancel twice is one cancel", () => {
    const batch = Batch.start(preparedCalls("parallel", "parallel"), 1);
    batch.started(0);
    batch.cancel({ scope: "batch" }, 0);
    expect(batch.cancel({ scope: "batch" }, 0)).toEqual({ took: true, cancelled: [], stop: [], deadlineAt: null });
    batch.tick(51);
    expect(spoken(batch.takeEvents())).toEqual(["0 started", "1 started", "1 completed", "0 completed"]);
  });

  test("a call that waits for people is told to stop and has the same grace", () => {
    const batch = Batch.start(preparedCalls("parallel", "parallel"), 1);
    batch.started(0);
    batch.parked(0);
    batch.started(1);
    expect(batch.cancel({ scope: "turn" }, 0)).toEqual({ took: true, cancelled: [], stop: [0, 1], deadlineAt: 50 });
    batch.settled(1, rowResult(preparedCall(1)), 30);
    // Not for people any more: its deadline is near.
    expect(batch.waitsForPeople).toBe(false);
    batch.tick(51);
    expect(batch.outcome()?.results).toEqual([synthetic(0), rowResult(preparedCall(1))]);
  });

  test("C10: a new owner who finds the cancel tells it with its own time: what ended keeps its result, the rest has no new grace", () => {
    const calls = preparedCalls("parallel", "parallel", "parallel");
    const ended = { state: "ended", result: rowResult(preparedCall(0)), settledAt: 30 } as const;
    const batch = Batch.resume(calls, [ended, { state: "open", parked: false, saidStarted: true }, { state: "unsubmitted" }], 8);
    expect(batch.cancel({ scope: "turn" }, 0)).toEqual({ took: true, cancelled: [2], stop: [1], deadlineAt: 50 });
    batch.tick(9_000);
    expect(batch.outcome()).toEqual({ results: [rowResult(preparedCall(0)), synthetic(1), synthetic(2)], settled: [0, 2, 1], cancelled: "turn" });
    expect(spoken(batch.takeEvents())).toEqual(["0 started", "0 completed", "2 started", "2 completed", "1 completed"]);
  });

  test("pairs after a cancel: every start is closed once, whatever else comes", () => {
    const calls = [preparedCall(0), refusedCall(1), preparedCall(2), preparedCall(3, "exclusive")];
    const batch = Batch.start(calls, 8);
    for (const index of batch.next()) batch.started(index);
    batch.cancel({ scope: "turn" }, 0);
    batch.settled(2, rowResult(preparedCall(2)), 10);
    batch.tick(51);
    batch.settled(0, rowResult(preparedCall(0)), 60);
    batch.cancel({ scope: "turn" }, 70);
    batch.tick(200);
    expect(spoken(batch.takeEvents())).toEqual(["1 started", "1 completed", "0 started", "2 started", "3 started", "3 completed", "2 completed", "0 completed"]);
  });
});
