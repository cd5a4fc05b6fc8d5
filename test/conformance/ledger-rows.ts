// Sample rows for the ledger's conformance suite and its benchmark: plausible, complete, and with every field overridable.
import type { Attempt, Call, CallEvent, CallEventType, LateResult } from "../../packages/runtime/src/call/types.ts";
import type { AuditDraft } from "../../packages/runtime/src/ledger/audit.ts";
import type { Unit, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { ToolVersion } from "../../packages/runtime/src/registry/types.ts";
import type { UsageDelta } from "../../packages/runtime/src/schedule/types.ts";
import type { Grant, Key } from "../../packages/runtime/src/tenancy/types.ts";

/** 2026-01-01T00:00:00Z */
export const dayStart = 1_767_225_600_000;

export function sampleCall(fields: Partial<Call> & Pick<Call, "callId">): Call {
  return {
    tenant: "acme",
    project: "shop",
    tool: "orders.find",
    toolTenant: "acme",
    version: "1.2.0",
    requestedVersion: "",
    manifestDigest: "3f".repeat(32),
    executor: "worker",
    sandbox: null,
    boxJson: null,
    filesJson: "[]",
    sideEffectClass: "read_only",
    onIndeterminate: "ask",
    principal: "service:storefront",
    onBehalfOf: "user:ada",
    sessionId: "",
    turn: 0,
    step: 0,
    index: 0,
    contextJson: '{"correlation_id":"c-1"}',
    traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
    requestId: "req_01KDVC3W80J7T4R1N3V9QK5XHB",
    idempotencyKey: null,
    fingerprint: "5a".repeat(32),
    inputHash: "1b".repeat(32),
    inputJson: '{"customer":9007199254740993}',
    priority: "normal",
    decision: {
      id: "dec_01KDVC3W80J7T4R1N3V9QK5XHC",
      outcome: "allow",
      reason: "read-only tools are open",
      rules: [
        {
          policy: "reads",
          version: "1.0.0",
          level: "tenant",
          outcome: "allow",
          reason: "read-only tools are open",
          observed: false,
        },
      ],
      spentMicros: 41,
    },
    admittedAt: dayStart,
    timeoutMs: 30_000,
    graceMs: 5_000,
    resultBytesMax: 1_048_576,
    totalDeadlineAt: null,
    cacheKey: null,
    retryJson: null,
    state: "dispatched",
    routingOutcome: null,
    fence: 1,
    attempt: 1,
    placements: 0,
    mayHaveRun: false,
    effectiveArgsJson: null,
    argsEditedBy: null,
    approvalId: null,
    approval: null,
    startTag: 0.5,
    notBefore: 0,
    enqueuedAt: dayStart,
    queueDeadlineAt: null,
    startDeadlineAt: dayStart + 10_000,
    provisionDeadlineAt: null,
    runDeadlineAt: null,
    leaseExpiresAt: dayStart + 15_000,
    graceDeadlineAt: null,
    dispatchedAt: dayStart,
    startedAt: null,
    settledAt: null,
    workerId: "worker-a",
    incarnation: "inc_01KDVC3W80J7T4R1N3V9QK5XHD",
    replica: "replica-1",
    cancelRequestedAt: null,
    cancelRequestedBy: null,
    stopReason: null,
    outputJson: null,
    outputHash: null,
    outputBytes: 0,
    outputIllFormed: false,
    error: null,
    usage: null,
    cachedFrom: null,
    eventSeq: 0,
    ...fields,
  };
}

/** The call as it stands after its worker answered. */
export function settledCall(call: Call, fields: Partial<Call> = {}): Call {
  return {
    ...call,
    state: "succeeded",
    mayHaveRun: true,
    startDeadlineAt: null,
    leaseExpiresAt: null,
    startedAt: call.admittedAt + 1,
    settledAt: call.admittedAt + 3,
    outputJson: '{"orders":[]}',
    outputHash: "77".repeat(32),
    outputBytes: 13,
    usage: { durationMs: 2 },
    ...fields,
  };
}

export function sampleAttempt(call: Call, fields: Partial<Attempt> = {}): Attempt {
  return {
    tenant: call.tenant,
    callId: call.callId,
    fence: call.fence,
    attempt: call.attempt,
    workerId: "worker-a",
    incarnation: "inc_01KDVC3W80J7T4R1N3V9QK5XHD",
    replica: "replica-1",
    dispatchedAt: call.dispatchedAt ?? call.admittedAt,
    acceptedAt: null,
    startedAt: null,
    endedAt: null,
    endReason: null,
    error: null,
    usage: null,
    ...fields,
  };
}

export function sampleEvent(call: Pick<Call, "tenant" | "callId">, seq: number, type: CallEventType): CallEvent {
  return {
    tenant: call.tenant,
    callId: call.callId,
    seq,
    at: dayStart + seq,
    type,
    dataJson: `{"input_bytes":${seq}}`,
  };
}

export function appendEvents(call: Pick<Call, "tenant" | "callId">, from: number, ...types: CallEventType[]): Write[] {
  return types.map((type, at) => ({ op: "append_event", event: sampleEvent(call, from + at, type) }));
}

export function sampleAudit(call: Call, fields: Partial<AuditDraft> = {}): AuditDraft {
  return {
    ts: call.admittedAt + 3,
    tenant: call.tenant,
    project: call.project,
    principal: call.principal,
    onBehalfOf: call.onBehalfOf,
    action: "call.settled",
    tool: call.tool,
    version: call.version,
    manifestDigest: call.manifestDigest,
    executionId: call.callId,
    callId: call.callId,
    attempt: 1,
    inputHash: call.inputHash,
    outputHash: "77".repeat(32),
    status: "succeeded",
    worker: "worker-a",
    policy: { decision: "allow", ids: ["reads"] },
    durationMs: 2.25,
    requestId: call.requestId,
    traceId: "0af7651916cd43dd8448eb211c80319c",
    ...fields,
  };
}

export function sampleLateResult(call: Call, fields: Partial<LateResult> = {}): LateResult {
  return {
    tenant: call.tenant,
    callId: call.callId,
    fence: 1,
    at: dayStart + 60_000,
    workerId: "worker-a",
    status: "succeeded",
    outputJson: '{"paid":true}',
    errorJson: null,
    ...fields,
  };
}

/** First commit of a call that finds a free slot. */
export function admitUnit(call: Call): Unit {
  return {
    writes: [
      { op: "insert_call", row: { ...call, eventSeq: 3 } },
      ...appendEvents(call, 1, "requested", "queued", "dispatched"),
    ],
  };
}

/** Second commit of the same call. */
export function settleUnit(call: Call, fields: Partial<Call> = {}): Unit {
  const settled = settledCall(call, { eventSeq: 5, ...fields });
  const { startedAt, settledAt: endedAt, usage } = settled;
  const ended = { acceptedAt: call.admittedAt + 1, startedAt, endedAt, endReason: "succeeded", usage };
  const expect = { state: call.state, fence: call.fence };
  return {
    writes: [
      { op: "update_call", expect, before: { ...call, eventSeq: 3 }, row: settled },
      { op: "end_attempt", row: sampleAttempt(call, ended) },
      ...appendEvents(call, 4, "started", "succeeded"),
      { op: "append_audit", draft: sampleAudit(call) },
      { op: "add_usage", row: sampleUsage({ tenant: call.tenant }) },
    ],
  };
}

/** What a call like {@link settledCall} adds. */
export function sampleUsage(fields: Partial<UsageDelta> = {}): UsageDelta {
  return {
    tenant: "acme",
    project: "shop",
    tool: "orders.find",
    day: "2026-01-01",
    executions: 1,
    succeeded: 1,
    failed: 0,
    timedOut: 0,
    cancelled: 0,
    denied: 0,
    cacheHits: 0,
    durationUs: 2_000,
    cpuUs: 0,
    peakMemoryBytes: 0,
    egressBytes: 0,
    inputBytes: 29,
    outputBytes: 13,
    ...fields,
  };
}

export function sampleKey(fields: Partial<Key> & Pick<Key, "keyId" | "hash">): Key {
  return {
    tenant: "acme",
    label: "storefront",
    principal: "service:storefront",
    project: "shop",
    scopes: ["tools:invoke", "calls:read"],
    roles: ["support"],
    createdAt: dayStart,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    ...fields,
  };
}

export function sampleGrant(fields: Partial<Grant> & Pick<Grant, "grantId">): Grant {
  return {
    tenant: "acme",
    subject: "service:storefront",
    project: "",
    permissions: ["tool:invoke:orders.*"],
    roles: [],
    createdAt: dayStart,
    createdBy: "user:ada",
    expiresAt: dayStart + 86_400_000,
    revokedAt: null,
    ...fields,
  };
}

export function sampleToolVersion(version: string, fields: Partial<ToolVersion> = {}): ToolVersion {
  return {
    tenant: "acme",
    tool: "orders.find",
    version,
    metadata: {
      name: "orders.find",
      version,
      owner: "team-orders",
      description: `Finds orders (${version})`,
      category: "orders",
      labels: { tier: "1" },
    },
    spec: {
      executor: { type: "worker" },
      input: { type: "object", properties: { customer: { type: "integer" } } },
      output: undefined,
      sideEffectClass: "read_only",
      scheduling: "default",
      permissions: [],
      timeoutMs: 30_000,
      graceMs: 5_000,
      retry: { attempts: 1, strategy: "exponential", initialMs: 2_000, maxMs: 120_000 },
      pure: false,
      cacheTtlMs: 0,
      onIndeterminate: "ask",
      limits: {},
      secrets: {},
      networkAllow: [],
      filesystem: { read: [], write: [] },
      env: {},
      events: [],
      defaultPolicies: [],
      placement: { match: {}, prefer: {} },
      integrity: { identities: [], imageDigests: [] },
    },
    manifestDigest: "3f".repeat(32),
    packageDigest: null,
    trust: "first_party",
    status: "active",
    publishedAt: dayStart,
    publishedBy: "user:ada",
    ...fields,
  };
}
