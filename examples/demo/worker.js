// The demo's application: offers payments.charge, files.summarize and reports.build, in a process of its own.
// Start it where `signalbox dev` was started. What it is set by stands in the table below.
// @ts-check
import { readFileSync } from "node:fs";
import { Worker } from "@signalbox/worker";
import { charge } from "./app/bank.js";
import { readTable } from "./app/files.js";
import { buildReport } from "./app/report.js";
import { summarize } from "./app/summary.js";

const { env } = process;
const settings = {
  /** Key with the scope workers:connect, and the runtime's gRPC address; else what `signalbox dev` has left here. */
  key: env["SIGNALBOX_KEY"] ?? clientFile().key,
  address: env["SIGNALBOX_WORKER_ADDRESS"] ?? clientFile().grpc,
  workerId: env["DEMO_WORKER_ID"] ?? "demo-worker",
  /** Files that tools may read lie below it, reports are written there. */
  workspace: env["DEMO_WORKSPACE"] ?? ".",
  receiptsFile: env["DEMO_RECEIPTS"] ?? "receipts.jsonl",
  /** The bank's pauses and the report's pace, so that one can watch or disturb a call while it runs. */
  pauseBeforeMs: Number(env["DEMO_BANK_PAUSE_BEFORE_MS"] ?? 0),
  pauseAfterMs: Number(env["DEMO_BANK_PAUSE_AFTER_MS"] ?? 0),
  stepMs: Number(env["DEMO_REPORT_STEP_MS"] ?? 50),
};

const { key, address, workerId } = settings;
const worker = new Worker({ key, address, workerId });
const version = "1.0.0";

worker.tool("payments.charge", { version, sideEffectClass: "non_idempotent_write" }, (args, ctx) =>
  charge(settings, /** @type {Parameters<typeof charge>[1]} */ (args), ctx),
);

worker.tool("files.summarize", { version, sideEffectClass: "read_only" }, async (args) => {
  const { path } = /** @type {{ path: string }} */ (args);
  const facts = summarize(await readTable(settings.workspace, path));
  return { summary: `${path}: ${facts.rows} rows, ${facts.columns.length} columns`, ...facts };
});

worker.tool("reports.build", { version, sideEffectClass: "idempotent_write" }, (args, ctx) =>
  buildReport(settings, /** @type {Parameters<typeof buildReport>[1]} */ (args), ctx),
);

process.stderr.write(`${workerId}: offering payments.charge, files.summarize and reports.build to ${address}\n`);
await worker.run();
process.stderr.write(`${workerId}: left\n`);

/** @returns {{ key: string, grpc: string }} */
function clientFile() {
  return JSON.parse(readFileSync(".signalbox/client.json", "utf8"));
}
