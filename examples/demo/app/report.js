// Builds a turnover report section by section, slowly if told so, and puts it in place in one move at the end.
// @ts-check
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { ToolError } from "@signalbox/worker";
import { readTable } from "./files.js";

/**
 * Building it again gives the same file, so the call may be repeated. A stop leaves no file behind.
 * @param {{ workspace: string, stepMs: number }} place
 * @param {{ name: string, path: string }} args
 * @param {import("@signalbox/worker").ToolContext} ctx
 */
export async function buildReport({ workspace, stepMs }, { name, path }, ctx) {
  const turnover = turnoverByCategory(await readTable(workspace, path));
  /** @type {Record<string, string>} */
  const sections = {};
  for (const [index, [category, cents]] of [...turnover].entries()) {
    ctx.progress((100 * index) / turnover.size, category);
    // As if each section were a query of its own; wakes at once when the call is to stop.
    await wait(stepMs, undefined, { signal: ctx.signal });
    sections[category] = money(cents);
  }
  const total = money([...turnover.values()].reduce((sum, cents) => sum + cents, 0));
  const report = join("reports", `${name}.json`);
  await mkdir(join(workspace, "reports"), { recursive: true });
  const draft = join(workspace, `${report}.${ctx.attempt}.draft`);
  await writeFile(draft, `${JSON.stringify({ total, sections }, null, 2)}\n`);
  await rename(draft, join(workspace, report));
  return { report, sections: turnover.size, total };
}

/**
 * @param {import("./csv.js").Table} table
 * @returns {Map<string, number>} cents by category
 */
function turnoverByCategory({ columns, rows }) {
  const [category, quantity, price] = ["category", "quantity", "unit_price"].map((name) => {
    const index = columns.indexOf(name);
    if (index < 0) throw new ToolError("invalid_args", `the file has no column ${name}`);
    return index;
  });
  /** @type {Map<string, number>} */
  const sums = new Map();
  for (const row of rows) {
    const cents = Number(row[quantity ?? 0]) * Math.round(Number(row[price ?? 0]) * 100);
    if (!Number.isSafeInteger(cents)) throw new ToolError("not_csv", `no numbers in the row ${row.join(", ")}`);
    const name = row[category ?? 0] ?? "";
    sums.set(name, (sums.get(name) ?? 0) + cents);
  }
  return new Map([...sums].sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** @param {number} cents */
function money(cents) {
  return (cents / 100).toFixed(2);
}
