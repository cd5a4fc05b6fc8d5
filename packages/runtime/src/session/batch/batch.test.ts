// Which calls of a batch run at once, in which order results come, and how a batch is taken up again.
import { describe, expect, test } from "vitest";
import { preparedCall, preparedCalls, refusedCall, rowResult, runBatch, spoken } from "../../../../../test/support/batches.ts";
import { Batch } from "./batch.ts";

const at = <T>(items: readonly T[], index: number): T => {
  const item = items[index];
  if (item === undefined) throw new Error(`nothing at ${index}`);
  return item;
};

describe("order", () => {
  test("B1: two parallel calls overlap, an exclusive one starts after both, results stand by index", () => {
    const calls = preparedCalls("parallel", "parallel", "exclusive");
    const batch = Batch.start(calls, 8);
    const { windows } = runBatch(batch, calls, [{ runsMs: 40 }, { runsMs: 5 }, { runsMs: 10 }]);
    expect(windows).toEqual([
      { index: 1, from: 0, to: 5 },
      { index: 0, from: 0, to: 40 },
      { index: 2, from: 40, to: 50 },
    ]);
    expect(batch.outcome()?.results.map(({ text }) => text)).toEqual(['"done 0"', '"done 1"', '"done 2"']);
    expect(batch.outcome()?.settled).toEqual([1, 0, 2]);
  });

  test("B2: two serial calls of one key never overlap", () => {
    const calls = [preparedCall(0, "serial(args.account)", { account: "a" }), preparedCall(1, "serial(args.account)", { account: "a" })];
    const { windows } = runBatch(Batch.start(calls, 8), calls, [{ runsMs: 30 }, { runsMs: 5 }]);
    expect(windows).toEqual([
      { index: 0, from: 0, to: 30 },
      { index: 1, from: 30, to: 35 },
    ]);
  });

  test("B3: a barrier between: the pair before it meets, what is behind it waits, and serial windows are disjoint", () => {
    const one = { account: "a" };
    const calls = [preparedCall(0), preparedCall(1), preparedCall(2, "exclusive"), preparedCall(3, "serial(args.account)", one), preparedCall(4), preparedCall(5, "serial(args.account)", one)];
    const { windows } = runBatch(Batch.start(calls, 8), calls, [{ runsMs: 20 }, { runsMs: 10 }, { runsMs: 5 }, { runsMs: 7 }, { runsMs: 50 }, { runsMs: 3 }]);
    expect(windows).toEqual([
      { index: 1, from: 0, to: 10 },
      { index: 0, from: 0, to: 20 },
      { index: 2, from: 20, to: 25 },
      { index: 3, from: 25, to: 32 },
      { index: 5, from: 32, to: 35 },
      { index: 4, from: 25, to: 75 },
    ]);
  });

  test("B4: a call that is tried again is unfinished between its attempts: four windows, none overlapping", () => {
    const calls = [preparedCall(0, "serial(ledger)"), preparedCall(1, "serial(ledger)")];
    const batch = Batch.start(calls, 8);
    const attempts: string[] = [];
    const startable: number[][] = [];
    for (const call of calls) {
      expect(batch.next()).toEqual([call.index]);
      batch.started(call.index);
      for (const attempt of [1, 2]) {
        attempts.push(`${call.index}.${attempt}`);
        // Between the attempts, and in them, nothing else may start.
        startable.push(batch.next());
      }
      batch.settled(call.index, rowResult(call), 0);
    }
    expect(attempts).toEqual(["0.1", "0.2", "1.1", "1.2"]);
    expect(startable).toEqual([[], [], [], []]);
    expect(batch.done).toBe(true);
  });

  test("B5: three parallel calls enter before any ends; results in their order, settled as they ended", () => {
    const calls = preparedCalls("parallel", "parallel", "parallel");
    const batch = Batch.start(calls, 3);
    expect(batch.next()).toEqual([0, 1, 2]);
    for (const { index } of calls) batch.started(index);
    expect(batch.next()).toEqual([]);
    for (const index of [2, 1, 0]) batch.settled(index, rowResult(at(calls, index)), 100 - index);
    expect(batch.outcome()).toEqual({ results: calls.map((call) => rowResult(call)), settled: [2, 1, 0], cancelled: null });
  });

  test("different keys overlap, and a call that waits holds up what conflicts with it and nothing else", () => {
    const calls = [
      preparedCall(0, "serial(args.account)", { account: "a" }),
      preparedCall(1, "serial(args.account)", { account: "a" }),
      preparedCall(2, "serial(args.account)", { account: "b" }),
      preparedCall(3, "serial(args.account)", { account: "a" }),
    ];
    const batch = Batch.start(calls, 8);
    expect(batch.next()).toEqual([0, 2]);
    batch.started(0);
    batch.started(2);
    batch.settled(0, rowResult(at(calls, 0)), 5);
    expect(batch.next()).toEqual([1]);
  });

  test("an exclusive call that waits keeps later ones from overtaking it for ever", () => {
    const batch = Batch.start(preparedCalls("parallel", "exclusive", "parallel"), 8);
    batch.started(0);
    expect(batch.next()).toEqual([]);
  });
});

describe("the bound", () => {
  test("no more than it start, lowest index first, and one that ends makes room for one", () => {
    const calls = preparedCalls("parallel", "parallel", "parallel", "parallel");
    const batch = Batch.start(calls, 2);
    expect(batch.next()).toEqual([0, 1]);
    batch.started(0);
    expect(batch.next()).toEqual([1]);
    batch.started(1);
    expect(batch.next()).toEqual([]);
    batch.settled(1, rowResult(at(calls, 1)), 1);
    expect(batch.next()).toEqual([2]);
  });

  test("a call that waits for people gives its place away and still keeps off what conflicts with it", () => {
    const calls = [preparedCall(0, "serial(ledger)"), preparedCall(1, "serial(ledger)"), preparedCall(2)];
    const batch = Batch.start(calls, 1);
    batch.started(0);
    expect(batch.next()).toEqual([]);
    batch.parked(0);
    expect(batch.next()).toEqual([2]);
    expect(batch.waitsForPeople).toBe(false);
    batch.started(2);
    batch.settled(2, rowResult(at(calls, 2)), 1);
    expect(batch.next()).toEqual([]);
    expect(batch.waitsForPeople).toBe(true);
    batch.unparked(0);
    expect(batch.waitsForPeople).toBe(false);
    batch.settled(0, rowResult(at(calls, 0)), 9);
    expect(batch.next()).toEqual([1]);
  });

  test("one that goes on counts again, and nothing starts until there is room", () => {
    const batch = Batch.start(preparedCalls("parallel", "parallel", "parallel"), 1);
    batch.started(0);
    batch.parked(0);
    batch.started(1);
    batch.unparked(0);
    batch.settled(1, rowResult(preparedCall(1)), 1);
    expect(batch.next()).toEqual([]);
    batch.settled(0, rowResult(preparedCall(0)), 2);
    expect(batch.next()).toEqual([2]);
  });

  test.each([0, -1, 1.5, Number.NaN])("%d is no bound", (bound) => {
    expect(() => Batch.start(preparedCalls("parallel"), bound)).toThrow("concurrentCallsMax must be a whole number from 1");
  });
});

describe("settled while it was prepared", () => {
  test("keeps its slot, settles first, has its pair, and holds nobody up", () => {
    const calls = [preparedCall(0), refusedCall(1), preparedCall(2), refusedCall(3)];
    const batch = Batch.start(calls, 8);
    expect(batch.nothingToRun).toBe(false);
    expect(spoken(batch.takeEvents())).toEqual(["1 started", "1 completed", "3 started", "3 completed"]);
    expect(batch.next()).toEqual([0, 2]);
    batch.started(0);
    batch.started(2);
    batch.settled(2, rowResult(at(calls, 2)), 1);
    batch.settled(0, rowResult(at(calls, 0)), 2);
    expect(batch.outcome()?.settled).toEqual([1, 3, 2, 0]);
    expect(batch.outcome()?.results.map(({ told }) => told)).toEqual(["row", "refused", "row", "refused"]);
  });

  test("a batch of nothing else is not dispatched and has its outcome at once", () => {
    const calls = [refusedCall(0), refusedCall(1)];
    const batch = Batch.start(calls, 8);
    expect(batch.nothingToRun).toBe(true);
    expect(batch.next()).toEqual([]);
    expect(batch.outcome()).toEqual({ results: calls.map(({ settled }) => settled), settled: [0, 1], cancelled: null });
    expect(spoken(batch.takeEvents())).toEqual(["0 started", "0 completed", "1 started", "1 completed"]);
  });

  test("a batch of no calls is done", () => {
    const batch = Batch.start([], 1);
    expect(batch.nothingToRun).toBe(true);
    expect(batch.outcome()).toEqual({ results: [], settled: [], cancelled: null });
  });
});

describe("events and reports", () => {
  test("a pair for each call, told once, with what the model is told", () => {
    const calls = preparedCalls("parallel");
    const batch = Batch.start(calls, 1);
    batch.started(0);
    expect(batch.takeEvents()).toEqual([{ type: "tool.started", index: 0, callId: "sess_1:agv_1:t1.1:0", name: "tool_0" }]);
    expect(batch.takeEvents()).toEqual([]);
    expect(batch.started(0)).toBe(false);
    batch.settled(0, rowResult(at(calls, 0)), 3);
    batch.settled(0, rowResult(at(calls, 0), { status: "failed" }), 4);
    expect(batch.takeEvents()).toEqual([{ type: "tool.completed", index: 0, callId: "sess_1:agv_1:t1.1:0", name: "tool_0", result: rowResult(at(calls, 0)) }]);
    expect(batch.outcome()?.results).toEqual([rowResult(at(calls, 0))]);
    expect(batch.outcome()?.settled).toEqual([0]);
  });

  test("a result that comes without a start has its pair too", () => {
    const batch = Batch.start(preparedCalls("parallel"), 1);
    batch.settled(0, rowResult(preparedCall(0)), 1);
    expect(spoken(batch.takeEvents())).toEqual(["0 started", "0 completed"]);
  });

  test("what is of another batch is refused", () => {
    const batch = Batch.start(preparedCalls("parallel", "parallel"), 1);
    expect(() => batch.settled(0, rowResult(preparedCall(1)), 1)).toThrow("the result is of another call than 0");
    expect(() => batch.settled(0, rowResult(preparedCall(0), { callId: "exec_9" }), 1)).toThrow("the result is of another call than 0");
    expect(() => batch.started(2)).toThrow("the batch has no call 2");
    expect(() => Batch.start([preparedCall(1)], 1)).toThrow("numbered from 0");
  });
});

describe("taken up again", () => {
  test("ended calls settle by their time, open ones go on, the rest starts when it may", () => {
    const calls = [preparedCall(0, "serial(ledger)"), refusedCall(1), preparedCall(2), preparedCall(3, "serial(ledger)"), preparedCall(4), preparedCall(5)];
    const [zero, , two, three, four, five] = calls.map((call) => rowResult(call));
    if (zero === undefined || two === undefined || three === undefined || four === undefined || five === undefined) throw new Error("six calls");
    const batch = Batch.resume(calls, [{ state: "open", parked: false }, undefined, { state: "ended", result: two, settledAt: 70 }, { state: "unsubmitted" }, { state: "ended", result: four, settledAt: 60 }, { state: "unsubmitted" }], 2);
    expect(batch.next()).toEqual([5]);
    batch.settled(0, zero, 90);
    batch.settled(5, five, 91);
    batch.settled(3, three, 92);
    expect(batch.outcome()?.settled).toEqual([1, 4, 2, 0, 5, 3]);
  });

  test("what the stream has is not said twice, and what it told of a call stays told", () => {
    const calls = preparedCalls("parallel", "parallel", "parallel", "parallel");
    const told = rowResult(at(calls, 1), { told: "synthetic", status: "cancelled" });
    const batch = Batch.resume(
      calls,
      [
        { state: "open", parked: true, saidStarted: true },
        { state: "ended", result: rowResult(at(calls, 1)), settledAt: 99, saidStarted: true, told: { result: told, at: 51 } },
        { state: "ended", result: rowResult(at(calls, 2)), settledAt: 40, saidStarted: true },
        { state: "open", parked: false, saidStarted: true, told: { result: { ...told, index: 3, callId: at(calls, 3).callId }, at: 51 } },
      ],
      1,
    );
    expect(spoken(batch.takeEvents())).toEqual(["2 completed"]);
    batch.settled(3, rowResult(at(calls, 3)), 80);
    expect(batch.takeEvents()).toEqual([]);
    batch.settled(0, rowResult(at(calls, 0)), 90);
    expect(spoken(batch.takeEvents())).toEqual(["0 completed"]);
    expect(batch.outcome()?.results.map(({ told: by }) => by)).toEqual(["row", "synthetic", "row", "synthetic"]);
    expect(batch.outcome()?.settled).toEqual([2, 1, 3, 0]);
  });

  test("a session in memory for people alone can tell so from what the ledger knows", () => {
    const batch = Batch.resume(preparedCalls("parallel", "exclusive"), [{ state: "open", parked: true }], 4);
    expect(batch.waitsForPeople).toBe(true);
  });
});
