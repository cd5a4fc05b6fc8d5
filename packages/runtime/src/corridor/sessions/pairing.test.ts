// A batch whose process dies: what was stored stays as it is, only what is missing is found out, and every call has one result.
import { afterEach, expect, test, vi } from "vitest";
import { admin } from "../../../../../test/support/governed.ts";
import type { HandStream } from "../../../../../test/support/hand-stream.ts";
import { binding, call, Sessions } from "../../../../../test/support/sessions.ts";

let house: Sessions;
afterEach(() => house.close());

const pays = (count: number): unknown => ({ calls: Array.from({ length: count }, (_, at) => call({ amount: at + 1 })) });

/** The worker enters what it was given and has not entered yet; by index. */
function entered(worker: HandStream): readonly { end(outputJson: string): void }[] {
  const invokes = worker.sent.filter((message) => message.type === "invoke");
  for (const type of ["accepted", "started"] as const) for (const { callId, fence } of invokes) worker.say({ type, callId, fence });
  return invokes.map(({ callId, fence }) => ({
    end: (outputJson) => worker.say({ type: "result", callId, fence, status: "succeeded", outputJson, usage: { durationMs: 3 } }),
  }));
}

/** Dies without a word, and comes back; whatever hung has lost its lease by then. */
async function died(script: readonly unknown[]): Promise<void> {
  await house.kill();
  house = await Sessions.withScript(script, {}, house);
  await house.quiet();
  await house.pass(40_000);
  await house.quiet();
}

const ended = async (): Promise<readonly unknown[]> => (await house.rows()).filter(({ state }) => state === "succeeded");

async function results(sessionId: string): Promise<readonly (readonly unknown[])[]> {
  const items = await house.history(sessionId);
  return items.flatMap((item) => (item.type === "results" ? item.results : [])).map(({ index, status, errorCode, text }) => [index, status, errorCode ?? text]);
}

async function hung(): Promise<string> {
  const open = (await house.rows()).filter(({ state }) => state === "indeterminate");
  expect(open).toHaveLength(1);
  return open[0]?.callId ?? "";
}

test("report 006: four of five have ended when the process dies: their results come back unchanged, and only the one that hung is asked about", async () => {
  const script = [pays(5), { text: "told" }];
  house = await Sessions.withScript(script);
  const w1 = house.worker("w1", { tools: { pay: 10 } });
  const { session } = await house.start("pay five");
  await house.quiet();
  for (const [at, one] of entered(w1).entries()) if (at !== 2) one.end(`{"paid":${at + 1}}`);
  await house.quiet();
  const before = await ended();
  expect(before).toHaveLength(4);
  await died(script);
  expect(await ended()).toEqual(before);
  expect(await hung()).toBe(`${session.sessionId}:agv_helper_1_0_0:t1.1:2`);
  expect([(await house.session(session.sessionId)).state, await results(session.sessionId), house.requests]).toEqual(["awaiting_approval", [], []]);

  await house.service.resolve(admin, await hung(), { verdict: "fail" });
  await house.quiet();
  expect(await results(session.sessionId)).toEqual([
    [0, "succeeded", '{"paid":1}'],
    [1, "succeeded", '{"paid":2}'],
    [2, "failed", "indeterminate"],
    [3, "succeeded", '{"paid":4}'],
    [4, "succeeded", '{"paid":5}'],
  ]);
  expect(await ended()).toEqual(before);
  expect((await house.session(session.sessionId)).state).toBe("awaiting_input");
  expect(house.requests.map(({ position }) => position)).toEqual([1]);
});

test("report 003: the first of two results is stored when the process dies: it is told as it was, and the other is what a person found out", async () => {
  const script = [pays(2), { text: "told" }];
  house = await Sessions.withScript(script);
  const w1 = house.worker("w1", { tools: { pay: 10 } });
  const { session } = await house.start("pay two");
  await house.quiet();
  entered(w1)[0]?.end('{"paid":1}');
  await house.quiet();
  await died(script);
  await house.service.resolve(admin, await hung(), { verdict: "confirm", outputJson: '{"paid":"by hand"}' });
  await house.quiet();
  expect(await results(session.sessionId)).toEqual([
    [0, "succeeded", '{"paid":1}'],
    [1, "succeeded", '{"paid":"by hand"}'],
  ]);
  // Nothing ran a second time.
  expect((await house.rows()).map(({ attempt }) => attempt)).toEqual([1, 1]);
});

test("report 003: what may be made again is, and alone", async () => {
  const script = [{ calls: [call({ amount: 1 }, "look"), call({ amount: 2 }, "look")] }, { text: "told" }];
  house = await Sessions.withScript(script, { tools: [binding("look")] });
  await house.tool({ name: "look", spec: { side_effect_class: "read_only" } });
  const w1 = house.worker("w1", { tools: { look: 10 } });
  const { session } = await house.start("look twice");
  await house.quiet();
  entered(w1)[0]?.end('"first"');
  await house.quiet();
  await died(script);
  const w2 = house.worker("w2", { tools: { look: 10 } });
  await house.quiet();
  const again = entered(w2);
  expect(again).toHaveLength(1);
  again[0]?.end('"second"');
  await house.quiet();
  expect(await results(session.sessionId)).toEqual([
    [0, "succeeded", '"first"'],
    [1, "succeeded", '"second"'],
  ]);
});

test("B8: a tool that the agent was not given is not found, though it is there: neither its row is read nor a worker asked", async () => {
  house = await Sessions.withScript([{ calls: [{ tool: "refund", input: { amount: 5 } }] }, { text: "no" }]);
  await house.tool({ name: "refund" });
  const w1 = house.worker("w1", { tools: { pay: 10, refund: 10 } });
  // What a worker brings is looked up as it comes.
  await house.quiet();
  const reads = vi.spyOn(house.ledger, "toolVersion");
  const { session } = await house.start("refund it");
  await house.quiet();
  expect([...new Set(reads.mock.calls.map(([, tool]) => tool))]).toEqual(["pay"]);
  expect(await results(session.sessionId)).toEqual([[0, "failed", "tool_not_found"]]);
  expect([await house.rows(), w1.last("invoke")]).toEqual([[], undefined]);
});
