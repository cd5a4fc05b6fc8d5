// The receiver, against a real runtime: it takes what is genuine, once, and nothing else.
import { createHmac } from "node:crypto";
import { createServer, type AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { examples, startExample } from "../../test/support/examples.ts";
import { finish } from "../../test/support/finish.ts";
import type { Child } from "../../test/support/processes.ts";
import { slowly, startStack, type Stack } from "../../test/support/stack.ts";

let stack: Stack;
let receiver: Child;
let url = "";
let secret = "";

beforeAll(async () => {
  const folders = ["--tools", `${examples}/tools`, "--policies", `${examples}/policies`];
  stack = await startStack({ args: ["--allow-private-webhooks", ...folders] });
  const port = await freePort();
  url = `http://127.0.0.1:${port}/hooks`;
  const hook = await stack.admin.post("/v1/webhooks", { url, types: ["approval.requested"] });
  secret = String(hook.body["secret"]);
  const env = { WEBHOOK_SECRET: secret, RECEIVER_PORT: String(port) };
  receiver = startExample(stack, "webhook-receiver/receiver.js", { key: "", env });
  while (!(await answers(url))) await new Promise((resolve) => setTimeout(resolve, 20));
});
afterAll(async () => {
  await receiver.kill();
  await finish(stack);
});

async function answers(at: string): Promise<boolean> {
  return fetch(at).then(
    () => true,
    () => false,
  );
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** A notice as anybody could send it, signed with whatever secret they have. */
async function post(id: string, ofSeconds: number, key = secret): Promise<number> {
  const body = JSON.stringify({ type: "made up", id });
  const signed = createHmac("sha256", Buffer.from(key.replace("whsec_", ""), "base64"));
  const signature = `v1,${signed.update(`${id}.${ofSeconds}.${body}`).digest("base64")}`;
  const headers = { "webhook-id": id, "webhook-timestamp": String(ofSeconds), "webhook-signature": signature };
  return (await fetch(url, { method: "POST", body, headers })).status;
}

test("a notice of the runtime is taken and printed", async () => {
  const parked = await stack.admin.invoke({
    tool: "payments.charge",
    input: { amount: 1500, currency: "EUR", payee: "Harbour Print" },
  });
  await expect.poll(() => receiver.stdout(), slowly).toContain('"reason": "Payments above 1000 need a person"');
  expect(receiver.stdout()).toContain('"type": "dev.signalbox.approval.requested"');
  expect(receiver.stdout()).not.toContain("Harbour Print");
  await stack.admin.post(`/v1/executions/${String(parked.body["execution_id"])}/cancel`, {});
});

test("what is not signed with the secret, or is old, is refused; what comes twice is printed once", async () => {
  const now = Math.floor(Date.now() / 1000);
  expect(await post("a", now, "whsec_c29tZWJvZHkgZWxzZQ==")).toBe(401);
  expect(await post("b", now - 301)).toBe(401);
  expect([await post("c", now), await post("c", now)]).toEqual([204, 204]);
  await expect.poll(() => receiver.stdout().match(/"id": "c"/g), slowly).toHaveLength(1);
  expect(receiver.stdout()).not.toMatch(/"id": "[ab]"/);
});
