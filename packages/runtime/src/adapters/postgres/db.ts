// What the pieces of the PostgreSQL ledger are written against: statements over the pool, or over a transaction's connection.
import { createHash } from "node:crypto";
import type { QueryConfig } from "pg";

export type SqlRow = Record<string, string | number | Uint8Array<ArrayBuffer> | null>;

export interface Db {
  /** `sql` with `?` for each parameter, in order. */
  rows<Row = SqlRow>(sql: string, params?: readonly unknown[]): Promise<Row[]>;
  /** How many rows it changed. */
  run(sql: string, params?: readonly unknown[]): Promise<number>;
}

interface Named {
  readonly text: string;
  readonly name: string;
}

/** Texts are made of constants, so there are few; a list of unusual length is sent without a name. */
const namedMax = 2_000;
const named = new Map<string, Named>();

/** Numbers the parameters, outside of quotes. */
export function numbered(sql: string): string {
  let count = 0;
  return sql.replace(/'[^']*'|\?/g, (found) => (found === "?" ? `$${(count += 1)}` : found));
}

/** PostgreSQL's text has no U+0000; what people may write has. Keys and ids are checked at the doors. */
export function storable(text: string): string {
  return text.includes("\0") ? text.replaceAll("\0", "\ufffd") : text;
}

function storableParam(param: unknown): unknown {
  if (typeof param === "string") return storable(param);
  return Array.isArray(param) ? param.map(storableParam) : param;
}

/** As the driver takes it; prepared once on each connection, under a name that is the same for the same text everywhere. */
export function queryOf(sql: string, params: readonly unknown[] = []): QueryConfig {
  const values = params.map(storableParam);
  let known = named.get(sql);
  if (known === undefined) {
    const text = numbered(sql);
    if (named.size >= namedMax) return { text, values };
    known = { text, name: createHash("sha256").update(text).digest("base64url").slice(0, 24) };
    named.set(sql, known);
  }
  return { text: known.text, name: known.name, values };
}

/** The first row; undefined when there is none. */
export async function firstRow<Row = SqlRow>(db: Db, sql: string, params: readonly unknown[] = []): Promise<Row | undefined> {
  return (await db.rows<Row>(sql, params))[0];
}
