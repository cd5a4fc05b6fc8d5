// The calls of a made-up history are what a ledger takes from real ones: whole rows, streams, attempts and audit.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { SqliteLedger } from "../packages/runtime/src/adapters/sqlite/ledger.ts";
import type { Call } from "../packages/runtime/src/call/types.ts";
import { admitted } from "../test/support/calls.ts";
import { historyCall } from "./history-calls.ts";

const calls = 1_000;
const from = 1_767_225_600_000;
/** As a ledger has it after a run in a worker. */
const template: Call = {
  ...admitted({ tenant: "acme", tool: "bench.echo", principal: "user:ada" }).call,
  state: "succeeded",
  workerId: "wrk_1",
  incarnation: "inc_1",
  replica: "r1",
};

let folder = "";
let ledger: SqliteLedger;
const made = Array.from({ length: calls }, (_, index) => historyCall(template, { index, calls, admittedAt: from + index * 10 }));
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-history-"));
  ledger = new SqliteLedger({ path: join(folder, "ledger.db"), auditKey: Buffer.alloc(32, 1), lane: "r1", now: Date.now });
  const outcomes = await Promise.all(made.flatMap(({ units }) => units).map((unit) => ledger.commit(unit)));
  if (outcomes.some(({ applied }) => !applied)) throw new Error("the ledger refused a unit");
});
afterAll(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true });
});

test("of a thousand calls, thirty ended otherwise than well, and none is open", async () => {
  const states = async (state: Call["state"]) => (await ledger.listCalls({ tenant: "acme", state }, 1_000)).items.length;
  expect(await states("succeeded")).toBe(970);
  expect(await states("failed")).toBe(15);
  expect(await states("denied")).toBe(10);
  expect(await states("cancelled")).toBe(5);
  expect(await ledger.countOpen("acme")).toEqual({});
  expect(made.filter(({ succeeded }) => succeeded)).toHaveLength(970);
});

test("a call tells its whole story", async () => {
  const callId = made[1]?.callId ?? "";
  const call = await ledger.getCall("acme", callId);
  expect(call).toMatchObject({ state: "succeeded", tool: "bench.echo", principal: "user:ada", admittedAt: from + 10, settledAt: from + 12, fence: 1 });
  expect(call?.outputJson).toBe(call?.inputJson);
  const events = await ledger.events("acme", callId, 0, 10);
  expect(events.map(({ type }) => type)).toEqual(["requested", "queued", "dispatched", "started", "succeeded"]);
  expect(await ledger.attempts("acme", callId)).toMatchObject([{ workerId: "wrk_1", acceptedAt: from + 12, endedAt: from + 12, endReason: "succeeded" }]);
  const { items } = await ledger.listAudit({ tenant: "acme", executionId: callId }, 10);
  expect(items).toMatchObject([{ action: "call.settled", status: "succeeded", ts: from + 12 }]);
});

test("every call is in the audit once, and the chain holds", async () => {
  expect(await ledger.verifyAudit("acme")).toMatchObject({ ok: true, records: 1_000, problems: [] });
});

test("rare names are in all parts of the history, and fewer than a page holds", async () => {
  const { items } = await ledger.listCalls({ tenant: "acme", tool: "bench.rare", principal: "agent:rare" }, 100);
  expect(items).toHaveLength(20);
  expect([items[0]?.admittedAt, items[19]?.admittedAt]).toEqual([from + 9_500, from]);
});
