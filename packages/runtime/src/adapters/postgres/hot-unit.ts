// Tells the units that can be written many at a time, and which calls each of them touches.
import type { Call } from "../../call/types.ts";
import type { Write } from "../../ledger/port.ts";
import { guardsRange, type PlannedUnit } from "../sqlite/unit-plan.ts";

type Named = { readonly tenant: string; readonly callId: string };

export const callKey = ({ tenant, callId }: Named): string => JSON.stringify([tenant, callId]);
export const rowOf = (write: Write | undefined): Call | undefined =>
  write?.op === "insert_call" || write?.op === "update_call" ? write.row : undefined;

function ofWrite(write: Write): readonly string[] | undefined {
  switch (write.op) {
    case "insert_call": {
      const { tenant, project, idempotencyKey } = write.row;
      return idempotencyKey === null ? [callKey(write.row)] : [callKey(write.row), JSON.stringify([tenant, project, idempotencyKey])];
    }
    case "update_call":
    case "end_attempt":
    case "keep_late_result":
      return [callKey(write.row)];
    case "append_event":
      return [callKey(write.event)];
    case "append_stream":
      return write.dropBefore > 0 ? undefined : [callKey(write.chunk)];
    case "renew_leases":
      return write.leases.map(callKey);
    case "append_audit":
    case "add_usage":
    case "put_host_event":
      return [];
    default:
      return undefined;
  }
}

/**
 * What the unit touches; of two units that touch the same, the second has to see what the first has done. Undefined: the unit is
 * written by itself, because it holds something rare, or its writes look at one another.
 */
export function touchedBy(unit: PlannedUnit): readonly string[] | undefined {
  if (unit.guards > 1 || (unit.guards === 1 && rowOf(unit.writes[0]) === undefined)) return undefined;
  const guarded = rowOf(unit.writes[0]);
  let ends = 0;
  const touched = new Set<string>();
  for (const write of unit.writes) {
    const keys = ofWrite(write);
    if (keys === undefined) return undefined;
    for (const key of keys) touched.add(key);
    if (write.op !== "end_attempt") continue;
    ends += 1;
    // Under the guard of its own call a lease has not ended yet; of another call that would have to be looked up.
    if (ends > 1 || guarded === undefined || callKey(guarded) !== callKey(write.row)) return undefined;
  }
  return unit.ranges.every((range) => guardsRange(unit, range)) ? [...touched] : undefined;
}

