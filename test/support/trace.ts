// What must hold of every ledger that a test leaves behind: sentences about its rows, read from the file of a stopped runtime.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { isSafe, type SideEffectClass } from "@signalbox/protocol";
import { verifyAuditFile } from "../../packages/runtime/src/adapters/sqlite/verify-file.ts";
import { isTerminal, type CallState } from "../../packages/runtime/src/call/types.ts";

export interface CallRow {
  readonly tenant: string;
  readonly call_id: string;
  readonly state: CallState;
  readonly side_effect_class: SideEffectClass;
  readonly fence: number;
  readonly event_seq: number;
  readonly input_json: string | null;
  readonly idempotency_key: string | null;
}

export interface AttemptRow {
  readonly tenant: string;
  readonly call_id: string;
  readonly fence: number;
  readonly started_at: number | null;
  readonly ended_at: number | null;
}

export interface EventRow {
  readonly tenant: string;
  readonly call_id: string;
  readonly seq: number;
  readonly type: string;
  readonly data_json: string;
}

export interface AuditRow {
  readonly tenant: string;
  readonly call_id: string;
  readonly action: string;
  readonly status: string | null;
}

/** Rows in the order of their keys: events by seq, attempts by fence. */
export interface Trace {
  readonly calls: readonly CallRow[];
  readonly attempts: readonly AttemptRow[];
  readonly events: readonly EventRow[];
  /** Records that name a call. */
  readonly audit: readonly AuditRow[];
  /** What `audit verify` finds fault with. */
  readonly auditProblems: readonly string[];
}

export interface TraceOptions {
  /** Calls that the test leaves open on purpose. */
  readonly mayBeOpen?: readonly (string | undefined)[];
}

/** @throws Error when the folder holds no ledger */
export async function readTrace(dataDir: string): Promise<Trace> {
  const path = join(dataDir, "ledger.db");
  const db = new DatabaseSync(path, { readOnly: true });
  try {
    const all = <Row>(sql: string): Row[] => db.prepare(sql).all() as Row[];
    const key = Buffer.from(readFileSync(join(dataDir, "audit.key"), "utf8").trim(), "hex");
    const verdict = await verifyAuditFile(path, key);
    return {
      calls: all(
        "SELECT tenant, call_id, state, side_effect_class, fence, event_seq, input_json, idempotency_key FROM calls",
      ),
      attempts: all(
        "SELECT tenant, call_id, fence, started_at, ended_at FROM attempts ORDER BY tenant, call_id, fence",
      ),
      events: all("SELECT tenant, call_id, seq, type, data_json FROM events ORDER BY tenant, call_id, seq"),
      audit: all("SELECT tenant, call_id, action, status FROM audit WHERE call_id IS NOT NULL"),
      auditProblems: verdict.problems.map(({ lane, seq, kind }) => `${lane}#${seq} ${kind}`),
    };
  } finally {
    db.close();
  }
}

type Of<Row> = (call: CallRow) => readonly Row[];

/** Every broken rule in words; empty when the trace is good. */
export function brokenRules(trace: Trace, options: TraceOptions = {}): string[] {
  const eventsOf = byCall(trace.events);
  const attemptsOf = byCall(trace.attempts);
  const auditOf = byCall(trace.audit);
  return [
    ...trace.auditProblems.map((problem) => `the audit chain does not hold: ${problem}`),
    ...trace.calls.flatMap((call) =>
      [
        ...oneEnd(call, eventsOf(call)),
        ...settledIsLast(eventsOf(call)),
        ...seqIsGapFree(call, eventsOf(call)),
        ...unsafeStartsOnce(call, attemptsOf(call), eventsOf(call)),
        ...attemptsEnd(call, attemptsOf(call)),
        ...auditedOnce(call, auditOf(call)),
        ...deniedKeepsNothing(call),
        ...notStranded(call, options.mayBeOpen ?? []),
      ].map((broken) => `${call.call_id}: ${broken}`),
    ),
  ];
}

function byCall<Row extends { readonly tenant: string; readonly call_id: string }>(rows: readonly Row[]): Of<Row> {
  const groups = Map.groupBy(rows, ({ tenant, call_id }) => `${tenant} ${call_id}`);
  return ({ tenant, call_id }) => groups.get(`${tenant} ${call_id}`) ?? [];
}

const ends: ReadonlySet<string> = new Set(["denied", "succeeded", "failed", "timed_out", "cancelled"]);

/** Exactly one end, and it is the row's; none while the call is open. */
function oneEnd({ state }: CallRow, events: readonly EventRow[]): string[] {
  const told = events.filter(({ type }) => ends.has(type)).map(({ type }) => type);
  const wanted = isTerminal(state) ? [state] : [];
  return told.join() === wanted.join() ? [] : [`is ${state}, but its events tell these ends: ${told.join() || "none"}`];
}

function settledIsLast(events: readonly EventRow[]): string[] {
  const at = events.findIndex(({ type }) => ends.has(type));
  const after = at < 0 ? [] : events.slice(at + 1);
  return after.map(({ type, seq }) => `the event ${seq} (${type}) comes after the end`);
}

function seqIsGapFree(call: CallRow, events: readonly EventRow[]): string[] {
  const broken = events.flatMap(({ seq }, at) => (seq === at + 1 ? [] : [`event ${at + 1} has the seq ${seq}`]));
  if (events.length !== call.event_seq)
    broken.push(`has ${events.length} events, but its row counts ${call.event_seq}`);
  return broken;
}

/** An unsafe call may have started once, and once more for each person who said that it had not happened. */
function unsafeStartsOnce(call: CallRow, attempts: readonly AttemptRow[], events: readonly EventRow[]): string[] {
  if (isSafe(call.side_effect_class)) return [];
  const retries = events.filter(
    ({ type, data_json }) => type === "resolved" && verdictOf(data_json) === "retry",
  ).length;
  const leases = attempts.filter(({ started_at }) => started_at !== null).length;
  const starts = Math.max(leases, events.filter(({ type }) => type === "started").length);
  return starts <= 1 + retries ? [] : [`is unsafe and started ${starts} times, with ${retries} retries by people`];
}

function verdictOf(dataJson: string): unknown {
  return (JSON.parse(dataJson) as { readonly verdict?: unknown }).verdict;
}

/** Every lease was answered, given back or taken away; only the newest one of a call in work may be open. */
function attemptsEnd(call: CallRow, attempts: readonly AttemptRow[]): string[] {
  const held = call.state === "dispatched" || call.state === "running";
  return attempts.flatMap(({ fence, ended_at }) => {
    if (fence > call.fence) return [`has a lease ${fence} that is newer than its fence ${call.fence}`];
    return ended_at !== null || (held && fence === call.fence) ? [] : [`its lease ${fence} never ended`];
  });
}

const endActions: ReadonlySet<string> = new Set(["call.settled", "call.denied", "call.resolved"]);

/** One record of the end, saying the same as the row. */
function auditedOnce({ state }: CallRow, audit: readonly AuditRow[]): string[] {
  const told = audit.filter(({ action }) => endActions.has(action)).map(({ status }) => status ?? "no status");
  const wanted = isTerminal(state) ? [state] : [];
  return told.join() === wanted.join() ? [] : [`is ${state}, but the audit tells these ends: ${told.join() || "none"}`];
}

/** Who was refused leaves hashes behind, and may use the key again. */
function deniedKeepsNothing({ state, input_json, idempotency_key }: CallRow): string[] {
  if (state !== "denied") return [];
  return input_json === null && idempotency_key === null ? [] : ["was denied and kept its arguments or its key"];
}

/** An end, or a question put to a person. */
function notStranded({ call_id, state }: CallRow, mayBeOpen: readonly (string | undefined)[]): string[] {
  if (isTerminal(state) || state === "indeterminate" || mayBeOpen.includes(call_id)) return [];
  return [`was left ${state}`];
}
