// Looks a unit over before it is written: guards in front, events without holes, and an end that the call's row can tell.
import { isTerminal, type Attempt, type Call, type CallEvent } from "../../call/types.ts";
import type { GuardedWrite, Unit, Write } from "../../ledger/port.ts";
import { tellsAttempt } from "./attempt-of.ts";
import { eventText } from "./event-text.ts";
import { sessionSteps, type SessionStep } from "./session-plan.ts";

/** What a unit adds to one call's stream: one row of `events`. */
export interface EventRange {
  readonly tenant: string;
  readonly callId: string;
  readonly seqFrom: number;
  seqTo: number;
  /** The events as they stand in the row, without its brackets. */
  text: string;
  /** The row's id, given when the unit is written. */
  id: number;
}

export interface PlannedUnit extends Unit {
  /** How many guards the unit starts with. */
  readonly guards: number;
  /** One for each call that the unit tells events of. */
  readonly ranges: readonly EventRange[];
  /** The end of the lease under which the unit settles its call, where the settled row tells all of it: it gets no row of its own. */
  readonly toldByRow: Attempt | undefined;
  /** One for each session whose row the unit writes. */
  readonly steps: readonly SessionStep[];
}

type PlainOp = Exclude<Write["op"], GuardedWrite["op"]>;

/** Written as a table, so that the compiler asks about every new kind of write. */
const isGuard: { readonly [Op in Write["op"]]: Op extends PlainOp ? false : true } = {
  insert_call: true,
  update_call: true,
  insert_tenant: true,
  update_tenant: true,
  insert_project: true,
  insert_key: true,
  revoke_key: true,
  insert_grant: true,
  revoke_grant: true,
  insert_tool_version: true,
  activate_tool: true,
  set_tool_status: true,
  insert_policy: true,
  set_policy_status: true,
  insert_approval: true,
  update_approval: true,
  expect_count: true,
  insert_webhook: true,
  remove_webhook: true,
  remove_limit: true,
  expect_workspace_file: true,
  expect_workspace_room: true,
  put_workspace_file: true,
  insert_agent_version: true,
  set_agent_status: true,
  deploy_agent: true,
  archive_agent: true,
  insert_session: true,
  update_session: true,
  put_inbox: true,
  claim_effect: true,
  complete_effect: true,
  append_agent_change: false,
  append_history: false,
  append_session_event: false,
  put_host_event: false,
  remove_workspace_file: false,
  store_vote: false,
  append_notice: false,
  append_stream: false,
  put_delivery: false,
  touch_key: false,
  put_project: false,
  put_policy_default: false,
  put_tool_pin: false,
  put_project_tool: false,
  put_limit: false,
  add_usage: false,
  put_freeze: false,
  lift_freeze: false,
  end_attempt: false,
  append_event: false,
  append_audit: false,
  keep_late_result: false,
  renew_leases: false,
};

/** @throws Error when the unit contradicts itself: it would be wrong whatever is stored */
export function planUnit(unit: Unit): PlannedUnit {
  const { writes } = unit;
  const ranges: EventRange[] = [];
  let guards = 0;
  let ended: Attempt | undefined;
  for (let at = 0; at < writes.length; at += 1) {
    const write = writes[at] as Write;
    if (write.op === "append_event") addEvent(ranges, write.event);
    else if (write.op === "end_attempt") ended = write.row;
    if (!isGuard[write.op]) continue;
    if (at > guards) throw new Error(`${write.op} stands behind a plain write; guards come first in a unit`);
    guards += 1;
  }
  for (let at = 0; at < guards; at += 1) checkCallWrite(writes[at] as Write, ranges);
  const first = writes[0];
  const toldByRow =
    ended !== undefined && first?.op === "update_call" && tellsAttempt(first.row, ended) ? ended : undefined;
  return { writes, guards, ranges, toldByRow, steps: sessionSteps(writes), ...(unit.lazy === true ? { lazy: true } : {}) };
}

/** The events that a unit tells of a call. */
export function rangeOf(ranges: readonly EventRange[], { tenant, callId }: Pick<Call, "tenant" | "callId">) {
  for (const range of ranges) if (range.callId === callId && range.tenant === tenant) return range;
  return undefined;
}

function addEvent(ranges: EventRange[], event: CallEvent): void {
  const { tenant, callId, seq } = event;
  const range = rangeOf(ranges, event);
  if (range === undefined) {
    ranges.push({ tenant, callId, seqFrom: seq, seqTo: seq, text: eventText(event), id: 0 });
  } else if (seq === range.seqTo + 1) {
    range.seqTo = seq;
    range.text += `,${eventText(event)}`;
  } else {
    throw new Error(`event ${seq} of call ${callId} does not follow event ${range.seqTo}`);
  }
}

/** The row counts its events, so that its guard can tell whether the next ones follow. */
function checkCallWrite(write: Write, ranges: readonly EventRange[]): void {
  if (write.op !== "insert_call" && write.op !== "update_call") return;
  const { row } = write;
  if (write.op === "update_call" && isTerminal(write.expect.state)) {
    throw new Error(`call ${row.callId} is expected ${write.expect.state}; a settled call never changes`);
  }
  const range = rangeOf(ranges, row);
  const last = range?.seqTo ?? (write.op === "insert_call" ? 0 : row.eventSeq);
  if (row.eventSeq !== last) {
    throw new Error(`call ${row.callId} counts ${row.eventSeq} events; with this unit it has ${last}`);
  }
  if (write.op === "insert_call" && range !== undefined && range.seqFrom !== 1) {
    throw new Error(`the events of call ${row.callId} start at ${range.seqFrom}, not at 1`);
  }
}

/** Whether the unit writes the call's row, whose guard then checks that the range follows what is stored. */
export function guardsRange(unit: PlannedUnit, range: EventRange): boolean {
  for (let at = 0; at < unit.guards; at += 1) {
    const write = unit.writes[at] as Write;
    const ofCall = write.op === "insert_call" || write.op === "update_call";
    if (ofCall && write.row.callId === range.callId && write.row.tenant === range.tenant) return true;
  }
  return false;
}
