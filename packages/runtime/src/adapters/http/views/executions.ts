// Attempts, late results and events as callers see them; what is source text stays source text.
import type { Attempt, Call, CallEvent, LateResult } from "../../../call/types.ts";
import { executionJson, iso } from "../../../call/view.ts";
import { toldEdited } from "../../../policy/approval/told.ts";
import type { ExecutionDetail, ResolvedMany, UnknownEnd } from "../../../service.ts";
import { decisionView } from "./policies.ts";
import { isoOrNull } from "./times.ts";

/** JSON text of a call's record: what was decided about it, and what a person changed in it, included. */
export function recordJson(call: Call): string {
  const { tool, argsEditedBy, effectiveArgsJson } = call;
  const people = call.approval === null ? "" : `,"approved":${JSON.stringify({ by: call.approval.by, at: iso(call.approval.at) })}`;
  const told = `${executionJson(call).slice(0, -1)},"policy":${JSON.stringify(decisionView(call.decision))}${people}`;
  if (argsEditedBy === null) return `${told}}`;
  const by = JSON.stringify(argsEditedBy);
  // A row of a list comes without its arguments; who changed them is still worth knowing.
  if (effectiveArgsJson === null) return `${told},"edited":{"by":${by}}}`;
  // The note is for a model, and says that it ran: of a call that has not run it would be a lie.
  const ran = call.usage !== null || call.startedAt !== null;
  const note = ran ? `,"note":${JSON.stringify(toldEdited(tool, effectiveArgsJson))}` : "";
  const original = call.inputJson === null ? "" : `,"original_args":${call.inputJson}`;
  return `${told},"edited":{"by":${by},"args":${effectiveArgsJson}${original}${note}}}`;
}

/** The record with the decision that let it run or not, its attempts, and the results that came too late. Events have a route of their own. */
export function detailJson({ call, attempts, lateResults }: ExecutionDetail): string {
  const record = recordJson(call).slice(0, -1);
  const { id, outcome, reason, rules } = call.decision;
  const decision = JSON.stringify({ id, outcome, reason, rules });
  return `${record},"decision":${decision},"attempts":${JSON.stringify(attempts.map(attemptView))},"late_results":[${lateResults.map(lateResultJson).join(",")}]}`;
}

function attemptView(attempt: Attempt): Record<string, unknown> {
  return {
    attempt: attempt.attempt,
    fence: attempt.fence,
    worker: attempt.workerId,
    dispatched_at: iso(attempt.dispatchedAt),
    accepted_at: isoOrNull(attempt.acceptedAt),
    started_at: isoOrNull(attempt.startedAt),
    ended_at: isoOrNull(attempt.endedAt),
    end_reason: attempt.endReason,
    error: attempt.error,
    duration_ms: attempt.usage?.durationMs ?? null,
  };
}

/** What a word on many calls came to. */
export function resolvedManyJson({ dryRun, matched, shown, resolved, failed, remaining, more }: ResolvedMany): string {
  const head = JSON.stringify({
    dry_run: dryRun,
    matched,
    resolved: resolved.map(({ callId, state }) => ({ execution_id: callId, status: state })),
    failed: failed.map(({ callId, error: { code, message } }) => ({ execution_id: callId, code, message })),
    remaining,
    more,
  });
  return `${head.slice(0, -1)},"shown":[${shown.map(unknownEndJson).join(",")}]}`;
}

function unknownEndJson({ call, attempts, lateResults, lastOutput }: UnknownEnd): string {
  const head = JSON.stringify({
    execution_id: call.callId,
    tool: call.tool,
    version: call.version,
    project: call.project,
    principal: call.principal,
    side_effect_class: call.sideEffectClass,
    created_at: iso(call.admittedAt),
    routing_outcome: call.routingOutcome,
    may_have_executed: call.mayHaveRun,
    attempts: attempts.map(attemptView),
    last_output: lastOutput,
  });
  return `${head.slice(0, -1)},"late_results":[${lateResults.map(lateResultJson).join(",")}]}`;
}

function lateResultJson(late: LateResult): string {
  const head = JSON.stringify({ fence: late.fence, at: iso(late.at), worker: late.workerId, status: late.status });
  return `${head.slice(0, -1)},"output":${late.outputJson ?? "null"},"error":${late.errorJson ?? "null"}}`;
}

export function eventJson(event: CallEvent): string {
  const head = JSON.stringify({ seq: event.seq, ts: iso(event.at), type: event.type });
  return `${head.slice(0, -1)},"data":${event.dataJson}}`;
}

export function executionPath(call: Call): string {
  return `/v1/executions/${encodeURIComponent(call.callId)}`;
}
