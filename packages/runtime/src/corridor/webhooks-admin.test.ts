// Webhooks as administrators see them: what may be added, what is shown, and the record that each act leaves.
import { afterEach, beforeEach, expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { HandDoor, PostOffice, sentAt } from "../../../../test/support/webhooks.ts";
import type { WebhookService } from "../service-governance.ts";

let office: PostOffice;
let service: WebhookService;
beforeEach(() => {
  office = new PostOffice(new HandDoor());
  service = office.webhooks.service;
});
afterEach(() => office.close());

const admin = asked({ name: "user:root", scopes: new Set(["admin"]) });
const stranger = asked({ tenant: "other", name: "user:oz", scopes: new Set(["*"]) });
const audit = async (tenant = "acme") => (await office.ledger.listAudit({ tenant }, 100)).items;

test("a new webhook shows its secret once; the ledger has it sealed, and the audit its origin alone", async () => {
  const { webhook, secret } = await service.addWebhook(admin, "https://example.com/hooks/T0KEN?k=s3cret", ["approval.requested"]);
  expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
  expect(webhook).toMatchObject({
    tenant: "acme",
    webhookId: expect.stringMatching(/^whk_[0-9A-Z]{26}$/) as string,
    url: "https://example.com/hooks/T0KEN?k=s3cret",
    types: ["approval.requested"],
    createdAt: sentAt,
    createdBy: "user:root",
  });
  expect(await service.listWebhooks(admin)).toEqual([webhook]);
  expect(webhook.sealedSecret).not.toContain(secret.slice(6, 20));
  expect(office.seal.open(["acme", webhook.webhookId], webhook.sealedSecret)).toBe(secret);
  const records = await audit();
  expect(records).toMatchObject([
    { action: "webhook.created", principal: "user:root", project: "shop", status: "done", requestId: "req_7", details: { webhook_id: webhook.webhookId, origin: "https://example.com", types: ["approval.requested"] } },
  ]);
  expect(JSON.stringify(records)).not.toMatch(/T0KEN|s3cret|whsec/);
});

test("no two secrets are alike", async () => {
  const first = await service.addWebhook(admin, "https://example.com/", []);
  const second = await service.addWebhook(admin, "https://example.com/", []);
  expect(first.secret).not.toBe(second.secret);
  expect(first.webhook.webhookId).not.toBe(second.webhook.webhookId);
});

test.each([
  ["ftp://example.com", [], "url"],
  ["https://user:pass@example.com", [], "url"],
  ["http://10.0.0.1/", [], "url"],
  ["https://example.com", ["call.failed"], "types"],
])("%s with types %j is refused and leaves nothing", async (url, types, field) => {
  expect(await refusal(service.addWebhook(admin, url, types))).toMatchObject({ code: "invalid_input", details: { fields: [{ pointer: `/${field}`, keyword: "format", message: expect.any(String) }] } });
  expect(await service.listWebhooks(admin)).toEqual([]);
  expect(await audit()).toEqual([]);
});

test("a removed webhook is gone, what was on its way to it is dead, and its deliveries can still be read", async () => {
  const { webhook } = await service.addWebhook(admin, "https://example.com/", []);
  await office.tell();
  await service.removeWebhook(admin, webhook.webhookId);
  expect(await service.listWebhooks(admin)).toEqual([]);
  expect((await service.listDeliveries(admin, { webhookId: webhook.webhookId }, 10)).items).toMatchObject([{ state: "dead", nextAt: null, endedAt: sentAt, attempts: 0 }]);
  expect((await audit())[0]).toMatchObject({ action: "webhook.removed", principal: "user:root", details: { webhook_id: webhook.webhookId } });
  expect(await refusal(service.removeWebhook(admin, webhook.webhookId))).toMatchObject({ code: "webhook_not_found" });
  expect(await audit()).toHaveLength(2);
});

test("twenty webhooks a tenant, also when they are added all at once", async () => {
  const adding = Array.from({ length: 25 }, () => service.addWebhook(admin, "https://example.com/", []));
  const outcomes = await Promise.allSettled(adding);
  expect(outcomes.filter(({ status }) => status === "fulfilled").length).toBeLessThanOrEqual(20);
  for (let left = 20 - (await service.listWebhooks(admin)).length; left > 0; left--) await service.addWebhook(admin, "https://example.com/", []);
  expect(await refusal(service.addWebhook(admin, "https://example.com/", []))).toMatchObject({ code: "conflict", message: expect.stringContaining("at most 20 webhooks") as string });
  expect(await service.listWebhooks(admin)).toHaveLength(20);
  await service.addWebhook(stranger, "https://example.com/", []);
  await service.removeWebhook(admin, (await service.listWebhooks(admin))[0]?.webhookId ?? "");
  await service.addWebhook(admin, "https://example.com/", []);
});

test("a tenant sees, and can remove, its own alone", async () => {
  const { webhook } = await service.addWebhook(admin, "https://example.com/", []);
  await office.tell();
  expect(await service.listWebhooks(stranger)).toEqual([]);
  expect((await service.listDeliveries(stranger, { webhookId: webhook.webhookId }, 10)).items).toEqual([]);
  expect(await refusal(service.removeWebhook(stranger, webhook.webhookId))).toEqual(await refusal(service.removeWebhook(stranger, "whk_none")));
  expect(await service.listWebhooks(admin)).toHaveLength(1);
});

test.each<[string, (service: WebhookService) => Promise<unknown>]>([
  ["addWebhook", (asking) => asking.addWebhook(asked(), "https://example.com/", [])],
  ["listWebhooks", (asking) => asking.listWebhooks(asked())],
  ["removeWebhook", (asking) => asking.removeWebhook(asked(), "whk_1")],
  ["listDeliveries", (asking) => asking.listDeliveries(asked(), {}, 10)],
])("%s needs the scope admin before anything is looked at", async (_, ask) => {
  expect(await refusal(ask(service))).toMatchObject({ code: "forbidden", details: { missing_scope: "admin" } });
  expect(await audit()).toMatchObject([{ status: "refused", details: { missing_scope: "admin" } }]);
});

test("what cannot be stored did not happen, and holds no place", async () => {
  office.ledger.full = true;
  for (let tries = 0; tries < 21; tries++) {
    expect((await refusal(service.addWebhook(admin, "https://example.com/", []))).code).toBe("ledger_unavailable");
  }
  office.ledger.full = false;
  expect(await service.listWebhooks(admin)).toEqual([]);
  await service.addWebhook(admin, "https://example.com/", []);
});
