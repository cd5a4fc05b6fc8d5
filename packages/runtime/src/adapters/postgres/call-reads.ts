// Reads calls; every statement names the tenant except the ones for recovery.
import { openStates, type Call, type CallState } from "../../call/types.ts";
import type { Ledger } from "../../ledger/port.ts";
import { servesLaterSql } from "../sqlite/cache-schema.ts";
import { callColumns, decode, selectList, type Column } from "../sqlite/columns.ts";
import { notSucceededSql } from "../sqlite/schema.ts";
import { firstRow, type Db, type SqlRow } from "./db.ts";

const openStatesSql = `(${openStates.map((state) => `'${state}'`).join(", ")})`;

/** Of `calls AS c`, with the large result where it stands in a blob. */
export const wholeCallColumns = `${callColumns.map(({ name }) => `c.${name}`).join(", ")}, b.bytes AS blob`;
export const wholeCallBlob = "LEFT JOIN blobs AS b ON c.output_json IS NULL AND b.tenant = c.tenant AND b.hash = c.output_hash";
const wholeCall = `${wholeCallColumns} FROM calls AS c ${wholeCallBlob}`;

export function callOf(row: SqlRow): Call {
  const { blob } = row;
  if (!(blob instanceof Uint8Array)) return decode<Call>(callColumns, row);
  const text = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength).toString("utf8");
  return decode<Call>(callColumns, { ...row, output_json: text });
}

export async function rowsOf<Row>(db: Db, columns: readonly Column[], rest: string, ...params: readonly unknown[]): Promise<Row[]> {
  const found = await db.rows(`SELECT ${selectList(columns)} FROM ${rest}`, params);
  return found.map((row) => decode<Row>(columns, row));
}

export type CallReads = Pick<Ledger, "getCall" | "getCallByKey" | "cachedResult" | "countOpen"> & {
  /** All open calls by name, in queue order. */
  openCallKeys(): Promise<readonly { readonly tenant: string; readonly callId: string }[]>;
};

export function callReads(db: Db): CallReads {
  const oneCall = async (condition: string, ...params: readonly unknown[]): Promise<Call | undefined> => {
    const row = await firstRow(db, `SELECT ${wholeCall} WHERE ${condition}`, params);
    return row === undefined ? undefined : callOf(row);
  };
  return {
    getCall: (tenant, callId) => oneCall("c.tenant = ? AND c.call_id = ?", tenant, callId),
    getCallByKey: (tenant, project, key) => oneCall("c.tenant = ? AND c.project = ? AND c.idempotency_key = ?", tenant, project, key),
    async cachedResult(tenant, cacheKey, settledFrom) {
      const newest = await firstRow(
        db,
        `SELECT call_id FROM calls WHERE tenant = ? AND cache_key = ? AND settled_at >= ? AND ${servesLaterSql}
          ORDER BY settled_at DESC LIMIT 1`,
        [tenant, cacheKey, settledFrom],
      );
      return newest === undefined ? undefined : oneCall("c.tenant = ? AND c.call_id = ?", tenant, newest["call_id"]);
    },
    async openCallKeys() {
      return db.rows<{ tenant: string; callId: string }>(
        `SELECT tenant, call_id AS "callId" FROM calls WHERE state IN ${openStatesSql} AND ${notSucceededSql}
          ORDER BY start_tag, admitted_at, tenant, call_id`,
      );
    },
    async countOpen(tenant) {
      const counts = await db.rows<{ state: CallState; calls: number }>(
        `SELECT state, count(*) AS calls FROM calls
          WHERE tenant = ? AND state IN ${openStatesSql} AND ${notSucceededSql} GROUP BY state`,
        [tenant],
      );
      return Object.fromEntries(counts.map(({ state, calls }) => [state, calls]));
    },
  };
}
