// The first row of nearly every call: admitted, perhaps dispatched, and nothing else has happened to it.
import type { SQLInputValue } from "node:sqlite";
import type { Call, CallProgress } from "../../call/types.ts";
import { callIdentityColumns, callProgressColumns, selectList, type Column } from "./columns.ts";

/** What may stand in a fresh row; every other column is as in {@link untouched}. */
const moved = [
  "timeoutMs",
  "resultBytesMax",
  "state",
  "effectiveArgsJson",
  "approvalId",
  "startTag",
  "notBefore",
  "enqueuedAt",
  "queueDeadlineAt",
  "startDeadlineAt",
  "leaseExpiresAt",
  "dispatchedAt",
  "workerId",
  "incarnation",
  "replica",
  "eventSeq",
] as const satisfies readonly (keyof CallProgress)[];

type Untouched = Omit<CallProgress, (typeof moved)[number]>;

const untouched: { readonly [Field in keyof Untouched]: string } = {
  routingOutcome: "NULL",
  fence: "1",
  attempt: "1",
  placements: "0",
  mayHaveRun: "0",
  argsEditedBy: "NULL",
  approval: "NULL",
  provisionDeadlineAt: "NULL",
  runDeadlineAt: "NULL",
  graceDeadlineAt: "NULL",
  startedAt: "NULL",
  settledAt: "NULL",
  cancelRequestedAt: "NULL",
  cancelRequestedBy: "NULL",
  stopReason: "NULL",
  outputJson: "NULL",
  outputHash: "NULL",
  outputBytes: "0",
  outputIllFormed: "0",
  error: "NULL",
  usage: "NULL",
  cachedFrom: "NULL",
};

export function isFresh(row: Call): boolean {
  return (
    row.fence === 1 &&
    row.attempt === 1 &&
    row.placements === 0 &&
    !row.mayHaveRun &&
    row.outputBytes === 0 &&
    !row.outputIllFormed &&
    row.routingOutcome === null &&
    row.argsEditedBy === null &&
    row.approval === null &&
    row.provisionDeadlineAt === null &&
    row.runDeadlineAt === null &&
    row.graceDeadlineAt === null &&
    row.startedAt === null &&
    row.settledAt === null &&
    row.cancelRequestedAt === null &&
    row.cancelRequestedBy === null &&
    row.stopReason === null &&
    row.outputJson === null &&
    row.outputHash === null &&
    row.error === null &&
    row.usage === null &&
    row.cachedFrom === null
  );
}

const isMoved = ({ field }: Column): boolean => (moved as readonly string[]).includes(field);

/** Takes {@link freshValues}, then `event_rows`. */
export function insertFreshSql(tail: string): string {
  const bound = [...callIdentityColumns, ...callProgressColumns.filter(isMoved)];
  const left = callProgressColumns.filter((column) => !isMoved(column));
  const parameters = bound.map(() => "?").join(", ");
  const constants = left.map(({ field }) => untouched[field as keyof Untouched]).join(", ");
  return `INSERT INTO calls (${selectList(bound)}, event_rows, ${selectList(left)}) VALUES (${parameters}, ?, ${constants}) ${tail}`;
}

/** A list by hand, because a loop over names costs more than the statement itself; a test holds it to the columns. */
export function freshValues(row: Call): SQLInputValue[] {
  return [
    row.tenant,
    row.callId,
    row.project,
    row.tool,
    row.toolTenant,
    row.version,
    row.requestedVersion,
    row.manifestDigest,
    row.executor,
    row.sandbox,
    row.boxJson,
    row.filesJson,
    row.sideEffectClass,
    row.onIndeterminate,
    row.principal,
    row.onBehalfOf,
    row.sessionId,
    row.turn,
    row.step,
    row.index,
    row.contextJson,
    row.traceparent,
    row.requestId,
    row.idempotencyKey,
    row.fingerprint,
    row.inputHash,
    row.inputJson,
    row.priority,
    JSON.stringify(row.decision),
    row.admittedAt,
    row.graceMs,
    row.totalDeadlineAt,
    row.cacheKey,
    row.retryJson,
    row.timeoutMs,
    row.resultBytesMax,
    row.state,
    row.effectiveArgsJson,
    row.approvalId,
    row.startTag,
    row.notBefore,
    row.enqueuedAt,
    row.queueDeadlineAt,
    row.startDeadlineAt,
    row.leaseExpiresAt,
    row.dispatchedAt,
    row.workerId,
    row.incarnation,
    row.replica,
    row.eventSeq,
  ];
}
