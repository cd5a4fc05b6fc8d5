// Sessions, their events and their timelines as callers see them; what is source text stays source text.
import { limits, parseJson } from "@signalbox/protocol";
import { executionBlock, iso } from "../../../call/view.ts";
import type { Call } from "../../../call/types.ts";
import type { Approval } from "../../../policy/approval/types.ts";
import type { SessionView, Timeline } from "../../../service-sessions.ts";
import { isEnded, type HistoryItem, type Session, type SessionEvent, type ToldResult } from "../../../session/types.ts";
import { isoOrNull } from "./times.ts";

/** It is at work, or has something before it that it will take by itself. */
export function isWorking({ state, inboxTaken, inboxSeq }: Session): boolean {
  if (state === "running" || state === "awaiting_tool") return true;
  return !isEnded(state) && state !== "awaiting_approval" && inboxTaken < inboxSeq;
}

/** One line of a list: without what takes a look at more than the row. */
export function sessionLineView(session: Session): Record<string, unknown> {
  const { usage } = session;
  return {
    session_id: session.sessionId,
    agent: session.agent,
    version: session.agentVersion,
    status: session.state,
    reason: session.reason,
    turn: session.turn,
    usage: { input_tokens: usage.inputTokens, output_tokens: usage.outputTokens, model_calls: usage.modelCalls, tool_calls: usage.toolCalls },
    principal: session.principal,
    project: session.project,
    depth: session.depth,
    parent_session_id: session.parentSessionId === "" ? null : session.parentSessionId,
    parent_execution_id: session.parentCallId === "" ? null : session.parentCallId,
    event_seq: session.eventSeq,
    created_at: iso(session.createdAt),
    updated_at: iso(session.updatedAt),
    ended_at: isoOrNull(session.endedAt),
    deadline_at: isoOrNull(session.deadlineAt),
  };
}

export function sessionView({ session, reply, approvalIds }: SessionView): Record<string, unknown> {
  const waiting = { messages: session.inboxSeq - session.inboxTaken, approval_ids: approvalIds };
  return { ...sessionLineView(session), context: contextOf(session), reply, waiting };
}

/** What its caller gave; beside it the row has words of the runtime's own. */
function contextOf({ contextJson }: Session): unknown {
  const kept = parseJson(contextJson, { depthMax: limits.jsonDepthMax });
  return (kept.ok ? (kept.value as { readonly context?: unknown }).context : undefined) ?? {};
}

export function sessionEventJson({ seq, at, type, turn, step, dataJson }: SessionEvent): string {
  const head = JSON.stringify({ seq, ts: iso(at), type, turn, step });
  return `${head.slice(0, -1)},"data":${dataJson}}`;
}

/** Children stand in one list, each before its own: a reader needs no recursion, and `parent_session_id` says whose they are. */
export function timelineJson(timeline: Timeline): string {
  return `${ownTimelineJson(timeline).slice(0, -1)},"children":[${descendants(timeline).map(ownTimelineJson).join(",")}]}`;
}

function descendants({ children }: Timeline): Timeline[] {
  return children.flatMap((child) => [child, ...descendants(child)]);
}

function ownTimelineJson({ session, history, calls, approvals, events, cut }: Timeline): string {
  const head = JSON.stringify({
    session: sessionLineView(session),
    history: history.map(historyView),
    calls: calls.map(callView),
    approvals: approvals.map(approvalView),
    cut,
  });
  return `${head.slice(0, -1)},"events":[${events.map(sessionEventJson).join(",")}]}`;
}

function historyView(item: HistoryItem): Record<string, unknown> {
  const { type, turn } = item;
  if (item.type === "user") return { type, turn, step: 0, user: { by: item.by, message_seq: item.inboxSeq, text: item.text } };
  if (item.type === "results") return { type, turn, step: item.step, results: { results: item.results.map(toldView), settled: item.settled } };
  const assistant = {
    text: textOf(item, "text"),
    thought: textOf(item, "thought"),
    calls: item.parts.flatMap((part) => (part.type === "tool_call" ? [{ provider_id: part.providerId, name: part.name, arguments: part.argumentsText }] : [])),
    stop: item.stop,
    input_tokens: item.usage.inputTokens,
    output_tokens: item.usage.outputTokens,
  };
  return { type, turn, step: item.step, assistant };
}

function textOf({ parts }: Extract<HistoryItem, { type: "assistant" }>, kind: "text" | "thought"): string {
  return parts.flatMap((part) => (part.type === kind ? [part.text] : [])).join("");
}

function toldView(result: ToldResult): Record<string, unknown> {
  const { index, callId, name, told, status, text, isError, errorCode, editedBy, durationMs } = result;
  return { index, execution_id: callId, name, told, status, text, is_error: isError, error_code: errorCode, edited_by: editedBy, duration_ms: durationMs };
}

function callView(call: Call): Record<string, unknown> {
  const { queued_ms, start_ms, duration_ms } = executionBlock(call);
  return {
    execution_id: call.callId,
    turn: call.turn,
    step: call.step,
    index: call.index,
    tool: call.tool,
    version: call.version,
    status: call.state,
    error_code: call.error?.code ?? null,
    approval_id: call.approvalId,
    created_at: iso(call.admittedAt),
    dispatched_at: isoOrNull(call.dispatchedAt),
    started_at: isoOrNull(call.startedAt),
    settled_at: isoOrNull(call.settledAt),
    queued_ms,
    start_ms,
    duration_ms,
  };
}

function approvalView(approval: Approval): Record<string, unknown> {
  return {
    approval_id: approval.approvalId,
    kind: approval.subject.kind,
    status: approval.state,
    execution_id: approval.subject.callId,
    tool: approval.tool,
    reason: approval.reason,
    outcome: approval.outcome,
    closed_by: approval.closedBy,
    opened_at: iso(approval.openedAt),
    expires_at: iso(approval.expiresAt),
    closed_at: isoOrNull(approval.closedAt),
  };
}
