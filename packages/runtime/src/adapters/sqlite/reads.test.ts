// Every statement that reads finds its rows by an index: history must not slow a runtime down.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { auditLister } from "./audit-list.ts";
import { openDatabase, type OpenDatabase } from "./open.ts";
import { callReads, registryReads, statementCache, tenancyReads, type Prepared } from "./reads.ts";
import { trailReads } from "./trail-reads.ts";

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
  calls.listCalls({ tenant: "acme" }, 10);
  calls.listCalls({ tenant: "acme" }, 10, cursor);
  calls.listCalls({ tenant: "acme", state: "failed" }, 10, cursor);
  calls.listCalls({ tenant: "acme", project: "shop", admittedFrom: 1, admittedTo: 2 }, 10);
  calls.listCalls({ tenant: "acme", state: "succeeded" }, 10);
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
  expect(seen.size).toBe(27);
  for (const sql of seen) {
    const plan = opened.db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row["detail"]));
    for (const step of plan) {
      // Recovery alone sorts, and only the open calls; a filter of the audit scans the rows that one turn may look at.
      const sorts = step.includes("TEMP B-TREE") && !sql.includes("ORDER BY start_tag");
      const scans = step.startsWith("SCAN") && step !== "SCAN turn";
      expect([sql, step, scans || sorts]).toEqual([sql, step, false]);
    }
  }
});

test("calls of a state are found by it, but for the one that nearly all are in", () => {
  const plans = (["queued", "indeterminate", "failed", "succeeded"] as const).map((state) => {
    let plan: unknown;
    const calls = callReads((sql) => {
      plan = opened.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()[0]?.["detail"];
      return opened.db.prepare(sql);
    });
    calls.listCalls({ tenant: "acme", state }, 10);
    return plan;
  });
  expect(plans).toEqual([
    "SEARCH calls USING INDEX calls_by_state (state=? AND tenant=?)",
    "SEARCH calls USING INDEX calls_by_state (state=? AND tenant=?)",
    "SEARCH calls USING INDEX calls_by_state (state=? AND tenant=?)",
    "SEARCH calls USING INDEX calls_by_time (tenant=?)",
  ]);
});

test("values are bound, never part of a statement", () => {
  const seen = new Set<string>();
  const prepare = statementCache(opened.db);
  const calls = callReads((sql) => {
    seen.add(sql);
    return prepare(sql);
  });
  calls.listCalls({ tenant: "acme", project: "a" }, 10);
  calls.listCalls({ tenant: "globex", project: "b' OR 1=1" }, 99);
  expect(seen.size).toBe(1);
});
