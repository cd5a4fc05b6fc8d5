// A ledger of the first schema opens with the second one: nothing that was there is lost, and what is new is filled from it.
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { sampleApproval, samplePolicy, sampleVote } from "../../../../../test/conformance/ledger-governance-rows.ts";
import { admitUnit, sampleCall, settledCall, settleUnit } from "../../../../../test/conformance/ledger-rows.ts";
import { sampleAgentVersion, sampleSession } from "../../../../../test/conformance/ledger-session-rows.ts";
import { SqliteLedger } from "./ledger.ts";
import { migrate } from "./open.ts";
import { migrations } from "./schema.ts";

let folder = "";
let path = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-migration-"));
  path = join(folder, "data", "ledger.db");
  mkdirSync(join(folder, "data"));
});
afterEach(() => rmSync(folder, { recursive: true }));

const open = (): SqliteLedger =>
  new SqliteLedger({ path, auditKey: Buffer.alloc(32, 1), lane: "r1", now: () => 1_767_225_600_000 });

function insertRow(db: DatabaseSync, table: string, row: Readonly<Record<string, string | number | null>>): void {
  const names = Object.keys(row);
  const sql = `INSERT INTO ${table} (${names.join(", ")}) VALUES (${names.map(() => "?").join(", ")})`;
  db.prepare(sql).run(...Object.values(row));
}

/** As the first schema's code wrote it: what a list shows stands in both tables, and the rest in the metadata. */
function insertTool(
  db: DatabaseSync,
  tool: string,
  active: string | null,
  versions: readonly (readonly [string, object])[],
): void {
  const shown = { side_effect_class: "read_only", executor_type: "worker" };
  insertRow(db, "tools", {
    tenant: "acme",
    tool,
    active_version: active,
    description: `about ${tool}`,
    ...shown,
    created_at: 10,
  });
  for (const [at, [version, said]] of versions.entries()) {
    insertRow(db, "tool_versions", {
      tenant: "acme",
      tool,
      version,
      metadata_json: JSON.stringify({ name: tool, version, description: `about ${tool}`, ...said }),
      spec_json: "{}",
      manifest_digest: "d",
      trust: "verified",
      status: "active",
      published_at: 10 + at,
      published_by: `user:${version}`,
      description: `about ${tool}`,
      ...shown,
    });
  }
}

function makeFirstSchema(fill: (db: DatabaseSync) => void): void {
  const db = new DatabaseSync(path);
  migrate(db, 1, migrations.slice(0, 1));
  fill(db);
  db.close();
}

test("calls of the first schema, their events, attempts and audit are as they were", async () => {
  const call = sampleCall({ callId: "c1", idempotencyKey: "k" });
  const open1 = sampleCall({ callId: "c2", state: "queued", effectiveArgsJson: '{"a":1.10}' });
  // A ledger of today writes the rows; then its file gets the first schema's tables, and their rows in the old columns.
  const before = open();
  await before.commit(admitUnit(call));
  await before.commit(settleUnit(call));
  await before.commit({ writes: [{ op: "insert_call", row: open1 }] });
  await before.close();
  const db = new DatabaseSync(path);
  const tables = ["calls", "events", "audit", "audit_heads"];
  const rows = tables.map((table) => db.prepare(`SELECT * FROM ${table}`).all());
  const schema = db.prepare("SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").all();
  for (const { name } of schema) db.exec(`DROP TABLE ${String(name)}`);
  migrate(db, 1, migrations.slice(0, 1));
  for (const [at, table] of tables.entries()) {
    for (const row of rows[at] ?? []) {
      const { args_edited_by: added, ...old } = row as Record<string, string | number | null>;
      expect(added ?? null).toBeNull();
      // Audit records have had it from the start.
      if (table === "calls") for (const later of ["approval_json", "sandbox", "box_json", "files_json", "cache_key", "cached_from", "retry_json"]) delete old[later];
      insertRow(db, table, old);
    }
  }
  db.close();

  const ledger = open();
  expect(await ledger.getCallByKey("acme", "shop", "k")).toEqual(settledCall(call, { eventSeq: 5 }));
  expect(await ledger.getCall("acme", "c2")).toEqual(open1);
  expect((await ledger.events("acme", "c1", 0, 10)).map(({ type }) => type)).toEqual([
    "requested",
    "queued",
    "dispatched",
    "started",
    "succeeded",
  ]);
  expect(await ledger.attempts("acme", "c1")).toHaveLength(1);
  expect(await ledger.verifyAudit()).toMatchObject({ ok: true, records: 1 });
  // And they go on under the new schema.
  const row = { ...open1, argsEditedBy: "user:ada" };
  await ledger.commit({ writes: [{ op: "update_call", expect: { state: "queued", fence: 1 }, before: open1, row }] });
  expect((await ledger.getCall("acme", "c2"))?.argsEditedBy).toBe("user:ada");
  await ledger.close();
});

test("tools of the first schema tell owner, category and labels of their active version, which is their one activation", async () => {
  makeFirstSchema((db) => {
    insertTool(db, "orders.find", "2.0.0", [
      ["1.0.0", { owner: "old", category: "old", labels: { old: "1" } }],
      ["2.0.0", { owner: "team-orders", category: "Aufträge", labels: { tier: "1", "a b": 'x"y' } }],
      ["3.0.0", { owner: "new", category: "new", labels: {} }],
    ]);
    insertTool(db, "zip.pack", null, [
      ["1.0.0", { owner: "first", category: "", labels: { z: "1" } }],
      ["2.0.0", { owner: "second", category: "", labels: {} }],
    ]);
    insertTool(db, "bare", "1.0.0", [["1.0.0", {}]]);
    insertRow(db, "project_tools", {
      tenant: "acme",
      project: "shop",
      tool: "bare",
      enabled: 0,
      changed_at: 5,
      changed_by: "u",
    });
  });
  const ledger = open();
  const record = (tool: string, activeVersion: string | null, owner: string, category: string, labels: object) => ({
    tenant: "acme",
    tool,
    activeVersion,
    description: `about ${tool}`,
    sideEffectClass: "read_only",
    executorType: "worker",
    owner,
    category,
    labels,
    createdAt: 10,
  });
  expect((await ledger.listTools("acme", 10)).items).toEqual([
    record("bare", "1.0.0", "", "", {}),
    record("orders.find", "2.0.0", "team-orders", "Aufträge", { tier: "1", "a b": 'x"y' }),
    record("zip.pack", null, "first", "", { z: "1" }),
  ]);
  expect(await ledger.activations("acme", "orders.find", 10)).toEqual([
    { tenant: "acme", tool: "orders.find", version: "2.0.0", at: 11, by: "user:2.0.0" },
  ]);
  expect(await ledger.activations("acme", "bare", 10)).toHaveLength(1);
  expect(await ledger.activations("acme", "zip.pack", 10)).toEqual([]);
  expect(await ledger.projectTools("acme")).toEqual([
    { tenant: "acme", project: "shop", tool: "bare", enabled: false, changedAt: 5, changedBy: "u" },
  ]);
  // An old version that is activated brings what its own metadata say.
  await ledger.commit({
    writes: [{ op: "activate_tool", tenant: "acme", tool: "orders.find", version: "1.0.0", at: 50, by: "user:bo" }],
  });
  expect(await ledger.tool("acme", "orders.find")).toEqual(record("orders.find", "1.0.0", "old", "old", { old: "1" }));
  expect((await ledger.activations("acme", "orders.find", 10)).map(({ version }) => version)).toEqual([
    "1.0.0",
    "2.0.0",
  ]);
  await ledger.close();
});

test("approvals of the first schema's empty tables are made anew, and the rest starts empty", async () => {
  makeFirstSchema((db) => {
    insertRow(db, "tenants", { tenant: "acme", weight: 1, created_at: 1 });
  });
  const ledger = open();
  const running = { suspendedAt: null, suspendedBy: null, suspendedReason: null };
  expect(await ledger.tenants()).toEqual([{ tenant: "acme", weight: 1, createdAt: 1, ...running }]);
  expect(await ledger.policies()).toEqual([]);
  expect(await ledger.policyDefaults()).toEqual([]);
  expect(await ledger.freezes()).toEqual([]);
  expect(await ledger.nextApprovalAt()).toBeUndefined();
  expect(await ledger.nextDeliveryAt()).toBeUndefined();
  const approval = sampleApproval({ approvalId: "apr_1" });
  const vote = sampleVote({ approvalId: "apr_1", voter: "user:bo" });
  await ledger.commit({
    writes: [
      { op: "insert_approval", row: approval },
      { op: "store_vote", row: vote },
    ],
  });
  expect(await ledger.approval("acme", "apr_1")).toEqual({ approval, votes: [vote] });
  await ledger.close();
});

test("a ledger of the sixth schema has its calls and approvals of sessions by their sessions, and keeps new ones", async () => {
  const call = sampleCall({ callId: "c1", sessionId: "sess_1", turn: 2 });
  const approval = sampleApproval({ approvalId: "apr_1", subject: { kind: "call", callId: "c1", sessionId: "sess_1" } });
  const before = open();
  await before.commit(admitUnit(call));
  await before.commit({ writes: [{ op: "insert_approval", row: approval }] });
  await before.close();
  const db = new DatabaseSync(path);
  const added = db.prepare("SELECT type, name FROM sqlite_schema WHERE name IN ('calls_of_sessions', 'approvals_of_sessions') OR type = 'table' AND (name LIKE 'agent%' OR name LIKE 'session%' OR name = 'host_events')").all();
  expect(added.map(({ name }) => String(name)).sort()).toEqual(["agent_changes", "agent_versions", "agents", "approvals_of_sessions", "calls_of_sessions", "host_events", "session_events", "session_history", "session_inbox", "session_journal", "sessions"]);
  for (const { type, name } of added) db.exec(`DROP ${String(type)} ${String(name)}`);
  db.exec("UPDATE meta SET value = '6' WHERE name = 'schema_version'");
  db.close();

  const ledger = open();
  expect((await ledger.sessionCalls("acme", "sess_1")).map(({ callId, turn }) => [callId, turn])).toEqual([["c1", 2]]);
  expect((await ledger.sessionApprovals("acme", "sess_1")).map(({ approvalId }) => approvalId)).toEqual(["apr_1"]);
  expect((await ledger.listSessions({ tenant: "acme" }, 10)).items).toEqual([]);
  const row = sampleSession();
  expect(await ledger.commit({ writes: [{ op: "insert_session", row }, { op: "insert_agent_version", row: sampleAgentVersion() }] })).toEqual({ applied: true });
  expect(await ledger.session("acme", "sess_1")).toEqual(row);
  expect(await ledger.getCall("acme", "c1")).toEqual({ ...call, eventSeq: 3 });
  await ledger.close();
});

test("a second start finds the newest schema and changes nothing", async () => {
  makeFirstSchema((db) => insertTool(db, "bare", "1.0.0", [["1.0.0", {}]]));
  for (let start = 0; start < 2; start += 1) {
    const ledger = open();
    expect(await ledger.activations("acme", "bare", 10)).toHaveLength(1);
    await ledger.close();
  }
  const db = new DatabaseSync(path);
  expect(db.prepare("SELECT value FROM meta WHERE name = 'schema_version'").get()?.["value"]).toBe("7");
  db.close();
});

test("what counting goes by is made with the first policy that counts, and is there at the next start", async () => {
  const indexes = (): string[] => {
    const db = new DatabaseSync(path, { readOnly: true });
    const rows = db
      .prepare("SELECT name FROM sqlite_schema WHERE name IN ('calls_by_window', 'calls_by_session')")
      .all();
    db.close();
    return rows.map(({ name }) => String(name)).sort();
  };
  let ledger = open();
  const publish = (name: string, when: string | null, also = 0) =>
    ledger.commit({
      writes: [
        { op: "insert_policy", row: samplePolicy({ name, when }) },
        ...Array.from({ length: also }, () => ({ op: "insert_policy", row: samplePolicy({ name: "reads" }) }) as const),
      ],
    });
  await publish("reads", null);
  await publish("amounts", "args.amount > 3.0 && args.calls == 1");
  expect(indexes()).toEqual([]);
  expect(await publish("refused", "calls.turn > 3", 1)).toEqual({ applied: false, write: 1 });
  expect(indexes()).toEqual([]);
  await publish("turns", "calls.turn > 3");
  await publish("windows", 'calls.window("10m") > 3');
  expect(indexes()).toEqual(["calls_by_session", "calls_by_window"]);
  await ledger.close();
  ledger = open();
  expect(indexes()).toEqual(["calls_by_session", "calls_by_window"]);
  await ledger.close();
});
