// Following a call through the whole corridor: who may, workers that speak, people that are asked, restarts and leaving.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import { settled } from "../../../../test/support/hand-clock.ts";
import { accepted, result, started } from "../../../../test/support/hand-hub.ts";
import type { HandStream } from "../../../../test/support/hand-stream.ts";
import type { CallFollower } from "../service.ts";

let corridor: Corridor;
beforeEach(async () => {
  corridor = new Corridor();
  await corridor.tool({ spec: { events: ["paid"] } });
  await corridor.grant(["*"]);
});
afterEach(() => corridor.close());

const reader = (name = "user:ann") => asked({ name, scopes: new Set(["calls:read"]) });

function output(worker: HandStream, callId: string, seq: number, text: string, fence = 1): void {
  worker.say({ type: "output", callId, fence, seq, channel: "stdout", chunk: new TextEncoder().encode(text) });
}

/** `seq type data` up to the end, or until nothing more is there. */
async function read(follower: CallFollower): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const asking = follower.next(1);
    await settled();
    void corridor.clock.pass(1);
    const { gap, events, end, leaving } = await asking;
    if (gap !== null) all.push(`gap ${gap.from}-${gap.to}`);
    for (const { seq, type, dataJson } of events) all.push(`${seq} ${type} ${dataJson}`);
    if (end !== null) all.push(`${end.seq} end ${end.call.state}`);
    if (leaving) all.push("leaving");
    if (end !== null || leaving || (gap === null && events.length === 0)) return all;
  }
}

const start1 = '{"sandbox":"application","worker":"w1","attempt":1}';

async function runningCall(worker: HandStream): Promise<string> {
  const { call } = await corridor.invoke();
  await corridor.settle();
  worker.say(accepted(call.callId));
  worker.say(started(call.callId));
  return call.callId;
}

test("what the worker says comes in order, and the end once it is stored", async () => {
  const worker = corridor.worker("w1");
  const callId = await runningCall(worker);
  const follower = await corridor.service.follow(reader(), callId, 0);
  output(worker, callId, 1, "one");
  worker.say({ type: "progress", callId, fence: 1, percent: 50, message: "half" });
  worker.say({ type: "emit", callId, fence: 1, ordinal: 1, eventType: "paid", payloadJson: '{"n":1}' });
  expect(await read(follower)).toEqual([
    `1 start ${start1}`,
    '2 stdout {"text":"one"}',
    '3 progress {"percent":50,"message":"half"}',
    '4 emit {"type":"paid","payload":{"n":1}}',
  ]);
  worker.say(result(callId, 1, '{"id":7}'));
  await corridor.settle();
  expect(await read(follower)).toEqual(["5 end succeeded"]);
});

test("words under an old lease, and of a worker that does not hold the call, are not heard", async () => {
  await corridor.tool({ name: "look", spec: { side_effect_class: "read_only" } });
  const worker = corridor.worker("w1", { tools: { look: 1 } });
  const { call } = await corridor.invoke({ tool: "look" });
  const { callId } = call;
  await corridor.settle();
  for (const message of [accepted(callId), started(callId)]) worker.say(message);
  output(worker, callId, 1, "mine");
  output(worker, callId, 2, "of a lease that never was", 7);
  // It says nothing for as long as its lease is, and another worker gets the call.
  await corridor.clock.pass(16_000);
  const next = corridor.worker("w2", { tools: { look: 1 } });
  await corridor.settle();
  const fence = next.last("invoke")?.fence ?? 0;
  expect(fence).toBeGreaterThan(1);
  output(worker, callId, 3, "of the lease that is lost");
  output(next, callId, 1, "now mine", fence);
  const told = await read(await corridor.service.follow(reader(), callId, 0));
  expect(told.filter((line) => line.includes("stdout"))).toEqual([
    '2 stdout {"text":"mine"}',
    '4 stdout {"text":"now mine"}',
  ]);
});

test("who follows a waiting call hears of the start when a worker comes", async () => {
  const { call } = await corridor.invoke();
  const follower = await corridor.service.follow(reader(), call.callId, 0);
  expect(await read(follower)).toEqual([]);
  corridor.worker("w1");
  await corridor.settle();
  expect(await read(follower)).toEqual([`1 start ${start1}`]);
});

test("a call whose end nobody knows asks people, and goes on when they have said", async () => {
  const worker = corridor.worker("w1");
  const callId = await runningCall(worker);
  const follower = await corridor.service.follow(reader(), callId, 1);
  worker.close("gone");
  await corridor.clock.pass(20_000);
  await corridor.settle();
  const told = await read(follower);
  expect((await corridor.ledger.getCall("acme", callId))?.state).toBe("indeterminate");
  expect(told.filter((line) => line.includes("end"))).toEqual([]);
  const decider = asked({ name: "user:op", scopes: new Set(["approvals:decide"]) });
  await corridor.service.resolve(decider, callId, { verdict: "confirm", outputJson: '{"id":1}' });
  await corridor.settle();
  expect((await read(follower)).at(-1)).toMatch(/^\d+ end succeeded$/);
});

describe("who may", () => {
  test("one's own calls with the right to make them; those of others with the right to read calls", async () => {
    corridor.worker("w1");
    const { call } = await corridor.invoke();
    await corridor.service.follow(asked(), call.callId, 0);
    await corridor.service.follow(reader("user:bo"), call.callId, 0);
    const bo = asked({ name: "user:bo" });
    expect(await refusal(corridor.service.follow(bo, call.callId, 0))).toMatchObject({ code: "forbidden" });
    // It learns nothing of what exists.
    const unknown = await refusal(corridor.service.follow(bo, "exec_00000000000000000000000000", 0));
    expect(unknown).toEqual(await refusal(corridor.service.follow(bo, call.callId, 0)));
  });

  test("another project's call and another tenant's are as unknown as one that never was", async () => {
    const { call } = await corridor.invoke();
    const all = [
      corridor.service.follow(reader(), "exec_00000000000000000000000000", 0),
      corridor.service.follow(asked({ project: "else", scopes: new Set(["calls:read"]) }), call.callId, 0),
      corridor.service.follow(asked({ tenant: "globex", scopes: new Set(["*"]) }), call.callId, 0),
    ];
    const refusals = await Promise.all(all.map(refusal));
    expect(refusals[0]?.code).toBe("execution_not_found");
    expect(refusals[1]).toEqual(refusals[0]);
    expect(refusals[2]).toEqual(refusals[0]);
  });

  test("who was answered with a call by its key may follow it, whoever made it", async () => {
    await corridor.grant(["*"], "user:bo");
    await corridor.invoke({ idempotencyKey: "k1" });
    const bo = asked({ name: "user:bo" });
    const { call } = await corridor.invoke({ idempotencyKey: "k1" }, bo);
    const follower = await corridor.service.follow(bo, call.callId, 0, { answering: true });
    expect(follower.over).toBe(false);
  });
});

describe("who was let in and reads on", () => {
  const root = asked({ name: "user:root", scopes: new Set(["*"]) });
  const wanted = { label: "shop", principal: "service:shop", scopes: ["calls:read"] } as const;

  /** A key of its own for each, and where the reader with the first one stands: behind `start`. */
  async function reading(callId: string, expiresAt?: number) {
    const made = await corridor.service.createKey(root, { ...wanted, ...(expiresAt === undefined ? {} : { expiresAt }) });
    const principal = await corridor.service.authenticate(made.secret, "r");
    const follower = await corridor.service.follow({ principal, requestId: "req_stream" }, callId, 0);
    expect(await read(follower)).toEqual([`1 start ${start1}`]);
    return { follower, keyId: made.key.keyId };
  }

  test("hears nothing that was said after its key was revoked; who has another key reads on", async () => {
    const worker = corridor.worker("w1");
    const callId = await runningCall(worker);
    const [ended, other] = [await reading(callId), await reading(callId)];
    await corridor.service.revokeKey(root, ended.keyId);
    output(worker, callId, 1, "secret");
    expect(await refusal(ended.follower.next(1))).toMatchObject({ code: "key_revoked" });
    expect(await read(other.follower)).toEqual(['2 stdout {"text":"secret"}']);
    await corridor.settle();
    expect(await corridor.audit("platform")).toMatchObject([{ action: "auth.refused", errorCode: "key_revoked", requestId: "req_stream" }]);
  });

  test("is told so at the next sign of life where nothing is said any more", async () => {
    const callId = await runningCall(corridor.worker("w1"));
    const { follower, keyId } = await reading(callId);
    const waiting = follower.next(15_000);
    await corridor.service.revokeKey(root, keyId);
    const [told] = await Promise.all([refusal(waiting), corridor.clock.pass(15_000)]);
    expect(told).toMatchObject({ code: "key_revoked" });
  });

  test("reads until the instant at which its key expires", async () => {
    const worker = corridor.worker("w1");
    const callId = await runningCall(worker);
    const { follower } = await reading(callId, corridor.clock.now() + 1_000);
    await corridor.clock.pass(900);
    output(worker, callId, 1, "before");
    expect(await read(follower)).toEqual(['2 stdout {"text":"before"}']);
    await corridor.clock.pass(100);
    output(worker, callId, 2, "after");
    expect(await refusal(follower.next(1))).toMatchObject({ code: "token_expired" });
  });
});

test("who goes away and had asked for that cancels the call", async () => {
  const worker = corridor.worker("w1");
  const callId = await runningCall(worker);
  const follower = await corridor.service.follow(asked(), callId, 0);
  follower.abandon();
  follower.close();
  await corridor.settle();
  expect(worker.words().at(-1)).toBe(`cancel ${callId}#1 cancel`);
  expect((await corridor.ledger.getCall("acme", callId))?.cancelRequestedBy).toBe("user:ann (went away)");
});

describe("a restart in mid-call", () => {
  test("keeps what was kept, leaps, and ends once", async () => {
    const worker = corridor.worker("w1");
    const callId = await runningCall(worker);
    output(worker, callId, 1, "kept");
    await corridor.clock.pass(100);
    await corridor.settle();
    await corridor.kill();
    corridor = new Corridor({}, corridor);
    await corridor.runtime.recover();
    const again = corridor.worker("w1", { inFlight: [{ callId, fence: 1, state: "running" }] });
    const follower = await corridor.service.follow(reader(), callId, 0);
    output(again, callId, 9, "new");
    again.say(result(callId, 1, '{"id":7}'));
    await corridor.settle();
    const told = await read(follower);
    expect(told).toEqual([
      `1 start ${start1}`,
      '2 stdout {"text":"kept"}',
      "gap 3-1000001",
      '1000002 stdout {"text":"new"}',
      "1000003 end succeeded",
    ]);
    await corridor.clock.pass(100);
    await corridor.settle();
    expect(await read(await corridor.service.follow(reader(), callId, 0))).toEqual(told);
  });
});

describe("a runtime that leaves", () => {
  test("tells the end of what ends while it drains, and sends away who follows what goes on", async () => {
    const worker = corridor.worker("w1", { tools: { pay: 2 }, capacity: 2 });
    const [ending, staying] = [await runningCall(worker), await runningCall(worker)];
    const [one, other] = [
      await corridor.service.follow(reader(), ending, 1),
      await corridor.service.follow(reader(), staying, 1),
    ];
    const drained = corridor.runtime.drain(1_000);
    await corridor.settle();
    worker.say(result(ending, 1, '{"id":7}'));
    await corridor.settle();
    expect(await read(one)).toEqual(["2 end succeeded"]);
    expect(await read(other)).toEqual([]);
    const away = other.next(60_000);
    await corridor.clock.pass(1_000);
    expect(await drained).toEqual({ idle: false });
    expect((await away).leaving).toBe(true);
  });

  test("writes what was said last before it goes", async () => {
    const worker = corridor.worker("w1");
    const callId = await runningCall(worker);
    output(worker, callId, 1, "last words");
    await corridor.runtime.stop();
    expect(
      (await corridor.ledger.streamChunks("acme", callId, 0, 10)).flatMap(({ events }) =>
        events.map(({ dataJson }) => dataJson),
      ),
    ).toContain('{"text":"last words"}');
  });
});
