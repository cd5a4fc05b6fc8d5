// Fills the ledger of a runtime that has stopped with open calls.
//
//   node bench/open-fill.ts <data folder> <calls> [<postgres url>]
import { join } from "node:path";
import { auditKey, dataFolder } from "../packages/runtime/src/adapters/files/data-folder.ts";
import { PostgresLedger } from "../packages/runtime/src/adapters/postgres/ledger.ts";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Ledger } from "../packages/runtime/src/ledger/port.ts";
import { openCall } from "./open-calls.ts";

const tenant = "default";
const unitsAtOnce = 500;

const [path, count, url] = process.argv.slice(2);
const calls = Number(count);
if (path === undefined || !Number.isInteger(calls) || calls < 1) throw new Error("usage: node bench/open-fill.ts <data folder> <calls> [<postgres url>]");
const folder = dataFolder(path);
const common = { auditKey: auditKey(folder), lane: "fill", now: Date.now };
const ledger: Ledger =
  url === undefined
    ? new SqliteLedger({ ...common, path: folder.ledgerFile })
    : await PostgresLedger.open({ ...common, url, anchorPath: join(path, "fill.anchor"), keepTags: true });
try {
  const { items } = await ledger.listCalls({ tenant, tool: "bench.echo", state: "succeeded" }, 1);
  const template = items[0] === undefined ? undefined : await ledger.getCall(tenant, items[0].callId);
  if (template === undefined) throw new Error("the ledger holds no call of bench.echo that succeeded");
  const admittedAt = Date.now();
  for (let from = 0; from < calls; from += unitsAtOnce) {
    const units = Array.from({ length: Math.min(unitsAtOnce, calls - from) }, (_, at) => openCall(template, { index: from + at, calls, admittedAt }));
    for (const { applied } of await Promise.all(units.map((unit) => ledger.commit(unit)))) if (!applied) throw new Error("an open call was refused");
  }
} finally {
  await ledger.close();
}
process.stdout.write(`${JSON.stringify({ filled: true })}\n`);
