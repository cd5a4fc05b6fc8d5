// Every statement that reads finds its rows by an index: history must not slow a runtime down.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sampleApproval } from "../../../../../test/conformance/ledger-governance-rows.ts";
import { approvalReads } from "./approval-reads.ts";
import { approvalWriters } from "./approval-writes.ts";
import { auditLister } from "./audit-list.ts";
import { callCounts } from "./call-counts.ts";
import { callLister } from "./call-list.ts";
import { countIndexes } from "./governance-schema.ts";
import { openDatabase, type OpenDatabase } from "./open.ts";
import { policyReads } from "./policy-reads.ts";
import { callReads, statementCache, tenancyReads, type Prepared } from "./reads.ts";
import { registryReads } from "./registry-reads.ts";
import { trailReads } from "./trail-reads.ts";
import { planUnit } from "./unit-plan.ts";
import { webhookReads } from "./webhook-reads.ts";

let folder = "";
let opened: OpenDatabase;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-reads-"));
  opened = openDatabase(join(folder, "ledger.db"), 1);
});
afterEach(() => {
  opened.close();
  rmSync(folder, { recursive: true });
});

function seedAudit(tenant: string, lane: string): void {
  opened.db
    .prepare(
      `INSERT INTO audit (tenant, lane, seq, ts, project, principal, action, prev_hash, hash)
        VALUES (?, ?, 1, 1, '', 'user:ada', 'key.created', '', '')`,
    )
    .run(tenant, lane);
}

test("no read scans a table or sorts one", async () => {
  const seen = new Set<string>();
  const prepare = statementCache(opened.db);
  const prepared: Prepared = (sql) => {
    seen.add(sql);
    return prepare(sql);
  };
  const calls = callReads(prepared);
  const trail = trailReads(prepared);
  const cursor = Buffer.from('[1,"c1"]').toString("base64url");
  calls.getCall("acme", "c1");
  calls.getCallByKey("acme", "shop", "k");
  const listCalls = callLister(prepared);
  await listCalls({ tenant: "acme" }, 10);
  await listCalls({ tenant: "acme" }, 10, cursor);
  await listCalls({ tenant: "acme", state: "failed" }, 10, cursor);
  await listCalls({ tenant: "acme", project: "shop", admittedFrom: 1, admittedTo: 2 }, 10);
  await listCalls({ tenant: "acme", state: "succeeded" }, 10);
  calls.openCallKeys();
  trail.attempts("acme", "c1");
  trail.lateResults("acme", "c1");
  trail.events("acme", "c1", 0, 10);
  trail.outbox(0, 10);
  calls.countOpen("acme");
  tenancyReads(prepared).keyByHash("h");
  registryReads(prepared).tool("acme", "t");
  registryReads(prepared).toolVersion("acme", "t", "1.0.0");
  registryReads(prepared).listTools("acme", 10);
  const listAudit = auditLister(prepared);
  const lane = Buffer.from('["r1",9]').toString("base64url");
  seedAudit("acme", "r1");
  await listAudit({ tenant: "acme" }, 10, lane);
  await listAudit({ tenant: "acme", from: 1, to: 2, principal: "user:ada", action: "call.settled" }, 10);
  await listAudit({ tenant: "acme", executionId: "c1" }, 10);
  expect(seen.size).toBe(29);
  for (const sql of seen) {
    // Recovery alone sorts, and only the open calls; a filter of the audit scans the rows that one turn may look at.
    const allowed = sql.includes("ORDER BY start_tag") ? "TEMP B-TREE" : "SCAN turn";
    expect([sql, wasteOf(sql).filter((step) => !step.includes(allowed))]).toEqual([sql, []]);
  }
});

/** Steps of the statement's plan that walk a whole table or sort what they found. */
function wasteOf(sql: string): string[] {
  const steps = opened.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all();
  return steps
    .map((row) => String(row["detail"]))
    .filter((step) => step.startsWith("SCAN") || step.includes("TEMP B-TREE"));
}

/** How the first table of the statement is searched. */
function searchOf(sql: string): string {
  const first = opened.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()[0]?.["detail"];
  return String(first);
}

function watched(): { readonly seen: Set<string>; readonly prepared: Prepared } {
  const seen = new Set<string>();
  const prepare = statementCache(opened.db);
  return {
    seen,
    prepared: (sql) => {
      seen.add(sql);
      return prepare(sql);
    },
  };
}

test("no read of what people decide scans a table or sorts one", () => {
  const { seen, prepared } = watched();
  const cursor = Buffer.from('[1,"x"]').toString("base64url");
  const registry = registryReads(prepared);
  registry.listTools("acme", 10, Buffer.from('["a"]').toString("base64url"), { text: "a", owner: "b", category: "c" });
  registry.activations("acme", "t", 10);
  registry.toolPins("acme");
  registry.projectTools("acme");
  const policies = policyReads(prepared);
  policies.policy("acme", "p", "1.0.0");
  policies.listPolicies({ tenant: "acme" }, 10);
  const behind = Buffer.from('["p",1,"1.0.0"]').toString("base64url");
  policies.listPolicies({ tenant: "acme", level: "tenant", project: "", status: "active" }, 10, behind);
  policies.listPolicies({ tenant: "acme", name: "p" }, 10, behind);
  const approvals = approvalReads(prepared);
  const row = sampleApproval({ approvalId: "apr_1" });
  approvalWriters(opened.db).insert_approval({ op: "insert_approval", row }, planUnit({ writes: [] }));
  approvals.approval("acme", "apr_1");
  approvals.listApprovals({ tenant: "acme" }, 10);
  approvals.listApprovals({ tenant: "acme", project: "shop", tool: "t", requester: "user:ada" }, 10, cursor);
  approvals.listApprovals({ tenant: "acme", state: "pending" }, 10, cursor);
  approvals.listApprovals({ tenant: "acme", callId: "c1" }, 10, cursor);
  const webhooks = webhookReads(prepared);
  webhooks.listDeliveries("acme", {}, 10, cursor);
  webhooks.listDeliveries("acme", { webhookId: "w" }, 10, cursor);
  webhooks.listDeliveries("acme", { state: "dead" }, 10, cursor);
  webhooks.listDeliveries("acme", { webhookId: "w", state: "dead" }, 10, cursor);
  expect(seen.size).toBe(18);
  for (const sql of seen) expect([sql, wasteOf(sql)]).toEqual([sql, []]);
  // What is asked of every tenant at once is few, or read at start alone.
  policies.policies();
  policies.policyDefaults();
  registry.freezes();
  // The webhooks of a tenant are sorted: they are few.
  webhooks.webhooks("acme");
  expect(seen.size).toBe(22);
});

test("questions about pending approvals and due deliveries touch those alone", () => {
  const { seen, prepared } = watched();
  const approvals = approvalReads(prepared);
  approvals.dueApprovals(1, 10);
  approvals.nextApprovalAt();
  approvals.listApprovals({ tenant: "acme", state: "pending" }, 10);
  approvals.listApprovals({ tenant: "acme", callId: "c1" }, 10);
  const webhooks = webhookReads(prepared);
  webhooks.dueDeliveries(1, 10);
  webhooks.nextDeliveryAt();
  expect([...seen].map(searchOf)).toEqual([
    "SEARCH approvals USING COVERING INDEX approvals_due (expires_at<?)",
    // Of which it takes the first entry.
    "SCAN approvals USING COVERING INDEX approvals_due",
    "SEARCH approvals USING INDEX approvals_by_state (tenant=? AND state=?)",
    "SEARCH approvals USING INDEX approvals_by_call (tenant=? AND call_id=?)",
    "SEARCH d USING INDEX deliveries_due (next_at<?)",
    "SEARCH deliveries USING COVERING INDEX deliveries_due (next_at>?)",
  ]);
});

test("counting looks at the counted calls alone, once there is a rule that counts", () => {
  const { seen, prepared } = watched();
  const { countCalls } = callCounts(prepared);
  const who = { tenant: "acme", tool: "t", principal: "user:ada" };
  countCalls({ ...who, within: { kind: "turn", sessionId: "s", turn: 1 } });
  countCalls({ ...who, within: { kind: "session", sessionId: "s" } });
  countCalls({ ...who, within: { kind: "window", from: 1 } });
  for (const index of countIndexes) opened.db.exec(index);
  expect([...seen].map(searchOf)).toEqual([
    "SEARCH calls USING INDEX calls_by_session (tenant=? AND session_id=? AND tool=? AND principal=? AND turn=?)",
    "SEARCH calls USING INDEX calls_by_session (tenant=? AND session_id=? AND tool=? AND principal=?)",
    "SEARCH calls USING INDEX calls_by_window (tenant=? AND tool=? AND principal=? AND admitted_at>?)",
  ]);
});

test("calls of a state are found by it, but for the one that nearly all are in", async () => {
  const plans: unknown[] = [];
  for (const state of ["queued", "indeterminate", "failed", "succeeded"] as const) {
    let plan: unknown;
    const listCalls = callLister((sql) => {
      plan = opened.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()[0]?.["detail"];
      return opened.db.prepare(sql);
    });
    await listCalls({ tenant: "acme", state }, 10);
    plans.push(plan);
  }
  expect(plans).toEqual([
    "SEARCH calls USING INDEX calls_by_state (state=? AND tenant=?)",
    "SEARCH calls USING INDEX calls_by_state (state=? AND tenant=?)",
    "SEARCH calls USING INDEX calls_by_state (state=? AND tenant=?)",
    "SEARCH calls USING INDEX calls_by_time (tenant=?)",
  ]);
});

test("values are bound, never part of a statement", async () => {
  const { seen, prepared } = watched();
  const listCalls = callLister(prepared);
  await listCalls({ tenant: "acme", project: "a" }, 10);
  await listCalls({ tenant: "globex", project: "b' OR 1=1" }, 99);
  // What ends a turn, and what it holds.
  expect(seen.size).toBe(2);
});
