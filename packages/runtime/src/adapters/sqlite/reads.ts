// Reads calls, and tenants with their projects, keys and grants; every statement names the tenant except the ones that find it.
import type { DatabaseSync, SQLInputValue, StatementSync } from "node:sqlite";
import { openStates, type Call, type CallState } from "../../call/types.ts";
import type { Grant, Key, Project, Tenant } from "../../tenancy/types.ts";
import {
  callColumns,
  decode,
  grantColumns,
  keyColumns,
  projectColumns,
  selectList,
  tenantColumns,
  type Column,
  type SqlRow,
} from "./columns.ts";
import { servesLaterSql } from "./cache-schema.ts";
import { notSucceededSql } from "./schema.ts";

const openStatesSql = `(${openStates.map((state) => `'${state}'`).join(", ")})`;

export type Prepared = (sql: string) => StatementSync;

/** Statements by their text; the texts are built from constants, so there are few. */
export function statementCache(db: DatabaseSync): Prepared {
  const statements = new Map<string, StatementSync>();
  return (sql) => {
    let statement = statements.get(sql);
    if (statement === undefined) statements.set(sql, (statement = db.prepare(sql)));
    return statement;
  };
}

/** With `c` for the call. */
export const wholeCall = `${callColumns.map(({ name }) => `c.${name}`).join(", ")}, b.bytes AS blob FROM calls AS c
    LEFT JOIN blobs AS b ON c.output_json IS NULL AND b.tenant = c.tenant AND b.hash = c.output_hash`;

export function callOf(row: SqlRow): Call {
  const { blob } = row;
  if (!(blob instanceof Uint8Array)) return decode<Call>(callColumns, row);
  const text = Buffer.from(blob.buffer, blob.byteOffset, blob.byteLength).toString("utf8");
  return decode<Call>(callColumns, { ...row, output_json: text });
}

export function rowReader(prepared: Prepared) {
  return <Row>(columns: readonly Column[], rest: string, ...values: SQLInputValue[]): Row[] =>
    prepared(`SELECT ${selectList(columns)} FROM ${rest}`)
      .all(...values)
      .map((row) => decode<Row>(columns, row));
}

export function callReads(prepared: Prepared) {
  const oneCall = (condition: string, ...values: SQLInputValue[]): Call | undefined => {
    const row = prepared(`SELECT ${wholeCall} WHERE ${condition}`).get(...values);
    return row === undefined ? undefined : callOf(row);
  };
  return {
    getCall: (tenant: string, callId: string) => oneCall("c.tenant = ? AND c.call_id = ?", tenant, callId),
    getCallByKey: (tenant: string, project: string, key: string) =>
      oneCall("c.tenant = ? AND c.project = ? AND c.idempotency_key = ?", tenant, project, key),
    cachedResult(tenant: string, cacheKey: string, settledFrom: number): Call | undefined {
      const newest = prepared(
        `SELECT call_id FROM calls WHERE tenant = ? AND cache_key = ? AND settled_at >= ? AND ${servesLaterSql}
          ORDER BY settled_at DESC LIMIT 1`,
      ).get(tenant, cacheKey, settledFrom);
      return newest === undefined ? undefined : oneCall("c.tenant = ? AND c.call_id = ?", tenant, String(newest["call_id"]));
    },
    /** All open calls by name, in queue order: sorted once, since an index in that order would be kept up by every call. */
    openCallKeys: () =>
      prepared(
        `SELECT tenant, call_id FROM calls WHERE state IN ${openStatesSql} AND ${notSucceededSql}
          ORDER BY start_tag, admitted_at, tenant, call_id`,
      )
        .all()
        .map((row) => ({ tenant: String(row["tenant"]), callId: String(row["call_id"]) })),
    countOpen(tenant: string): Partial<Record<CallState, number>> {
      const counts = prepared(
        `SELECT state, count(*) AS calls FROM calls
          WHERE tenant = ? AND state IN ${openStatesSql} AND ${notSucceededSql} GROUP BY state`,
      ).all(tenant);
      return Object.fromEntries(counts.map((row) => [row["state"], Number(row["calls"])]));
    },
  };
}

export function tenancyReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    tenants: () => rows<Tenant>(tenantColumns, "tenants ORDER BY tenant"),
    tenant: (tenant: string) => rows<Tenant>(tenantColumns, "tenants WHERE tenant = ?", tenant).at(0),
    projects: (tenant: string) => rows<Project>(projectColumns, "projects WHERE tenant = ? ORDER BY project", tenant),
    keyByHash: (hash: string) => rows<Key>(keyColumns, "keys WHERE hash = ?", hash).at(0),
    keys: (tenant: string) => rows<Key>(keyColumns, "keys WHERE tenant = ? ORDER BY created_at, key_id", tenant),
    grants: (tenant: string) =>
      rows<Grant>(grantColumns, "grants WHERE tenant = ? ORDER BY created_at, grant_id", tenant),
  };
}
