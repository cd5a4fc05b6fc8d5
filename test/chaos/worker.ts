// An application worker of a chaos run, as a process of its own: notes every entry in a file before it does anything, then takes its time.
import { appendFileSync } from "node:fs";
import { Worker, type ToolContext } from "@signalbox/worker";

export interface ChaosWorkerConfig {
  readonly addresses: readonly string[];
  readonly key: string;
  readonly workerId: string;
  readonly tools: readonly string[];
  readonly capacity: number;
  /** Where entries are appended, a line each. */
  readonly entriesFile: string;
}

const config = JSON.parse(process.argv[2] ?? "{}") as ChaosWorkerConfig;

async function act({ ms }: { readonly ms: number }, { callId, invoke, signal }: ToolContext): Promise<unknown> {
  const entry = { callId, fence: invoke.fence, tool: invoke.tool };
  // One write with O_APPEND: lines of several processes do not mix, and a killed process leaves no half of one.
  appendFileSync(config.entriesFile, `${JSON.stringify(entry)}\n`);
  await new Promise<void>((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason as Error);
    });
  });
  return { call_id: callId, fence: invoke.fence };
}

const worker = new Worker({
  address: config.addresses,
  key: config.key,
  workerId: config.workerId,
  capacity: config.capacity,
  log: (line) => process.stderr.write(`${line}\n`),
});
for (const tool of config.tools) worker.tool(tool, { version: "1.0.0" }, act);
process.stdout.write("running\n");
await worker.run();
