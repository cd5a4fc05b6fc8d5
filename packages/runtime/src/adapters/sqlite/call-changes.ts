// Which columns of a call an update has to write: those in which its row differs from the one that was written before.
import type { SQLInputValue } from "node:sqlite";
import type { CallProgress } from "../../call/types.ts";
import { callProgressColumns, type Column } from "./columns.ts";

type Reads = { readonly [Field in keyof CallProgress]: (row: CallProgress) => CallProgress[Field] };

/** One function for each column: a loop over names would look every one of them up anew for each row. */
const reads: Reads = {
  timeoutMs: (row) => row.timeoutMs,
  resultBytesMax: (row) => row.resultBytesMax,
  state: (row) => row.state,
  routingOutcome: (row) => row.routingOutcome,
  fence: (row) => row.fence,
  attempt: (row) => row.attempt,
  placements: (row) => row.placements,
  mayHaveRun: (row) => row.mayHaveRun,
  effectiveArgsJson: (row) => row.effectiveArgsJson,
  argsEditedBy: (row) => row.argsEditedBy,
  approvalId: (row) => row.approvalId,
  approval: (row) => row.approval,
  startTag: (row) => row.startTag,
  notBefore: (row) => row.notBefore,
  enqueuedAt: (row) => row.enqueuedAt,
  queueDeadlineAt: (row) => row.queueDeadlineAt,
  startDeadlineAt: (row) => row.startDeadlineAt,
  provisionDeadlineAt: (row) => row.provisionDeadlineAt,
  runDeadlineAt: (row) => row.runDeadlineAt,
  leaseExpiresAt: (row) => row.leaseExpiresAt,
  graceDeadlineAt: (row) => row.graceDeadlineAt,
  dispatchedAt: (row) => row.dispatchedAt,
  startedAt: (row) => row.startedAt,
  settledAt: (row) => row.settledAt,
  workerId: (row) => row.workerId,
  incarnation: (row) => row.incarnation,
  replica: (row) => row.replica,
  cancelRequestedAt: (row) => row.cancelRequestedAt,
  cancelRequestedBy: (row) => row.cancelRequestedBy,
  stopReason: (row) => row.stopReason,
  outputJson: (row) => row.outputJson,
  outputHash: (row) => row.outputHash,
  outputBytes: (row) => row.outputBytes,
  outputIllFormed: (row) => row.outputIllFormed,
  error: (row) => row.error,
  usage: (row) => row.usage,
  cachedFrom: (row) => row.cachedFrom,
  eventSeq: (row) => row.eventSeq,
};

/** A set of columns as a number, one bit each; a number has room for 53. */
export type Columns = number;

export interface ProgressColumn extends Column {
  readonly read: (row: CallProgress) => unknown;
  readonly bit: Columns;
}

const progressColumns: readonly ProgressColumn[] = callProgressColumns.map((column, at) => ({
  ...column,
  read: reads[column.field as keyof CallProgress],
  bit: 2 ** at,
}));

function bitsOf(columns: readonly ProgressColumn[]): Columns {
  return columns.reduce((set, { bit }) => set + bit, 0);
}

/** Renewals write it without going through a row, so nobody knows what is stored. */
const lease = progressColumns.filter(({ field }) => field === "leaseExpiresAt");
/** Whether a result stands in the row or in a blob hangs on all three. */
const output = progressColumns.filter(({ field }) => ["outputJson", "outputHash", "outputBytes"].includes(field));
const others = progressColumns.filter((column) => !lease.includes(column) && !output.includes(column));
const [everyBit, leaseBits, outputBits] = [bitsOf(progressColumns), bitsOf(lease), bitsOf(output)];

/** The columns that an update from `before` to `row` writes; all of them when nobody says what was before. */
export function changedColumns(before: CallProgress | undefined, row: CallProgress): Columns {
  if (before === undefined) return everyBit;
  let changed = leaseBits;
  for (const { read, bit } of others) if (read(row) !== read(before)) changed += bit;
  for (const { read } of output) if (read(row) !== read(before)) return changed + outputBits;
  return changed;
}

export function columnsOf(set: Columns): readonly ProgressColumn[] {
  return progressColumns.filter(({ bit }) => Math.floor(set / bit) % 2 === 1);
}

/** As it is bound. */
export function boundValue({ kind, read }: ProgressColumn, row: CallProgress): SQLInputValue {
  const value = read(row);
  if (value === null || kind === "text" || kind === "number") return value as SQLInputValue;
  return kind === "flag" ? Number(value) : JSON.stringify(value);
}
