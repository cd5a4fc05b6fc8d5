// Webhooks as one thing, over real HTTP: an administrator adds one, a notice is stored, and a receiver can prove who sent it.
import { createHmac } from "node:crypto";
import { afterEach, expect, test } from "vitest";
import { asked } from "../../../../test/support/corridor.ts";
import { PostOffice, Receiver, sentAt, until } from "../../../../test/support/webhooks.ts";
import { webhookDoor } from "../adapters/webhooks/door.ts";

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).toReversed()) await close();
});

const admin = (tenant = "acme") => asked({ tenant, name: "user:root", scopes: new Set(["admin"]) });

async function world(answer: ConstructorParameters<typeof Receiver>[0], allowPrivate = true): Promise<{ office: PostOffice; receiver: Receiver; at: string }> {
  const receiver = new Receiver(answer);
  const at = await receiver.open();
  closing.push(() => receiver.close());
  const office = new PostOffice(webhookDoor({ version: "1.2.3", allowPrivate }));
  closing.push(() => office.close());
  office.webhooks.start();
  return { office, receiver, at };
}

test("a receiver gets the event, and its secret proves it", async () => {
  const { office, receiver, at } = await world((response) => response.writeHead(204).end());
  const { secret, webhook } = await office.webhooks.service.addWebhook(admin(), `${at}/hooks`, ["approval.requested"]);
  await office.tell();
  await receiver.until(1);
  const [{ message, body } = { message: undefined, body: "" }] = receiver.received;
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature } = message?.headers ?? {};
  const mac = createHmac("sha256", Buffer.from(secret.slice("whsec_".length), "base64")).update(`${String(id)}.${String(timestamp)}.${body}`);
  expect(signature).toBe(`v1,${mac.digest("base64")}`);
  expect(message?.headers).toMatchObject({ "content-type": "application/cloudevents+json; charset=utf-8", "user-agent": "signalbox/1.2.3" });
  expect(JSON.parse(body)).toEqual({
    specversion: "1.0",
    id,
    source: "signalbox/r1",
    type: "dev.signalbox.approval.requested",
    subject: "apr_1",
    time: "2001-09-09T01:46:40.000Z",
    datacontenttype: "application/json",
    signalboxtenant: "acme",
    data: { approval_id: "apr_1", tool: "pay", expires_at: "2001-09-09T01:47:40.000Z" },
  });
  await until(async () => (await office.deliveries())[0]?.state === "delivered");
  const { items } = await office.webhooks.service.listDeliveries(admin(), { webhookId: webhook.webhookId, state: "delivered" }, 10);
  expect(items).toMatchObject([{ deliveryId: id, attempts: 1, lastStatus: 204, endedAt: sentAt }]);
});

test("a receiver that comes back gets what it missed", async () => {
  const answers = [503, 302, 200];
  const { office, receiver, at } = await world((response) => response.writeHead(answers.shift() ?? 500, { location: "/elsewhere" }).end());
  await office.webhooks.service.addWebhook(admin(), at, []);
  await office.tell();
  for (const attempts of [1, 2]) {
    await until(async () => (await office.deliveries())[0]?.attempts === attempts);
    await office.clock.pass(12_000);
  }
  await until(async () => (await office.deliveries())[0]?.state === "delivered");
  expect(receiver.received.map(({ message }) => message.url)).toEqual(["/", "/", "/"]);
  expect(new Set(receiver.received.map(({ message }) => message.headers["webhook-id"])).size).toBe(1);
});

test("tenants have their own receivers, secrets and notices", async () => {
  const { office, receiver, at } = await world((response) => response.writeHead(200).end());
  const secrets = new Map<string, string>();
  for (const tenant of ["acme", "other"]) secrets.set(tenant, (await office.webhooks.service.addWebhook(admin(tenant), `${at}/${tenant}`, [])).secret);
  await office.tell(3, "acme");
  await office.tell(2, "other");
  await receiver.until(5);
  for (const { message, body } of receiver.received) {
    const tenant = (message.url ?? "").slice(1);
    expect(JSON.parse(body)).toMatchObject({ signalboxtenant: tenant });
    const key = Buffer.from((secrets.get(tenant) ?? "").slice("whsec_".length), "base64");
    const signed = `${String(message.headers["webhook-id"])}.${String(message.headers["webhook-timestamp"])}.${body}`;
    expect(message.headers["webhook-signature"]).toBe(`v1,${createHmac("sha256", key).update(signed).digest("base64")}`);
  }
  const forAcme = receiver.received.filter(({ message }) => message.url === "/acme");
  expect([forAcme.length, receiver.received.length]).toEqual([3, 5]);
});

test("a private address that got into the ledger all the same is not dialled", async () => {
  const { office, receiver, at } = await world((response) => response.end(), false);
  await office.add("whk_1", "acme", { url: at });
  await office.tell();
  await until(async () => (await office.deliveries())[0]?.attempts === 1);
  expect(await office.deliveries()).toMatchObject([{ state: "pending", lastError: expect.stringContaining("127.0.0.1, which is not a public address") as string }]);
  expect(receiver.received).toEqual([]);
});
