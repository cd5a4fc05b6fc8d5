// A runtime that says anything in any order: the worker enters a handler once a lease at most, never one that it was not given, and nothing throws.
import { decodeRuntime, isSafe, type FromRuntime } from "@signalbox/protocol";
import fc from "fast-check";
import { createWorkerCore } from "../../../packages/worker/src/core.ts";
import type { WorkerOutput } from "../../../packages/worker/src/core-types.ts";
import { target } from "../target.ts";
import { anyRuntimeMessage, framed, readFrames, runtimeBytes, writeFrames, type Frame } from "../words.ts";

const capacity = 3;
const handler = (tool: string) => ({ tool, version: "1.0.0", maxConcurrency: 2, descriptorHash: "" });

export const workerTarget = target<readonly Frame<FromRuntime>[]>({
  name: "worker",
  about: "what a runtime says to a worker",
  async open() {
    return {
      inputs: fc.array(framed(anyRuntimeMessage), { minLength: 1, maxLength: 40 }),
      check: converse,
      write: writeFrames,
      read: readFrames<FromRuntime>,
      close: async () => undefined,
    };
  },
});

function converse(frames: readonly Frame<FromRuntime>[]): void {
  const core = createWorkerCore({ workerId: "w1", incarnation: "i1", handlers: [handler("charge"), handler("read")], capacity });
  const entered = new Set<string>();
  const running = new Map<string, number>();
  const gone = new Set<string>();
  let now = 0;
  const see = (outputs: readonly WorkerOutput[]): void => {
    for (const output of outputs) {
      if (output.type !== "start") continue;
      const { callId, fence, sideEffectClass } = output.invoke;
      const lease = `${callId} ${fence}`;
      if (entered.has(lease)) throw new Error(`enters ${lease} a second time`);
      if (!isSafe(sideEffectClass) && !gone.has(lease)) throw new Error(`enters the unsafe ${lease} without a Go`);
      entered.add(lease);
      running.set(callId, fence);
      if (running.size > capacity) throw new Error("runs more than its capacity");
    }
  };
  see(core.on({ type: "connected" }, now));
  see(core.on({ type: "message", message: { type: "registered", leaseTtlMs: 15_000, heartbeatMs: 5_000, resync: [], refused: [] } }, now));
  for (const [at, frame] of frames.entries()) {
    const message = decodeRuntime(runtimeBytes(frame, ["c0", "c1", "c2"]));
    if (message.type === "go") gone.add(`${message.callId} ${message.fence}`);
    see(core.on({ type: "message", message }, (now += 10)));
    if (at % 4 !== 3) continue;
    // One handler ends, and a second goes by.
    const [callId, fence] = running.entries().next().value ?? [];
    if (callId === undefined || fence === undefined) continue;
    running.delete(callId);
    see(core.on({ type: "handler_ended", callId, fence, end: { status: "succeeded", outputJson: "1" } }, now));
    see(core.on({ type: "tick" }, (now += 1_000)));
  }
}
