// A process that dies and one that comes after it, on the same ledger: open calls go on from their rows, ended ones stay ended.
import { afterEach, beforeEach, expect, test } from "vitest";
import { Corridor } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, holds, result, started } from "../../../../test/support/hand-hub.ts";

let before: Corridor;
let after: Corridor | undefined;
beforeEach(async () => {
  after = undefined;
  before = new Corridor();
  await before.tool();
  await before.grant(["*"]);
});
afterEach(() => (after ?? before).close());

async function restart(downMs = 1_000): Promise<Corridor> {
  await before.kill();
  await before.clock.pass(downMs);
  after = new Corridor({}, before);
  return after;
}

test("a queued call is found, and goes to the first worker that serves it", async () => {
  const { call } = await before.invoke();
  const corridor = await restart();
  expect(await corridor.runtime.recover()).toBe(1);
  expect(corridor.service.status()).toMatchObject({ ready: true, reasons: [], calls: { queued: 1 }, workers: 0, replica: "r1" });
  const worker = corridor.worker("w1");
  await corridor.settle();
  expect(worker.words()).toEqual(["registered", `invoke ${call.callId}#1`]);
});

test("calls that ended before are not found again, and their keys still name them", async () => {
  const worker = before.worker("w1");
  const { call } = await before.invoke({ idempotencyKey: "k1" });
  worker.say(result(call.callId));
  await settled();
  const corridor = await restart();
  expect(await corridor.runtime.recover()).toBe(0);
  expect(await corridor.invoke({ idempotencyKey: "k1", mode: "sync" })).toMatchObject({ replayed: true, progress: "settled", call: { callId: call.callId, state: "succeeded" } });
});

test("a worker that held on to its result through the restart delivers it", async () => {
  const worker = before.worker("w1");
  const { call } = await before.invoke();
  worker.say(accepted(call.callId));
  worker.say(started(call.callId));
  const corridor = await restart();
  await corridor.runtime.recover();
  const again = corridor.worker("w1", { inFlight: [holds(call.callId, "done")] });
  again.say(result(call.callId, 1, '{"id":7}'));
  await settled();
  expect(again.words()).toEqual(["registered", `result_ack ${call.callId}#1 stored`]);
  expect(await corridor.ledger.getCall("acme", call.callId)).toMatchObject({ state: "succeeded", outputJson: '{"id":7}' });
});

test("an unsafe call whose worker does not return is put to a person after one lease time", async () => {
  before.worker("w1");
  const { call } = await before.invoke();
  const corridor = await restart();
  await corridor.runtime.recover();
  await corridor.clock.pass(14_999);
  expect((await corridor.ledger.getCall("acme", call.callId))?.state).toBe("dispatched");
  await corridor.clock.pass(1);
  await settled();
  expect(await corridor.ledger.getCall("acme", call.callId)).toMatchObject({ state: "indeterminate", fence: 2 });
});

test("deadlines that passed meanwhile are kept: nothing is armed anew", async () => {
  const { call } = await before.invoke({ deadlineMs: 20_000 });
  const corridor = await restart(60_000);
  await corridor.runtime.recover();
  await corridor.clock.pass(1);
  await settled();
  expect(await corridor.ledger.getCall("acme", call.callId)).toMatchObject({ state: "timed_out", error: { code: "timeout" } });
});
