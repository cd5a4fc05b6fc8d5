// A worker as a process of its own, for tests that kill and stop it; says over its message channel what it does.
import { appendFileSync, existsSync } from "node:fs";
import { join } from "node:path";
import { Worker, type ToolContext } from "@signalbox/worker";

export interface WorkerChildConfig {
  readonly address: string | readonly string[];
  readonly key: string;
  readonly workerId: string;
  /** Where the files of blocking handlers stand. */
  readonly folder: string;
  readonly tools: readonly { readonly tool: string; readonly version?: string }[];
  readonly capacity?: number;
  /**
   * Handlers block the whole process from their first line on, until the file `open-<gate>` is in `folder`; what such a
   * process says stands in the file `said-<pid>`, a line each, since a message would need the event loop.
   */
  readonly blocking?: boolean;
}

export type WorkerChildMessage =
  | {
      readonly said: "entered";
      readonly gate: string;
      readonly callId: string;
      readonly attempt: number;
      readonly fence: number;
    }
  | {
      readonly said: "stopped";
      readonly gate: string;
      readonly callId: string;
      readonly fence: number;
      readonly reason: string;
    };

const config = JSON.parse(process.argv[2] ?? "{}") as WorkerChildConfig;
const gates = new Map<string, PromiseWithResolvers<void>>();

function gateOf(name: string): PromiseWithResolvers<void> {
  let gate = gates.get(name);
  if (gate === undefined) gates.set(name, (gate = Promise.withResolvers()));
  return gate;
}

function say(message: WorkerChildMessage): void {
  if (config.blocking === true)
    appendFileSync(join(config.folder, `said-${process.pid}`), `${JSON.stringify(message)}\n`);
  else process.send?.(message);
}

/** As code does that never gives the event loop a turn; the process reads no message meanwhile. */
function block(gate: string): void {
  const nobody = new Int32Array(new SharedArrayBuffer(4));
  while (!existsSync(join(config.folder, `open-${gate}`))) Atomics.wait(nobody, 0, 0, 20);
}

/** @param emit types of events that it emits first, each with the number of its attempt */
async function hold({ gate, emit = [] }: { readonly gate: string; readonly emit?: readonly string[] }, ctx: ToolContext): Promise<unknown> {
  const { callId, attempt } = ctx;
  const { fence } = ctx.invoke;
  ctx.signal.addEventListener("abort", () => {
    say({
      said: "stopped",
      gate,
      callId,
      fence,
      reason: String((ctx.signal.reason as { reason: string }).reason),
    });
  });
  for (const type of emit) ctx.emit(type, { attempt });
  say({ said: "entered", gate, callId, attempt, fence });
  if (config.blocking === true) block(gate);
  else await gateOf(gate).promise;
  return { worker: config.workerId, pid: process.pid, attempt, fence };
}

process.on("message", (message) => {
  gateOf((message as { readonly open: string }).open).resolve();
});
// The test is gone, so nobody needs this worker.
process.on("disconnect", () => process.exit(0));

const worker = new Worker({
  address: config.address,
  key: config.key,
  workerId: config.workerId,
  capacity: config.capacity ?? 16,
  log: (line) => process.stderr.write(`${line}\n`),
});
for (const { tool, version = "1.0.0" } of config.tools) worker.tool(tool, { version }, hold);
await worker.run();
process.disconnect();
