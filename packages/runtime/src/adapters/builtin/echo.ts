// The built-in `echo` tool of the platform: gives back what it is given, so that a first call needs no worker of one's own.
import { createPipe, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import { Worker } from "@signalbox/worker";
import type { Driver } from "../../corridor/driver.ts";
import { platformTenant } from "../../tenancy/types.ts";

export const echoManifest = {
  apiVersion: "signalbox.dev/v1",
  kind: "Tool",
  metadata: {
    name: "echo",
    version: "1.0.0",
    owner: "signalbox",
    description: "Gives its input back; runs inside the runtime, for first steps and checks",
  },
  spec: {
    executor: { type: "worker" },
    side_effect_class: "read_only",
    input: { type: "object" },
    output: { type: "object" },
  },
} as const;

const echoCapacity = 64;

/** Serves `echo` over the in-memory pipe: the same messages and the same worker code as over gRPC. */
export function serveEcho(driver: Driver, replica: string): Worker {
  const worker = new Worker({
    workerId: `${replica}-builtin`,
    capacity: echoCapacity,
    signals: false,
    log: () => undefined,
    connect: () => {
      const [workerEnd, runtimeEnd] = createPipe<WorkerMessage, FromRuntime>();
      driver.attach(runtimeEnd, { tenant: platformTenant, principal: "service:signalbox" });
      return workerEnd;
    },
  });
  worker.tool("echo", { version: "1.0.0", sideEffectClass: "read_only" }, (args) => args);
  return worker;
}
