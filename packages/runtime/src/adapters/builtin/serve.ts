// The in-process worker: serves the built-in tools that run no foreign code, over the same messages as any worker.
import { createPipe, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import { Worker } from "@signalbox/worker";
import type { Driver } from "../../corridor/driver.ts";
import type { WorkspacePorts } from "../../corridor/workspace.ts";
import { platformTenant } from "../../tenancy/types.ts";
import { echoManifest } from "./echo.ts";
import { listManifest, readManifest, writeManifest } from "./workspace-manifests.ts";
import { addWorkspaceTools } from "./workspace-tools.ts";

/** What {@link serveBuiltins} offers. */
export const servedManifests: readonly unknown[] = [echoManifest, readManifest, writeManifest, listManifest];

const capacity = 64;

export function serveBuiltins(driver: Driver, replica: string, workspace: WorkspacePorts): Worker {
  const worker = new Worker({
    workerId: `${replica}-builtin`,
    capacity,
    signals: false,
    log: () => undefined,
    connect: () => {
      const [workerEnd, runtimeEnd] = createPipe<WorkerMessage, FromRuntime>();
      driver.attach(runtimeEnd, { tenant: platformTenant, principal: "service:signalbox", inProcess: true });
      return workerEnd;
    },
  });
  worker.tool("echo", { version: "1.0.0", sideEffectClass: "read_only" }, (args) => args);
  addWorkspaceTools(worker, workspace);
  return worker;
}
