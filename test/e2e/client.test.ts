// The client against a real runtime: what it sends again runs once, whatever breaks, and what it waits for it gets.
import { createClient, isOpen, type Client } from "@signalbox/client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

interface Tools {
  readonly pay: { readonly input: { readonly gate: string }; readonly output: { readonly paid: number } };
  readonly count: { readonly input: { readonly n: number }; readonly output: { readonly fence: number } };
  readonly "pay.asked": { readonly input: { readonly n: number }; readonly output: { readonly fence: number } };
  readonly later: { readonly input: { readonly n: number }; readonly output: { readonly fence: number } };
}

const gates = createGates();
let stack: Stack;
let proxy: TcpProxy;
/** Through the proxy, and patient enough for a runtime that starts again. */
let client: Client<Tools>;
let direct: Client<Tools>;

const retry = { attemptsMax: 200, initialDelayMs: 20, maxDelayMs: 100, deadlineMs: 20_000 };

beforeAll(async () => {
  stack = await startStack();
  const unsafe = { side_effect_class: "non_idempotent_write" };
  for (const name of ["pay", "count", "pay.asked", "later"]) await stack.register(workerTool(name, "1.0.0", unsafe));
  await stack.publish({ name: "ask", match: { tools: ["pay.asked"] }, then: ask("finance") });
  const workers = await stack.startProxy();
  await stack.startWorker(
    "w-client",
    [
      { tool: "pay", handler: gates.hold },
      { tool: "count", handler: gates.note },
      { tool: "pay.asked", handler: gates.note },
    ],
    { address: workers.address },
  );
  proxy = await startTcpProxy(new URL(stack.url()).host);
  client = createClient<Tools>({ url: `http://${proxy.address}`, key: stack.adminKey, retry });
  direct = createClient<Tools>({ url: stack.url(), key: stack.adminKey });
});
afterAll(async () => {
  await proxy.close();
  await finish(stack, gates);
});

test("a connection that breaks while the tool runs: the repeat gets that call's answer, and it ran once", async () => {
  const answer = client.invoke("pay", { gate: "while-it-runs" });
  const { callId } = await gates.entered("while-it-runs");
  proxy.cut();
  proxy.mend();
  gates.open("while-it-runs", { paid: 7 });
  expect(await answer).toMatchObject({ execution_id: callId, status: "succeeded", output: { paid: 7 } });
  expect(gates.entriesOf(callId)).toHaveLength(1);
});

test.each([1, 40, 400])(
  "an answer that breaks off after %i bytes is got again, and the tool ran once",
  async (bytes) => {
    proxy.cut();
    proxy.mend();
    proxy.cutNextAfter(bytes);
    const before = gates.entries.length;
    const call = await client.invoke("count", { n: bytes });
    expect(call.status).toBe("succeeded");
    expect(gates.entries.slice(before).map(({ callId }) => callId)).toEqual([call.execution_id]);
  },
);

test("a runtime that dies in between: the repeat finds the call in the ledger, and it runs once", async () => {
  const answer = client.invoke("later", { n: 1 }, { wait_ms: 20_000 });
  const listed = async () => (await direct.list({ tool: "later" })).items.map(({ status }) => status);
  await expect.poll(listed).toEqual(["queued"]);
  await stack.kill();
  await stack.start();
  proxy.aimAt(new URL(stack.url()).host);
  direct = createClient<Tools>({ url: stack.url(), key: stack.adminKey });
  await stack.startWorker("w-later", [{ tool: "later", handler: gates.note }]);
  const call = await answer;
  expect(call.status).toBe("succeeded");
  expect(gates.entriesOf(call.execution_id)).toHaveLength(1);
  expect(await listed()).toEqual(["succeeded"]);
});

test("a wait that was too short: the call is open, and wait follows it through a break to its end", async () => {
  const call = await client.invoke("pay", { gate: "slow" }, { wait_ms: 1 });
  expect([isOpen(call), call.output]).toEqual([true, undefined]);
  await gates.entered("slow");
  await expect(client.wait(call, { timeoutMs: 20 })).rejects.toMatchObject({
    code: "wait_timeout",
    executionId: call.execution_id,
  });
  const end = client.wait(call);
  proxy.cut();
  proxy.mend();
  gates.open("slow", { paid: 9 });
  expect(await end).toMatchObject({ status: "succeeded", output: { paid: 9 }, outputText: '{"paid":9}' });
});

test("a call that waits for people says so; voted, it ends, and a rejected one throws what invoke throws", async () => {
  const fay = createClient({ url: stack.url(), key: (await stack.person("fay", "finance")).secret });
  const voted = await client.invoke("pay.asked", { n: 1 });
  const rejected = await client.invoke("pay.asked", { n: 2 });
  expect([voted.status, rejected.status]).toEqual(["awaiting_approval", "awaiting_approval"]);
  const approvedEnd = client.wait(voted);
  const rejectedEnd = client.wait(rejected).catch((error: unknown) => error);
  const [yes, no] = [
    await fay.approvals.get(voted.approval_id ?? ""),
    await fay.approvals.get(rejected.approval_id ?? ""),
  ];
  await fay.approvals.approve(yes.approval_id, { argsHash: yes.args_hash });
  await fay.approvals.reject(no.approval_id, { argsHash: no.args_hash, comment: "not this one" });
  expect((await approvedEnd).status).toBe("succeeded");
  expect(await rejectedEnd).toMatchObject({ code: "approval_denied", executionId: rejected.execution_id });
  expect(gates.entriesOf(rejected.execution_id)).toHaveLength(0);
});

test("a cancelled call is an end, not an error", async () => {
  const call = await client.invoke("pay", { gate: "stopped" }, { mode: "async" });
  await gates.entered("stopped");
  const end = client.wait(call);
  await client.cancel(call.execution_id);
  expect((await end).status).toBe("cancelled");
});

test("every call of a list, over its pages, while more are made", async () => {
  const tool = "count";
  for (let n = 0; n < 5; n++) await direct.invoke(tool, { n });
  const before = (await direct.list({ tool, limit: 100 })).items.map(({ execution_id: id }) => id);
  const found: string[] = [];
  for await (const { execution_id: id } of direct.list({ tool, limit: 2 })) {
    found.push(id);
    if (found.length === 3) await direct.invoke(tool, { n: 99 });
  }
  expect(found).toEqual(before);
});
