// Counts what became of a story's calls: from the rows of the ledger, the keys that clients hold, and the entries of handlers.
import { isSafe, type SideEffectClass } from "@signalbox/protocol";
import type { Entry, Held, Report, Row } from "./types.ts";

export interface Counted {
  readonly story: string;
  readonly kills: number;
  readonly held: readonly Held[];
  readonly rows: readonly Row[];
  readonly entries: readonly Entry[];
  readonly classOf: (tool: string) => SideEffectClass;
}

const terminal = new Set(["denied", "succeeded", "failed", "timed_out", "cancelled"]);

/** Nobody but a person does anything about it. */
function isParked({ status, approvalId }: Row): boolean {
  return status === "indeterminate" || (status === "awaiting_approval" && approvalId !== null);
}

export function count(counted: Counted): Report {
  const { story, kills, held, rows } = counted;
  const rowOf = new Map(rows.map((row) => [row.executionId, row]));
  const indeterminate: Record<string, number> = {};
  for (const { status, reason } of rows)
    if (status === "indeterminate") indeterminate[reason] = (indeterminate[reason] ?? 0) + 1;
  return {
    story,
    calls: rows.length,
    kills,
    lost: held.filter((one) => isLost(one, rowOf)).length,
    unsafeRepeats: unsafeRepeats(counted),
    stranded: rows.filter((row) => !terminal.has(row.status) && !isParked(row)).length,
    indeterminate,
    problems: [...toldOtherwise(held, rowOf), ...ofNobody(held, rows), ...twiceUnderOneLease(counted.entries)],
  };
}

/** A key that never got an answer, or a call that was acknowledged and has neither ended nor parked, or is not there at all. */
function isLost({ executionId }: Held, rowOf: ReadonlyMap<string, Row>): boolean {
  const row = executionId === undefined ? undefined : rowOf.get(executionId);
  return row === undefined || !(terminal.has(row.status) || isParked(row));
}

/**
 * Calls of a class that must not be repeated whose handler was entered more than once, nobody retries any here; or that
 * were entered at all and are no key's: somebody else has run under that key.
 */
function unsafeRepeats({ entries, classOf, held }: Counted): number {
  const known = new Set(held.map(({ executionId }) => executionId));
  const unsafe = entries.filter(({ tool }) => !isSafe(classOf(tool)));
  const times = new Map<string, number>();
  for (const { callId } of unsafe) times.set(callId, (times.get(callId) ?? 0) + 1);
  return [...times].filter(([callId, entered]) => entered > 1 || !known.has(callId)).length;
}

function toldOtherwise(held: readonly Held[], rowOf: ReadonlyMap<string, Row>): string[] {
  return held.flatMap(({ executionId = "", toldStatus }) => {
    const status = rowOf.get(executionId)?.status;
    if (toldStatus === undefined || status === undefined || status === toldStatus) return [];
    return [`${executionId} was told as ${toldStatus} and is ${status}`];
  });
}

/** One key is one call: a row that no key stands for is a call that was made twice. */
function ofNobody(held: readonly Held[], rows: readonly Row[]): string[] {
  const ids = held.flatMap(({ executionId }) => (executionId === undefined ? [] : [executionId]));
  const known = new Set(ids);
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at);
  return [
    ...rows.filter(({ executionId }) => !known.has(executionId)).map(({ executionId }) => `${executionId} is no key's call`),
    ...twice.map((id) => `${id} is the call of two keys`),
  ];
}

function twiceUnderOneLease(entries: readonly Entry[]): string[] {
  const seen = new Set<string>();
  const twice: string[] = [];
  for (const { callId, fence } of entries) {
    const lease = `${callId} ${fence}`;
    if (seen.has(lease)) twice.push(`${callId} entered its handler twice under the lease ${fence}`);
    seen.add(lease);
  }
  return twice;
}
