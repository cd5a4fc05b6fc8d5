// Webhooks against a real receiver on loopback: signed so that a stranger's code can check it, tried again, and not lost by kill -9.
import { createHmac } from "node:crypto";
import { afterAll, beforeAll, beforeEach, afterEach, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { ask } from "../support/manifests.ts";
import { openTill, order, paymentTool } from "../support/payments.ts";
import type { Rest } from "../support/rest.ts";
import { slowly, startStack, within, type MadeKey, type Stack } from "../support/stack.ts";
import { Receiver, type Received } from "../support/webhooks.ts";

const till = openTill();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;

beforeAll(async () => {
  stack = await startStack({ args: ["--allow-private-webhooks"] });
  admin = stack.admin;
  fay = await stack.person("fay", "finance");
  await stack.register(paymentTool("pay"));
  await stack.publish({ name: "ask", match: { tools: ["pay"] }, then: ask("finance") });
});
afterAll(() => finish(stack, till));

/** What the receiver answers to its posts, in order; the last one from then on. Null: it keeps silent. */
type Script = readonly (number | null)[];

let script: Script;
let receiver: Receiver;
let url = "";

beforeEach(async () => {
  script = [204];
  receiver = new Receiver((response, _received) => {
    const status = script[Math.min(receiver.received.length, script.length) - 1] ?? null;
    // A wait of the receiver's choice, which is shorter than the runtime's own.
    if (status !== null) response.writeHead(status, status >= 500 ? { "retry-after": "1" } : {}).end();
  });
  url = `${await receiver.open()}/hook`;
});
afterEach(() => receiver.close());

interface Hook {
  readonly webhookId: string;
  readonly secret: string;
}

async function hook(types?: readonly string[]): Promise<Hook> {
  const { status, text, body } = await admin.post("/v1/webhooks", { url, ...(types === undefined ? {} : { types }) });
  if (status !== 201) throw new Error(`no webhook was made: ${status} ${text}`);
  return { webhookId: String(body["webhook_id"]), secret: String(body["secret"]) };
}

/** By the words of Standard Webhooks, and by nothing of ours. */
function isGenuine({ message: { headers }, body }: Received, secret: string): boolean {
  const [id, at, signatures] = [headers["webhook-id"], headers["webhook-timestamp"], headers["webhook-signature"]].map(
    String,
  );
  if (Math.abs(Date.now() / 1000 - Number(at)) > 300) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const mac = createHmac("sha256", key).update(`${id}.${at}.${body}`).digest("base64");
  return key.length === 32 && (signatures ?? "").split(" ").includes(`v1,${mac}`);
}

const typeOf = ({ body }: Received): unknown => (JSON.parse(body) as { type: unknown }).type;
const idOf = ({ message }: Received): unknown => message.headers["webhook-id"];

async function deliveries({ webhookId }: Hook): Promise<readonly Readonly<Record<string, unknown>>[]> {
  return (await admin.get(`/v1/webhooks:deliveries?webhook_id=${webhookId}`)).body.items ?? [];
}

const received = (count: number): Promise<void> => within(15_000, receiver.until(count), `${count} posts arrive`);

test("added by the command line, it hears of a question, a vote and an end, signed, and never of an argument", async () => {
  const added = await stack.cli(["webhooks", "add", url, "--json"]);
  const { webhook_id: webhookId, secret } = JSON.parse(added.out) as { webhook_id: string; secret: string };
  expect([added.code, secret]).toEqual([0, expect.stringMatching(/^whsec_[A-Za-z0-9+/]{43}=$/)]);
  const { id, approvalId } = await admin.park("pay", order(1, { payee: "canary-of-webhooks" }));
  await fay.rest.decide(approvalId, "reject", { comment: "no" });
  await received(2);
  expect(receiver.received.map(typeOf)).toEqual([
    "dev.signalbox.approval.requested",
    "dev.signalbox.approval.rejected",
  ]);
  const [asked, rejected] = receiver.received.map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  expect(asked).toMatchObject({
    specversion: "1.0",
    subject: approvalId,
    signalboxtenant: "default",
    data: {
      approval_id: approvalId,
      execution_id: id,
      tool: "pay",
      routes: [{ route: "finance", quorum: 1 }],
      reason: "a person must look",
    },
  });
  expect(rejected).toMatchObject({
    subject: approvalId,
    data: { outcome: "rejected", closed_by: "user:fay", comment: "no" },
  });
  for (const one of receiver.received) {
    expect([isGenuine(one, secret), isGenuine(one, `whsec_${Buffer.alloc(32, 1).toString("base64")}`)]).toEqual([
      true,
      false,
    ]);
    expect(isGenuine({ ...one, body: one.body.replace("pay", "pax") }, secret)).toBe(false);
    expect(one.body).not.toContain("canary-of-webhooks");
    expect(one.message.headers["content-type"]).toContain("application/cloudevents+json");
  }
  await expect
    .poll(async () => (await deliveries({ webhookId, secret })).map(({ state }) => state), slowly)
    .toEqual(["delivered", "delivered"]);
  const [list, shown] = await Promise.all([
    stack.cli(["webhooks", "list"]),
    stack.cli(["webhooks", "deliveries", "--webhook", webhookId]),
  ]);
  expect([list.out.includes(webhookId), list.out.includes(secret)]).toEqual([true, false]);
  expect(shown.out.match(/delivered/g)).toHaveLength(2);
  expect((await stack.cli(["webhooks", "remove", webhookId])).code).toBe(0);
  const silent = await admin.park("pay", order(1));
  await admin.post(`/v1/executions/${silent.id}/cancel`);
  expect(receiver.received).toHaveLength(2);
});

test("only the types that were asked for", async () => {
  const mine = await hook(["approval.cancelled"]);
  const { id, approvalId } = await admin.park("pay", order(1));
  await admin.post(`/v1/executions/${id}/cancel`);
  await received(1);
  expect(receiver.received.map(({ body }) => JSON.parse(body) as unknown)).toMatchObject([
    { type: "dev.signalbox.approval.cancelled", subject: approvalId },
  ]);
  expect(await deliveries(mine)).toHaveLength(1);
  await admin.delete(`/v1/webhooks/${mine.webhookId}`);
});

test("a receiver that answers 500 twice gets the same delivery a third time; the wait is the one it asked for", async () => {
  script = [500, 503, 204];
  const mine = await hook(["approval.requested"]);
  const { id } = await admin.park("pay", order(1));
  await received(3);
  expect(new Set(receiver.received.map(idOf)).size).toBe(1);
  expect(new Set(receiver.received.map(({ body }) => body)).size).toBe(1);
  expect(receiver.received.map((one) => isGenuine(one, mine.secret))).toEqual([true, true, true]);
  const stamps = receiver.received.map(({ message }) => Number(message.headers["webhook-timestamp"]));
  expect((stamps[2] ?? 0) - (stamps[0] ?? 0)).toBeGreaterThanOrEqual(1);
  await expect
    .poll(() => deliveries(mine), slowly)
    .toMatchObject([{ state: "delivered", attempts: 3, last_status: 204, last_error: null }]);
  await admin.post(`/v1/executions/${id}/cancel`);
  await admin.delete(`/v1/webhooks/${mine.webhookId}`);
});

test("kill -9 while the receiver is silent, and between two tries: after the restart it arrives under the same id", async () => {
  script = [null, 500, 204];
  const mine = await hook(["approval.requested"]);
  const { id } = await admin.park("pay", order(1));
  await received(1);
  await stack.kill();
  await stack.start();
  // The attempt that nobody answered was none, so it is made at once.
  await received(2);
  await expect
    .poll(() => deliveries(mine), slowly)
    .toMatchObject([{ state: "pending", attempts: 1, last_status: 500 }]);
  await stack.kill();
  await stack.start();
  await received(3);
  expect(new Set(receiver.received.map(idOf)).size).toBe(1);
  expect(receiver.received.map((one) => isGenuine(one, mine.secret))).toEqual([true, true, true]);
  await expect.poll(() => deliveries(mine), slowly).toMatchObject([{ state: "delivered", attempts: 2 }]);
  await admin.post(`/v1/executions/${id}/cancel`);
  await admin.delete(`/v1/webhooks/${mine.webhookId}`);
});

test("without the flag this machine and private networks are no place for a webhook", async () => {
  const other = await startStack();
  try {
    for (const inward of [
      url,
      "http://localhost/hook",
      "http://10.1.2.3/",
      "http://[::1]/",
      "http://169.254.169.254/latest",
    ]) {
      const { status, body } = await other.admin.post("/v1/webhooks", { url: inward });
      expect([inward, status, body.error?.code, body.error?.message]).toEqual([
        inward,
        400,
        "invalid_input",
        expect.stringContaining("--allow-private-webhooks"),
      ]);
    }
  } finally {
    await other.close();
    other.remove();
  }
  expect(receiver.received).toEqual([]);
});
