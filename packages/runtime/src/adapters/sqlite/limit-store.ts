// Keeps the limits that operators and tenants have set: one for each scope and subject, and each of the two by itself.
import type { DatabaseSync } from "node:sqlite";
import type { Limit } from "../../schedule/types.ts";
import { columnsOf, encode, insertSql } from "./columns.ts";
import { rowReader, type Prepared } from "./reads.ts";
import type { WritersOf } from "./writers-of.ts";

export const limitColumns = columnsOf<Limit>({
  tenant: "text",
  setBy: "text",
  scope: "text",
  subject: "text",
  rate: "json",
  quotas: "json",
  timeZone: "text",
  changedAt: "number",
  changedBy: "text",
});

export function limitWriters(db: DatabaseSync): WritersOf<"put_limit" | "remove_limit"> {
  const put = db.prepare(
    insertSql(
      "limits",
      limitColumns,
      `ON CONFLICT (tenant, set_by, scope, subject) DO UPDATE SET rate_json = excluded.rate_json,
        quotas_json = excluded.quotas_json, time_zone = excluded.time_zone, changed_at = excluded.changed_at,
        changed_by = excluded.changed_by`,
    ),
  );
  const remove = db.prepare("DELETE FROM limits WHERE tenant = ? AND set_by = ? AND scope = ? AND subject = ?");
  return {
    put_limit: ({ row }) => {
      put.run(...encode(limitColumns, row));
      return true;
    },
    remove_limit: ({ key: { tenant, setBy, scope, subject } }) =>
      remove.run(tenant, setBy, scope, subject).changes === 1,
  };
}

export function limitReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  const order = "ORDER BY tenant, set_by, scope, subject";
  return {
    limits: (tenant?: string) =>
      tenant === undefined
        ? rows<Limit>(limitColumns, `limits ${order}`)
        : rows<Limit>(limitColumns, `limits WHERE tenant = ? ${order}`, tenant),
  };
}
