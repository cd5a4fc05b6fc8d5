// What must hold of every ledger that a test leaves behind: sentences about its rows, read from the file of a stopped runtime.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isSafe } from "@signalbox/protocol";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { isTerminal, type Attempt, type Call, type CallEvent } from "../../packages/runtime/src/call/types.ts";
import type { AuditRecord } from "../../packages/runtime/src/ledger/audit.ts";
import type { Ledger, Page } from "../../packages/runtime/src/ledger/port.ts";
import type { Approval } from "../../packages/runtime/src/policy/approval/types.ts";
import type { UsageRow } from "../../packages/runtime/src/schedule/types.ts";

/** One call with everything that the ledger has of it. */
export interface CallTrace {
  readonly call: Pick<
    Call,
    | "tenant"
    | "project"
    | "tool"
    | "callId"
    | "state"
    | "sideEffectClass"
    | "fence"
    | "eventSeq"
    | "inputJson"
    | "idempotencyKey"
    | "approvalId"
  >;
  /** By fence. */
  readonly attempts: readonly Pick<Attempt, "fence" | "startedAt" | "endedAt">[];
  /** By seq. */
  readonly events: readonly Pick<CallEvent, "seq" | "type" | "dataJson">[];
  readonly audit: readonly Pick<AuditRecord, "action" | "status">[];
  /** In the order in which people were asked. */
  readonly approvals: readonly Pick<Approval, "approvalId" | "state" | "subject">[];
}

export interface Trace {
  readonly calls: readonly CallTrace[];
  /** By tenant, project and tool. */
  readonly usage: readonly Used[];
  /** What `audit verify` finds fault with. */
  readonly auditProblems: readonly string[];
}

/** How many calls the usage counts, and by which ends. */
export type Used = Pick<
  UsageRow,
  "tenant" | "project" | "tool" | "executions" | "succeeded" | "failed" | "timedOut" | "cancelled" | "denied"
>;

/** What a test saw with its own eyes: user code was entered under this lease. */
export interface Entered {
  readonly callId: string;
  readonly fence: number;
}

export interface TraceOptions {
  /** Every entry into user code that the test knows of; the truth about side effects, whatever the ledger says. */
  readonly entries?: readonly Entered[];
  /** Calls that the test leaves open on purpose. */
  readonly mayBeOpen?: readonly (string | undefined)[];
}

/** More than any call of a test has. */
const rowsMax = 1_000;

/** @throws Error when the folder holds no ledger, or its runtime still runs */
export async function readTrace(dataDir: string): Promise<Trace> {
  const auditKey = Buffer.from(readFileSync(join(dataDir, "audit.key"), "utf8").trim(), "hex");
  const ledger = new SqliteLedger({ path: join(dataDir, "ledger.db"), auditKey, lane: "trace", now: Date.now });
  try {
    return await traceOf(ledger);
  } finally {
    await ledger.close();
  }
}

/** Of a ledger that nobody else writes meanwhile. */
export async function traceOf(ledger: Ledger): Promise<Trace> {
  const calls: CallTrace[] = [];
  for (const { tenant } of await ledger.tenants()) calls.push(...(await callsOf(ledger, tenant)));
  const { problems } = await ledger.verifyAudit();
  const groupBy = ["tenant", "project", "tool"] as const;
  const usage = await all((cursor) => ledger.usage({ tenant: null, groupBy }, rowsMax, cursor));
  return { calls, usage, auditProblems: problems.map(({ lane, seq, kind }) => `${lane}#${seq} ${kind}`) };
}

async function callsOf(ledger: Ledger, tenant: string): Promise<CallTrace[]> {
  const rows = await all((cursor) => ledger.listCalls({ tenant }, rowsMax, cursor));
  const records = await all((cursor) => ledger.listAudit({ tenant }, rowsMax, cursor));
  const auditOf = Map.groupBy(records, ({ callId }) => callId);
  const approvals = await all((cursor) => ledger.listApprovals({ tenant }, rowsMax, cursor));
  const approvalsOf = Map.groupBy(approvals.toReversed(), ({ subject }) => subject.callId);
  const traces: CallTrace[] = [];
  for (const { callId } of rows) {
    const call = await ledger.getCall(tenant, callId);
    if (call === undefined) throw new Error(`${callId} is listed, but not there`);
    traces.push({
      call,
      attempts: await ledger.attempts(tenant, callId),
      events: await ledger.events(tenant, callId, 0, rowsMax),
      audit: auditOf.get(callId) ?? [],
      approvals: approvalsOf.get(callId) ?? [],
    });
  }
  return traces;
}

async function all<T>(page: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const items: T[] = [];
  let cursor: string | undefined;
  do {
    const { items: more, next } = await page(cursor);
    items.push(...more);
    cursor = next;
  } while (cursor !== undefined);
  return items;
}

/** Every broken rule in words; empty when the trace is good. */
export function brokenRules(trace: Trace, options: TraceOptions = {}): string[] {
  const { entries = [], mayBeOpen = [] } = options;
  return [
    ...trace.auditProblems.map((problem) => `the audit chain does not hold: ${problem}`),
    ...usageIsOfTheEnds(trace),
    ...trace.calls.flatMap((one) =>
      [
        ...oneEnd(one),
        ...settledIsLast(one),
        ...seqIsGapFree(one),
        ...unsafeStartsOnce(one),
        ...attemptsEnd(one),
        ...auditedOnce(one),
        ...deniedKeepsNothing(one),
        ...askedWhileItWaits(one),
        ...askedToTheEnd(one),
        ...ranByConsent(one),
        ...enteredOnce(one, entries),
        ...notStranded(one, mayBeOpen),
      ].map((broken) => `${one.call.callId}: ${broken}`),
    ),
  ];
}

/** Whoever ended is counted once, under its end; who was refused at once is no execution. */
function usageIsOfTheEnds({ calls, usage }: Trace): string[] {
  const wanted = new Map<string, number>();
  const count = (what: string, { tenant, project, tool }: Pick<Used, "tenant" | "project" | "tool">, by = 1): void => {
    const key = `${what} of ${tenant}/${project}/${tool}`;
    wanted.set(key, (wanted.get(key) ?? 0) + by);
  };
  for (const { call, events } of calls) {
    if (!isTerminal(call.state)) continue;
    count(call.state, call);
    if (call.state !== "denied" || waited(events)) count("executions", call);
  }
  for (const row of usage) {
    const { executions, succeeded, failed, timedOut: timed_out, cancelled, denied } = row;
    const counted = { executions, succeeded, failed, timed_out, cancelled, denied };
    for (const [what, calls] of Object.entries(counted)) count(what, row, -calls);
  }
  return [...wanted].flatMap(([what, missing]) =>
    missing === 0 ? [] : [`the usage counts ${Math.abs(missing)} too ${missing > 0 ? "few" : "many"} ${what}`],
  );
}

const waited = (events: CallTrace["events"]): boolean =>
  events.some(({ type }) => type === "queued" || type === "approval_requested");

const ends: ReadonlySet<string> = new Set(["denied", "succeeded", "failed", "timed_out", "cancelled"]);

/** Exactly one end, and it is the row's; none while the call is open. */
function oneEnd({ call, events }: CallTrace): string[] {
  const { state } = call;
  const told = events.filter(({ type }) => ends.has(type)).map(({ type }) => type);
  const wanted = isTerminal(state) ? [state] : [];
  return told.join() === wanted.join() ? [] : [`is ${state}, but its events tell these ends: ${told.join() || "none"}`];
}

function settledIsLast({ events }: CallTrace): string[] {
  const at = events.findIndex(({ type }) => ends.has(type));
  const after = at < 0 ? [] : events.slice(at + 1);
  return after.map(({ type, seq }) => `the event ${seq} (${type}) comes after the end`);
}

function seqIsGapFree({ call, events }: CallTrace): string[] {
  const broken = events.flatMap(({ seq }, at) => (seq === at + 1 ? [] : [`event ${at + 1} has the seq ${seq}`]));
  if (events.length !== call.eventSeq) broken.push(`has ${events.length} events, but its row counts ${call.eventSeq}`);
  return broken;
}

/** An unsafe call may have started once, and once more for each person who said that it had not happened. */
function unsafeStartsOnce({ call, attempts, events }: CallTrace): string[] {
  if (isSafe(call.sideEffectClass)) return [];
  const retries = retriesByPeople(events);
  const leases = attempts.filter(({ startedAt }) => startedAt !== null).length;
  const starts = Math.max(leases, events.filter(({ type }) => type === "started").length);
  return starts <= 1 + retries ? [] : [`is unsafe and started ${starts} times, with ${retries} retries by people`];
}

/** The same of what really happened; and no lease, of whatever class, is entered twice. */
function enteredOnce({ call, events }: CallTrace, entries: readonly Entered[]): string[] {
  const fences = entries.filter(({ callId }) => callId === call.callId).map(({ fence }) => fence);
  const twice = fences.filter((fence, at) => fences.indexOf(fence) !== at);
  const broken = twice.map((fence) => `entered its handler twice under the lease ${fence}`);
  const retries = retriesByPeople(events);
  if (!isSafe(call.sideEffectClass) && fences.length > 1 + retries)
    broken.push(`is unsafe and entered its handler ${fences.length} times, with ${retries} retries by people`);
  return broken;
}

function retriesByPeople(events: CallTrace["events"]): number {
  return events.filter(({ type, dataJson }) => type === "resolved" && verdictOf(dataJson) === "retry").length;
}

function verdictOf(dataJson: string): unknown {
  return (JSON.parse(dataJson) as { readonly verdict?: unknown }).verdict;
}

/** Every lease was answered, given back or taken away; only the newest one of a call in work may be open. */
function attemptsEnd({ call, attempts }: CallTrace): string[] {
  const held = call.state === "dispatched" || call.state === "running";
  return attempts.flatMap(({ fence, endedAt }) => {
    if (fence > call.fence) return [`has a lease ${fence} that is newer than its fence ${call.fence}`];
    return endedAt !== null || (held && fence === call.fence) ? [] : [`its lease ${fence} never ended`];
  });
}

const endActions: ReadonlySet<string> = new Set(["call.settled", "call.denied", "call.resolved"]);

/** One record of the end, saying the same as the row. */
function auditedOnce({ call, audit }: CallTrace): string[] {
  const { state } = call;
  const told = audit.filter(({ action }) => endActions.has(action)).map(({ status }) => status ?? "no status");
  const wanted = isTerminal(state) ? [state] : [];
  return told.join() === wanted.join() ? [] : [`is ${state}, but the audit tells these ends: ${told.join() || "none"}`];
}

/** Who was refused at once leaves hashes behind, and may use the key again; what waited first was admitted, and is a call like others. */
function deniedKeepsNothing({ call, events }: CallTrace): string[] {
  if (call.state !== "denied" || waited(events)) return [];
  const kept = call.inputJson !== null || call.idempotencyKey !== null;
  return kept ? ["was denied and kept its arguments or its key"] : [];
}

/** A question is open exactly as long as its call waits for it, and it is the one that the call's row names. */
function askedWhileItWaits({ call, approvals }: CallTrace): string[] {
  const waitsFor = call.state === "awaiting_approval" ? "call" : call.state === "indeterminate" ? "resolve" : "nothing";
  const open = approvals.filter(({ state }) => state === "pending");
  const broken = open
    .filter(({ subject, approvalId }) => subject.kind !== waitsFor || approvalId !== call.approvalId)
    .map(({ approvalId }) => `is ${call.state}, and its approval ${approvalId} is still open`);
  if (waitsFor === "call" && open.length === 0) broken.push("waits for people, and nobody is asked");
  return open.length > 1 ? [...broken, `has ${open.length} open approvals`] : broken;
}

const closes: ReadonlySet<string> = new Set(
  ["approved", "rejected", "expired", "cancelled", "escalated"].map((state) => `approval.${state}`),
);

/** Each question that was closed is so once, and the audit tells of it. */
function askedToTheEnd({ approvals, audit }: CallTrace): string[] {
  const told = audit.filter(({ action }) => closes.has(action)).map(({ action }) => action);
  const closed = approvals.filter(({ state }) => state !== "pending").map(({ state }) => `approval.${state}`);
  const same = told.toSorted().join() === closed.toSorted().join();
  return same ? [] : [`its approvals ended ${closed.join() || "not"}, but the audit tells ${told.join() || "nothing"}`];
}

/** Where people were asked before it could run, it ran only after they (or the rule's own timeout) said yes. */
function ranByConsent({ attempts, approvals }: CallTrace): string[] {
  const asked = approvals.filter(({ subject }) => subject.kind === "call");
  if (asked.length === 0 || asked.some(({ state }) => state === "approved")) return [];
  return attempts.length === 0 ? [] : ["was handed to a worker, and no approval of it was given"];
}

/** An end, or a question put to a person. */
function notStranded({ call }: CallTrace, mayBeOpen: readonly (string | undefined)[]): string[] {
  if (isTerminal(call.state) || call.state === "indeterminate" || mayBeOpen.includes(call.callId)) return [];
  return [`was left ${call.state}`];
}
