// Drives the worker's state machine by hand, one input at a time; for tests.
import type { Invoke, Register, Result, RuntimeMessage, SideEffectClass } from "@signalbox/protocol";
import { createWorkerCore } from "./core.ts";
import type { CoreHandler, HandlerEnd, WorkerCoreConfig, WorkerInput, WorkerOutput } from "./core-types.ts";

export const charge: CoreHandler = { tool: "charge", version: "1.0.0", maxConcurrency: 2, descriptorHash: "" };
export const read: CoreHandler = { tool: "read", version: "1.0.0", maxConcurrency: 2, descriptorHash: "" };
export const config: WorkerCoreConfig = { workerId: "w1", incarnation: "inc_1", handlers: [charge, read], capacity: 3 };

export const register: Register = {
  type: "register",
  workerId: "w1",
  incarnation: "inc_1",
  imageDigest: "",
  pool: "",
  labels: {},
  handlers: [charge, read],
  backends: [],
  capacity: 3,
  inFlight: [],
};

export const c1 = { callId: "c1", fence: 1 };

export function invokeOf(sideEffectClass: SideEffectClass, more: Partial<Invoke> = {}): Invoke {
  return {
    type: "invoke",
    ...c1,
    attempt: 1,
    idempotencyKey: "c1",
    tenant: "acme",
    project: "shop",
    principal: "user:alice",
    tool: sideEffectClass === "read_only" ? "read" : "charge",
    version: "1.0.0",
    argsJson: "{}",
    contextJson: "{}",
    files: [],
    timeoutMs: 30_000,
    deadlineAtMs: 0,
    sideEffectClass,
    needsGo: sideEffectClass === "non_idempotent_write" || sideEffectClass === "irreversible_action",
    traceparent: "",
    ...more,
  };
}

export const safe = invokeOf("read_only");
export const unsafe = invokeOf("non_idempotent_write");
export const ok: HandlerEnd = { status: "succeeded", outputJson: '"ok"' };
export const broke: HandlerEnd = { status: "failed", error: { code: "broke", message: "it broke", retryable: false } };
export const succeeded = (fence: number, durationMs: number): Result => ({
  type: "result",
  callId: "c1",
  fence,
  status: "succeeded",
  outputJson: '"ok"',
  usage: { durationMs },
});
export const send = (message: (WorkerOutput & { type: "send" })["message"]): WorkerOutput => ({
  type: "send",
  message,
});
export const accepted = (fence = 1): WorkerOutput => send({ type: "accepted", callId: "c1", fence });
export const started = (fence = 1): WorkerOutput => send({ type: "started", callId: "c1", fence });
export const ended = (end: HandlerEnd, fence = 1): WorkerInput => ({ type: "handler_ended", callId: "c1", fence, end });

export interface Driver {
  at(nowMs: number): Driver;
  take(input: WorkerInput): readonly WorkerOutput[];
  hear(message: RuntimeMessage): readonly WorkerOutput[];
}

export function newWorker(more: Partial<WorkerCoreConfig> = {}): Driver {
  const core = createWorkerCore({ ...config, ...more });
  let now = 0;
  const driver: Driver = {
    at: (nowMs) => ((now = nowMs), driver),
    take: (input) => core.on(input, now),
    hear: (message) => core.on({ type: "message", message }, now),
  };
  return driver;
}

export const registered: RuntimeMessage = {
  type: "registered",
  leaseTtlMs: 15_000,
  heartbeatMs: 5_000,
  resync: [],
  refused: [],
};

export function online(more: Partial<WorkerCoreConfig> = {}): Driver {
  const worker = newWorker(more);
  worker.take({ type: "connected" });
  worker.hear(registered);
  return worker;
}

export function reconnect(worker: Driver): readonly WorkerOutput[] {
  worker.take({ type: "disconnected" });
  return worker.take({ type: "connected" });
}
