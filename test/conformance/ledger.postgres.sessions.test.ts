// On PostgreSQL a unit holds the rows of its sessions first: what another replica is just changing is seen, and never raced with.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { migrate } from "../../packages/runtime/src/adapters/postgres/migrate.ts";
import { migrations } from "../../packages/runtime/src/adapters/postgres/schema.ts";
import type { CommitOutcome, Write } from "../../packages/runtime/src/ledger/port.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { sampleApproval } from "./ledger-governance-rows.ts";
import { admitUnit, dayStart, sampleCall } from "./ledger-rows.ts";
import { sampleEffect, samplePut, sampleSession } from "./ledger-session-rows.ts";

const lookEveryMs = 10;
const refused = { applied: false, write: 0 };

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "sessions that two write at once", () => {
  let server: PostgresServer;
  let database = "";
  let folder = "";
  let other: pg.Client;

  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());
  beforeEach(async () => {
    [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-sessions-"))];
    other = new pg.Client({ connectionString: server.url(database) });
    await other.connect();
  });
  afterEach(async () => {
    await other.end();
    await server.dropDatabase(database);
    await rm(folder, { recursive: true });
  });

  const open = (): Promise<PostgresLedger> =>
    PostgresLedger.open({ url: server.url(database), auditKey, lane: "r1", anchorPath: join(folder, "anchor"), now: Date.now });

  /** Till a statement waits for what the other connection has locked. */
  async function someoneWaits(): Promise<void> {
    for (;;) {
      const { rowCount } = await other.query("SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()");
      if (rowCount !== 0) return;
      await sleep(lookEveryMs);
    }
  }

  /** The unit, while another replica is in the middle of these statements; they are committed when the unit waits, or has not waited. */
  async function beside(statements: readonly string[], ...writes: Write[]): Promise<CommitOutcome> {
    const ledger = await open();
    try {
      await ledger.commit({ writes: [{ op: "insert_session", row: sampleSession() }, { op: "claim_effect", row: sampleEffect(), now: dayStart }] });
      await other.query("BEGIN");
      for (const sql of statements) await other.query(sql);
      const outcome = ledger.commit({ writes });
      await Promise.race([outcome, someoneWaits()]);
      await other.query("COMMIT");
      return await outcome;
    } finally {
      await ledger.close();
    }
  }

  const takenOver = ["UPDATE sessions SET fence = fence + 1, replica = 'r2' WHERE session_id = 'sess_1'"];

  test("an effect is not claimed under a fence that is just being passed on", async () => {
    expect(await beside(takenOver, { op: "claim_effect", row: sampleEffect({ key: "t1.e2" }), now: dayStart })).toEqual(refused);
  });

  test("nor completed", async () => {
    const complete: Write = { op: "complete_effect", tenant: "acme", sessionId: "sess_1", key: "t1.e1", fence: 1, at: dayStart, outcomeJson: "{}" };
    expect(await beside(takenOver, complete)).toEqual(refused);
  });

  test("a word under a key that another replica is just putting is refused, and no error", async () => {
    const putting = [
      "UPDATE sessions SET inbox_seq = inbox_seq + 1 WHERE session_id = 'sess_1'",
      "INSERT INTO session_inbox (tenant, session_id, seq, at, put_by, idempotency_key, wish_json) VALUES ('acme', 'sess_1', 1, 1, 'u', 'k', '{}')",
    ];
    expect(await beside(putting, samplePut({ idempotencyKey: "k" }))).toEqual(refused);
  });

  test("a word beside another one gets the next number", async () => {
    const putting = [
      "UPDATE sessions SET inbox_seq = inbox_seq + 1 WHERE session_id = 'sess_1'",
      `INSERT INTO session_inbox (tenant, session_id, seq, at, put_by, wish_json) VALUES ('acme', 'sess_1', 1, 1, 'u', '{"type":"complete"}')`,
    ];
    expect(await beside(putting, samplePut())).toEqual({ applied: true });
    const ledger = await open();
    expect((await ledger.inbox("acme", "sess_1", 0, 10)).map(({ seq, by }) => [seq, by])).toEqual([[1, "u"], [2, "user:ann"]]);
    await ledger.close();
  });

  test("a database of the first schema gains sessions, and has its calls and approvals by them", async () => {
    const older = await server.createEmptyDatabase();
    await other.end();
    await server.dropDatabase(database);
    database = older;
    other = new pg.Client({ connectionString: server.url(database) });
    await other.connect();
    await migrate(other, 0, migrations.slice(0, 1));
    const { rows } = await other.query("SELECT to_regclass('sessions') AS there");
    expect(rows).toEqual([{ there: null }]);
    const ledger = await open();
    await ledger.commit(admitUnit(sampleCall({ callId: "c1", sessionId: "sess_1" })));
    await ledger.commit({ writes: [{ op: "insert_approval", row: sampleApproval({ approvalId: "apr_1", subject: { kind: "call", callId: "c1", sessionId: "sess_1" } }) }] });
    expect(await ledger.commit({ writes: [{ op: "insert_session", row: sampleSession() }] })).toEqual({ applied: true });
    expect((await ledger.sessionCalls("acme", "sess_1")).map(({ callId }) => callId)).toEqual(["c1"]);
    expect((await ledger.sessionApprovals("acme", "sess_1")).map(({ approvalId }) => approvalId)).toEqual(["apr_1"]);
    const { rows: state } = await other.query("SELECT value FROM meta WHERE name = 'schema_compatible_from'");
    // Replicas that know the first schema only go on beside it.
    expect(state).toEqual([{ value: "1" }]);
    await ledger.close();
  });
});
