// What an audit record says about a call: names, hashes and ends, never inputs or outputs.
import type { AuditDraft } from "./audit-draft.ts";
import type { Call } from "./types.ts";

/** `00-<trace>-<span>-<flags>` → the trace id; anything else has none. */
function traceIdOf(traceparent: string): string | undefined {
  const parts = traceparent.split("-");
  return parts.length === 4 ? parts[1] : undefined;
}

export function auditOf(call: Call, action: string, now: number, details?: Readonly<Record<string, unknown>>): AuditDraft {
  const traceId = traceIdOf(call.traceparent);
  return {
    ts: now,
    tenant: call.tenant,
    project: call.project,
    principal: call.principal,
    ...(call.onBehalfOf === "" ? {} : { onBehalfOf: call.onBehalfOf }),
    action,
    tool: call.tool,
    version: call.version,
    manifestDigest: call.manifestDigest,
    executionId: call.callId,
    callId: call.callId,
    attempt: call.attempt,
    inputHash: call.inputHash,
    ...(call.outputHash === null ? {} : { outputHash: call.outputHash }),
    status: call.state,
    ...(call.error === null ? {} : { errorCode: call.error.code }),
    ...(call.workerId === null ? {} : { worker: call.workerId }),
    policy: { decision: call.decision.outcome, ids: call.decision.rules.map((rule) => `${rule.policy}@${rule.version}`) },
    ...(call.approval === null ? {} : { approval: call.approval }),
    ...(call.cacheKey === null ? {} : { cache: call.cachedFrom === null ? "miss" : "hit" }),
    ...(call.usage === null ? {} : { durationMs: call.usage.durationMs }),
    requestId: call.requestId,
    ...(traceId === undefined ? {} : { traceId }),
    ...(details === undefined ? {} : { details }),
  };
}
