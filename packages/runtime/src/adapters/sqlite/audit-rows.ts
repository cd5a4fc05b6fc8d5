// How an audit record stands in its table: the columns, and the way back from a row.
import type { AuditRecord } from "../../ledger/audit.ts";
import { auditFields, auditRecord, type AuditValue } from "../../ledger/audit-chain.ts";
import { columnName } from "./columns.ts";

export const auditColumnNames: readonly string[] = [
  ...auditFields.map(([field, kind]) => columnName(field, kind === "json" ? "json" : "text")),
  "prev_hash",
  "hash",
];

export const auditRowColumns = auditColumnNames.join(", ");

/** @param row the values of {@link auditRowColumns} */
export function auditRecordOf(row: readonly AuditValue[]): AuditRecord {
  const facts = auditFields.length;
  return auditRecord(row.slice(0, facts), String(row[facts]), String(row[facts + 1]));
}
