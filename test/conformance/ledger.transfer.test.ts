// What is carried from one ledger to another is all there, whichever kinds they are, and its audit holds.
import { DatabaseSync } from "node:sqlite";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { postgresOwn } from "../../packages/runtime/src/adapters/postgres/dump.ts";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { migrations } from "../../packages/runtime/src/adapters/postgres/schema.ts";
import { sqliteOwn } from "../../packages/runtime/src/adapters/sqlite/dump.ts";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { exportLedger, importLedger, type LedgerPlace } from "../../packages/runtime/src/adapters/transfer/move.ts";
import { carriedNames, type CarriedTable } from "../../packages/runtime/src/adapters/transfer/tables.ts";
import { upgradeLedger } from "../../packages/runtime/src/adapters/transfer/upgrade.ts";
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { dayStart, sampleAudit, sampleCall, admitUnit } from "./ledger-rows.ts";
import { everythingIn, fillEverything } from "./ledger-filled.ts";

type Kind = "SQLite" | "PostgreSQL";

let folder = "";
let server: PostgresServer;
beforeAll(async () => {
  if (noPostgres === undefined) server = await PostgresServer.start();
});
afterAll(async () => {
  if (noPostgres === undefined) await server.remove();
});
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "signalbox-transfer-"));
});
afterEach(() => rm(folder, { recursive: true }));

const onProgress = (): void => undefined;
const facts = { version: "0.0.0", now: dayStart, onProgress };

/** A data folder with the key of the audit and nothing else, or such a one and a database without tables. */
async function place(kind: Kind, name: string): Promise<LedgerPlace> {
  const dataDir = join(folder, name);
  await mkdir(dataDir);
  await writeFile(join(dataDir, "audit.key"), auditKey.toString("hex"));
  return kind === "SQLite" ? { dataDir } : { dataDir, ledgerUrl: server.url(await server.createEmptyDatabase()) };
}

async function open({ dataDir, ledgerUrl }: LedgerPlace, lane = "embedded"): Promise<Ledger> {
  const common = { auditKey, lane, now: () => dayStart };
  if (ledgerUrl === undefined) return new SqliteLedger({ ...common, path: join(dataDir, "ledger.db") });
  return PostgresLedger.open({ ...common, url: ledgerUrl, anchorPath: join(dataDir, "audit.anchor"), keepTags: true });
}

async function filled(kind: Kind, name: string): Promise<{ readonly at: LedgerPlace; readonly holds: unknown }> {
  const at = await place(kind, name);
  const ledger = await open(at);
  await fillEverything(ledger);
  await ledger.close();
  // A second lane in the same chain of a tenant.
  const second = await open(at, "replica-2");
  await second.commit({ writes: [{ op: "append_audit", draft: sampleAudit(sampleCall({ callId: "c1" }), { ts: dayStart + 100 }) }] });
  const holds = await everythingIn(second);
  await second.close();
  return { at, holds };
}

const rowsOf = async (file: string): Promise<readonly string[]> => (await readFile(join(folder, file), "utf8")).split("\n").slice(1, -2);

const pairs: readonly (readonly [Kind, Kind])[] = [
  ["SQLite", "SQLite"],
  ["SQLite", "PostgreSQL"],
  ["PostgreSQL", "SQLite"],
  ["PostgreSQL", "PostgreSQL"],
];

for (const [from, to] of pairs) {
  const needsServer = [from, to].includes("PostgreSQL");
  describe.skipIf(needsServer && noPostgres !== undefined)(`from ${from} to ${to}`, () => {
    test("everything comes along, the audit holds, and the same lines come out again", async () => {
      const { at, holds } = await filled(from, "source");
      const exported = await exportLedger(at, { file: join(folder, "one"), ...facts });
      const target = await place(to, "target");
      const imported = await importLedger(target, { file: join(folder, "one"), ...facts });
      expect(imported).toMatchObject({ rows: exported.rows, sha256: exported.sha256, audit: { ok: true, lanes: 3, problems: [] } });
      const ledger = await open(target, "replica-3");
      expect(await everythingIn(ledger)).toEqual(holds);
      await ledger.close();
      await exportLedger(target, { file: join(folder, "two"), ...facts });
      expect(await rowsOf("two")).toEqual(await rowsOf("one"));
    });

    test("the ledger goes on where the other one stopped", async () => {
      const { at } = await filled(from, "source");
      await exportLedger(at, { file: join(folder, "one"), ...facts });
      const target = await place(to, "target");
      await importLedger(target, { file: join(folder, "one"), ...facts });
      const ledger = await open(target);
      const last = (await ledger.outbox(0, 1_000)).at(-1)?.id ?? 0;
      expect(await ledger.commit(admitUnit(sampleCall({ callId: "next", admittedAt: dayStart + 99 })))).toEqual({ applied: true });
      expect((await ledger.outbox(last, 10)).map(({ callId }) => callId)).toEqual(["next"]);
      // A key that was used names its call, and a number that was given is not given again.
      expect(await ledger.commit(admitUnit(sampleCall({ callId: "again", idempotencyKey: "k-1" })))).toEqual({ applied: false, write: 0 });
      const activate = { op: "activate_tool", tenant: "acme", tool: "orders.find", version: "1.1.0", at: dayStart + 50, by: "user:bo" } as const;
      await ledger.commit({ writes: [activate, { op: "append_audit", draft: sampleAudit(sampleCall({ callId: "next" })) }] });
      expect((await ledger.activations("acme", "orders.find", 1))[0]).toMatchObject({ version: "1.1.0", at: dayStart + 50 });
      expect(await ledger.verifyAudit()).toMatchObject({ ok: true, lanes: 3 });
      await ledger.close();
    });

    test("a ledger that holds anything is not filled, and stays as it is", async () => {
      const { at } = await filled(from, "source");
      await exportLedger(at, { file: join(folder, "one"), ...facts });
      const target = await place(to, "target");
      const ledger = await open(target);
      await ledger.commit({ writes: [{ op: "lift_freeze", tenant: "acme", tool: "" }, { op: "touch_key", tenant: "acme", keyId: "k", at: 1 }] });
      await ledger.commit({ writes: [{ op: "put_project", row: { tenant: "acme", project: "own", environment: "", createdAt: 1 } }] });
      await ledger.close();
      await expect(importLedger(target, { file: join(folder, "one"), ...facts })).rejects.toThrow(/is not empty.* has rows in projects/);
      const again = await open(target);
      expect(await again.tenants()).toEqual([]);
      expect(await again.projects("acme")).toHaveLength(1);
      await again.close();
    });

    test("a file that was changed, cut or made with another key leaves the ledger empty", async () => {
      const { at } = await filled(from, "source");
      const file = join(folder, "one");
      await exportLedger(at, { file, ...facts });
      const target = await place(to, "target");
      const text = await readFile(file, "utf8");
      for (const [damaged, why] of [
        [text.replace('"unpaid', '"inpaid'), /is not what was written/],
        [text.slice(0, Math.floor(text.length / 2)), /it is no JSON|has no end/],
        [`${text.split("\n").slice(0, -2).join("\n")}\n`, /has no end/],
        [text.replace(/^\{"table":"grants".*\n/m, ""), /is not what was written|has another length/],
        [text.replace('"format_version":1', '"format_version":2'), /it has format 2/],
        ["{}\n", /no exported ledger/],
        ["", /the file is empty/],
        [text.replace('["tenant","project","environment"', '["tenant","project","colour"'), /does not know projects.colour/],
        [text.replace('{"table":"freezes"', '{"table":"frosts"'), /a table that this Signalbox does not know \(frosts\)/],
        [`${text}[1]\n`, /something stands behind the end/],
      ] as const) {
        await writeFile(file, damaged);
        await expect(importLedger(target, { file, ...facts })).rejects.toThrow(why);
      }
      await writeFile(file, text);
      await writeFile(join(target.dataDir, "other.key"), "ab".repeat(32));
      const other = { ...target, auditKeyFile: join(target.dataDir, "other.key") };
      await expect(importLedger(other, { file, ...facts })).rejects.toThrow(/The audit key is not the one/);
      expect(await importLedger(target, { file, ...facts })).toMatchObject({ audit: { ok: true } });
    });
  });
}

describe.skipIf(noPostgres !== undefined)("an upgrade on PostgreSQL", () => {
  test("is told without being done, then done, and a schema that asks for a newer runtime is refused", async () => {
    const target = await place("PostgreSQL", "target");
    const url = target.ledgerUrl ?? "";
    const newest = migrations.at(-1)?.version ?? 0;
    const told = await upgradeLedger(target, { dryRun: true, now: dayStart });
    expect(told).toMatchObject({ ledger: "postgres", schema: 0, newest, done: false });
    expect(told.steps.map(({ version }) => version)).toEqual(migrations.map(({ version }) => version));
    await expect(exportLedger(target, { file: join(folder, "one"), ...facts })).rejects.toThrow(/has schema 0.*signalbox ledger migrate/);
    expect(await upgradeLedger(target, { dryRun: false, now: dayStart })).toMatchObject({ schema: 0, newest, done: true });
    expect(await upgradeLedger(target, { dryRun: true, now: dayStart })).toMatchObject({ schema: newest, steps: [] });
    const database = new URL(url).pathname.slice(1);
    const say = (name: string, value: number) => server.run(`UPDATE meta SET value = '${value}' WHERE name = '${name}'`, database);
    await say("schema_version", 99);
    // A newer one that this runtime can stand beside is no reason to stop.
    expect(await upgradeLedger(target, { dryRun: true, now: dayStart })).toMatchObject({ schema: 99, steps: [] });
    await say("schema_compatible_from", 99);
    await expect(upgradeLedger(target, { dryRun: true, now: dayStart })).rejects.toThrow(/asks for a runtime that knows schema 99/);
  });

  test("an import that is stopped in the middle leaves the ledger empty", async () => {
    const { at } = await filled("SQLite", "source");
    await exportLedger(at, { file: join(folder, "one"), ...facts });
    const target = await place("PostgreSQL", "target");
    const stopped = (rows: number): void => {
      if (rows > 40) throw new Error("interrupted");
    };
    await expect(importLedger(target, { ...facts, file: join(folder, "one"), onProgress: stopped })).rejects.toThrow("interrupted");
    expect(await importLedger(target, { file: join(folder, "one"), ...facts })).toMatchObject({ audit: { ok: true } });
  });

  test("of a database at work the file has one instant, and says who works", async () => {
    const { at } = await filled("PostgreSQL", "source");
    const ledger = await open(at);
    if (!(ledger instanceof PostgresLedger)) throw new Error("it was filled on PostgreSQL");
    await ledger.beat({ replica: "r1#1", grpcAddress: "", draining: false, lanes: [], livesMs: 60_000 });
    let written = 0;
    const meanwhile = (): void => {
      written += 1;
      void ledger.commit(admitUnit(sampleCall({ callId: `m${written}` })));
    };
    const { living, tables, rows } = await exportLedger(at, { ...facts, file: join(folder, "one"), onProgress: meanwhile });
    await ledger.close();
    expect(living).toBe(1);
    expect(Object.values(tables).reduce((sum, count) => sum + count, 0)).toBe(rows);
    const target = await place("PostgreSQL", "target");
    expect(await importLedger(target, { file: join(folder, "one"), ...facts })).toMatchObject({ rows, audit: { ok: true } });
    const copy = await open(target, "replica-3");
    expect((await copy.listCalls({ tenant: "acme" }, 100)).items.map(({ callId }) => callId)).not.toContain("m1");
    await copy.close();
  });
});

describe.skipIf(noPostgres !== undefined)("what is carried", () => {
  test("is every table and every column, but for what a ledger keeps for itself", async () => {
    const db = new DatabaseSync(join((await filled("SQLite", "source")).at.dataDir, "ledger.db"));
    const inSqlite = db.prepare("SELECT m.name AS tab, c.name AS col FROM sqlite_master AS m, pragma_table_info(m.name) AS c WHERE m.type = 'table'").all();
    db.close();
    const database = await server.createDatabase();
    const { rows: inPostgres } = await server.run("SELECT table_name AS tab, column_name AS col FROM information_schema.columns WHERE table_schema = 'public'", database);
    const names = (rows: readonly object[], own: typeof sqliteOwn): string[] =>
      (rows as readonly { tab: string; col: string }[])
        .filter(({ tab, col }) => !own.tables.includes(tab) && own.columns[tab as CarriedTable]?.includes(col) !== true)
        .map(({ tab, col }) => `${tab}.${col}`)
        .sort();
    expect(names(inPostgres, postgresOwn)).toEqual(names(inSqlite, sqliteOwn));
    expect([...new Set(names(inSqlite, sqliteOwn).map((name) => name.split(".")[0]))]).toEqual([...carriedNames].sort());
  });

  test("with a policy that counts is what it counts by", async () => {
    const { at } = await filled("SQLite", "source");
    await exportLedger(at, { file: join(folder, "one"), ...facts });
    const [toSqlite, toPostgres] = [await place("SQLite", "a"), await place("PostgreSQL", "b")];
    for (const target of [toSqlite, toPostgres]) await importLedger(target, { file: join(folder, "one"), ...facts });
    const db = new DatabaseSync(join(toSqlite.dataDir, "ledger.db"));
    const names = "('calls_by_window', 'calls_by_session')";
    expect(db.prepare(`SELECT name FROM sqlite_master WHERE name IN ${names}`).all()).toHaveLength(2);
    db.close();
    const database = new URL(toPostgres.ledgerUrl ?? "").pathname.slice(1);
    expect((await server.run(`SELECT indexname FROM pg_indexes WHERE indexname IN ${names}`, database)).rows).toHaveLength(2);
  });

  test("of a queue keeps its order, and who comes later waits behind it", async () => {
    const source = await place("SQLite", "source");
    const line = await open(source);
    const waits = { state: "queued", replica: null, workerId: null, incarnation: null, dispatchedAt: null, leaseExpiresAt: null, startDeadlineAt: null } as const;
    for (const [callId, startTag] of [["c1", 500.25], ["c2", 501.25], ["c3", 500.5]] as const)
      await line.commit(admitUnit(sampleCall({ callId, startTag, ...waits })));
    await line.close();
    await exportLedger(source, { file: join(folder, "one"), ...facts });
    const target = await place("PostgreSQL", "target");
    await importLedger(target, { file: join(folder, "one"), ...facts });
    const url = target.ledgerUrl ?? "";
    const ledger = await PostgresLedger.open({ url, auditKey, lane: "r", anchorPath: join(folder, "r.anchor"), now: () => dayStart });
    await ledger.commit(admitUnit(sampleCall({ callId: "own", ...waits })));
    await ledger.commit(admitUnit(sampleCall({ callId: "theirs", tenant: "globex", ...waits })));
    const inLine: string[] = [];
    for await (const { callId } of ledger.openCalls()) inLine.push(callId);
    expect(inLine).toEqual(["c1", "theirs", "c3", "c2", "own"]);
    await ledger.close();
  });
});
