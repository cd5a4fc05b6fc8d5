// Sends many rows in one parameter: a JSON array that PostgreSQL unfolds into a table.
import type { Column } from "../sqlite/columns.ts";
import { storable } from "./db.ts";

/** The few numbers that are no whole ones. */
const fractions = new Set(["start_tag", "first_tag", "duration_ms", "weight"]);

export interface RecordColumn {
  readonly name: string;
  readonly type: "text" | "bigint" | "double precision";
}

export function recordColumns(columns: readonly Pick<Column, "name" | "kind">[]): readonly RecordColumn[] {
  return columns.map(({ name, kind }) => ({ name, type: kind === "text" || kind === "json" ? "text" : numberType(name) }));
}

function numberType(name: string): RecordColumn["type"] {
  return fractions.has(name) ? "double precision" : "bigint";
}

/** `(?::json)` as the table `r` of these columns, in the order of the array. */
export function recordsSql(columns: readonly RecordColumn[]): string {
  return `json_to_recordset(?::json) AS r(${columns.map(({ name, type }) => `${name} ${type}`).join(", ")})`;
}

export function insertRecordsSql(table: string, columns: readonly RecordColumn[], tail = ""): string {
  const names = columns.map(({ name }) => name).join(", ");
  return `INSERT INTO ${table} (${names}) SELECT ${names} FROM ${recordsSql(columns)} ${tail}`;
}

/** The row as a JSON object by column; what is null is left out, and arrives as null. */
export function recordOf(columns: readonly Column[], row: object): Record<string, unknown> {
  const fields = row as Readonly<Record<string, unknown>>;
  const record: Record<string, unknown> = {};
  for (const { field, kind, name } of columns) {
    const value = fields[field];
    if (value === null || value === undefined) continue;
    if (kind === "flag") record[name] = value === true ? 1 : 0;
    else if (kind === "json") record[name] = JSON.stringify(value);
    else record[name] = typeof value === "string" ? storable(value) : value;
  }
  return record;
}
