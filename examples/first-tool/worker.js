// Serves invoices.total. Start it where `signalbox dev` was started: node examples/first-tool/worker.js
// #region worker
import { readFileSync } from "node:fs";
import { Worker } from "@signalbox/worker";

// On this machine `signalbox dev` has left a key and its address; elsewhere a worker has a key of its own.
const { key, grpc: address } = JSON.parse(readFileSync(".signalbox/client.json", "utf8"));
const worker = new Worker({ key, address });

worker.tool("invoices.total", { version: "1.0.0", sideEffectClass: "read_only" }, ({ lines }) => ({
  total_cents: lines.reduce((sum, line) => sum + line.quantity * line.unit_price_cents, 0),
}));

await worker.run(); // until Ctrl-C
// #endregion worker
