// Which column keeps which field: one table per kind of row, used for writing and for reading.
import type { SQLInputValue, SQLOutputValue } from "node:sqlite";
import type { Attempt, Call, CallAllowance, CallIdentity, CallProgress, LateResult } from "../../call/types.ts";
import type { OutboxRow } from "../../ledger/port.ts";
import type { ToolRecord } from "../../registry/types.ts";
import type { Grant, Key, Project, Tenant } from "../../tenancy/types.ts";

/** `flag`: boolean as 0 or 1. `json`: any plain value as JSON text, in a column that ends in `_json`. */
export type ColumnKind = "text" | "number" | "flag" | "json";

export interface Column {
  readonly field: string;
  readonly name: string;
  readonly kind: ColumnKind;
}

export type SqlRow = Record<string, SQLOutputValue>;

// Reserved words of SQL.
const renamed: Readonly<Record<string, string>> = { index: "call_index", when: "when_source", by: "changed_by" };

export function columnName(field: string, kind: ColumnKind): string {
  const snake = renamed[field] ?? field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  return kind === "json" ? `${snake}_json` : snake;
}

/** The record's type makes the compiler refuse a table that forgets a field of its row. */
export function columnsOf<Row>(kinds: { readonly [Field in keyof Row & string]: ColumnKind }): readonly Column[] {
  return Object.entries<ColumnKind>(kinds).map(([field, kind]) => ({ field, kind, name: columnName(field, kind) }));
}

export const callIdentityColumns = columnsOf<Omit<CallIdentity, keyof CallAllowance>>({
  tenant: "text",
  callId: "text",
  project: "text",
  tool: "text",
  toolTenant: "text",
  version: "text",
  requestedVersion: "text",
  manifestDigest: "text",
  executor: "text",
  sandbox: "text",
  boxJson: "text",
  filesJson: "text",
  sideEffectClass: "text",
  onIndeterminate: "text",
  principal: "text",
  onBehalfOf: "text",
  sessionId: "text",
  turn: "number",
  step: "number",
  index: "number",
  contextJson: "text",
  traceparent: "text",
  requestId: "text",
  idempotencyKey: "text",
  fingerprint: "text",
  inputHash: "text",
  inputJson: "text",
  priority: "text",
  decision: "json",
  admittedAt: "number",
  graceMs: "number",
  totalDeadlineAt: "number",
  cacheKey: "text",
  retryJson: "text",
});

export const callProgressColumns = columnsOf<CallProgress>({
  timeoutMs: "number",
  resultBytesMax: "number",
  state: "text",
  routingOutcome: "text",
  fence: "number",
  attempt: "number",
  placements: "number",
  mayHaveRun: "flag",
  effectiveArgsJson: "text",
  argsEditedBy: "text",
  approvalId: "text",
  approval: "json",
  startTag: "number",
  notBefore: "number",
  enqueuedAt: "number",
  queueDeadlineAt: "number",
  startDeadlineAt: "number",
  provisionDeadlineAt: "number",
  runDeadlineAt: "number",
  leaseExpiresAt: "number",
  graceDeadlineAt: "number",
  dispatchedAt: "number",
  startedAt: "number",
  settledAt: "number",
  workerId: "text",
  incarnation: "text",
  replica: "text",
  cancelRequestedAt: "number",
  cancelRequestedBy: "text",
  stopReason: "text",
  outputJson: "text",
  outputHash: "text",
  outputBytes: "number",
  outputIllFormed: "flag",
  error: "json",
  usage: "json",
  cachedFrom: "text",
  eventSeq: "number",
});

export const callColumns: readonly Column[] = [...callIdentityColumns, ...callProgressColumns];

export const attemptColumns = columnsOf<Attempt>({
  tenant: "text",
  callId: "text",
  fence: "number",
  attempt: "number",
  workerId: "text",
  incarnation: "text",
  replica: "text",
  dispatchedAt: "number",
  acceptedAt: "number",
  startedAt: "number",
  endedAt: "number",
  endReason: "text",
  error: "json",
  usage: "json",
});

/** The outbox is read from the events themselves. */
export const outboxColumns = columnsOf<OutboxRow>({
  id: "number",
  tenant: "text",
  callId: "text",
  seqFrom: "number",
  seqTo: "number",
});

export const lateResultColumns = columnsOf<LateResult>({
  tenant: "text",
  callId: "text",
  fence: "number",
  at: "number",
  workerId: "text",
  status: "text",
  outputJson: "text",
  errorJson: "text",
});

export const tenantColumns = columnsOf<Tenant>({
  tenant: "text",
  weight: "number",
  createdAt: "number",
  suspendedAt: "number",
  suspendedBy: "text",
  suspendedReason: "text",
});

export const projectColumns = columnsOf<Project>({
  tenant: "text",
  project: "text",
  environment: "text",
  createdAt: "number",
});

export const keyColumns = columnsOf<Key>({
  tenant: "text",
  keyId: "text",
  hash: "text",
  label: "text",
  principal: "text",
  project: "text",
  scopes: "json",
  roles: "json",
  createdAt: "number",
  expiresAt: "number",
  revokedAt: "number",
  lastUsedAt: "number",
});

export const grantColumns = columnsOf<Grant>({
  tenant: "text",
  grantId: "text",
  subject: "text",
  project: "text",
  permissions: "json",
  roles: "json",
  createdAt: "number",
  createdBy: "text",
  expiresAt: "number",
  revokedAt: "number",
});

export const toolColumns = columnsOf<ToolRecord>({
  tenant: "text",
  tool: "text",
  activeVersion: "text",
  description: "text",
  sideEffectClass: "text",
  executorType: "text",
  createdAt: "number",
  owner: "text",
  category: "text",
  labels: "json",
});

/** The row's values in the order of the columns, as they are bound. */
export function encode(columns: readonly Column[], row: object): SQLInputValue[] {
  const fields = row as Readonly<Record<string, unknown>>;
  const values: SQLInputValue[] = [];
  for (const { field, kind } of columns) {
    const value = fields[field];
    if (value === null || kind === "text" || kind === "number") values.push(value as SQLInputValue);
    else values.push(kind === "flag" ? Number(value) : JSON.stringify(value));
  }
  return values;
}

function decoded(kind: ColumnKind, value: SQLOutputValue | undefined): unknown {
  if (value === null || value === undefined) return null;
  if (kind === "flag") return value === 1;
  return kind === "json" ? (JSON.parse(String(value)) as unknown) : value;
}

/** The row that {@link encode} wrote; `Row` is the type that the columns were made for. */
export function decode<Row>(columns: readonly Column[], sqlRow: SqlRow): Row {
  const row: Record<string, unknown> = {};
  for (const { field, kind, name } of columns) row[field] = decoded(kind, sqlRow[name]);
  return row as Row;
}

export function selectList(columns: readonly Pick<Column, "name">[]): string {
  return columns.map(({ name }) => name).join(", ");
}

/** `INSERT INTO …` with one parameter per column. */
export function insertSql(table: string, columns: readonly Pick<Column, "name">[], tail = ""): string {
  const parameters = columns.map(() => "?").join(", ");
  return `INSERT INTO ${table} (${selectList(columns)}) VALUES (${parameters}) ${tail}`;
}

/** A call's large result stands in `blobs`; the row keeps its hash. */
export function standsInBlob(row: Call, inlineResultBytesMax: number): boolean {
  return row.outputJson !== null && row.outputHash !== null && row.outputBytes > inlineResultBytesMax;
}
