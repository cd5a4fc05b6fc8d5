// How long a caller waits and what it is told: ends, parks, patience, going away, and nothing before it is stored.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, result, started } from "../../../../test/support/hand-hub.ts";
import type { HandStream } from "../../../../test/support/hand-stream.ts";

let corridor: Corridor;
beforeEach(async () => {
  corridor = new Corridor();
  await corridor.tool();
  await corridor.grant(["*"]);
});
afterEach(() => corridor.close());

const sync = { mode: "sync" } as const;

/** The call that the worker was given, as soon as it was. */
async function given(worker: HandStream): Promise<string> {
  for (;;) {
    const invoke = worker.sent.findLast((message) => message.type === "invoke");
    if (invoke !== undefined) return invoke.callId;
    await settled();
  }
}

test("a sync caller hears the end", async () => {
  const worker = corridor.worker("w1");
  const answer = corridor.invoke(sync);
  worker.say(result(await given(worker), 1, '{"id":7}'));
  expect(await answer).toMatchObject({ progress: "settled", replayed: false, call: { state: "succeeded", outputJson: '{"id":7}' } });
});

test("an async caller gets the call as it was stored", async () => {
  corridor.worker("w1");
  expect(await corridor.invoke()).toMatchObject({ progress: "waiting", call: { state: "dispatched" } });
});

test.each([
  ["of its own", { waitMs: 2_000 }, 2_000],
  ["of the house", {}, 30_000],
])("patience %s ends, and the call goes on", async (_, patience, ms) => {
  await corridor.tool({ name: "slow", spec: { timeout: "5m" } });
  const worker = corridor.worker("w1", { tools: { slow: 1 } });
  const answer = corridor.invoke({ ...sync, tool: "slow", ...patience });
  const callId = await given(worker);
  for (const message of [accepted(callId), started(callId)]) worker.say(message);
  let over = false;
  void answer.then(() => (over = true));
  for (let left = ms - 1; left > 0; left -= 5_000) {
    await corridor.clock.pass(Math.min(left, 5_000));
    worker.say({ type: "heartbeat", load: 1, inFlight: [{ callId, fence: 1, state: "running" }] });
  }
  expect(over).toBe(false);
  await corridor.clock.pass(1);
  expect(await answer).toMatchObject({ progress: "waiting", replayed: false, call: { callId, state: "running" } });
});

test("a park is told at once, as parked", async () => {
  const worker = corridor.worker("w1");
  const answer = corridor.invoke(sync);
  const callId = await given(worker);
  worker.say(accepted(callId));
  await corridor.clock.pass(10_000);
  expect(await answer).toMatchObject({ progress: "parked", call: { state: "indeterminate", error: { code: "indeterminate" } } });
});

test("a replay of a parked call says so without waiting", async () => {
  const worker = corridor.worker("w1");
  const { call } = await corridor.invoke({ idempotencyKey: "k1" });
  worker.say(accepted(call.callId));
  await corridor.clock.pass(10_000);
  expect(await corridor.invoke({ ...sync, idempotencyKey: "k1" })).toMatchObject({ progress: "parked", replayed: true, call: { state: "indeterminate" } });
});

describe("a caller that goes away", () => {
  test("leaves the call alone", async () => {
    const worker = corridor.worker("w1");
    const gone = new AbortController();
    const answer = corridor.invoke(sync, asked({}, { signal: gone.signal }));
    const callId = await given(worker);
    gone.abort();
    expect((await answer).call.cancelRequestedAt).toBeNull();
    expect(worker.words().at(-1)).toBe(`invoke ${callId}#1`);
  });

  test("cancels it, if it had asked for that", async () => {
    const worker = corridor.worker("w1");
    const gone = new AbortController();
    const answer = corridor.invoke({ ...sync, cancelOnDisconnect: true }, asked({}, { signal: gone.signal }));
    const callId = await given(worker);
    worker.say(accepted(callId));
    gone.abort();
    await answer;
    await settled();
    expect(worker.words().at(-1)).toBe(`cancel ${callId}#1 cancel`);
    expect((await corridor.ledger.getCall("acme", callId))?.cancelRequestedBy).toBe("user:ann (went away)");
  });

  test("patience that ends is no going away", async () => {
    const worker = corridor.worker("w1");
    const answer = corridor.invoke({ ...sync, cancelOnDisconnect: true, waitMs: 100 }, asked({}, { signal: new AbortController().signal }));
    await given(worker);
    await corridor.clock.pass(100);
    expect((await answer).call.cancelRequestedAt).toBeNull();
  });
});

test("a runtime that leaves sends everybody home with the id, and the call stays", async () => {
  corridor.worker("w1");
  const answer = corridor.invoke(sync);
  await settled();
  const drained = corridor.runtime.drain(0);
  expect(await answer).toMatchObject({ progress: "waiting", call: { state: "dispatched" } });
  await corridor.clock.pass(1);
  expect(await drained).toEqual({ idle: false });
});

describe("an end that is not stored", () => {
  test("is not told to whoever loses patience meanwhile; it is told when the ledger writes again", async () => {
    const worker = corridor.worker("w1");
    const impatient = corridor.invoke({ ...sync, waitMs: 1_000, idempotencyKey: "k1" });
    const callId = await given(worker);
    corridor.ledger.full = true;
    worker.say(result(callId));
    await corridor.clock.pass(1_000);
    expect(await impatient).toMatchObject({ progress: "waiting", call: { state: "dispatched", outputJson: null } });
    expect(corridor.service.status()).toMatchObject({ ready: false, reasons: ["ledger_unavailable"] });
    corridor.ledger.full = false;
    await corridor.clock.pass(500);
    await settled();
    expect(worker.words().at(-1)).toBe(`result_ack ${callId}#1 stored`);
    expect(await corridor.invoke({ ...sync, idempotencyKey: "k1" })).toMatchObject({ progress: "settled", call: { state: "succeeded" } });
  });

  test("nor is a park", async () => {
    const worker = corridor.worker("w1");
    const impatient = corridor.invoke({ ...sync, waitMs: 12_000 });
    const callId = await given(worker);
    worker.say(accepted(callId));
    corridor.ledger.full = true;
    await corridor.clock.pass(12_000);
    expect(await impatient).toMatchObject({ progress: "waiting", call: { state: "dispatched" } });
  });
});
