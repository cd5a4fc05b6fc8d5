// Adds up what calls used, once for each transaction and row, and reads the sums by whatever they are asked for.
import type { Ledger } from "../../ledger/port.ts";
import type { UsageDelta, UsageRow, UsageSums } from "../../schedule/types.ts";
import { columnsOf, decode, type Column } from "../sqlite/columns.ts";
import { usageSumColumns } from "../sqlite/metering-schema.ts";
import { conditions, pageOf } from "../sqlite/paging.ts";
import { merged, sumKinds, sumMax } from "../sqlite/usage-store.ts";
import { fittingCursor } from "./cursors.ts";
import type { Db } from "./db.ts";
import { insertRecordsSql, recordColumns, recordOf } from "./records.ts";

const sumColumns = columnsOf<UsageSums>(sumKinds);
const usageColumns = columnsOf<UsageDelta>({ tenant: "text", project: "text", tool: "text", day: "text", ...sumKinds });

const addSql = insertRecordsSql(
  "usage",
  recordColumns(usageColumns),
  `ON CONFLICT (tenant, day, project, tool) DO UPDATE SET
    ${usageSumColumns.map((name) => `${name} = least(usage.${name} + excluded.${name}, ${sumMax})`).join(", ")},
    peak_memory_bytes = greatest(usage.peak_memory_bytes, excluded.peak_memory_bytes)`,
);

const rowKey = ({ tenant, day, project, tool }: UsageDelta): string => JSON.stringify([tenant, day, project, tool]);

/** One order of rows in every replica, so that none waits for another that waits for it. */
export async function addUsage(tx: Db, deltas: readonly UsageDelta[]): Promise<void> {
  if (deltas.length === 0) return;
  const rows = [...merged(deltas)].map((row) => ({ key: rowKey(row), row }));
  rows.sort((a, b) => (a.key < b.key ? -1 : 1));
  await tx.run(addSql, [JSON.stringify(rows.map(({ row }) => recordOf(usageColumns, row)))]);
}

const sumsSql = [
  ...usageSumColumns.map((name) => `COALESCE(sum(${name}), 0) AS ${name}`),
  "COALESCE(max(peak_memory_bytes), 0) AS peak_memory_bytes",
].join(", ");

export function usageReads(db: Db): Pick<Ledger, "usage"> {
  return {
    async usage({ tenant, project, tool, from, to, groupBy }, limit, cursor) {
      const groups = groupBy.map((name): Column => ({ field: name, name, kind: "text" }));
      const names = groups.map(({ name }) => name);
      const where = conditions()
        .equal("tenant", tenant ?? undefined)
        .equal("project", project)
        .equal("tool", tool)
        .between("day", from, to);
      if (names.length > 0) where.after(names, fittingCursor(cursor, ...names.map(() => "text" as const)));
      const grouped = names.length === 0 ? "" : ` GROUP BY ${names.join(", ")} ORDER BY ${names.join(", ")}`;
      const sql = `SELECT ${[...names, sumsSql].join(", ")} FROM usage WHERE ${where.sql()}${grouped} LIMIT ?`;
      const found = await db.rows(sql, [...where.values(), limit + 1]);
      const rows = found.map((row) => decode<UsageRow>([...groups, ...sumColumns], row));
      return pageOf(rows, limit, (row) => groupBy.map((name) => row[name] ?? ""));
    },
  };
}
