// A call as callers see it: the record of design 04, with the result spliced in as source text.
import type { Call } from "./types.ts";

/** The `execution` block: where and how long it ran. Times in ms; queued admission → slot, start slot → code, duration code. */
export function executionBlock(call: Call): Record<string, unknown> {
  // What was answered with an earlier result has run nowhere.
  const hit = call.cachedFrom !== null;
  const block: Record<string, unknown> = {
    sandbox: hit ? null : (call.sandbox ?? (call.executor === "worker" ? "application" : null)),
    worker: call.workerId,
    attempt: call.attempt,
    // A worker of an application runs already; of a box its worker says it.
    warm: hit ? null : call.sandbox === null ? true : (call.usage?.warm ?? null),
    queued_ms: call.dispatchedAt === null ? null : Math.max(0, call.dispatchedAt - call.admittedAt),
    start_ms:
      call.startedAt === null || call.dispatchedAt === null ? null : Math.max(0, call.startedAt - call.dispatchedAt),
    duration_ms: call.usage === null ? null : Math.round(call.usage.durationMs * 1000) / 1000,
    resources: {
      cpu_ms: call.usage?.cpuMs ?? null,
      peak_memory_bytes: call.usage?.peakMemoryBytes ?? null,
      egress_bytes: null,
    },
    truncated: Object.fromEntries((call.usage?.truncated ?? []).map((channel) => [channel, true])),
    cache: call.cacheKey === null ? null : hit ? "hit" : "miss",
    cached_from: call.cachedFrom,
    decision_id: call.decision.id,
    limits: { timeout_ms: call.timeoutMs, max_output_bytes: call.resultBytesMax },
  };
  if (call.outputIllFormed) block["ill_formed_text_replaced"] = true;
  if (call.routingOutcome !== null) block["routing_outcome"] = call.routingOutcome;
  return block;
}

/** Every field of a call's record but `output`, which is source text and is spliced in by {@link executionJson}. */
export function executionFields(call: Call): Record<string, unknown> {
  const fields: Record<string, unknown> = {
    execution_id: call.callId,
    tool: call.tool,
    version: call.version,
    status: call.state,
    project: call.project,
    principal: call.principal,
    side_effect_class: call.sideEffectClass,
    idempotency_key: call.idempotencyKey,
    created_at: iso(call.admittedAt),
    settled_at: call.settledAt === null ? null : iso(call.settledAt),
    cancel_requested_at: call.cancelRequestedAt === null ? null : iso(call.cancelRequestedAt),
    approval_id: call.approvalId,
    input_hash: call.inputHash,
    output_hash: call.outputHash,
    request_id: call.requestId,
  };
  if (call.error !== null) fields["error"] = call.error;
  fields["execution"] = executionBlock(call);
  return fields;
}

/** JSON text of the whole record. The output keeps the digits that its worker sent. */
export function executionJson(call: Call): string {
  const head = JSON.stringify(executionFields(call));
  return call.outputJson === null || call.state !== "succeeded" ? head : `${head.slice(0, -1)},"output":${call.outputJson}}`;
}

export function iso(atMs: number): string {
  return new Date(atMs).toISOString();
}
