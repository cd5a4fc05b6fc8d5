// `signalbox ledger`: what it asks for, what it says, and what it prints with --json.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, test } from "vitest";
import { cli } from "../../../../../test/support/command-line.ts";
import { migrate } from "../../adapters/sqlite/open.ts";
import { SqliteLedger } from "../../adapters/sqlite/ledger.ts";
import { migrations } from "../../adapters/sqlite/schema.ts";
import { exportLedger, importLedger } from "../../adapters/transfer/move.ts";
import { upgradeLedger } from "../../adapters/transfer/upgrade.ts";
import type { Compose } from "../io.ts";

const compose: Partial<Compose> = { exportLedger, importLedger, upgradeLedger };
const auditKey = Buffer.alloc(32, 7);
let cwd = "";

beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), "signalbox-cli-ledger-"));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const run = (...args: readonly string[]) => cli(["ledger", ...args], { compose, cwd });

/** A data folder with one tenant, two audit records and one stored file. */
async function fill(name = ".signalbox"): Promise<void> {
  mkdirSync(join(cwd, name, "store", "t-acme", "files", "ab"), { recursive: true });
  mkdirSync(join(cwd, name, "store", "making"), { recursive: true });
  writeFileSync(join(cwd, name, "store", "t-acme", "files", "ab", "abcd"), "12345");
  writeFileSync(join(cwd, name, "store", "making", "half"), "1");
  writeFileSync(join(cwd, name, "audit.key"), auditKey.toString("hex"));
  const ledger = new SqliteLedger({ path: join(cwd, name, "ledger.db"), auditKey, lane: "embedded", now: Date.now });
  const tenant = { tenant: "acme", weight: 1, createdAt: 1, suspendedAt: null, suspendedBy: null, suspendedReason: null };
  const draft = { ts: 1, tenant: "acme", project: "", principal: "operator", action: "tenant.created", status: "done", requestId: "" };
  await ledger.commit({ writes: [{ op: "insert_tenant", row: tenant }, { op: "append_audit", draft }, { op: "append_audit", draft }] });
  await ledger.close();
}

const sha = /^[0-9a-f]{64}$/;

test("a ledger is exported and imported, for people", async () => {
  await fill();
  expect(await run("export", "ledger.ndjson")).toEqual({
    code: 0,
    out: "exported 4 rows to ledger.ndjson\nnot included: 1 file of the content store (5 bytes); --store <folder> copies them\n",
    err: "next:  keep audit.key of the old ledger, then: signalbox ledger import ledger.ndjson --ledger\n",
  });
  // Arguments and results of every tenant stand in it.
  expect(statSync(join(cwd, "ledger.ndjson")).mode & 0o777).toBe(0o600);
  const imported = await run("import", "ledger.ndjson", "--data", "moved", "--audit-key-file", ".signalbox/audit.key");
  expect(imported).toEqual({ code: 0, out: "imported 4 rows from ledger.ndjson\nthe chain holds: 2 records in 1 lane\n", err: "" });
});

test("the same for programs, with the content", async () => {
  await fill();
  const exported = await run("export", "ledger.ndjson", "--store", "content", "--json");
  expect([exported.code, exported.err]).toEqual([0, ""]);
  const told = JSON.parse(exported.out) as Record<string, unknown>;
  const newest = migrations.at(-1)?.version;
  const { tables, ...rest } = told;
  expect(rest).toEqual({
    file: join(cwd, "ledger.ndjson"),
    ledger: "sqlite",
    schema: newest,
    rows: 4,
    sha256: expect.stringMatching(sha),
    store: { files: 1, bytes: 5, copied: true },
    living_replicas: 0,
  });
  expect(tables).toMatchObject({ tenants: 1, audit: 2, audit_heads: 1, calls: 0, blobs: 0 });
  expect(readdirSync(join(cwd, "content"))).toEqual(["t-acme"]);

  mkdirSync(join(cwd, "moved"));
  writeFileSync(join(cwd, "moved", "audit.key"), auditKey.toString("hex"));
  const imported = await run("import", "ledger.ndjson", "--data", "moved", "--store", "content", "--json");
  expect([imported.code, imported.err]).toEqual([0, ""]);
  expect(JSON.parse(imported.out)).toEqual({
    file: join(cwd, "ledger.ndjson"),
    ledger: "sqlite",
    rows: 4,
    tables,
    sha256: told["sha256"],
    store: { files: 1, bytes: 5, copied: true },
    audit: { ok: true, records: 2, lanes: 1, problems: [] },
  });
  expect(existsSync(join(cwd, "moved", "store", "t-acme", "files", "ab", "abcd"))).toBe(true);
});

test("an audit that was tampered with before the export is told after the import, and the rows are there", async () => {
  await fill();
  const db = new DatabaseSync(join(cwd, ".signalbox", "ledger.db"));
  db.exec("UPDATE audit SET principal = 'nobody' WHERE seq = 1");
  db.close();
  await run("export", "ledger.ndjson");
  const { code, out } = await run("import", "ledger.ndjson", "--data", "moved", "--audit-key-file", ".signalbox/audit.key");
  expect(code).toBe(1);
  expect(out).toContain("the chain does not hold: 2 records in 1 lane\n  acme/embedded#1 edited");
});

test("a cut tail is found by the anchor that came along", async () => {
  await fill();
  const db = new DatabaseSync(join(cwd, ".signalbox", "ledger.db"));
  db.exec("DELETE FROM audit; DELETE FROM audit_heads");
  db.close();
  await run("export", "ledger.ndjson");
  const { code, out } = await run("import", "ledger.ndjson", "--data", "moved", "--audit-key-file", ".signalbox/audit.key");
  expect([code, out]).toEqual([1, expect.stringContaining("acme/embedded#1 anchor_ahead: the anchor knows record 2; the last one there is 0")]);
});

test("what cannot be carried says why and what to do", async () => {
  expect(await run("export", "x")).toMatchObject({ code: 1, err: `error: ${join(cwd, ".signalbox")} holds no ledger; name the data folder with --data\n` });
  await fill();
  await run("export", "x");
  expect((await run("export", "x")).err).toBe(`error: ${join(cwd, "x")} is there already; name another file, or move it away\n`);
  expect(readdirSync(cwd).filter((name) => name.startsWith("x"))).toEqual(["x"]);
  const key = join(cwd, "moved", "audit.key");
  expect((await run("import", "x", "--data", "moved")).err).toBe(
    `error: ${key} is not there: copy audit.key of the old ledger's data folder to ${key}, or name it with --audit-key-file\n`,
  );
  expect((await run("import", "x")).err).toContain("is not empty: it has rows in tenants. Name another data folder.");
  expect((await run("import", "y", "--audit-key-file", ".signalbox/audit.key", "--data", "moved")).err).toContain("no such file");
  const held = new SqliteLedger({ path: join(cwd, ".signalbox", "ledger.db"), auditKey, lane: "embedded", now: Date.now });
  expect(await run("export", "z")).toMatchObject({ code: 5, err: expect.stringContaining("Another process has the data folder") });
  await held.close();
  expect(await run("export", "z", "--ledger", "mysql://x")).toMatchObject({ code: 2, err: expect.stringContaining("begins with postgres://") });
  expect(await run("export", "z", "--ledger")).toMatchObject({ code: 2, err: expect.stringContaining("SIGNALBOX_LEDGER names no ledger") });
  expect(await run("export", "z", "--ledger", "postgres://u:secret@127.0.0.1:1/none")).toMatchObject({ code: 5, err: expect.not.stringContaining("secret") });
});

test("an upgrade is told, then done, and an old ledger is not exported before it", async () => {
  mkdirSync(join(cwd, ".signalbox"));
  writeFileSync(join(cwd, ".signalbox", "audit.key"), auditKey.toString("hex"));
  const old = new DatabaseSync(join(cwd, ".signalbox", "ledger.db"));
  migrate(old, 1, migrations.slice(0, 3));
  old.close();
  const newest = migrations.at(-1)?.version ?? 0;
  expect((await run("export", "x")).err).toBe(
    `error: The ledger has schema 3, and this Signalbox exports schema ${newest}. Bring it up with 'signalbox ledger migrate'.\n`,
  );
  const told = await run("migrate", "--dry-run", "--json");
  const steps = migrations.slice(3).map(({ version, statements }) => ({ version, statements }));
  expect(JSON.parse(told.out)).toEqual({ ledger: "sqlite", schema: 3, newest, steps, done: false });
  const { code, out } = await run("migrate");
  expect([code, out.split("\n").slice(0, 3)]).toEqual([
    0,
    [`schema 3 was brought to ${newest}`, "  4:", expect.stringContaining("    CREATE TABLE workspace_files ( tenant TEXT NOT NULL,")],
  ]);
  expect((await run("migrate", "--dry-run")).out).toBe(`the ledger has schema ${newest}: nothing to do\n`);
  expect((await run("export", "x")).code).toBe(0);

  const newer = new DatabaseSync(join(cwd, ".signalbox", "ledger.db"));
  newer.exec("UPDATE meta SET value = '99' WHERE name = 'schema_version'");
  newer.close();
  expect((await run("migrate", "--dry-run")).err).toContain(`The ledger has schema 99; this Signalbox knows schemas up to ${newest}.`);
  expect((await run("export", "y")).err).toContain("Use the version that wrote it, or a newer one.");
});

test("what cannot be written leaves nothing behind", async () => {
  await fill();
  expect((await run("export", "no/such/folder/x")).err).toContain("cannot be written");
  expect(existsSync(join(cwd, "no"))).toBe(false);
});
