// What must hold of every approval and its call, once everything has come to rest.
import { argsOf } from "../../packages/runtime/src/corridor/args.ts";
import { isTerminal, type Call } from "../../packages/runtime/src/call/types.ts";
import type { Approval } from "../../packages/runtime/src/policy/approval/types.ts";
import { keyOf, type SimStore } from "./sim-ledger.ts";
import type { Trace } from "./predicates.ts";
import type { Entry } from "./sim-worker.ts";

const closings: ReadonlySet<string> = new Set(["approval.approved", "approval.rejected", "approval.expired", "approval.cancelled", "approval.escalated"]);

export function approvalRules({ store, entries, endedAt, skewMsMax = 0 }: Trace): string[] {
  const broken: string[] = [];
  const decisions = decisionsOf(store);
  const entriesOf = Map.groupBy(entries, ({ callId }) => callId);
  // Limits of sessions have no call.
  const asked = [...store.shelf.approvals.values()].filter(({ subject }) => subject.kind !== "limit");
  const byCall = Map.groupBy(asked, ({ subject }) => subject.callId ?? "");
  for (const [callId, approvals] of byCall) {
    const call = store.calls.get(keyOf({ tenant: approvals[0]?.tenant ?? "", callId }));
    if (call === undefined) {
      broken.push(`${callId}: people are asked about it, and it is not in the ledger`);
      continue;
    }
    for (const approval of approvals) broken.push(...decidedOnce(approval, decisions), ...overInTime(approval, endedAt), ...callFollows(approval, call));
    broken.push(...ranAsApproved(call, approvals, entriesOf.get(callId) ?? [], skewMsMax), ...toldAsApproved(call, approvals, store));
  }
  return broken;
}

/** How often the audit tells that an approval was closed. */
function decisionsOf(store: SimStore): ReadonlyMap<string, number> {
  const decisions = new Map<string, number>();
  for (const { action, details } of store.audit) {
    if (!closings.has(action)) continue;
    const id = String(details?.["approval_id"]);
    decisions.set(id, (decisions.get(id) ?? 0) + 1);
  }
  return decisions;
}

function decidedOnce({ approvalId, state }: Approval, decisions: ReadonlyMap<string, number>): string[] {
  const told = decisions.get(approvalId) ?? 0;
  const wanted = state === "pending" ? 0 : 1;
  return told === wanted ? [] : [`${approvalId}: is ${state}, and was decided ${told} times`];
}

/** The time that it was given, not the instant in its row: that one may itself be what is wrong. */
function overInTime({ approvalId, state, openedAt, timeoutMs }: Approval, endedAt: number): string[] {
  return state === "pending" && openedAt + timeoutMs < endedAt ? [`${approvalId}: is still pending after its time`] : [];
}

function callFollows({ approvalId, state, subject }: Approval, call: Call): string[] {
  if (state === "pending" && isTerminal(call.state)) return [`${call.callId}: is ${call.state}, and its approval ${approvalId} is pending`];
  if (state === "pending" && call.approvalId !== approvalId) return [`${call.callId}: its approval ${approvalId} is pending, and the call knows ${call.approvalId}`];
  if (state === "approved" && call.state === "awaiting_approval" && call.approvalId === approvalId) return [`${call.callId}: ${approvalId} is approved, and it still waits`];
  const denied = subject.kind === "call" && (state === "rejected" || state === "expired");
  if (denied && call.state !== "denied") return [`${call.callId}: ${approvalId} is ${state}, and the call is ${call.state}`];
  return [];
}

/** What ran is what people saw last, and it ran after their word. */
function ranAsApproved(call: Call, approvals: readonly Approval[], entries: readonly Entry[], skewMsMax: number): string[] {
  const asked = approvals.filter(({ subject }) => subject.kind === "call").toSorted((a, b) => a.openedAt - b.openedAt);
  return entries.flatMap((entry) => {
    // Where clocks are apart, each of those that may have been the last one will do.
    const reasons = lastOnes(asked, entry.at, skewMsMax).map((last) => ranWrongly(call, last, entry, skewMsMax));
    return reasons.includes(undefined) ? [] : reasons.slice(-1).filter((reason) => reason !== undefined);
  });
}

function lastOnes(asked: readonly Approval[], at: number, skewMsMax: number): readonly (Approval | undefined)[] {
  const surely = asked.findLastIndex(({ openedAt }) => openedAt <= at - skewMsMax);
  const perhaps = asked.findLastIndex(({ openedAt }) => openedAt <= at + skewMsMax);
  return surely < 0 ? [undefined, ...asked.slice(0, perhaps + 1)] : asked.slice(surely, perhaps + 1);
}

function ranWrongly(call: Call, last: Approval | undefined, { fence, at, argsJson }: Entry, skewMsMax: number): string | undefined {
  const lease = `${call.callId}#${fence}`;
  if (last === undefined) return argsJson === (call.inputJson ?? "") ? undefined : `${lease}: ran with ${argsJson}, which nobody chose`;
  if (last.state !== "approved" || (last.closedAt ?? Number.POSITIVE_INFINITY) > at + skewMsMax)
    return `${lease}: ran at ${at}, and ${last.approvalId} is ${last.state} at ${last.closedAt}`;
  if (argsJson !== last.argsJson) return `${lease}: ran with ${argsJson}, approved was ${last.argsJson}`;
  return argsJson === argsOf(call) ? undefined : `${lease}: ran with ${argsJson}, the row says ${argsOf(call)}`;
}

/** One `approved` a question that was answered with yes. */
function toldAsApproved(call: Call, approvals: readonly Approval[], store: SimStore): string[] {
  const yes = approvals.filter(({ subject, state }) => subject.kind === "call" && state === "approved").length;
  const told = (store.events.get(keyOf(call)) ?? []).filter(({ type }) => type === "approved").length;
  return told === yes ? [] : [`${call.callId}: approved ${yes} times, told ${told} times`];
}
