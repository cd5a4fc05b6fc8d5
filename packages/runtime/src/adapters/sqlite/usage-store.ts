// Adds up what calls used, once for each group of units and each row, and reads the sums by whatever they are asked for.
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { Page } from "../../ledger/port.ts";
import type { UsageDelta, UsageQuery, UsageRow, UsageSums } from "../../schedule/types.ts";
import { columnsOf, decode, encode, insertSql, type Column } from "./columns.ts";
import { usageSumColumns } from "./metering-schema.ts";
import { conditions, pageOf } from "./paging.ts";
import type { Prepared } from "./reads.ts";

/** Sums stop here: eight thousand of them still add up within the 64 bits of a column. */
export const sumMax = 2 ** 50;

export const sumKinds: { readonly [Field in keyof UsageSums]: "number" } = {
  executions: "number",
  succeeded: "number",
  failed: "number",
  timedOut: "number",
  cancelled: "number",
  denied: "number",
  cacheHits: "number",
  durationUs: "number",
  cpuUs: "number",
  peakMemoryBytes: "number",
  egressBytes: "number",
  inputBytes: "number",
  outputBytes: "number",
};
const sumColumns = columnsOf<UsageSums>(sumKinds);
const usageColumns = columnsOf<UsageDelta>({ tenant: "text", project: "text", tool: "text", day: "text", ...sumKinds });

/** Counts of the open transaction; nothing is written before its end. */
export interface UsageAdder {
  add(delta: UsageDelta): void;
  /** How many were added in this transaction; for {@link undoTo}. */
  mark(): number;
  undoTo(mark: number): void;
  /** Writes one row for each tenant, day, project and tool of this transaction. */
  write(): void;
  /** The transaction is over, whichever way. */
  clear(): void;
}

export function usageAdder(db: DatabaseSync): UsageAdder {
  const sums = usageSumColumns.map((name) => `${name} = min(usage.${name} + excluded.${name}, ${sumMax})`);
  const upsert = db.prepare(
    insertSql(
      "usage",
      usageColumns,
      `ON CONFLICT (tenant, day, project, tool) DO UPDATE SET ${sums.join(", ")},
        peak_memory_bytes = max(usage.peak_memory_bytes, excluded.peak_memory_bytes)`,
    ),
  );
  const added: UsageDelta[] = [];
  return {
    add: (delta) => void added.push(delta),
    mark: () => added.length,
    undoTo(mark) {
      added.length = mark;
    },
    write() {
      for (const row of merged(added)) upsert.run(...encode(usageColumns, row));
    },
    clear() {
      added.length = 0;
    },
  };
}

type Sums = { -readonly [Field in keyof UsageDelta]: UsageDelta[Field] };

export function merged(deltas: readonly UsageDelta[]): Iterable<UsageDelta> {
  if (deltas.length < 2) return deltas;
  const rows = new Map<string, Sums>();
  for (const delta of deltas) {
    const key = `${delta.tenant}\n${delta.day}\n${delta.project}\n${delta.tool}`;
    const row = rows.get(key);
    if (row === undefined) rows.set(key, { ...delta });
    else merge(row, delta);
  }
  return rows.values();
}

function merge(row: Sums, delta: UsageDelta): void {
  row.executions += delta.executions;
  row.succeeded += delta.succeeded;
  row.failed += delta.failed;
  row.timedOut += delta.timedOut;
  row.cancelled += delta.cancelled;
  row.denied += delta.denied;
  row.cacheHits += delta.cacheHits;
  row.durationUs = bounded(row.durationUs + delta.durationUs);
  row.cpuUs = bounded(row.cpuUs + delta.cpuUs);
  row.peakMemoryBytes = Math.max(row.peakMemoryBytes, delta.peakMemoryBytes);
  row.egressBytes = bounded(row.egressBytes + delta.egressBytes);
  row.inputBytes += delta.inputBytes;
  row.outputBytes += delta.outputBytes;
}

const bounded = (sum: number): number => Math.min(sum, sumMax);

const sumsSql = [...usageSumColumns.map((name) => `sum(${name}) AS ${name}`), "max(peak_memory_bytes) AS peak_memory_bytes"].join(", ");

export function usageReads(prepared: Prepared) {
  return {
    usage({ tenant, project, tool, from, to, groupBy }: UsageQuery, limit: number, cursor?: string): Page<UsageRow> {
      const groups = groupBy.map((name): Column => ({ field: name, name, kind: "text" }));
      const names = groups.map(({ name }) => name);
      const where = conditions()
        .equal("tenant", tenant ?? undefined)
        .equal("project", project)
        .equal("tool", tool)
        .between("day", from, to);
      if (names.length > 0) where.after(names, cursor);
      const named = names.length === 0 ? "" : ` GROUP BY ${names.join(", ")} ORDER BY ${names.join(", ")}`;
      const sql = `SELECT ${[...names, sumsSql].join(", ")} FROM usage WHERE ${where.sql()}${named} LIMIT ?`;
      const found = prepared(sql)
        .all(...where.values(), limit + 1)
        .map((row) => decode<UsageRow>([...groups, ...sumColumns], zeroed(row)));
      return pageOf(found, limit, (row) => groupBy.map((name) => row[name] ?? ""));
    },
  };
}

/** The sum of no rows at all is null. */
function zeroed(row: Record<string, SQLOutputValue>): Record<string, SQLOutputValue> {
  return Object.fromEntries(Object.entries(row).map(([name, value]) => [name, value ?? 0]));
}
