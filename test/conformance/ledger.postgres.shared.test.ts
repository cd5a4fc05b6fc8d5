// One PostgreSQL ledger of several processes: its schema, its audit lanes, its outbox, and writers that meet on the same calls.
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PostgresLedger, type PostgresLedgerOptions } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { migrate } from "../../packages/runtime/src/adapters/postgres/migrate.ts";
import { migrations } from "../../packages/runtime/src/adapters/postgres/schema.ts";
import { LedgerUnavailable } from "../../packages/runtime/src/ledger/port.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { admitUnit, appendEvents, sampleAudit, sampleCall, settleUnit } from "./ledger-rows.ts";

const applied = { applied: true };

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "one database of several processes", () => {
  let server: PostgresServer;
  let database = "";
  let folder = "";
  let opened: PostgresLedger[] = [];
  let errors: string[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-shared-"))];
    errors = [];
  });
  afterEach(async () => {
    for (const ledger of opened) await ledger.close();
    opened = [];
    await server.dropDatabase(database);
    await rm(folder, { recursive: true });
  });

  const anchorPath = (lane: string): string => join(folder, `${lane}.anchor`);

  async function open(lane: string, options: Partial<PostgresLedgerOptions> = {}): Promise<PostgresLedger> {
    const onError = (error: Error): void => void errors.push(error.message);
    const ledger = await PostgresLedger.open({ url: server.url(database), auditKey, lane, anchorPath: anchorPath(lane), now: Date.now, onError, ...options });
    opened.push(ledger);
    return ledger;
  }

  async function record(ledger: PostgresLedger, count: number, tenant = "acme"): Promise<void> {
    const draft = sampleAudit(sampleCall({ callId: "c1", tenant }));
    for (let at = 0; at < count; at += 1) await ledger.commit({ writes: [{ op: "append_audit", draft }] });
  }

  describe("its schema", () => {
    async function withClient<T>(name: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
      const client = new pg.Client({ connectionString: server.url(name) });
      await client.connect();
      try {
        return await work(client);
      } finally {
        await client.end();
      }
    }
    const version = async (name: string) => (await server.run("SELECT value FROM meta WHERE name = 'schema_version'", name)).rows;

    test("is made once by many that start at once", async () => {
      const empty = await server.createEmptyDatabase();
      await Promise.all([1, 2, 3].map(() => withClient(empty, (client) => migrate(client, 0))));
      expect(await version(empty)).toEqual([{ value: String(migrations.at(-1)?.version) }]);
    });

    test("grows by what is new; the version before goes on beside it as long as the new one says so", async () => {
      const empty = await server.createEmptyDatabase();
      const first = { version: 1, compatibleFrom: 1, statements: ["CREATE TABLE first (a BIGINT)"] };
      const expanded = { version: 2, compatibleFrom: 1, statements: ["ALTER TABLE first ADD COLUMN b BIGINT"] };
      const contracted = { version: 3, compatibleFrom: 2, statements: ["ALTER TABLE first DROP COLUMN a"] };
      for (const list of [[first], [first, expanded], [first]]) await withClient(empty, (client) => migrate(client, 0, list));
      expect(await version(empty)).toEqual([{ value: "2" }]);
      await withClient(empty, (client) => migrate(client, 0, [first, expanded, contracted]));
      await withClient(empty, (client) => migrate(client, 0, [first, expanded]));
      const old = withClient(empty, (client) => migrate(client, 0, [first]));
      await expect(old).rejects.toThrow("The ledger has schema 3, which asks for a runtime that knows schema 2; this Signalbox knows schemas up to 1.");
    });

    test("is left as it was when a step of it fails", async () => {
      const empty = await server.createEmptyDatabase();
      const broken = { version: 1, compatibleFrom: 1, statements: ["CREATE TABLE first (a BIGINT)", "CREATE TABLE first (a BIGINT)"] };
      await expect(withClient(empty, (client) => migrate(client, 0, [broken]))).rejects.toThrow("already exists");
      const { rows } = await server.run("SELECT tablename FROM pg_tables WHERE schemaname = 'public'", empty);
      expect(rows).toEqual([]);
    });
  });

  describe("its audit", () => {
    test("has a lane for each replica, and all of them verify from anywhere", async () => {
      const [one, two] = [await open("r1"), await open("r2")];
      await Promise.all([record(one, 5), record(two, 3), record(two, 2, "globex")]);
      for (const ledger of [one, two]) expect(await ledger.verifyAudit()).toEqual({ ok: true, records: 10, lanes: 3, problems: [] });
      const seqs = (await one.listAudit({ tenant: "acme" }, 100)).items.map(({ lane, seq }) => `${lane} ${seq}`);
      expect(seqs.toSorted()).toEqual(["r1 1", "r1 2", "r1 3", "r1 4", "r1 5", "r2 1", "r2 2", "r2 3"]);
    });

    test("lets no second process into a lane while the first one lives", { timeout: 30_000 }, async () => {
      const one = await open("r1");
      await expect(open("r1")).rejects.toThrow("Another process that lives uses the replica name r1 on this ledger.");
      await record(one, 1);
      await one.close();
      const again = await open("r1");
      await record(again, 1);
      expect(await again.verifyAudit()).toMatchObject({ ok: true, records: 2, lanes: 1 });
    });

    test("is made with one key", async () => {
      await (await open("r1")).close();
      const other = open("r2", { auditKey: Buffer.alloc(32, 9) });
      await expect(other).rejects.toThrow(LedgerUnavailable);
      await expect(other).rejects.toThrow("is not the one that this ledger's audit was made with");
    });

    test.each([
      ["an edited record", "UPDATE audit SET principal = 'user:eve' WHERE lane = 'r1' AND seq = 2", ["edited 2"]],
      ["a removed record", "DELETE FROM audit WHERE lane = 'r1' AND seq = 2", ["missing 2"]],
      ["a cut tail", "DELETE FROM audit WHERE lane = 'r1' AND seq > 2", ["cut_tail 3", "anchor_ahead 3"]],
      ["a tail that was cut with its head", "DELETE FROM audit WHERE seq > 0; DELETE FROM audit_heads", ["anchor_ahead 1"]],
      ["a head that was set back", "UPDATE audit_heads SET seq = 2, hash = (SELECT hash FROM audit WHERE seq = 2)", ["head_edited 2"]],
    ])("tells of %s", async (_, sql, found) => {
      const ledger = await open("r1");
      await record(ledger, 4);
      await ledger.close();
      await server.run(sql, database);
      const again = await open("r1");
      expect((await again.verifyAudit()).problems.map(({ kind, seq }) => `${kind} ${seq}`)).toEqual(found);
    });

    test("keeps its hole when it goes on after its tail was cut", async () => {
      const ledger = await open("r1");
      await record(ledger, 4);
      await ledger.close();
      await server.run("DELETE FROM audit WHERE seq > 2; UPDATE audit_heads SET seq = 2", database);
      const again = await open("r1");
      await record(again, 1);
      expect(errors).toEqual([expect.stringContaining("was changed outside of Signalbox")]);
      await again.close();
      expect((await (await open("r1")).verifyAudit()).problems.map(({ kind, seq }) => `${kind} ${seq}`)).toEqual(["missing 3"]);
    });

    test("tells of an anchor that is not its own", async () => {
      const ledger = await open("r1");
      await record(ledger, 2);
      await ledger.close();
      const text = await readFile(anchorPath("r1"), "utf8");
      await writeFile(anchorPath("r1"), text.replace('"seq":2', '"seq":1'));
      const again = await open("r1");
      expect((await again.verifyAudit()).problems.map(({ kind }) => kind)).toEqual(["anchor_edited"]);
      expect(errors).toHaveLength(1);
    });
  });

  test("a commit finds its call by the key, also on a connection that knew the ledger when it was empty", async () => {
    const ledger = await open("r1");
    for (let at = 0; at < 600; at += 1) {
      const call = sampleCall({ callId: `c${at}` });
      await ledger.commit(admitUnit(call));
      await ledger.commit(settleUnit(call));
    }
    await ledger.close();
    const byTime = await server.run("SELECT idx_scan::int AS scans FROM pg_stat_user_indexes WHERE indexrelname = 'calls_by_time'", database);
    // Those of the beginning may be found by any index; it would have been all 600.
    expect((byTime.rows as { readonly scans: number }[])[0]?.scans).toBeLessThan(400);
    const whole = await server.run("SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE relname = 'calls'", database);
    expect(whole.rows).toEqual([{ read: 0 }]);
  });

  test("writers that meet on the same calls, each in another order, wait for one another and both go on", async () => {
    const [one, two] = [await open("r1"), await open("r2")];
    const calls = Array.from({ length: 40 }, (_, at) => sampleCall({ callId: `c${String(at).padStart(2, "0")}`, tenant: at % 2 === 0 ? "acme" : "globex" }));
    for (let round = 0; round < 6; round += 1) {
      const named = calls.map((call) => ({ ...call, callId: `${round}-${call.callId}` }));
      await Promise.all(named.map((call) => one.commit(admitUnit(call))));
      const each = await Promise.all([
        Promise.all(named.map((call) => one.commit(settleUnit(call)))),
        Promise.all(named.toReversed().map((call) => two.commit(settleUnit(call)))),
      ]);
      const [first, second] = [each[0], each[1].toReversed()];
      for (const [at, outcome] of first.entries()) expect([outcome.applied, second[at]?.applied].filter(Boolean)).toHaveLength(1);
    }
    expect(await one.verifyAudit()).toMatchObject({ ok: true, records: 240 });
    expect((await one.usage({ tenant: null, groupBy: [] }, 1)).items).toMatchObject([{ executions: 240 }]);
  });

  test("who reads the outbox while others write it misses nothing, and sees each call's rows in their order", async () => {
    const [one, two] = [await open("r1"), await open("r2")];
    const written = 120;
    const write = async (ledger: PostgresLedger, name: string): Promise<void> => {
      for (let at = 0; at < written; at += 4) {
        const calls = [0, 1, 2, 3].map((more) => sampleCall({ callId: `${name}${at + more}` }));
        await Promise.all(calls.map((call) => ledger.commit(admitUnit(call))));
        await Promise.all(calls.map((call) => ledger.commit({ writes: appendEvents(call, 4, "progress") })));
      }
    };
    const seen: { readonly id: number; readonly callId: string; readonly seqFrom: number }[] = [];
    const reader = await open("r3");
    let writing = true;
    const read = async (): Promise<void> => {
      for (;;) {
        const last = !writing;
        const rows = await reader.outbox(seen.at(-1)?.id ?? 0, 50);
        seen.push(...rows);
        if (last && rows.length === 0) return;
      }
    };
    await Promise.all([read(), Promise.all([write(one, "a"), write(two, "b")]).then(() => (writing = false))]);
    const ids = seen.map(({ id }) => id);
    expect(ids).toEqual(ids.toSorted((x, y) => x - y));
    const names = ["a", "b"].flatMap((name) => Array.from({ length: written }, (_, at) => `${name}${at}`));
    const rowsOf = Map.groupBy(seen, ({ callId }) => callId);
    expect(names.map((name) => rowsOf.get(name)?.map(({ seqFrom }) => seqFrom).join())).toEqual(names.map(() => "1,4"));
  });

  test("a database that was restored into a server that has done less goes on behind its outbox", async () => {
    await server.run("INSERT INTO events (id, tenant, call_id, seq_from, seq_to, events_json) VALUES (9000000000000, 'acme', 'old', 1, 1, '[]')", database);
    const ledger = await open("r1");
    expect(await ledger.commit(admitUnit(sampleCall({ callId: "c1" })))).toEqual(applied);
    expect((await ledger.outbox(9_000_000_000_000, 10)).map(({ callId }) => callId)).toEqual(["c1"]);
  });
});
