// A person's word on many calls at once, and ended calls that are made once more: what is shown, what is refused, what is recorded.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { createGrpcRest } from "../support/grpc-rest.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startScriptedWorker } from "../support/scripted-worker.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  const unsafe = { side_effect_class: "non_idempotent_write", output: { type: "object" } };
  for (const tool of ["wire", "mail"]) await stack.register(workerTool(tool, "1.0.0", unsafe));
  await stack.register(workerTool("read", "1.0.0"));
  await stack.startWorker("w-read", [{ tool: "read", handler: () => ({ read: true }) }]);
});
afterAll(() => finish(stack, gates));

/** Calls that this worker has begun and forgotten; `late` says of which their results come all the same, `says` what it tells of each. */
async function lost(workerId: string, tool: string, count: number, late: readonly number[] = [], says?: string): Promise<string[]> {
  const worker = await startScriptedWorker({ address: stack.grpc(), key: stack.adminKey, workerId, tools: [tool] });
  const ids: string[] = [];
  for (let n = 0; n < count; n++) {
    const { body } = await admin.invoke({ tool, input: { n }, mode: "async" });
    ids.push(body.execution_id ?? "");
    const { callId, fence } = await worker.begin(body.execution_id);
    if (says === undefined) continue;
    worker.send({ type: "output", callId, fence, seq: 1, channel: "stdout", chunk: new TextEncoder().encode(`${says} ${n}\n`) });
    worker.send({ type: "progress", callId, fence, percent: 50, message: "sent" });
  }
  for (let beat = 0; beat < 2; beat++) {
    worker.send({ type: "heartbeat", load: 0, inFlight: [] });
    await worker.next("heartbeat_ack");
  }
  for (const id of ids) await admin.until(id, ["indeterminate"]);
  for (const n of late) {
    worker.send({ type: "result", callId: ids[n] ?? "", fence: 1, status: "succeeded", outputJson: `{"paid":${n}}`, usage: { durationMs: 1 } });
    await worker.next("result_ack");
  }
  worker.hangUp();
  return ids;
}

const all = (body: Readonly<Record<string, unknown>>) => admin.post("/v1/executions:resolve", body);
const idsOf = (list: unknown): string[] => (list as readonly { readonly execution_id: string }[]).map((one) => one.execution_id);

describe("a word on many calls", () => {
  test("a dry run counts and shows what is known, and resolves none; then each is resolved and recorded by itself", async () => {
    const ids = await lost("w-wire", "wire", 3, [1]);
    const other = await lost("w-mail", "mail", 1);
    const filter = { tool: "wire", worker: "w-wire", routing_outcome: "lease_expired" };
    const dry = await all({ filter, verdict: "fail", dry_run: true });
    expect(dry.body).toMatchObject({ dry_run: true, matched: 3, resolved: [], failed: [], remaining: 3, more: false });
    const shown = dry.body["shown"] as readonly Readonly<Record<string, unknown>>[];
    expect(idsOf(shown).toSorted()).toEqual(ids.toSorted());
    expect(shown.find(({ execution_id }) => execution_id === ids[1])).toMatchObject({
      may_have_executed: true,
      routing_outcome: "lease_expired",
      attempts: [{ attempt: 1, worker: "w-wire", end_reason: "lease_expired" }],
      late_results: [{ output: { paid: 1 } }],
    });
    expect((await admin.call(ids[0])).status).toBe("indeterminate");

    // Only the one whose late result came can be confirmed without a person's own words.
    const confirmed = await all({ filter, verdict: "confirm", comment: "the bank has it" });
    expect(confirmed.body).toMatchObject({ resolved: [{ execution_id: ids[1], status: "succeeded" }], remaining: 0 });
    expect(idsOf(confirmed.body["failed"]).toSorted()).toEqual([ids[0], ids[2]].toSorted());
    expect(confirmed.body["failed"]).toMatchObject([{ code: "invalid_input" }, { code: "invalid_input" }]);
    expect((await admin.call(ids[1])).output).toEqual({ paid: 1 });

    const one = await all({ filter, verdict: "fail", comment: "given up", limit: 1 });
    expect(one.body).toMatchObject({ matched: 2, remaining: 1 });
    expect(one.body["resolved"]).toHaveLength(1);
    expect((await all({ filter, verdict: "fail" })).body).toMatchObject({ matched: 1, remaining: 0 });
    expect((await all({ filter, verdict: "fail" })).body).toMatchObject({ matched: 0, resolved: [] });
    const { items = [] } = (await admin.get("/v1/audit?action=call.resolved")).body;
    expect(idsOf(items).toSorted()).toEqual(ids.toSorted());
    expect((await admin.call(other[0])).status).toBe("indeterminate");
    expect((await all({ filter: { older_than_ms: 3_600_000 }, verdict: "fail", dry_run: true })).body).toMatchObject({ matched: 0 });
  });

  test("needs the right to decide", async () => {
    const { rest } = await stack.makeKey({ principal: "user:caller", scopes: ["tools:invoke", "calls:read"] });
    const answer = await rest.post("/v1/executions:resolve", { filter: {}, verdict: "fail" });
    expect([answer.status, answer.body.error?.code]).toEqual([403, "forbidden"]);
  });
});

describe("what they said last", () => {
  test("is shown beside each: over HTTP, over gRPC, and on the command line", async () => {
    const [one = "", two = ""] = await lost("w-loud", "wire", 2, [], "paying");
    const [silent = ""] = await lost("w-silent", "mail", 1);
    const { body } = await all({ filter: {}, verdict: "fail", dry_run: true });
    const said = new Map((body["shown"] as readonly { execution_id: string; last_output: unknown }[]).map((call) => [call.execution_id, call.last_output]));
    const output = (n: number): object => ({ lines: [{ channel: "stdout", text: `paying ${n}` }, { channel: "progress", text: "50% sent" }], cut: false, missing: null });
    expect([said.get(one), said.get(two), said.get(silent)]).toEqual([output(0), output(1), { lines: [], cut: false, missing: null }]);

    const rpc = createGrpcRest(() => stack.grpc(), stack.adminKey, admin);
    expect((await rpc.post("/v1/executions:resolve", { filter: { worker: "w-silent" }, verdict: "fail", dry_run: true })).body).toMatchObject({ shown: [{ last_output: { lines: [], missing: null } }] });
    const twice = await rpc.post("/v1/executions:resolve", { filter: { tool: "wire" }, verdict: "fail", dry_run: true });
    expect(new Map((twice.body["shown"] as readonly { execution_id: string; last_output: unknown }[]).map((call) => [call.execution_id, call.last_output]))).toEqual(
      new Map([[one, output(0)], [two, output(1)]]),
    );

    const told = await stack.cli(["calls", "resolve-all", "--verdict", "fail"]);
    expect(told.out).toMatch(new RegExp(`${one}.*50% sent`));
    expect(told.out).toMatch(new RegExp(`${silent}.*none kept`));
    const json = JSON.parse((await stack.cli(["calls", "resolve-all", "--verdict", "fail", "--worker", "w-silent", "--json"])).out) as { shown: readonly { last_output: unknown }[] };
    expect(json.shown.map(({ last_output }) => last_output)).toEqual([{ lines: [], cut: false, missing: null }]);
    await all({ filter: {}, verdict: "fail" });
  });

  test("is for those who may read calls, of their own project", async () => {
    await lost("w-secret", "wire", 1, [], "the code is 1234");
    const ask = { filter: {}, verdict: "fail", dry_run: true };
    const blind = await stack.makeKey({ principal: "user:blind-judge", scopes: ["approvals:decide"] });
    const refused = await blind.rest.post("/v1/executions:resolve", ask);
    expect([refused.status, refused.text.includes("1234")]).toEqual([403, false]);
    await admin.put("/v1/projects/elsewhere", { environment: "test" });
    const judge = await stack.makeKey({ principal: "user:judge", project: "elsewhere", scopes: ["approvals:decide", "calls:read"] });
    const { body, text } = await judge.rest.post("/v1/executions:resolve", ask);
    expect([body["shown"], text.includes("1234")]).toEqual([[], false]);
    await all({ filter: {}, verdict: "fail" });
  });
});

describe("a replay", () => {
  test("is a new call through every stage, which names the old one", async () => {
    const old = (await admin.invoke({ tool: "read", input: { a: 1 }, context: { workflow_id: "w1" } })).body;
    const { status, body } = await admin.post(`/v1/executions/${old.execution_id}/replay`, {});
    expect([status, body.status, body.output]).toEqual([200, "succeeded", { read: true }]);
    expect(body.execution_id).not.toBe(old.execution_id);
    expect(body["input_hash"]).toBe(old["input_hash"]);
    const kept = await admin.post(`/v1/executions/${old.execution_id}/replay`, { idempotency_key: "replay-1" });
    const again = await admin.post(`/v1/executions/${old.execution_id}/replay`, { idempotency_key: "replay-1" });
    expect(again.body.execution_id).toBe(kept.body.execution_id);
  });

  test("of an open call is refused, and of one that may have had its effect, unless somebody says that they know", async () => {
    const [id = ""] = await lost("w-again", "mail", 1);
    const open = await admin.post(`/v1/executions/${id}/replay`, {});
    expect([open.status, open.body.error?.code, open.body.error?.details["status"]]).toEqual([409, "conflict", "indeterminate"]);
    await admin.post(`/v1/executions/${id}/resolve`, { verdict: "fail" });
    const unsaid = await admin.post(`/v1/executions/${id}/replay`, {});
    expect([unsaid.status, unsaid.body.error?.details["may_have_executed"]]).toEqual([409, true]);
    const said = await admin.post(`/v1/executions/${id}/replay`, { acknowledge_may_have_executed: true, mode: "async" });
    expect([said.status, said.body.status]).toEqual([202, "queued"]);
    await admin.post(`/v1/executions/${said.body.execution_id}/cancel`);
  });

  test("is made under the rights of whoever asks", async () => {
    const old = (await admin.invoke({ tool: "read", input: {} })).body;
    const { rest } = await stack.makeKey({ principal: "user:nobody", scopes: ["tools:invoke", "calls:read"] });
    const answer = await rest.post(`/v1/executions/${old.execution_id}/replay`, {});
    expect([answer.status, answer.body.error?.code]).toEqual([403, "forbidden"]);
    const { rest: blind } = await stack.makeKey({ principal: "user:blind", scopes: ["tools:invoke"] });
    expect((await blind.post(`/v1/executions/${old.execution_id}/replay`, {})).status).toBe(403);
  });
});
