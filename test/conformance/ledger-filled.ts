// A ledger with something of everything in it, and all that can be read of one through the port.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { Ledger, Page, Write } from "../../packages/runtime/src/ledger/port.ts";
import { approved, sampleApproval, sampleNotice, samplePolicy, sampleVote, sampleWebhook } from "./ledger-governance-rows.ts";
import { assistantItem, movedOn, resultsItem, sampleAgentVersion, sampleEffect, sampleHostEvent, samplePut, sampleSession, sampleTold, userItem } from "./ledger-session-rows.ts";
import {
  admitUnit,
  appendEvents,
  dayStart,
  sampleAttempt,
  sampleAudit,
  sampleCall,
  sampleGrant,
  sampleKey,
  sampleLateResult,
  sampleToolVersion,
  sampleUsage,
  settleUnit,
} from "./ledger-rows.ts";

const digest = (letter: string): string => `sha256:${letter.repeat(64)}`;

async function written(ledger: Ledger, ...writes: Write[]): Promise<void> {
  const outcome = await ledger.commit({ writes });
  if (!outcome.applied) throw new Error(`write ${outcome.write} was refused: ${writes[outcome.write]?.op}`);
}

async function fillTenancy(ledger: Ledger): Promise<void> {
  const suspended = { suspendedAt: dayStart, suspendedBy: "user:op", suspendedReason: "unpaid — Rechnung" };
  const awake = { suspendedAt: null, suspendedBy: null, suspendedReason: null };
  await written(ledger, { op: "insert_tenant", row: { tenant: "acme", weight: 2.5, createdAt: dayStart, ...awake } });
  await written(ledger, { op: "insert_tenant", row: { tenant: "globex", weight: 0.1, createdAt: dayStart + 1, ...suspended } });
  await written(ledger, { op: "insert_project", row: { tenant: "acme", project: "shop", environment: "production", createdAt: dayStart } });
  await written(ledger, { op: "insert_key", row: sampleKey({ keyId: "key_1", hash: "h1", expiresAt: dayStart + 9, lastUsedAt: dayStart + 3 }) });
  await written(ledger, { op: "insert_key", row: sampleKey({ keyId: "key_2", hash: "h2", tenant: "globex", revokedAt: dayStart + 2 }) });
  await written(ledger, { op: "insert_grant", row: sampleGrant({ grantId: "grant_1", permissions: ["*", "tool:invoke:größe"] }) });
  const limit = { tenant: "acme", scope: "tool", subject: "pay", timeZone: null, changedAt: dayStart, changedBy: "user:ada" } as const;
  await written(
    ledger,
    { op: "put_limit", row: { ...limit, setBy: "tenant", rate: { perMinute: 300, burst: 50 }, quotas: {} } },
    { op: "put_limit", row: { ...limit, setBy: "operator", rate: null, quotas: { executionsPerDay: 3 }, timeZone: "Europe/Paris" } },
  );
}

async function fillRegistry(ledger: Ledger): Promise<void> {
  const changed = { tenant: "acme", changedAt: dayStart, changedBy: "user:ada" };
  for (const version of ["1.0.0", "1.1.0"])
    await written(ledger, { op: "insert_tool_version", row: sampleToolVersion(version, { packageDigest: digest("4") }), activate: true });
  await written(ledger, { op: "activate_tool", tenant: "acme", tool: "orders.find", version: "1.0.0", at: dayStart + 7, by: "user:bo" });
  await written(ledger, { op: "insert_tool_version", row: sampleToolVersion("2.0.0", { tool: "b.two" }), activate: false });
  await written(
    ledger,
    { op: "put_tool_pin", row: { ...changed, tool: "orders.find", requested: "^1.0" } },
    { op: "put_project_tool", row: { ...changed, project: "shop", tool: "b.two", enabled: false } },
    { op: "put_freeze", row: { tenant: "acme", tool: "b.two", reason: "Störung", at: dayStart, by: "user:ada" } },
  );
}

async function fillGovernance(ledger: Ledger): Promise<void> {
  await written(ledger, { op: "insert_policy", row: samplePolicy({ name: "reads" }) });
  await written(ledger, { op: "insert_policy", row: samplePolicy({ name: "reads", version: "2.0.0", when: 'calls.window("10m") >= 3' }) });
  await written(ledger, { op: "put_policy_default", row: { tenant: "acme", project: "", decision: "deny", changedAt: 1, changedBy: "user:ada" } });
  await written(ledger, { op: "insert_webhook", row: sampleWebhook({ webhookId: "whk_1", types: ["approval.requested", "ä"] }) });
  const asked = sampleApproval({ approvalId: "apr_1" });
  await written(ledger, { op: "insert_approval", row: asked }, { op: "append_notice", notice: sampleNotice() });
  await written(
    ledger,
    { op: "update_approval", expect: { revision: 0 }, row: approved(asked) },
    { op: "store_vote", row: sampleVote({ approvalId: "apr_1", voter: "user:zoë", comment: "Ja — 'gut' 👍\n\t\u0001" }) },
    { op: "store_vote", row: sampleVote({ approvalId: "apr_1", voter: "user:bo", late: true, decision: "reject" }) },
  );
  await written(ledger, { op: "insert_approval", row: sampleApproval({ approvalId: "apr_2", subject: { kind: "limit", callId: null, sessionId: "ses_1" } }) });
  const [delivery] = (await ledger.listDeliveries("acme", {}, 1)).items;
  if (delivery === undefined) throw new Error("the notice made no delivery");
  await written(ledger, { op: "put_delivery", row: { ...delivery, attempts: 2, nextAt: dayStart + 60_000, lastStatus: 503, lastError: "busy" } });
}

async function fillCalls(ledger: Ledger): Promise<void> {
  const settled = sampleCall({ callId: "c1", idempotencyKey: "k-1", cacheKey: "cache-1" });
  await written(ledger, ...admitUnit(settled).writes);
  await written(ledger, ...settleUnit(settled).writes);
  // A result that stands in a blob, shared by two calls.
  const outputJson = JSON.stringify("☂x".repeat(200_000));
  for (const callId of ["c2", "c3"]) {
    const large = sampleCall({ callId, admittedAt: dayStart + 5 });
    await written(ledger, ...admitUnit(large).writes);
    await written(ledger, ...settleUnit(large, { outputJson, outputBytes: Buffer.byteLength(outputJson), outputHash: "ab".repeat(32) }).writes);
  }
  await written(ledger, { op: "keep_late_result", row: sampleLateResult(settled) });
  const lost: Call = { ...sampleCall({ callId: "c4", admittedAt: dayStart + 9, sessionId: "ses_1", turn: 1 }), eventSeq: 3 };
  await written(ledger, ...admitUnit(lost).writes);
  const requeued = { ...lost, state: "queued" as const, fence: 2, attempt: 2, startTag: 0.1 + 0.2, workerId: null, incarnation: null, replica: null, leaseExpiresAt: null, eventSeq: 4 };
  await written(
    ledger,
    { op: "update_call", expect: { state: "dispatched", fence: 1 }, row: requeued },
    { op: "end_attempt", row: sampleAttempt(lost, { endedAt: dayStart + 20, endReason: "lease_expired", error: { code: "lease_expired", message: "ü" } as never }) },
    ...appendEvents(lost, 4, "queued"),
    { op: "append_audit", draft: sampleAudit(lost, { action: "call.attempt_failed", durationMs: 0.1, details: { b: 1, a: ["ß"] } }) },
  );
  // More events than a call's own row names.
  for (let seq = 5; seq <= 40; seq += 1) await written(ledger, ...appendEvents(lost, seq, "progress"));
  await written(ledger, ...admitUnit(sampleCall({ callId: "c1", tenant: "globex" })).writes);
  await written(ledger, { op: "append_audit", draft: sampleAudit(sampleCall({ callId: "c1", tenant: "globex" })) });
  const events = [{ seq: 1, at: dayStart, type: "stdout" as const, dataJson: '{"text":"ä ","n":12345678901234567890}' }];
  await written(ledger, { op: "append_stream", chunk: { tenant: "acme", callId: "c1", seqFrom: 1, seqTo: 1, events }, dropBefore: 0 });
  const row = { tenant: "acme", project: "shop", path: "a/grüße ☂.txt", digest: digest("3"), bytes: 7, updatedAt: dayStart, callId: "c1" };
  await written(ledger, { op: "put_workspace_file", row, filesMax: 10 });
  await written(ledger, { op: "add_usage", row: sampleUsage({ day: "2026-01-02", cpuUs: 2 ** 45, peakMemoryBytes: 12 }) });
}

async function fillSessions(ledger: Ledger): Promise<void> {
  await written(ledger, { op: "insert_agent_version", row: sampleAgentVersion() }, { op: "insert_agent_version", row: sampleAgentVersion({ version: "1.1.0", publishedAt: dayStart + 1, status: "deprecated" }) });
  for (const [action, version] of [["publish", "1.0.0"], ["deploy", "1.0.0"]] as const)
    await written(ledger, { op: "append_agent_change", row: { tenant: "acme", agent: "clerk", action, version, at: dayStart, by: "user:ada", comment: "größer — 'so'" } });
  await written(ledger, { op: "deploy_agent", tenant: "acme", agent: "clerk", from: null, version: "1.0.0" });
  await written(ledger, { op: "insert_agent_version", row: sampleAgentVersion({ tenant: "globex", agent: "other" }) }, { op: "archive_agent", tenant: "globex", agent: "other", at: dayStart + 3 });
  const row = sampleSession({ sessionId: "ses_1", idempotencyKey: "k-s", deadlineAt: dayStart + 99, snapshotJson: '{"at":1.10,"ä":"☂"}' });
  await written(ledger, { op: "insert_session", row });
  await written(ledger, samplePut({ sessionId: "ses_1", idempotencyKey: "k-i" }), samplePut({ sessionId: "ses_1", wish: { type: "cancel", scope: "call", callId: "c4", reason: "nö" } }));
  await written(ledger, { op: "claim_effect", row: sampleEffect({ sessionId: "ses_1" }), now: dayStart }, { op: "claim_effect", row: sampleEffect({ sessionId: "ses_1", key: "t1.e2" }), now: dayStart });
  const items = [userItem("Hallo ☂"), assistantItem, resultsItem].map((item, at): Write => ({ op: "append_history", tenant: "acme", sessionId: "ses_1", at, item }));
  const [update, ...more] = movedOn(row, { inboxTaken: 1, reason: { code: "x", message: "ü" } }, [...items, { op: "append_session_event", event: sampleTold(1, { sessionId: "ses_1" }) }]);
  await written(ledger, update as Write, { op: "complete_effect", tenant: "acme", sessionId: "ses_1", key: "t1.e1", fence: 1, at: dayStart + 4, outcomeJson: '{"n":9007199254740993.10}' }, ...more);
  await written(ledger, { op: "insert_session", row: sampleSession({ sessionId: "ses_2", parentSessionId: "ses_1", parentCallId: "c4", depth: 1, replica: null, leaseExpiresAt: null }) });
  await written(ledger, { op: "put_host_event", row: sampleHostEvent(0, { callId: "c4" }) }, { op: "put_host_event", row: sampleHostEvent(1, { callId: "c4", type: "ä" }) });
}

/** Writes what every part of the port has to keep; more than one lane of audit comes from whoever opens it with another. */
export async function fillEverything(ledger: Ledger): Promise<void> {
  await fillTenancy(ledger);
  await fillRegistry(ledger);
  await fillGovernance(ledger);
  await fillCalls(ledger);
  await fillSessions(ledger);
}

async function pages<T>(page: (cursor: string | undefined) => Promise<Page<T>>): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | undefined; ;) {
    const { items, next } = await page(cursor);
    all.push(...items);
    if (next === undefined) return all;
    cursor = next;
  }
}

async function callsIn(ledger: Ledger, tenant: string) {
  const listed = await pages((cursor) => ledger.listCalls({ tenant }, 100, cursor));
  return Promise.all(
    listed.map(async ({ callId }) => ({
      call: await ledger.getCall(tenant, callId),
      attempts: await ledger.attempts(tenant, callId),
      lateResults: await ledger.lateResults(tenant, callId),
      events: await ledger.events(tenant, callId, 0, 1_000),
      stream: await ledger.streamChunks(tenant, callId, 0, 1_000),
    })),
  );
}

async function registryIn(ledger: Ledger, tenant: string) {
  const tools = await pages((cursor) => ledger.listTools(tenant, 100, cursor));
  const versions = await Promise.all(
    tools.map(async ({ tool }) => {
      const listed = await ledger.toolVersions(tenant, tool);
      return {
        versions: await Promise.all(listed.map(({ version }) => ledger.toolVersion(tenant, tool, version))),
        activations: await ledger.activations(tenant, tool, 100),
      };
    }),
  );
  return { tools, versions, pins: await ledger.toolPins(tenant), projectTools: await ledger.projectTools(tenant) };
}

async function approvalsIn(ledger: Ledger, tenant: string) {
  const approvals = await pages((cursor) => ledger.listApprovals({ tenant }, 100, cursor));
  return {
    approvals: await Promise.all(approvals.map(({ approvalId }) => ledger.approval(tenant, approvalId))),
    webhooks: await ledger.webhooks(tenant),
    deliveries: await pages((cursor) => ledger.listDeliveries(tenant, {}, 100, cursor)),
  };
}

async function sessionsIn(ledger: Ledger, tenant: string) {
  const agents = await pages((cursor) => ledger.listAgents(tenant, 100, cursor));
  const sessions = await pages((cursor) => ledger.listSessions({ tenant }, 100, cursor));
  return {
    agents: await Promise.all(agents.map(async (record) => ({ record, versions: await ledger.agentVersions(tenant, record.agent), changes: await ledger.agentChanges(tenant, record.agent, 100) }))),
    sessions: await Promise.all(
      sessions.map(async ({ sessionId }) => ({
        session: await ledger.session(tenant, sessionId),
        history: await ledger.history(tenant, sessionId, 0, 100),
        inbox: await ledger.inbox(tenant, sessionId, 0, 100),
        events: await ledger.sessionEvents(tenant, sessionId, 0, 100),
        journal: await ledger.journal(tenant, sessionId),
        calls: (await ledger.sessionCalls(tenant, sessionId)).map(({ callId }) => callId),
        approvals: await ledger.sessionApprovals(tenant, sessionId),
      })),
    ),
    hostEvents: await ledger.hostEvents(tenant, ["c1", "c2", "c3", "c4"]),
  };
}

async function ofTenant(ledger: Ledger, tenant: string) {
  return {
    tenant: await ledger.tenant(tenant),
    projects: await ledger.projects(tenant),
    keys: await ledger.keys(tenant),
    grants: await ledger.grants(tenant),
    ...(await registryIn(ledger, tenant)),
    ...(await approvalsIn(ledger, tenant)),
    calls: await callsIn(ledger, tenant),
    ...(await sessionsIn(ledger, tenant)),
    open: await ledger.countOpen(tenant),
    usage: await pages((cursor) => ledger.usage({ tenant, groupBy: ["project", "tool", "day"] }, 100, cursor)),
    files: await ledger.workspaceFiles({ tenant, project: "shop", prefix: "", after: "" }, 100),
    wanted: await ledger.wantedContent(tenant),
    audit: await pages((cursor) => ledger.listAudit({ tenant }, 100, cursor)),
  };
}

/** All that the port gives out, for comparison with another ledger. */
export async function everythingIn(ledger: Ledger, tenants: readonly string[] = ["acme", "globex", "platform"]) {
  const openCalls: string[] = [];
  for await (const { tenant, callId } of ledger.openCalls()) openCalls.push(`${tenant}/${callId}`);
  const policies = await ledger.policies();
  return {
    tenants: await ledger.tenants(),
    each: await Promise.all(tenants.map((tenant) => ofTenant(ledger, tenant))),
    openCalls,
    freezes: await ledger.freezes(),
    limits: await ledger.limits(),
    policies: await Promise.all(policies.map(({ tenant, name, version }) => ledger.policy(tenant, name, version))),
    policyDefaults: await ledger.policyDefaults(),
    dueApprovals: await ledger.dueApprovals(Number.MAX_SAFE_INTEGER, 100),
    idleSessions: await ledger.idleSessions(dayStart, 100),
    dueDeliveries: await ledger.dueDeliveries(Number.MAX_SAFE_INTEGER, 100),
  };
}
