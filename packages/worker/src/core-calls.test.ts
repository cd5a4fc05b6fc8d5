// The worker's rules for one call, one by one: expected outputs are written out by hand.
import type { Result, RuntimeMessage } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import {
  accepted,
  broke,
  c1,
  ended,
  invokeOf,
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

const nacked = (reason: "retry_elsewhere" | "reject", code: string, fence = 1): WorkerOutput =>
  send({ type: "nack", callId: "c1", fence, reason, code, message: expect.any(String) as string });
describe("starting", () => {
  test.each(["read_only", "idempotent_write"] as const)("%s starts at once", (sideEffectClass) => {
    const invoke = invokeOf(sideEffectClass);
    expect(online().hear(invoke)).toEqual([accepted(), started(), { type: "start", invoke }]);
  });

  test.each(["non_idempotent_write", "irreversible_action"] as const)("%s starts on Go", (sideEffectClass) => {
    const worker = online();
    const invoke = invokeOf(sideEffectClass);
    expect(worker.hear(invoke)).toEqual([accepted()]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([started(), { type: "start", invoke }]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
  });

  test("a Go that comes later than a lease lasts starts nothing: the call is handed back, and that Go is worth nothing any more", () => {
    const worker = online();
    worker.hear(unsafe);
    expect(worker.at(15_001).hear({ type: "go", ...c1 })).toEqual([nacked("retry_elsewhere", "go_too_late")]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
    const intime = online();
    intime.hear(unsafe);
    expect(intime.at(15_000).hear({ type: "go", ...c1 })).toEqual([started(), { type: "start", invoke: unsafe }]);
  });

  test("where the runtime said after a reconnect that the lease holds, the time for its Go begins anew", () => {
    const worker = online();
    worker.hear(unsafe);
    worker.at(14_000);
    reconnect(worker);
    worker.hear({ type: "registered", leaseTtlMs: 15_000, heartbeatMs: 5_000, resync: [{ ...c1, verdict: "keep" }], refused: [] });
    expect(worker.at(28_000).hear({ type: "go", ...c1 })).toEqual([started(), { type: "start", invoke: unsafe }]);
  });

  test("an unsafe class waits for Go even if the runtime says it need not", () => {
    expect(online().hear(invokeOf("irreversible_action", { needsGo: false }))).toEqual([accepted()]);
  });

  test("a Go with another fence, or for another call, starts nothing", () => {
    const worker = online();
    worker.hear(unsafe);
    expect(worker.hear({ type: "go", callId: "c1", fence: 2 })).toEqual([]);
    expect(worker.hear({ type: "go", callId: "c2", fence: 1 })).toEqual([]);
  });

  test("a tool or a version that nobody registered is rejected", () => {
    expect(online().hear(invokeOf("read_only", { tool: "other" }))).toEqual([nacked("reject", "unknown_tool")]);
    expect(online().hear(invokeOf("read_only", { version: "1.0.1" }))).toEqual([nacked("reject", "unknown_tool")]);
  });

  test("never more than capacity, nor than the handler's own bound", () => {
    const worker = online();
    worker.hear({ ...unsafe, callId: "c2" }); // waits for Go, and takes a slot
    worker.hear({ ...unsafe, callId: "c3" });
    expect(worker.hear(unsafe)).toEqual([nacked("retry_elsewhere", "over_capacity")]);
    worker.hear({ ...safe, callId: "c4" });
    expect(worker.hear(safe)).toEqual([nacked("retry_elsewhere", "over_capacity")]);
    worker.take({ type: "handler_ended", callId: "c4", fence: 1, end: ok });
    expect(worker.hear(safe)[0]).toEqual(accepted());
  });

  test("a slot is free again when its call has ended", () => {
    const worker = online({ handlers: [{ ...read, maxConcurrency: 1 }] });
    for (const callId of ["c1", "c2", "c3"]) {
      expect(worker.hear({ ...safe, callId })[0]).toEqual(send({ type: "accepted", callId, fence: 1 }));
      worker.take({ type: "handler_ended", callId, fence: 1, end: ok });
    }
  });

  test("a manifest that calls safe what the code calls unsafe is refused", () => {
    const worker = online({ handlers: [{ ...read, sideEffectClass: "non_idempotent_write" }] });
    expect(worker.hear(safe)).toEqual([nacked("reject", "side_effect_class_mismatch")]);
    expect(worker.hear(invokeOf("irreversible_action", { tool: "read" }))).toEqual([accepted()]);
  });
});

describe("the same call again", () => {
  test("the same lease is accepted again and starts once", () => {
    const worker = online();
    worker.hear(safe);
    expect(worker.hear(safe)).toEqual([accepted()]);
  });

  test("a newer lease of a call that waits takes its place", () => {
    const worker = online();
    worker.hear(unsafe);
    const newer = { ...unsafe, fence: 2 };
    expect(worker.hear(newer)).toEqual([accepted(2)]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
    expect(worker.hear({ type: "go", callId: "c1", fence: 2 })).toEqual([started(2), { type: "start", invoke: newer }]);
  });

  test.each([safe, unsafe])("a newer lease of a call in user code is not run beside it", (invoke) => {
    const worker = online();
    worker.hear(invoke);
    worker.hear({ type: "go", ...c1 });
    expect(worker.hear({ ...invoke, fence: 2 })).toEqual([nacked("retry_elsewhere", "already_running", 2)]);
  });

  test("an older lease, or the call id of another tenant, changes nothing", () => {
    const worker = online();
    worker.hear({ ...unsafe, fence: 5 });
    expect(worker.hear({ ...unsafe, fence: 4 })).toEqual([nacked("retry_elsewhere", "stale_or_foreign", 4)]);
    expect(worker.hear({ ...unsafe, fence: 6, tenant: "other" })).toEqual([
      nacked("retry_elsewhere", "stale_or_foreign", 6),
    ]);
  });

  test.each(["idempotent_write", "non_idempotent_write"] as const)(
    "a held result of %s answers a newer lease",
    (sideEffectClass) => {
      const worker = online();
      const invoke = invokeOf(sideEffectClass);
      worker.hear(invoke);
      worker.hear({ type: "go", ...c1 });
      expect(worker.at(40).take(ended(ok))).toEqual([send(succeeded(1, 40))]);
      expect(worker.hear({ ...invoke, fence: 2 })).toEqual([accepted(2), send(succeeded(2, 40))]);
      expect(worker.hear({ ...invoke, fence: 2 })).toEqual([accepted(2), send(succeeded(2, 40))]);
      expect(worker.hear({ ...invoke, fence: 1 })).toEqual([nacked("retry_elsewhere", "stale_or_foreign")]);
    },
  );

  test.each([undefined, "stored", "lease_lost"] as const)(
    "a read is done again (after %s): an old answer would be stale",
    (verdict) => {
      const worker = online();
      worker.hear(safe);
      worker.take(ended(ok));
      if (verdict !== undefined) worker.hear({ type: "result_ack", ...c1, verdict });
      const newer = { ...safe, fence: 2 };
      expect(worker.hear(newer)).toEqual([accepted(2), started(2), { type: "start", invoke: newer }]);
    },
  );

  test.each(["stored", "lease_lost"] as const)(
    "a write that succeeded is remembered after %s, for ten minutes",
    (verdict) => {
      for (const [atMs, expected] of [
        [599_999, [accepted(2), send(succeeded(2, 0))]],
        [600_000, [accepted(2)]],
      ] as const) {
        const worker = online();
        worker.hear(unsafe);
        worker.hear({ type: "go", ...c1 });
        worker.take(ended(ok));
        worker.hear({ type: "result_ack", ...c1, verdict });
        expect(worker.at(atMs).hear({ ...unsafe, fence: 2 })).toEqual(expected);
      }
    },
  );

  test("a write that failed may be tried again once the runtime knows", () => {
    const worker = online();
    worker.hear(unsafe);
    worker.hear({ type: "go", ...c1 });
    worker.take(ended(broke));
    worker.hear({ type: "result_ack", ...c1, verdict: "stored" });
    expect(worker.hear({ ...unsafe, fence: 2, attempt: 2 })).toEqual([accepted(2)]);
    const again = { ...unsafe, fence: 2, attempt: 2 };
    expect(worker.hear({ type: "go", callId: "c1", fence: 2 })).toEqual([started(2), { type: "start", invoke: again }]);
  });

  test("a lease that is over is not run a second time, even if nothing of it is remembered", () => {
    const worker = online();
    worker.hear(safe);
    worker.take(ended(broke));
    worker.hear({ type: "result_ack", ...c1, verdict: "stored" });
    expect(worker.hear(safe)).toEqual([nacked("retry_elsewhere", "lease_over")]);
    worker.hear({ ...safe, fence: 2 });
    worker.hear({ type: "cancel", callId: "c1", fence: 2, graceMs: 0, reason: "lost" });
    expect(worker.hear({ ...safe, fence: 2 })).toEqual([nacked("retry_elsewhere", "lease_over", 2)]);
  });

  test("one tenant's result never answers another tenant's call of the same id", () => {
    const worker = online();
    worker.hear(unsafe);
    worker.hear({ type: "go", ...c1 });
    worker.take(ended(ok));
    worker.hear({ type: "result_ack", ...c1, verdict: "stored" });
    expect(worker.hear({ ...unsafe, fence: 2, tenant: "other" })).toEqual([accepted(2)]);
  });

  test("a write that was done after its lease was lost is not done twice", () => {
    const worker = online();
    worker.hear(unsafe);
    worker.hear({ type: "go", ...c1 });
    worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "lost" });
    expect(worker.at(70).take(ended(ok))).toEqual([send(succeeded(1, 70))]); // evidence, told once
    expect(worker.hear({ ...unsafe, fence: 2 })).toEqual([accepted(2), send(succeeded(2, 70))]);
  });
});

describe("ending", () => {
  test("a failure, and what it cost", () => {
    const worker = online();
    worker.hear(safe);
    expect(
      worker.at(12).take({ ...ended(broke), type: "handler_ended", ...c1, end: broke, usage: { cpuMs: 3 } }),
    ).toEqual([
      send({
        type: "result",
        ...c1,
        status: "failed",
        error: { code: "broke", message: "it broke", retryable: false },
        usage: { durationMs: 12, cpuMs: 3 },
      }),
    ]);
  });

  test.each([
    [1_048_576, `"${"x".repeat(1_048_574)}"`, "succeeded"],
    [1_048_577, `"${"x".repeat(1_048_575)}"`, "failed"],
    [1_048_578, `"${"ä".repeat(524_288)}"`, "failed"],
  ])("a result of %i bytes", (bytes, outputJson, status) => {
    const worker = online();
    worker.hear(safe);
    const [first] = worker.take(ended({ status: "succeeded", outputJson }));
    const message = first?.type === "send" && first.message.type === "result" ? first.message : undefined;
    expect(message?.status).toBe(status);
    const error = {
      code: "result_too_large",
      message: expect.stringContaining(`${bytes} bytes`) as string,
      retryable: false,
    };
    expect(message?.error).toEqual(status === "failed" ? error : undefined);
  });

  test("an end that nobody asked for is ignored", () => {
    const worker = online();
    expect(worker.take(ended(ok))).toEqual([]);
    worker.hear(unsafe);
    expect(worker.take(ended(ok))).toEqual([]); // it waits for Go: no code can have ended
    worker.hear({ type: "go", ...c1 });
    expect(worker.take(ended(ok, 2))).toEqual([]);
  });

  test("a result is told until it is acknowledged, with the right fence", () => {
    const worker = online();
    worker.hear(safe);
    worker.take(ended(ok));
    worker.hear({ type: "result_ack", callId: "c1", fence: 2, verdict: "stored" });
    const done = { ...register, inFlight: [{ ...c1, state: "done" as const }] };
    expect(reconnect(worker)).toEqual([send(done)]);
    expect(worker.hear(registered)).toEqual([{ type: "registered" }, send(succeeded(1, 0))]);
    worker.hear({ type: "result_ack", ...c1, verdict: "stored" });
    expect(reconnect(worker)).toEqual([send(register)]);
    expect(worker.hear(registered)).toEqual([{ type: "registered" }]);
  });
});

describe("stopping", () => {
  const cancelled: Result = { type: "result", ...c1, status: "cancelled", usage: { durationMs: 0 } };

  test("a call that has not started ends at once, and its handler is never entered", () => {
    const worker = online();
    worker.hear(unsafe);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 5_000, reason: "cancel" })).toEqual([send(cancelled)]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
  });

  test("a running handler is asked to stop, once; what it throws then is the confirmed stop", () => {
    const worker = online();
    worker.hear(safe);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 5_000, reason: "cancel" })).toEqual([
      { type: "stop", ...c1, reason: "cancel", graceMs: 5_000 },
    ]);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "timeout" })).toEqual([]);
    expect(worker.at(80).take(ended(broke))).toEqual([send({ ...cancelled, usage: { durationMs: 80 } })]);
  });

  test("a handler that finished all the same says what it did", () => {
    const worker = online();
    worker.hear(safe);
    worker.hear({ type: "cancel", ...c1, graceMs: 5_000, reason: "cancel" });
    expect(worker.take(ended(ok))).toEqual([send(succeeded(1, 0))]);
  });

  test("a cancel of another fence, or of a finished call, stops nothing", () => {
    const worker = online();
    worker.hear(safe);
    expect(worker.hear({ type: "cancel", callId: "c1", fence: 2, graceMs: 0, reason: "cancel" })).toEqual([]);
    worker.take(ended(ok));
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "cancel" })).toEqual([]);
  });

  test("lost: the handler is told, no result is sent, and the slot is given back when it really ends", () => {
    const worker = online({ capacity: 1 });
    worker.hear(safe);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "lost" })).toEqual([{ type: "abandon", ...c1 }]);
    expect(worker.hear({ ...safe, callId: "c2" })).toEqual([
      send({
        type: "nack",
        callId: "c2",
        fence: 1,
        reason: "retry_elsewhere",
        code: "over_capacity",
        message: expect.any(String) as string,
      }),
    ]);
    expect(worker.hear({ ...safe, fence: 2 })).toEqual([nacked("retry_elsewhere", "already_running", 2)]);
    expect(worker.take({ type: "progress", ...c1, percent: 50, message: "" })).toEqual([]);
    expect(worker.take(ended(ok))).toEqual([nacked("retry_elsewhere", "dropped")]);
    expect(worker.hear({ ...safe, callId: "c2" })).toHaveLength(3);
  });

  test("lost before it started: it is forgotten, and its slot is given back", () => {
    const worker = online();
    worker.hear(unsafe);
    expect(worker.hear({ type: "cancel", ...c1, graceMs: 0, reason: "lost" })).toEqual([
      nacked("retry_elsewhere", "dropped"),
    ]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
  });

  test("the worker's own net stops a call a second after the runtime should have", () => {
    const worker = online();
    worker.at(500).hear({ ...safe, timeoutMs: 2_000 });
    worker.take({ type: "disconnected" });
    expect(worker.at(3_499).take({ type: "tick" })).toEqual([]);
    expect(worker.at(3_500).take({ type: "tick" })).toEqual([
      { type: "stop", ...c1, reason: "timeout", graceMs: 5_000 },
    ]);
    expect(worker.at(4_000).take({ type: "tick" })).toEqual([]);
    worker.take(ended(broke));
    worker.take({ type: "connected" });
    expect(worker.hear(registered)).toEqual([
      { type: "registered" },
      send({
        ...cancelled,
        error: {
          code: "stopped_after_timeout",
          message: "the handler was stopped after its 2 s",
          retryable: false,
        },
        usage: { durationMs: 3_500 },
      }),
    ]);
  });
});

describe("what handlers say", () => {
  test("progress, output in pieces of 64 KiB with a running number, events with another", () => {
    const worker = online();
    worker.hear(safe);
    expect(worker.take({ type: "progress", ...c1, percent: 50, message: "half" })).toEqual([
      send({ type: "progress", ...c1, percent: 50, message: "half" }),
    ]);
    const pieces = worker.take({ type: "output", ...c1, channel: "stdout", chunk: new Uint8Array(65_537) });
    expect(
      pieces.map(
        (piece) =>
          piece.type === "send" && piece.message.type === "output" && [piece.message.seq, piece.message.chunk.length],
      ),
    ).toEqual([
      [1, 65_536],
      [2, 1],
    ]);
    worker.take({ type: "emit", ...c1, eventType: "a", payloadJson: "{}" });
    expect(worker.take({ type: "emit", ...c1, eventType: "b", payloadJson: "{}" })).toEqual([
      send({ type: "emit", ...c1, ordinal: 2, eventType: "b", payloadJson: "{}" }),
    ]);
  });

  test("a handler that writes without end is not listened to after 16 MiB, which is said once", () => {
    const worker = online();
    worker.hear(safe);
    const chunk = new Uint8Array(1024 * 1024);
    for (let n = 0; n < 16; n++)
      expect(worker.take({ type: "output", ...c1, channel: "stdout", chunk })).toHaveLength(16);
    const cut = { type: "output", ...c1, seq: 257, channel: "log", chunk: new TextEncoder().encode("output is cut here: a call may write 16777216 bytes\n") } as const;
    expect(worker.take({ type: "output", ...c1, channel: "stdout", chunk })).toEqual([send(cut)]);
    expect(worker.take({ type: "output", ...c1, channel: "stdout", chunk })).toEqual([]);
  });

  test("secrets are asked for and granted, and asked for again after a broken stream", () => {
    const worker = online();
    worker.hear(safe);
    const ask = send({ type: "secret_request", ...c1, names: ["KEY"] });
    expect(worker.take({ type: "secrets_wanted", ...c1, names: ["KEY"] })).toEqual([ask]);
    reconnect(worker);
    expect(worker.hear(registered)).toEqual([{ type: "registered" }, ask]);
    const grant: RuntimeMessage = { type: "secret_grant", ...c1, secrets: { KEY: "v" }, refused: [] };
    expect(worker.hear(grant)).toEqual([{ type: "secrets", ...c1, secrets: { KEY: "v" }, refused: [] }]);
    expect(worker.hear(grant)).toEqual([]);
  });
});

describe("a message of the runtime that cannot be read", () => {
  const noted = { type: "note", message: "a message of the runtime could not be read: bad" };
  const malformed = (lease?: { callId: string; fence: number }): WorkerInput => ({
    type: "message",
    message: lease === undefined ? { type: "malformed", reason: "bad" } : { type: "malformed", reason: "bad", lease },
  });

  test("costs the call it names, if that has not started", () => {
    expect(online().take(malformed(c1))).toEqual([noted, nacked("reject", "malformed_message")]);
    const worker = online();
    worker.hear(unsafe);
    expect(worker.take(malformed(c1))).toEqual([noted, nacked("reject", "malformed_message")]);
    expect(worker.hear({ type: "go", ...c1 })).toEqual([]);
  });

  test("and nothing else", () => {
    const worker = online();
    expect(worker.take(malformed())).toEqual([noted]);
    worker.hear(safe);
    expect(worker.take(malformed(c1))).toEqual([noted]);
    expect(worker.take(malformed({ callId: "c1", fence: 2 }))).toEqual([noted]);
    expect(worker.take(ended(ok))).toHaveLength(1);
  });
});
