// The worker and its stream: registering, coming back, heartbeats and leaving; expected outputs are written out by hand.
import type { RuntimeMessage } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { createWorkerCore } from "./core.ts";
import {
  type Driver,
  c1,
  charge,
  config,
  ended,
  newWorker,
  ok,
  online,
  read,
  reconnect,
  register,
  registered,
  safe,
  send,
  started,
  succeeded,
  unsafe,
} from "./core-driver.ts";
import type { WorkerInput, WorkerOutput } from "./core-types.ts";

describe("registering", () => {
  test("the first word on a stream is Register", () => {
    const worker = newWorker();
    expect(worker.take({ type: "connected" })).toEqual([send(register)]);
    expect(worker.hear(registered)).toEqual([{ type: "registered" }]);
  });

  test("handlers that the runtime refuses are noted", () => {
    const worker = newWorker();
    worker.take({ type: "connected" });
    const refused = [{ tool: "read", version: "1.0.0", reason: "not published" }];
    expect(
      worker.hear({ ...registered, type: "registered", leaseTtlMs: 15_000, heartbeatMs: 5_000, resync: [], refused }),
    ).toEqual([
      { type: "registered" },
      { type: "note", message: "the runtime sends no calls for read@1.0.0: not published" },
    ]);
  });

  test("a runtime that does not answer Register within 10 s is left", () => {
    const worker = newWorker();
    worker.at(1_000).take({ type: "connected" });
    expect(worker.at(10_999).take({ type: "tick" })).toEqual([]);
    expect(worker.at(11_000).take({ type: "tick" })).toEqual([
      { type: "reconnect", to: "", reason: "Register was not answered within 10 s" },
    ]);
  });

  test.each([
    [{ capacity: 0 }, "capacity is not between 1 and 10000"],
    [{ workerId: "" }, "worker_id is missing"],
    [{ handlers: [{ ...read, tool: "t".repeat(129) }] }, "a handler's tool is longer than 128 characters"],
    [{ labels: { zone: "x".repeat(257) } }, "a value of labels is longer than 256 characters"],
  ])("what the runtime could not read is refused at once: %j", (wrong, why) => {
    expect(() => createWorkerCore({ ...config, ...wrong })).toThrow(`the worker cannot register: ${why}`);
  });
});

describe("coming back", () => {
  function holding(): Driver {
    const worker = online({ capacity: 8, handlers: [{ ...charge, maxConcurrency: 8 }, read] });
    worker.hear({ ...unsafe, callId: "waits" });
    worker.hear({ ...unsafe, callId: "runs" });
    worker.hear({ type: "go", callId: "runs", fence: 1 });
    worker.hear({ ...unsafe, callId: "done" });
    worker.hear({ type: "go", callId: "done", fence: 1 });
    worker.take({ type: "handler_ended", callId: "done", fence: 1, end: ok });
    return worker;
  }
  const doneResult = { ...succeeded(1, 0), callId: "done" };
  const dropped = (callId: string): WorkerOutput =>
    send({
      type: "nack",
      callId,
      fence: 1,
      reason: "retry_elsewhere",
      code: "dropped",
      message: expect.any(String) as string,
    });
  const resync = (verdict: "keep" | "drop" | "acked"): RuntimeMessage => ({
    type: "registered",
    leaseTtlMs: 15_000,
    heartbeatMs: 5_000,
    resync: ["waits", "runs", "done"].map((callId) => ({ callId, fence: 1, verdict })),
    refused: [],
  });

  test("Register names every lease and its state", () => {
    const [first] = reconnect(holding());
    expect(first?.type === "send" && first.message.type === "register" && first.message.inFlight).toEqual([
      { callId: "waits", fence: 1, state: "accepted" },
      { callId: "runs", fence: 1, state: "running" },
      { callId: "done", fence: 1, state: "done" },
    ]);
  });

  test("keep: go on, and tell the result again", () => {
    const worker = holding();
    reconnect(worker);
    expect(worker.hear(resync("keep"))).toEqual([{ type: "registered" }, send(doneResult)]);
    expect(worker.hear({ type: "go", callId: "waits", fence: 1 })).toHaveLength(2);
    expect(worker.take({ type: "handler_ended", callId: "runs", fence: 1, end: ok })).toHaveLength(1);
  });

  test("drop: stop and forget; a result is told once more, as evidence", () => {
    const worker = holding();
    reconnect(worker);
    expect(worker.hear(resync("drop"))).toEqual([
      { type: "registered" },
      dropped("waits"),
      { type: "abandon", callId: "runs", fence: 1 },
      send(doneResult),
    ]);
    expect(worker.hear({ type: "go", callId: "waits", fence: 1 })).toEqual([]);
    expect(worker.take({ type: "handler_ended", callId: "runs", fence: 1, end: ok })).toEqual([
      send({ ...succeeded(1, 0), callId: "runs" }),
    ]);
    expect(reconnect(worker)).toEqual([
      send({ ...register, capacity: 8, handlers: [{ ...charge, maxConcurrency: 8 }, read] }),
    ]);
  });

  test("acked: the result is not told again", () => {
    const worker = holding();
    reconnect(worker);
    expect(worker.hear(resync("acked"))).toEqual([
      { type: "registered" },
      dropped("waits"),
      { type: "abandon", callId: "runs", fence: 1 },
    ]);
  });

  test("a verdict on another fence touches nothing", () => {
    const worker = holding();
    reconnect(worker);
    const other: RuntimeMessage = {
      ...registered,
      type: "registered",
      leaseTtlMs: 1,
      heartbeatMs: 5_000,
      refused: [],
      resync: [
        { callId: "runs", fence: 2, verdict: "drop" },
        { callId: "done", fence: 2, verdict: "acked" },
      ],
    };
    expect(worker.hear(other)).toEqual([{ type: "registered" }, send(doneResult)]);
  });

  test("a handler that ends without a stream is heard after the next Registered", () => {
    const worker = online();
    worker.hear(safe);
    worker.take({ type: "disconnected" });
    expect(worker.at(9).take(ended(ok))).toEqual([]);
    worker.take({ type: "connected" });
    expect(worker.hear(registered)).toEqual([{ type: "registered" }, send(succeeded(1, 9))]);
  });

  test("what a handler said without a stream is forgotten with its lease", () => {
    const worker = online();
    worker.hear(safe);
    worker.take({ type: "disconnected" });
    worker.take({ type: "progress", ...c1, percent: 1, message: "" });
    worker.take({ type: "connected" });
    const drop = { ...c1, verdict: "drop" as const };
    expect(
      worker.hear({ type: "registered", leaseTtlMs: 15_000, heartbeatMs: 5_000, resync: [drop], refused: [] }),
    ).toEqual([{ type: "registered" }, { type: "abandon", ...c1 }]);
  });

  test("what a handler says without a stream waits for it, as far as it fits; a gap in seq shows the rest", () => {
    const worker = online();
    worker.hear(safe);
    worker.take({ type: "disconnected" });
    const log = (chunk: Uint8Array): WorkerInput => ({ type: "output", ...c1, channel: "log", chunk });
    expect(worker.take(log(new Uint8Array([1])))).toEqual([]);
    worker.take({ type: "emit", ...c1, eventType: "seen", payloadJson: "1" });
    worker.take(log(new Uint8Array(2 * 1024 * 1024)));
    worker.take({ type: "connected" });
    const told = worker.hear(registered);
    expect(told.slice(0, 3)).toEqual([
      { type: "registered" },
      send({ type: "output", ...c1, seq: 1, channel: "log", chunk: new Uint8Array([1]) }),
      send({ type: "emit", ...c1, ordinal: 1, eventType: "seen", payloadJson: "1" }),
    ]);
    expect(told.length).toBe(3 + 15); // fifteen more pieces of 64 KiB fit into a megabyte
    const [next] = worker.take(log(new Uint8Array([2])));
    expect(next?.type === "send" && next.message.type === "output" && next.message.seq).toBe(34);
  });
});

describe("heartbeats", () => {
  test("every heartbeatMs, naming every lease", () => {
    const worker = online();
    worker.hear(safe);
    expect(worker.at(4_999).take({ type: "tick" })).toEqual([]);
    const beat = send({ type: "heartbeat", load: 1 / 3, inFlight: [{ ...c1, state: "running" }] });
    expect(worker.at(5_000).take({ type: "tick" })).toEqual([beat]);
    expect(worker.at(5_100).take({ type: "tick" })).toEqual([]);
    expect(worker.at(10_200).take({ type: "tick" })).toEqual([beat]);
  });

  test("a result whose answer is missing after a heartbeat is told again before each of the next", () => {
    const worker = online();
    worker.hear(safe);
    worker.take(ended(ok));
    const beat = send({ type: "heartbeat", load: 0, inFlight: [{ ...c1, state: "done" }] });
    expect(worker.at(5_000).take({ type: "tick" })).toEqual([beat]);
    expect(worker.at(10_000).take({ type: "tick" })).toEqual([send(succeeded(1, 0)), beat]);
    worker.hear({ type: "result_ack", ...c1, verdict: "stored" });
    expect(worker.at(15_000).take({ type: "tick" })).toEqual([send({ type: "heartbeat", load: 0, inFlight: [] })]);
  });

  test("none before Registered, and none without a stream", () => {
    const worker = newWorker();
    worker.take({ type: "connected" });
    expect(worker.at(9_000).take({ type: "tick" })).toEqual([]);
    worker.hear(registered);
    worker.take({ type: "disconnected" });
    expect(worker.at(60_000).take({ type: "tick" })).toEqual([]);
  });

  test("a stream on which three of them are not answered is left; any message is an answer", () => {
    const worker = online();
    for (const nowMs of [5_000, 10_000, 15_000]) worker.at(nowMs).take({ type: "tick" });
    worker.hear({ type: "heartbeat_ack" });
    for (const nowMs of [20_000, 25_000, 30_000]) expect(worker.at(nowMs).take({ type: "tick" })).toHaveLength(1);
    expect(worker.at(35_000).take({ type: "tick" })).toEqual([
      { type: "reconnect", to: "", reason: "3 heartbeats were not answered" },
    ]);
  });

  test("a process that slept sends one heartbeat, and is not the one to leave", () => {
    const worker = online();
    expect(worker.at(3_600_000).take({ type: "tick" })).toEqual([send({ type: "heartbeat", load: 0, inFlight: [] })]);
  });
});

describe("leaving", () => {
  test.each<[string, (worker: Driver) => readonly WorkerOutput[]]>([
    ["the process", (worker) => worker.take({ type: "drain" })],
    ["the runtime", (worker) => worker.hear({ type: "drain" })],
  ])("asked by %s: no new calls, the old ones end, and their results are acknowledged", (_, drain) => {
    const worker = online();
    worker.hear(safe);
    expect(drain(worker)).toEqual([send({ type: "draining" })]);
    expect(drain(worker)).toEqual([]);
    expect(worker.hear({ ...safe, callId: "c2" })).toEqual([
      send({
        type: "nack",
        callId: "c2",
        fence: 1,
        reason: "retry_elsewhere",
        code: "draining",
        message: expect.any(String) as string,
      }),
    ]);
    expect(worker.take(ended(ok))).toEqual([send(succeeded(1, 0))]);
    expect(worker.hear({ type: "result_ack", ...c1, verdict: "stored" })).toEqual([{ type: "drained" }]);
    expect(worker.take({ type: "tick" })).toEqual([]);
  });

  test("with nothing to do it leaves at once, also without a stream", () => {
    expect(online().take({ type: "drain" })).toEqual([send({ type: "draining" }), { type: "drained" }]);
    expect(newWorker().take({ type: "drain" })).toEqual([{ type: "drained" }]);
  });

  test("an accepted call may still get its Go", () => {
    const worker = online();
    worker.hear(unsafe);
    worker.take({ type: "drain" });
    expect(worker.hear({ type: "go", ...c1 })).toEqual([started(), { type: "start", invoke: unsafe }]);
  });

  test("a stream that comes back meanwhile is told again", () => {
    const worker = online();
    worker.hear(safe);
    worker.take({ type: "drain" });
    reconnect(worker);
    expect(worker.hear(registered)).toEqual([{ type: "registered" }, send({ type: "draining" })]);
  });

  test("what a handler writes after GoAway waits for the next stream, and so does its result", () => {
    const worker = online();
    worker.hear(safe);
    worker.hear({ type: "go_away", reason: "deploy", reconnectTo: "b:9090" });
    const chunk = new Uint8Array([104, 105]);
    expect(worker.take({ type: "output", ...c1, channel: "stdout", chunk })).toEqual([]);
    expect(worker.take(ended(ok))).toEqual([]);
    reconnect(worker);
    expect(worker.hear(registered)).toEqual([
      { type: "registered" },
      send({ type: "output", ...c1, seq: 1, channel: "stdout", chunk }),
      send(succeeded(1, 0)),
    ]);
  });

  test("GoAway: dial the address it names", () => {
    expect(online().hear({ type: "go_away", reason: "deploy", reconnectTo: "b:9090" })).toEqual([
      { type: "reconnect", to: "b:9090", reason: "deploy" },
    ]);
  });
});
