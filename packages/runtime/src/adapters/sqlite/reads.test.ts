// Every statement that reads finds its rows by an index: history must not slow a runtime down.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Call } from "../../call/types.ts";
import { openDatabase, type OpenDatabase } from "./open.ts";
import { callReads, registryReads, statementCache, tenancyReads, type Prepared } from "./reads.ts";

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

test("no read scans a table or sorts one", () => {
  const seen: string[] = [];
  const prepare = statementCache(opened.db);
  const prepared: Prepared = (sql) => {
    seen.push(sql);
    return prepare(sql);
  };
  const calls = callReads(prepared);
  const cursor = Buffer.from('[1,"c1"]').toString("base64url");
  calls.getCall("acme", "c1");
  calls.getCallByKey("acme", "shop", "k");
  calls.listCalls({ tenant: "acme" }, 10);
  calls.listCalls({ tenant: "acme" }, 10, cursor);
  calls.listCalls({ tenant: "acme", state: "failed" }, 10, cursor);
  calls.listCalls({ tenant: "acme", project: "shop", admittedFrom: 1, admittedTo: 2 }, 10);
  calls.openCallsAfter(undefined);
  calls.openCallsAfter({ startTag: 1, admittedAt: 1, tenant: "acme", callId: "c1" } as Call);
  calls.attempts("acme", "c1");
  calls.lateResults("acme", "c1");
  calls.events("acme", "c1", 0, 10);
  calls.outbox(0, 10);
  calls.countOpen("acme");
  tenancyReads(prepared).keyByHash("h");
  registryReads(prepared).tool("acme", "t");
  registryReads(prepared).toolVersion("acme", "t", "1.0.0");
  registryReads(prepared).listTools("acme", 10);
  expect(seen).toHaveLength(17);
  for (const sql of seen) {
    const plan = opened.db
      .prepare(`EXPLAIN QUERY PLAN ${sql}`)
      .all()
      .map((row) => String(row["detail"]));
    for (const step of plan) {
      // A scan along the index of open calls is what recovery is for; it holds open calls only.
      const scansTable = step.startsWith("SCAN") && !step.includes("USING INDEX calls_open");
      expect([sql, step, scansTable || step.includes("TEMP B-TREE")]).toEqual([sql, step, false]);
    }
  }
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
