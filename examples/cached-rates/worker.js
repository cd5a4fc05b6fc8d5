// Serves rates.lookup from a table, and counts how often it is really asked.
import { readFileSync } from "node:fs";
import { Worker, ToolError } from "@signalbox/worker";

// The key and the address of the runtime in this folder; in production a key with the scope workers:connect alone.
const { key, grpc: address } = JSON.parse(readFileSync(".signalbox/client.json", "utf8"));
/** How often somebody was really asked. */
let asked = 0;
/** @type {Readonly<Record<string, number>>} */
const rates = { USD: 1.0842, GBP: 0.8471, CHF: 0.9523 };

const worker = new Worker({ address, key, workerId: "rates-1" });
worker.tool("rates.lookup", { version: "1.0.0", sideEffectClass: "read_only" }, async (args) => {
  asked += 1;
  const rate = rates[args.currency];
  if (rate === undefined) throw new ToolError("unknown_currency", `there is no reference rate for ${args.currency}`);
  return { rate, asked };
});
await worker.run();
