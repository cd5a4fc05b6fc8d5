// Calls that bring a box: nobody is told that they run before the box stands, and ends that are no results; written out by hand.
import { describe, expect, test } from "vitest";
import type { RuntimeMessage } from "@signalbox/protocol";
import { accepted, c1, ended, invokeOf, ok, online, reconnect, registered, send, started, succeeded, type Driver } from "./core-driver.ts";
import type { WorkerInput, WorkerOutput } from "./core-types.ts";

const boxed = { boxJson: "{}", tool: "sums", version: "9.9.9" } as const;
const safe = invokeOf("read_only", boxed);
const unsafe = invokeOf("non_idempotent_write", boxed);
const boxes = (): Driver => online({ backends: ["native"], handlers: [] });
const codeStarted: WorkerInput = { type: "code_started", ...c1 };
const notStarted: WorkerInput = {
  type: "handler_ended",
  ...c1,
  end: { status: "not_started", code: "box_not_provisioned", message: "no room" },
};
const lost: WorkerInput = { type: "handler_ended", ...c1, end: { status: "lost", message: "the backend broke" } };
const note: WorkerOutput = { type: "note", message: "what became of c1 is not known: the backend broke" };
const handedBack = send({
  type: "nack",
  ...c1,
  reason: "retry_elsewhere",
  code: "box_not_provisioned",
  message: "no room",
});
const heartbeatOf = (...states: readonly ("accepted" | "running")[]): WorkerOutput =>
  send({ type: "heartbeat", load: expect.any(Number) as number, inFlight: states.map((state) => ({ ...c1, state })) });

/** Waits for its box to be made. */
function preparing(invoke = safe): Driver {
  const worker = boxes();
  worker.hear(invoke);
  if (invoke.needsGo) worker.hear({ type: "go", ...c1 });
  return worker;
}

/** Its code has started. */
function running(invoke = safe): Driver {
  const worker = preparing(invoke);
  worker.take(codeStarted);
  return worker;
}

describe("until the box stands", () => {
  test("a safe call is entered, and nobody is told that it runs", () => {
    const worker = boxes();
    expect(worker.hear(safe)).toEqual([accepted(), { type: "start", invoke: safe }]);
    expect(worker.at(5_000).take({ type: "tick" })).toEqual([heartbeatOf("accepted")]);
    expect(worker.take(codeStarted)).toEqual([started()]);
    expect(worker.take(codeStarted)).toEqual([]);
    expect(worker.at(10_000).take({ type: "tick" })).toEqual([heartbeatOf("running")]);
  });

  test("an unsafe one waits for Go first, and a second Go makes no second box", () => {
    const worker = boxes();
    expect(worker.hear(unsafe)).toEqual([accepted()]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([{ type: "start", invoke: unsafe }]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
    expect(worker.take(codeStarted)).toEqual([started()]);
  });

  test("time counts from the start of the code", () => {
    const worker = preparing({ ...safe, timeoutMs: 2_000 });
    expect(worker.at(4_000).take({ type: "tick" })).toEqual([]);
    worker.take(codeStarted);
    expect(worker.at(4_100).take(ended(ok))).toEqual([send(succeeded(1, 100))]);
  });

  test("a call without a box starts as ever, in a worker that has boxes", () => {
    const worker = online({ backends: ["native"] });
    const plain = invokeOf("read_only");
    expect(worker.hear(plain)).toEqual([accepted(), started(), { type: "start", invoke: plain }]);
  });
});

describe("a box that cannot be made", () => {
  test.each([safe, unsafe])(
    "hands the call back, whatever its class, and frees its slot: $sideEffectClass",
    (invoke) => {
      const worker = preparing(invoke);
      expect(worker.take(notStarted)).toEqual([handedBack]);
      expect(worker.at(5_000).take({ type: "tick" })).toEqual([heartbeatOf()]);
      const next = { ...invoke, fence: 2 };
      expect(worker.hear(next)[0]).toEqual(accepted(2));
    },
  );

  test("of a call that was asked to stop is the confirmed stop", () => {
    const worker = preparing(unsafe);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 100, reason: "cancel" })).toEqual([
      { type: "stop", ...c1, reason: "cancel", graceMs: 100 },
    ]);
    expect(worker.take(notStarted)).toEqual([
      send({ type: "result", ...c1, status: "cancelled", usage: { durationMs: 0 } }),
    ]);
  });

  test("of a lease that is gone frees the slot, and says no more", () => {
    const worker = preparing(unsafe);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "lost" })).toEqual([{ type: "abandon", ...c1 }]);
    expect(worker.take(codeStarted)).toEqual([]);
    expect(worker.take(lost)).toEqual([
      note,
      send({
        type: "nack",
        ...c1,
        reason: "retry_elsewhere",
        code: "dropped",
        message: "the lost lease no longer holds a slot",
      }),
    ]);
  });

  test("is no hand-back once its code has started: then nobody knows", () => {
    expect(running(unsafe).take(notStarted)).toEqual([
      { type: "note", message: "what became of c1 is not known: its code had started: no room" },
    ]);
  });
});

describe("a box that is lost", () => {
  test.each([safe, unsafe])("is told to nobody: heartbeats leave it out: $sideEffectClass", (invoke) => {
    const worker = running(invoke);
    expect(worker.take(lost)).toEqual([note]);
    expect(worker.at(5_000).take({ type: "tick" })).toEqual([heartbeatOf()]);
  });

  test("also when the call was asked to stop: nobody has seen that it did", () => {
    const worker = running(unsafe);
    worker.hear({ type: "cancel", ...c1, graceMs: 100, reason: "timeout" });
    expect(worker.take(lost)).toEqual([note]);
  });

  test("does not start again under the same lease", () => {
    const worker = running(unsafe);
    worker.take(lost);
    expect(worker.hear(unsafe)).toEqual([
      send({
        type: "nack",
        ...c1,
        reason: "retry_elsewhere",
        code: "lease_over",
        message: expect.any(String) as string,
      }),
    ]);
  });

  test("is named to a runtime that starts anew, which may not know that its code began; until it has given the lease up", () => {
    const named = (worker: Driver) =>
      reconnect(worker).map((output) => (output.type === "send" && output.message.type === "register" ? output.message.inFlight : output));
    const worker = running(unsafe);
    worker.take(lost);
    expect(named(worker)).toEqual([[{ ...c1, state: "running" }]]);
    worker.hear({ ...registered, resync: [{ ...c1, verdict: "keep" }] } as RuntimeMessage);
    expect(worker.at(5_000).take({ type: "tick" })).toEqual([heartbeatOf()]);
    worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "lost" });
    expect(named(worker)).toEqual([[]]);

    const dropped = running(unsafe);
    dropped.take(lost);
    reconnect(dropped);
    dropped.hear({ ...registered, resync: [{ ...c1, verdict: "drop" }] } as RuntimeMessage);
    expect(named(dropped)).toEqual([[]]);
  });

  test("is named no more once the runtime offers the call anew", () => {
    const worker = running(unsafe);
    worker.take(lost);
    worker.hear({ ...unsafe, fence: 2 });
    const [first] = reconnect(worker);
    expect(first).toMatchObject({ message: { inFlight: [{ callId: "c1", fence: 2, state: "accepted" }] } });
  });

  test("keeps no worker from leaving", () => {
    const worker = running();
    worker.take({ type: "drain" });
    expect(worker.take(lost)).toEqual([note, { type: "drained" }]);
  });
});
