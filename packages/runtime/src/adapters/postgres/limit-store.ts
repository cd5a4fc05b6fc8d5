// Keeps the limits that operators and tenants have set: one for each scope and subject, and each of the two by itself.
import type { Ledger } from "../../ledger/port.ts";
import type { Limit } from "../../schedule/types.ts";
import { encode, insertSql } from "../sqlite/columns.ts";
import { limitColumns } from "../sqlite/limit-store.ts";
import { rowsOf } from "./call-reads.ts";
import type { Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

const put = insertSql(
  "limits",
  limitColumns,
  `ON CONFLICT (tenant, set_by, scope, subject) DO UPDATE SET rate_json = excluded.rate_json,
    quotas_json = excluded.quotas_json, time_zone = excluded.time_zone, changed_at = excluded.changed_at,
    changed_by = excluded.changed_by`,
);
const remove = "DELETE FROM limits WHERE tenant = ? AND set_by = ? AND scope = ? AND subject = ?";

export type LimitWriters = WritersOf<"put_limit" | "remove_limit">;
export type LimitReads = Pick<Ledger, "limits">;

export const limitWriters: LimitWriters = {
  async put_limit(tx, { row }) {
    await tx.run(put, encode(limitColumns, row));
    return true;
  },
  remove_limit: async (tx, { key: { tenant, setBy, scope, subject } }) =>
    (await tx.run(remove, [tenant, setBy, scope, subject])) === 1,
};

export function limitReads(db: Db): LimitReads {
  const order = "ORDER BY tenant, set_by, scope, subject";
  return {
    limits: (tenant) =>
      tenant === undefined
        ? rowsOf<Limit>(db, limitColumns, `limits ${order}`)
        : rowsOf<Limit>(db, limitColumns, `limits WHERE tenant = ? ${order}`, tenant),
  };
}
