// What is left of a call: its events in order, its audit record, no word of its input, and a chain that shows every change.
import { createHmac } from "node:crypto";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterAll, beforeAll, expect, test } from "vitest";
import {
  auditFields,
  canonicalText,
  headMac,
  linkHash,
  type AuditValue,
} from "../../packages/runtime/src/ledger/audit-chain.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { startNode } from "../support/processes.ts";
import type { Rest } from "../support/rest.ts";
import { signalboxBin, startStack, type Stack } from "../support/stack.ts";
import { addTenant } from "../support/tenants.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let bob: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  bob = stack.as(await addTenant(stack.operator, "beta", "user:bob"));
  await stack.register(workerTool("write", "1.0.0", { side_effect_class: "non_idempotent_write" }));
  await stack.startWorker("w-audit", [{ tool: "write", handler: gates.note }]);
});
afterAll(() => finish(stack, gates));

test("EVT-01: a call that succeeds is told in five events, in order and without a gap", async () => {
  const { execution_id: id } = (await admin.invoke({ tool: "echo", input: { n: 1 } })).body;
  const events = await admin.events(id);
  expect(events.map(({ seq, type }) => [seq, type])).toEqual([
    [1, "requested"],
    [2, "queued"],
    [3, "dispatched"],
    [4, "started"],
    [5, "succeeded"],
  ]);
  const times = events.map(({ ts }) => Date.parse(ts));
  expect(times).toEqual(times.toSorted((a, b) => a - b));
  expect(events[2]?.data).toMatchObject({ attempt: 1, fence: 1 });
});

test("EVT-02, worst thing 14: a denied call has two events, a row without its arguments, and one audit record", async () => {
  const { rest } = await stack.makeKey({ principal: "user:eve", scopes: ["tools:invoke", "calls:read"] });
  const { status, body } = await rest.invoke({ tool: "write", input: { secret: "canary-of-evt-02" } });
  expect(status).toBe(403);
  const id = body.execution_id ?? "";
  expect((await admin.events(id)).map(({ seq, type }) => [seq, type])).toEqual([
    [1, "requested"],
    [2, "denied"],
  ]);
  expect(await admin.call(id)).toMatchObject({ status: "denied", error: { code: "forbidden" }, attempts: [] });
  expect(await admin.audit({ execution_id: id })).toEqual([
    expect.objectContaining({
      action: "call.denied",
      status: "denied",
      error_code: "forbidden",
      principal: "user:eve",
    }),
  ]);
});

test("the audit record of a call names who, what, how it ended, and the hashes of what went in and came out", async () => {
  const { body, headers } = await admin.invoke({ tool: "echo", input: {} });
  const [record, ...more] = await admin.audit({ execution_id: body.execution_id ?? "" });
  expect(more).toEqual([]);
  expect(record).toMatchObject({
    tenant: "default",
    project: "default",
    principal: "user:admin",
    action: "call.settled",
    tool: "echo",
    version: "1.0.0",
    call_id: body.execution_id,
    attempt: 1,
    // SHA-256 of "{}".
    input_hash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    output_hash: "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",
    status: "succeeded",
    policy: { decision: "allow" },
    request_id: headers["x-request-id"],
  });
});

test("SEC-10: an input that looks like a secret stands in audit, events, metrics and logs only as a hash", async () => {
  const canary = "sk-live-canary-0123456789abcdef";
  const inputs = { api_key: canary, note: `Bearer ${canary}` };
  const { body } = await admin.invoke({ tool: "write", input: inputs, idempotency_key: "sec-10" });
  expect(body.status).toBe("succeeded");
  await admin.invoke({ tool: "write", version: "9.9.9", input: inputs });
  await admin.invoke({ tool: "write", input: inputs, stray: 1 });
  await admin.ask("POST", "/v1/executions", { body: `{"tool":"write","input":{"key":"${canary}"` });
  const { rest } = await stack.makeKey({ principal: "user:peep", scopes: ["tools:invoke"] });
  await rest.invoke({ tool: "write", input: inputs });

  const events = JSON.stringify(await admin.events(body.execution_id));
  const audit = JSON.stringify(await admin.audit());
  const { text: metrics } = await admin.get("/metrics");
  for (const text of [audit, stack.logs()]) expect(text).toContain(body.execution_id);
  for (const text of [events, audit, metrics, stack.logs()]) expect(text).not.toContain(canary);
});

test("AUD-07: the audit is asked by principal, action and time, and each tenant sees its own", async () => {
  const { rest } = await stack.makeKey({
    principal: "user:carol",
    scopes: ["tools:invoke"],
    grants: ["tool:invoke:echo"],
  });
  const before = new Date();
  const { execution_id: id } = (await rest.invoke({ tool: "echo", input: {} })).body;
  await rest.invoke({ tool: "write", input: {} });
  const ofCarol = await admin.audit({ principal: "user:carol" });
  expect(ofCarol.map((record) => record["action"])).toEqual(["call.denied", "call.settled"]);
  const settled = await admin.audit({ principal: "user:carol", action: "call.settled" });
  expect(settled.map((record) => record["execution_id"])).toEqual([id]);
  const from = before.toISOString();
  expect(await admin.audit({ principal: "user:carol", to: from })).toEqual([]);
  expect(await admin.audit({ principal: "user:carol", from })).toHaveLength(2);

  const own = (await bob.invoke({ tool: "echo", input: {} })).body.execution_id;
  const ofBeta = await bob.audit();
  expect(ofBeta.map((record) => [record["tenant"], record["execution_id"]])).toEqual([
    ["beta", own],
    // It begins with who made the tenant.
    ["beta", undefined],
  ]);
  expect(await admin.audit({ principal: "user:bob" })).toEqual([]);
  expect((await bob.post("/v1/audit:verify")).body).toMatchObject({ ok: true, records: 2 });
});

test("a key without audit:read sees no audit", async () => {
  const { rest } = await stack.makeKey({ principal: "user:dan", scopes: ["calls:read"] });
  const { status, body } = await rest.get("/v1/audit");
  expect([status, body.error?.details["missing_scope"]]).toEqual([403, "audit:read"]);
});

interface Verdict {
  readonly ok: boolean;
  readonly problems: readonly { readonly tenant: string; readonly seq: number; readonly kind: string }[];
}

/** Runs `signalbox audit verify --local` on the folder. */
async function verify(dataDir: string): Promise<{ readonly code: number | null } & Verdict> {
  const cli = startNode([signalboxBin, "audit", "verify", "--local", "--data", dataDir, "--json"]);
  const { code } = await cli.ended;
  return { code, ...(JSON.parse(cli.stdout()) as Verdict) };
}

/** A copy of the stopped runtime's data, changed by hand. */
function tampered(name: string, change: (db: DatabaseSync) => void): string {
  const copy = join(stack.folder, name);
  cpSync(stack.dataDir, copy, { recursive: true });
  const db = new DatabaseSync(join(copy, "ledger.db"));
  change(db);
  db.close();
  return copy;
}

const settledRow = "SELECT seq FROM audit WHERE tenant = 'default' AND action = 'call.settled' ORDER BY seq LIMIT 1";

test("AUD-02: one flipped byte of one row, a row that is gone, and a cut tail are each found at their seq", async () => {
  const { code } = await stack.stop();
  expect(code).toBe(0);
  expect(await verify(stack.dataDir)).toMatchObject({ code: 0, ok: true, problems: [] });

  let seq = 0;
  const edited = tampered("edited", (db) => {
    seq = Number(db.prepare(settledRow).get()?.["seq"]);
    const row = db.prepare("SELECT input_hash FROM audit WHERE tenant = 'default' AND seq = ?").get(seq);
    const hash = Buffer.from(String(row?.["input_hash"]));
    hash[10] = (hash[10] ?? 0) ^ 1;
    db.prepare("UPDATE audit SET input_hash = ? WHERE tenant = 'default' AND seq = ?").run(hash.toString(), seq);
  });
  expect(seq).toBeGreaterThan(1);
  const verdict = await verify(edited);
  expect([verdict.code, verdict.ok]).toEqual([1, false]);
  expect(verdict.problems).toEqual([expect.objectContaining({ tenant: "default", seq, kind: "edited" })]);

  const deleted = tampered("deleted", (db) => {
    db.prepare("DELETE FROM audit WHERE tenant = 'default' AND seq = ?").run(seq);
  });
  expect((await verify(deleted)).problems).toEqual([
    expect.objectContaining({ tenant: "default", seq, kind: "missing" }),
  ]);

  let last = 0;
  const cut = tampered("cut", (db) => {
    last = Number(db.prepare("SELECT MAX(seq) AS seq FROM audit WHERE tenant = 'default'").get()?.["seq"]);
    db.prepare("DELETE FROM audit WHERE tenant = 'default' AND seq = ?").run(last);
  });
  // Its head says so, and so does the anchor beside the database.
  expect((await verify(cut)).problems).toEqual([
    expect.objectContaining({ tenant: "default", seq: last, kind: "cut_tail" }),
    expect.objectContaining({ tenant: "default", seq: last, kind: "anchor_ahead" }),
  ]);
});

test("AUD-05: a chain that was recomputed without the key is reported", async () => {
  const forged = tampered("forged", (db) => forgeChain(db, Buffer.alloc(32, 7)));
  const verdict = await verify(forged);
  expect([verdict.code, verdict.ok]).toEqual([1, false]);
  expect(verdict.problems).toContainEqual(expect.objectContaining({ tenant: "default", seq: 1, kind: "edited" }));
  // Restarted for the end of this file, which stops it and looks at the untouched ledger.
  await stack.start();
});

/** What somebody can do who has the file and our code, but not the audit key: another truth with every hash renewed. */
function forgeChain(db: DatabaseSync, key: Buffer): void {
  const hmac = (text: string): string => createHmac("sha256", key).update(text).digest("hex");
  const columns = auditFields.map(([field, kind]) => {
    const column = field.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    return kind === "json" ? `${column}_json` : column;
  });
  db.exec("UPDATE audit SET principal = 'user:somebody-else' WHERE tenant = 'default' AND action = 'call.settled'");
  const rows = db.prepare(
    `SELECT lane, seq, ${columns.join(", ")} FROM audit WHERE tenant = 'default' ORDER BY lane, seq`,
  );
  let prevHash = "0".repeat(64);
  let head = { tenant: "default", lane: "", seq: 0, hash: "" };
  for (const row of rows.all()) {
    const text = canonicalText(columns.map((column) => row[column] as AuditValue));
    const hash = linkHash(hmac, prevHash, text);
    head = { tenant: "default", lane: String(row["lane"]), seq: Number(row["seq"]), hash };
    db.prepare("UPDATE audit SET prev_hash = ?, hash = ? WHERE tenant = 'default' AND lane = ? AND seq = ?").run(
      prevHash,
      hash,
      head.lane,
      head.seq,
    );
    prevHash = hash;
  }
  db.prepare("UPDATE audit_heads SET hash = ?, mac = ? WHERE tenant = 'default'").run(head.hash, headMac(hmac, head));
}
