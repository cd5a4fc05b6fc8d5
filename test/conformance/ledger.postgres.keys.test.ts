// On PostgreSQL a call is found by its key, whatever the planner thought of the table when it was small.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { admitUnit, sampleCall, settleUnit } from "./ledger-rows.ts";

const calls = 40;
const lookEveryMs = 20;

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "keys of calls", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  /** Scans of each index of calls; what a connection has counted is told when it ends. */
  async function scans(database: string): Promise<Record<string, number>> {
    const others = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}'`;
    while (((await server.run(others)).rowCount ?? 0) > 0) await sleep(lookEveryMs);
    const { rows } = await server.run("SELECT indexrelname AS name, idx_scan AS scans FROM pg_stat_user_indexes WHERE relname = 'calls'", database);
    return Object.fromEntries((rows as { name: string; scans: string }[]).map(({ name, scans: count }) => [name, Number(count)]));
  }

  test("a call is written, claimed and read along its key alone, and lists find it all the same", async () => {
    const [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-keys-"))];
    const before = await scans(database);
    const open = (): Promise<PostgresLedger> =>
      PostgresLedger.open({ url: server.url(database), auditKey, lane: "replica-1", anchorPath: join(folder, "anchor"), now: Date.now });
    let ledger = await open();
    for (let number = 0; number < calls; number += 1) {
      const call = sampleCall({ callId: `c${number}` });
      await ledger.commit(admitUnit(call));
      await ledger.claimOne(call.tenant, call.callId, "replica-1");
      await ledger.commit(settleUnit({ ...call, replica: "replica-1" }));
      await ledger.getCall(call.tenant, call.callId);
    }
    await ledger.close();
    const found = await scans(database);
    expect(found["calls_by_time"]).toBe(before["calls_by_time"]);
    expect((found["calls_pkey"] ?? 0) - (before["calls_pkey"] ?? 0)).toBeGreaterThanOrEqual(3 * calls);

    ledger = await open();
    expect((await ledger.listCalls({ tenant: "acme" }, calls + 1)).items).toHaveLength(calls);
    await ledger.close();
    await rm(folder, { recursive: true });
  });
});
