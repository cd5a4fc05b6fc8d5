// On PostgreSQL calls, approvals and deliveries are found by their keys, whatever the planner thought of the table when it was small.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { PostgresLedger } from "../../packages/runtime/src/adapters/postgres/ledger.ts";
import { auditKey, noPostgres, PostgresServer } from "../support/postgres.ts";
import { approved, sampleApproval, sampleNotice, sampleWebhook } from "./ledger-governance-rows.ts";
import { admitUnit, sampleCall, settleUnit } from "./ledger-rows.ts";

const calls = 40;
const lookEveryMs = 20;

describe.skipIf(noPostgres !== undefined)(noPostgres ?? "keys of calls", () => {
  let server: PostgresServer;
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.remove());

  /** Scans of each index of a table; what a connection has counted is told when it ends. */
  async function scans(database: string, table = "calls"): Promise<Record<string, number>> {
    const others = `SELECT 1 FROM pg_stat_activity WHERE datname = '${database}'`;
    while (((await server.run(others)).rowCount ?? 0) > 0) await sleep(lookEveryMs);
    const { rows } = await server.run(`SELECT indexrelname AS name, idx_scan AS scans FROM pg_stat_user_indexes WHERE relname = '${table}'`, database);
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

  test("so are approvals and deliveries, and their lists find them all the same", async () => {
    const [database, folder] = [await server.createDatabase(), await mkdtemp(join(tmpdir(), "signalbox-keys-"))];
    const [approvalsBefore, deliveriesBefore] = [await scans(database, "approvals"), await scans(database, "deliveries")];
    const open = (): Promise<PostgresLedger> =>
      PostgresLedger.open({ url: server.url(database), auditKey, lane: "replica-1", anchorPath: join(folder, "anchor"), now: Date.now });
    let ledger = await open();
    await ledger.commit({ writes: [{ op: "insert_webhook", row: sampleWebhook({ webhookId: "whk_1" }) }] });
    for (let number = 0; number < calls; number += 1) {
      const approval = sampleApproval({ approvalId: `apr_${number}` });
      await ledger.commit({ writes: [{ op: "insert_approval", row: approval }, { op: "append_notice", notice: sampleNotice({ approvalId: approval.approvalId }) }] });
      await ledger.approval(approval.tenant, approval.approvalId);
      await ledger.commit({ writes: [{ op: "update_approval", row: approved(approval), expect: approval }] });
    }
    await ledger.close();
    const found = await scans(database, "approvals");
    for (const name of ["approvals_due", "approvals_by_time", "approvals_by_state", "approvals_by_call"]) expect([name, found[name]]).toEqual([name, approvalsBefore[name] ?? 0]);
    expect((found["approvals_pkey"] ?? 0) - (approvalsBefore["approvals_pkey"] ?? 0)).toBeGreaterThanOrEqual(2 * calls);

    ledger = await open();
    const due = await ledger.dueDeliveries(Number.MAX_SAFE_INTEGER, calls);
    expect(due).toHaveLength(calls);
    for (const { delivery } of due) await ledger.commit({ writes: [{ op: "put_delivery", row: { ...delivery, state: "delivered", attempts: 1, nextAt: null, endedAt: 5 } }] });
    await ledger.close();
    const sent = await scans(database, "deliveries");
    for (const name of ["deliveries_in_order", "deliveries_by_state", "deliveries_by_webhook"]) expect([name, sent[name]]).toEqual([name, deliveriesBefore[name] ?? 0]);
    expect((sent["deliveries_pkey"] ?? 0) - (deliveriesBefore["deliveries_pkey"] ?? 0)).toBeGreaterThanOrEqual(calls);

    ledger = await open();
    expect((await ledger.listApprovals({ tenant: "acme" }, calls + 1)).items).toHaveLength(calls);
    expect((await ledger.listApprovals({ tenant: "acme", state: "approved" }, calls + 1)).items).toHaveLength(calls);
    expect((await ledger.listDeliveries("acme", {}, calls + 1)).items).toHaveLength(calls);
    expect((await ledger.listDeliveries("acme", { state: "delivered", webhookId: "whk_1" }, calls + 1)).items).toHaveLength(calls);
    await ledger.close();
    await rm(folder, { recursive: true });
  });
});
