// A Service with fixed answers, for tests of the doors: three principals, one tool, one call; any method can be replaced.
import { SignalboxError } from "@signalbox/protocol";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { ToolRecord, ToolVersion } from "../../packages/runtime/src/registry/types.ts";
import { scriptedSessions } from "./scripted-sessions.ts";
import type { Asked, CallFollower, ExecutionDetail, InvokeRequest, Service } from "../../packages/runtime/src/service.ts";
import type { StreamEvent } from "../../packages/runtime/src/stream/types.ts";
import type { Limit, UsageRow } from "../../packages/runtime/src/schedule/types.ts";
import { newTenant } from "../../packages/runtime/src/tenancy/tenant.ts";
import type { Grant, Key, Principal, Tenant } from "../../packages/runtime/src/tenancy/types.ts";
import { scriptedAgents } from "./scripted-agents.ts";
import { scriptedAt, scriptedCall, scriptedCallId } from "./scripted-call.ts";
import { scriptedGovernance } from "./scripted-governance.ts";

export { scriptedAt, scriptedCall, scriptedCallId } from "./scripted-call.ts";

const principal = (tenant: string, name: string, scopes: Principal["scopes"]): Principal => ({
  tenant,
  project: "default",
  name,
  keyId: `key_${name}`,
  scopes,
  roles: [],
});

/** By token. Alice may do everything in acme, vic may only read tools there, bob is of another tenant, and there is the operator. */
export const scriptedPrincipals: Readonly<Record<string, Principal>> = {
  "alice-token": principal("acme", "user:alice", new Set(["*"] as const)),
  "vic-token": principal("acme", "user:vic", new Set(["tools:read"] as const)),
  "bob-token": principal("beta", "user:bob", new Set(["*"] as const)),
  "operator-token": principal("platform", "user:operator", new Set(["*"] as const)),
};

const event = (seq: number, type: ExecutionDetail["events"][number]["type"], dataJson: string) => ({
  tenant: "acme",
  callId: scriptedCallId,
  seq,
  at: scriptedAt + seq,
  type,
  dataJson,
});

export const scriptedDetail: ExecutionDetail = {
  call: scriptedCall(),
  attempts: [
    {
      tenant: "acme",
      callId: scriptedCallId,
      fence: 1,
      attempt: 1,
      workerId: "wrk_1",
      incarnation: "inc_1",
      replica: "r1",
      dispatchedAt: scriptedAt + 2,
      acceptedAt: scriptedAt + 4,
      startedAt: scriptedAt + 5,
      endedAt: scriptedAt + 30,
      endReason: "succeeded",
      error: null,
      usage: { durationMs: 25 },
    },
  ],
  lateResults: [
    {
      tenant: "acme",
      callId: scriptedCallId,
      fence: 0,
      at: scriptedAt + 40,
      workerId: "wrk_0",
      status: "succeeded",
      outputJson: '{"n":9007199254740993}',
      errorJson: null,
    },
  ],
  events: [
    event(1, "queued", "{}"),
    event(2, "dispatched", '{"fence":1}'),
    event(3, "succeeded", '{"output_hash":"out1"}'),
  ],
};

export const scriptedTool: ToolRecord = {
  tenant: "acme",
  tool: "echo",
  activeVersion: "1.2.0",
  description: "Says what it is told",
  sideEffectClass: "read_only",
  executorType: "worker",
  owner: "team-a",
  category: "test",
  labels: { tier: "1" },
  createdAt: scriptedAt,
};

export const scriptedVersion: ToolVersion = {
  tenant: "acme",
  tool: "echo",
  version: "1.2.0",
  metadata: {
    name: "echo",
    version: "1.2.0",
    owner: "team-a",
    description: "Says what it is told",
    category: "test",
    labels: {},
  },
  spec: {
    executor: { type: "worker" },
    input: { type: "object" },
    output: undefined,
    sideEffectClass: "read_only",
    scheduling: "default",
    permissions: [],
    timeoutMs: 30_000,
    graceMs: 5_000,
    retry: { attempts: 1, strategy: "fixed", initialMs: 0, maxMs: 0 },
    pure: true,
    cacheTtlMs: 0,
    onIndeterminate: "ask",
    limits: {},
    secrets: { TOKEN: "vault/echo" },
    networkAllow: [],
    filesystem: { read: [], write: [] },
    env: { REGION: "eu-1" },
    events: [],
    defaultPolicies: [],
    placement: { match: {}, prefer: {} },
    integrity: { identities: [], imageDigests: [] },
  },
  manifestDigest: "d1", packageDigest: null,
  trust: "first_party",
  status: "active",
  publishedAt: scriptedAt,
  publishedBy: "user:alice",
};

export function scriptedKey(changes: Partial<Key> = {}): Key {
  return {
    tenant: "acme",
    keyId: "key_1",
    hash: "never-shown",
    label: "ci",
    principal: "service:ci",
    project: "default",
    scopes: ["tools:invoke"],
    roles: [],
    createdAt: scriptedAt,
    expiresAt: null,
    revokedAt: null,
    lastUsedAt: null,
    ...changes,
  };
}

export function scriptedLimit(changes: Partial<Limit> = {}): Limit {
  return {
    tenant: "acme",
    setBy: "tenant",
    scope: "tool",
    subject: "echo",
    rate: { perMinute: 300, burst: 50 },
    quotas: {},
    timeZone: null,
    changedAt: scriptedAt,
    changedBy: "user:alice",
    ...changes,
  };
}

export const scriptedUsage: UsageRow = {
  project: "default",
  day: "2026-01-02",
  executions: 5,
  succeeded: 2,
  failed: 1,
  timedOut: 1,
  cancelled: 1,
  denied: 3,
  cacheHits: 1,
  durationUs: 12_345,
  cpuUs: 2_000,
  peakMemoryBytes: 1_048_576,
  egressBytes: 0,
  inputBytes: 100,
  outputBytes: 20,
};

export function scriptedTenant(changes: Partial<Tenant> = {}): Tenant {
  return { ...newTenant("acme", 1, scriptedAt), ...changes };
}

const scriptedSuspension = { suspendedAt: scriptedAt, suspendedBy: "user:operator", suspendedReason: "unpaid" };

export function scriptedGrant(changes: Partial<Grant> = {}): Grant {
  return {
    tenant: "acme",
    grantId: "grant_1",
    subject: "service:ci",
    project: "",
    permissions: ["tool:invoke:echo"],
    roles: [],
    createdAt: scriptedAt,
    createdBy: "user:alice",
    expiresAt: null,
    revokedAt: null,
    ...changes,
  };
}

/** What reached the service, in order. */
export interface Reached {
  readonly method: keyof Service;
  readonly asked?: Asked;
  readonly args: readonly unknown[];
}

export interface ScriptedService extends Service {
  readonly reached: readonly Reached[];
}

function authenticate(token: string | undefined): Principal {
  if (token === "expired-token") throw new SignalboxError("token_expired", "This credential has expired.");
  if (token === "revoked-token") throw new SignalboxError("key_revoked", "This key was revoked.");
  const found = token === undefined ? undefined : scriptedPrincipals[token];
  if (found === undefined)
    throw new SignalboxError("unauthenticated", "No valid credential. Send Authorization: Bearer <key>.");
  return found;
}

function invoke({ principal: who }: Asked, request: InvokeRequest): Call {
  if (!who.scopes.has("*") && !who.scopes.has("tools:invoke")) {
    throw new SignalboxError("forbidden", "The scope tools:invoke is missing.", {
      details: { missing_scope: "tools:invoke" },
    });
  }
  return scriptedCall({
    tenant: who.tenant,
    idempotencyKey: request.idempotencyKey ?? null,
    outputJson: JSON.stringify(request.input),
  });
}

function find({ principal: who }: Asked, executionId: string): ExecutionDetail {
  if (who.tenant === "acme" && executionId === scriptedCallId) return scriptedDetail;
  throw new SignalboxError("execution_not_found", `nothing under ${executionId} in ${who.tenant}`, {
    details: { looked_in: who.tenant },
  });
}

/** @param replaced methods that answer otherwise; they are recorded like the others */
export function scriptedService(replaced: Partial<Service> = {}): ScriptedService {
  const reached: Reached[] = [];
  const script: Service = {
    authenticate: async (token) => authenticate(token),
    invoke: async (asked, request) => {
      const call = invoke(asked, request);
      return request.mode === "async"
        ? {
            call: { ...call, state: "queued", outputJson: null, settledAt: null },
            progress: "waiting",
            replayed: false,
          }
        : { call, progress: "settled", replayed: false };
    },
    getExecution: async (asked, id) => find(asked, id),
    listEvents: async (asked, id, afterSeq, limit) =>
      find(asked, id)
        .events.filter(({ seq }) => seq > afterSeq)
        .slice(0, limit),
    listExecutions: async () => ({ items: [scriptedCall({ outputJson: null })], next: "more" }),
    putFile: async (_asked, content) => {
      let bytes = 0;
      for await (const chunk of content) bytes += chunk.byteLength;
      return { ref: `sha256:${"ab".repeat(32)}`, bytes };
    },
    putPackage: async (_asked, files) => ({ ref: `sha256:${"cd".repeat(32)}`, bytes: files.length, alreadyThere: false }),
    follow: async (asked, id, afterSeq) => {
      find(asked, id);
      return scriptedStream(afterSeq);
    },
    cancel: async (asked, id) => ({ call: find(asked, id).call, stopping: false }),
    resolve: async (asked, id) => find(asked, id).call,
    resolveMany: async () => ({ dryRun: true, matched: 0, shown: [], resolved: [], failed: [], remaining: 0, more: false }),
    replay: async (asked, id) => ({ call: find(asked, id).call, progress: "settled", replayed: false }),
    registerTool: async () => ({ version: scriptedVersion, alreadyThere: false, active: true, warnings: [] }),
    listTools: async () => ({ items: [scriptedTool], next: undefined }),
    getTool: async () => ({ record: scriptedTool, version: scriptedVersion, versions: ["1.2.0", "1.1.0"], workers: 2, breaker: { state: "closed", failures: 0, openUntil: null, againMs: null } }),
    activateTool: async () => scriptedTool,
    createKey: async () => ({ key: scriptedKey(), secret: "the-secret" }),
    listKeys: async () => [scriptedKey()],
    revokeKey: async () => scriptedKey({ revokedAt: scriptedAt }),
    listTenants: async () => [scriptedTenant(), scriptedTenant({ tenant: "beta", ...scriptedSuspension })],
    getTenant: async (_asked, tenant) => scriptedTenant({ tenant }),
    createTenant: async (_asked, { tenant, weight = 1 }) => ({
      tenant: scriptedTenant({ tenant, weight }),
      key: scriptedKey({ tenant, principal: "user:admin", scopes: ["*"] }),
      secret: "the-secret",
    }),
    changeTenant: async (_asked, tenant, { weight = 1, suspended = false }) =>
      scriptedTenant({ tenant, weight, ...(suspended ? scriptedSuspension : {}) }),
    listTenantKeys: async (_asked, tenant) => [scriptedKey({ tenant })],
    createTenantKey: async (_asked, tenant) => ({ key: scriptedKey({ tenant }), secret: "the-secret" }),
    listLimits: async (_asked, tenant = "acme") => [scriptedLimit({ tenant })],
    putLimit: async (_asked, { tenant = "acme", ...wanted }) => scriptedLimit({ tenant, ...wanted }),
    removeLimit: async () => ({ removed: true }),
    usage: async () => ({ items: [scriptedUsage], next: "more", timeZone: "Europe/Paris" }),
    revokeTenantKey: async (_asked, tenant) => scriptedKey({ tenant, revokedAt: scriptedAt }),
    createGrant: async () => scriptedGrant(),
    listGrants: async () => [scriptedGrant()],
    revokeGrant: async () => scriptedGrant({ revokedAt: scriptedAt }),
    listAudit: async () => ({
      items: [
        {
          lane: "r1",
          seq: 1,
          ts: scriptedAt,
          tenant: "acme",
          project: "default",
          principal: "user:alice",
          action: "key.created",
          prevHash: "0".repeat(64),
          hash: "h1",
        },
      ],
      next: undefined,
    }),
    verifyAudit: async () => ({ ok: true, records: 1, lanes: 1, problems: [] }),
    listWorkers: async () => [
      {
        workerId: "wrk_1",
        incarnation: "inc_1",
        tenant: "acme",
        state: "ready",
        capacity: 8,
        holding: 1,
        handlers: [
          { tool: "echo", version: "1.2.0", maxConcurrency: 8 },
          { tool: "", version: "native", maxConcurrency: 8 },
        ],
        connectedAt: scriptedAt,
        lastHeardAt: scriptedAt + 1_000,
      },
    ],
    status: () => ({
      version: "0.1.0",
      replica: "r1",
      startedAt: scriptedAt,
      ready: true,
      draining: false,
      reasons: [],
      calls: { queued: 2 },
      workers: 1,
    }),
    metrics: async () => "tool_executions_total 7\n",
    ...scriptedAgents(),
    ...scriptedSessions,
    ...scriptedGovernance({ record: scriptedTool, version: scriptedVersion }),
    ...replaced,
  };
  return { ...recorded(script, reached), reached };
}

function recorded(script: Service, reached: Reached[]): Service {
  const copy: Record<string, unknown> = {};
  for (const [name, method] of Object.entries(script) as [keyof Service, (...args: unknown[]) => unknown][]) {
    copy[name] = (...args: unknown[]): unknown => {
      const [first, ...rest] = args;
      const isAsked = typeof first === "object" && first !== null && "principal" in first;
      reached.push({ method: name, args: isAsked ? rest : args, ...(isAsked ? { asked: first as Asked } : {}) });
      return method(...args);
    };
  }
  return copy as unknown as Service;
}

/** Two events and the end, all there. */
function scriptedStream(afterSeq: number): CallFollower {
  const all: readonly StreamEvent[] = [
    { seq: 1, at: scriptedAt + 2, type: "start", dataJson: '{"sandbox":"application","worker":"wrk_1","attempt":1}' },
    { seq: 2, at: scriptedAt + 10, type: "stdout", dataJson: '{"text":"half way\\n"}' },
  ];
  const end = { seq: 3, at: scriptedAt + 30, call: scriptedCall({ outputJson: '{"n":9007199254740993}' }) };
  return {
    over: afterSeq >= end.seq,
    next: async () => ({ gap: null, events: all.filter(({ seq }) => seq > afterSeq), end, leaving: false }),
    close: () => undefined,
    abandon: () => undefined,
  };
}
