// Audit records as callers see them; facts that a record lacks are left out.
import { iso } from "../../../call/view.ts";
import type { AuditRecord } from "../../../ledger/audit.ts";

export function auditView(record: AuditRecord): Record<string, unknown> {
  return {
    lane: record.lane,
    seq: record.seq,
    ts: iso(record.ts),
    tenant: record.tenant,
    project: record.project,
    principal: record.principal,
    on_behalf_of: record.onBehalfOf,
    action: record.action,
    tool: record.tool,
    version: record.version,
    manifest_digest: record.manifestDigest,
    execution_id: record.executionId,
    call_id: record.callId,
    attempt: record.attempt,
    input_hash: record.inputHash,
    output_hash: record.outputHash,
    status: record.status,
    error_code: record.errorCode,
    sandbox: record.sandbox,
    worker: record.worker,
    egress: record.egress,
    secrets_used: record.secretsUsed,
    policy: record.policy,
    approval: record.approval === undefined ? undefined : { by: record.approval.by, at: iso(record.approval.at) },
    cache: record.cache,
    duration_ms: record.durationMs,
    resources: record.resources,
    request_id: record.requestId,
    trace_id: record.traceId,
    details: record.details,
    prev_hash: record.prevHash,
    hash: record.hash,
  };
}
