// kill -9 in the middle of the load: what was acknowledged is there, nothing is there by halves, and the audit holds.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { SqliteLedger } from "../../packages/runtime/src/adapters/sqlite/ledger.ts";
import { verifyAuditFile } from "../../packages/runtime/src/adapters/sqlite/verify-file.ts";
import type { Page } from "../../packages/runtime/src/ledger/port.ts";

const auditKey = Buffer.alloc(32, 1);
let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-kill-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** Runs the child until it has acknowledged so many units, kills it, and returns all that it acknowledged. */
async function acknowledgedUntilKilled(path: string, round: number, lines: number): Promise<string[]> {
  const script = fileURLToPath(new URL("./ledger-child.ts", import.meta.url));
  const child = spawn(process.execPath, [script, path, String(round)], { stdio: ["ignore", "pipe", "inherit"] });
  const acknowledged: string[] = [];
  for await (const line of createInterface({ input: child.stdout })) {
    acknowledged.push(line);
    if (acknowledged.length === lines) child.kill("SIGKILL");
  }
  return acknowledged;
}

async function all<Row>(pageOf: (cursor: string | undefined) => Promise<Page<Row>>): Promise<Row[]> {
  const rows: Row[] = [];
  let cursor: string | undefined;
  do {
    const page = await pageOf(cursor);
    rows.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return rows;
}

const allCalls = (ledger: SqliteLedger, tenant: string) => all((cursor) => ledger.listCalls({ tenant }, 100, cursor));

/** State by approval; each must be whole, with the votes and deliveries that its state came with. */
async function approvalStates(ledger: SqliteLedger): Promise<Map<string, string>> {
  const told = new Map<string, number>();
  for (const { notice } of await all((cursor) => ledger.listDeliveries("acme", {}, 100, cursor))) {
    told.set(notice.approvalId, (told.get(notice.approvalId) ?? 0) + 1);
  }
  const states = new Map<string, string>();
  for (const { approvalId, state } of await all((cursor) => ledger.listApprovals({ tenant: "acme" }, 100, cursor))) {
    const found = await ledger.approval("acme", approvalId);
    expect([state, found?.votes.length, told.get(approvalId)]).toEqual(
      state === "approved" ? ["approved", 1, 2] : ["pending", 0, 1],
    );
    states.set(approvalId, state);
  }
  expect([...told.keys()].filter((approvalId) => !states.has(approvalId))).toEqual([]);
  return states;
}

test("three rounds of kill -9 on one folder", { timeout: 60_000 }, async () => {
  const path = join(folder, "ledger.db");
  const acknowledged: string[] = [];
  for (const [round, lines] of [250, 601, 1_000].entries()) {
    acknowledged.push(...(await acknowledgedUntilKilled(path, round, lines)));
    expect((await verifyAuditFile(path, auditKey)).problems).toEqual([]);
  }
  expect(acknowledged.length).toBeGreaterThanOrEqual(1_851);

  const errors: Error[] = [];
  const ledger = new SqliteLedger({
    path,
    auditKey,
    lane: "r1",
    now: Date.now,
    onError: (error) => errors.push(error),
  });
  const states = new Map<string, string>();
  let settled = 0;
  let outboxRows = 0;
  for (const tenant of ["acme", "globex"]) {
    for (const call of await allCalls(ledger, tenant)) {
      states.set(`${tenant} ${call.callId}`, call.state);
      const events = await ledger.events(tenant, call.callId, 0, 10);
      const attempts = await ledger.attempts(tenant, call.callId);
      const audit = await ledger.listAudit({ tenant, executionId: call.callId }, 10);
      const facts = [call.eventSeq, events.length, attempts[0]?.endReason, audit.items.length];
      expect([call.state, ...facts]).toEqual(
        call.state === "succeeded" ? ["succeeded", 5, 5, "succeeded", 1] : ["dispatched", 3, 3, null, 0],
      );
      settled += call.state === "succeeded" ? 1 : 0;
      outboxRows += call.state === "succeeded" ? 2 : 1;
    }
  }
  // What was used was written with the very ends, however the process died.
  const used = await ledger.usage({ tenant: null, groupBy: [] }, 1);
  expect(used.items[0]).toMatchObject({ executions: settled, succeeded: settled, durationUs: settled * 2_000 });
  const approvals = await approvalStates(ledger);
  expect(approvals.size).toBeGreaterThan(50);
  const kept = {
    admitted: (name: string) => states.has(name),
    settled: (name: string) => states.get(name) === "succeeded",
    opened: (name: string) => approvals.has(name.slice("acme ".length)),
    closed: (name: string) => approvals.get(name.slice("acme ".length)) === "approved",
  };
  for (const line of acknowledged) {
    const [what = "", ...name] = line.split(" ");
    expect([line, kept[what as keyof typeof kept](name.join(" "))]).toEqual([line, true]);
  }
  let outboxSeen = 0;
  let last = 0;
  for (let rows = await ledger.outbox(0, 1_000); rows.length > 0; rows = await ledger.outbox(last, 1_000)) {
    outboxSeen += rows.length;
    last = rows.at(-1)?.id ?? last;
  }
  expect(outboxSeen).toBe(outboxRows);
  expect(await ledger.verifyAudit()).toEqual({ ok: true, records: settled, lanes: 2, problems: [] });
  expect(errors).toEqual([]);
  await ledger.close();
});
