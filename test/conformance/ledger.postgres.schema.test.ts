// A schema that changes under replicas that live: they go on beside what was added, nobody is kept waiting, and nothing is taken from under them.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { migrate } from "../../packages/runtime/src/adapters/postgres/migrate.ts";
import { migrations } from "../../packages/runtime/src/adapters/postgres/schema.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { admitUnit, sampleCall, sampleToolVersion, settleUnit } from "./ledger-rows.ts";

const known = migrations.at(-1)?.version ?? 0;
const lookEveryMs = 20;

/** A column more in every table. */
const grown = {
  version: known + 1,
  compatibleFrom: known,
  statements: [
    `DO $$ DECLARE name TEXT; BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'meta' LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN later_note TEXT', name);
      END LOOP;
    END $$`,
  ],
};
const taken = { version: known + 2, compatibleFrom: known + 1, statements: ["DROP TABLE roles"] };

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "a schema that changes", () => {
  let server: PostgresServer;
  let database = "";
  let folder = "";
  let clients: pg.Client[] = [];
  let ledgers: PostgresLedger[] = [];

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-schema-"))];
  });
  afterEach(async () => {
    for (const ledger of ledgers) await ledger.close();
    for (const client of clients) await client.end();
    [ledgers, clients] = [[], []];
    await server.dropDatabase(database);
    await rm(folder, { recursive: true });
  });

  async function connected(): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: server.url(database) });
    client.on("error", () => undefined);
    clients.push(client);
    await client.connect();
    return client;
  }

  async function open(lane: string): Promise<PostgresLedger> {
    const ledger = await PostgresLedger.open({ url: server.url(database), auditKey, lane, anchorPath: join(folder, `${lane}.anchor`), now: Date.now, doubtMsMax: 100 });
    ledgers.push(ledger);
    return ledger;
  }

  const version = async (): Promise<unknown> => (await server.run("SELECT value FROM meta WHERE name = 'schema_version'", database)).rows;

  /** Resolves when somebody waits for a lock on a table. */
  async function untilInLine(): Promise<void> {
    const waiting = "SELECT 1 FROM pg_locks WHERE NOT granted AND locktype = 'relation'";
    while (((await server.run(waiting)).rowCount ?? 0) === 0) await sleep(lookEveryMs);
  }

  test("what a replica has prepared goes on when every table grows under it", async () => {
    const ledger = await open("r1");
    const row = sampleToolVersion("1.0.0");
    await ledger.commit({ writes: [{ op: "insert_tool_version", row, activate: true }] });
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    // Many at once, so that every connection has prepared them.
    const reads = (): Promise<unknown> =>
      Promise.all(
        Array.from({ length: 24 }, () => [
          ledger.toolVersion("acme", "orders.find", "1.0.0"),
          ledger.tool("acme", "orders.find"),
          ledger.getCall("acme", "c1"),
          ledger.attempts("acme", "c1"),
          ledger.events("acme", "c1", 0, 10),
          ledger.tenants(),
          ledger.policies(),
          ledger.limits(),
          ledger.listCalls({ tenant: "acme" }, 10),
          ledger.listTools("acme", 10),
        ]).flat(),
      );
    const before = await reads();
    await migrate(await connected(), 0, [...migrations, grown]);
    expect(await reads()).toEqual(before);
    expect(await ledger.commit(settleUnit(call))).toEqual({ applied: true });
    expect((await ledger.getCall("acme", "c1"))?.state).toBe("succeeded");
  });

  test("waits for a long transaction without keeping everybody else waiting behind it", async () => {
    const [long, other] = [await connected(), await connected()];
    await long.query("BEGIN");
    await long.query("SELECT count(*) FROM calls");
    const change = migrate(await connected(), 0, [...migrations, grown]);
    await untilInLine();
    // The change stands in line before this; it steps aside, or this would come back after `long` has ended alone.
    await other.query("SELECT count(*) FROM calls");
    expect(await version()).toEqual([{ value: String(known) }]);
    await long.query("COMMIT");
    await change;
    expect(await version()).toEqual([{ value: String(known + 1) }]);
  });

  test("lets go of nothing while a replica lives that knows no better", async () => {
    const older = await open("r1");
    const change = migrate(await connected(), 0, [...migrations, grown, taken]);
    await expect(change).rejects.toThrow(`Replicas that know schemas up to ${known} live on this ledger, and schema ${known + 2} asks for ${known + 1}.`);
    expect(await version()).toEqual([{ value: String(known) }]);
    await older.close();
    await migrate(await connected(), 0, [...migrations, grown, taken]);
    expect(await version()).toEqual([{ value: String(known + 2) }]);
  });

  test("a replica that was cut off meanwhile does not come back to a schema that it does not know", async () => {
    const older = await open("r1");
    expect(await older.commit(admitUnit(sampleCall({ callId: "c1" })))).toEqual({ applied: true });
    // Its connections end, and before it makes new ones the schema has changed.
    const alone = await connected();
    await server.run(`ALTER DATABASE ${database} CONNECTION LIMIT 0`);
    await server.run(`UPDATE pg_database SET datallowconn = false WHERE datname = '${database}'`);
    await server.run(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${database}' AND application_name LIKE 'signalbox%'`);
    while (((await server.run(`SELECT 1 FROM pg_stat_activity WHERE datname = '${database}' AND application_name LIKE 'signalbox%'`)).rowCount ?? 0) > 0) await sleep(lookEveryMs);
    await migrate(alone, 0, [...migrations, grown, taken]);
    await server.run(`UPDATE pg_database SET datallowconn = true WHERE datname = '${database}'`);
    await server.run(`ALTER DATABASE ${database} CONNECTION LIMIT -1`);
    const refused = older.commit(admitUnit(sampleCall({ callId: "c2" })));
    await expect(refused).rejects.toThrow(`The ledger has schema ${known + 2}, which asks for a runtime that knows schema ${known + 1}; this Signalbox knows schemas up to ${known}.`);
  });
});
