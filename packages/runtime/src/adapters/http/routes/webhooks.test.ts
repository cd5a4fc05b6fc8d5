// The routes about webhooks and what was delivered to them.
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedWebhookId } from "../../../../../../test/support/scripted-governance.ts";

const shown = {
  webhook_id: "hook_01KDY7MFG80000000000000000",
  url: "https://example.com/hooks",
  types: ["approval.requested"],
  created_at: "2026-01-02T03:04:05.000Z",
  created_by: "user:alice",
};

describe("webhooks", () => {
  test("the secret is shown once, sealed or not", async () => {
    const door = await openDoor();
    const body = '{"url":"https://example.com/hooks","types":["approval.requested"]}';
    const added = await door.ask("POST", "/v1/webhooks", { body });
    expect([added.status, added.json]).toEqual([201, { ...shown, secret: "the-secret" }]);
    expect(door.service.reached[1]?.args).toEqual(["https://example.com/hooks", ["approval.requested"]]);
    const listed = await door.ask("GET", "/v1/webhooks");
    expect([listed.status, listed.json]).toEqual([200, { items: [shown], next_cursor: null }]);
    expect(`${added.text}${listed.text}`).not.toContain("never-shown");
  });

  test("without types stands for all of them", async () => {
    const door = await openDoor();
    await door.ask("POST", "/v1/webhooks", { body: '{"url":"http://hooks.internal:8080/x"}' });
    expect(door.service.reached[1]?.args).toEqual(["http://hooks.internal:8080/x", []]);
  });

  test("may be none", async () => {
    const door = await openDoor({
      listWebhooks: async () => [],
      listDeliveries: async () => ({ items: [], next: undefined }),
    });
    for (const path of ["/v1/webhooks", "/v1/webhooks:deliveries"])
      expect((await door.ask("GET", path)).text).toBe('{"items":[],"next_cursor":null}');
  });

  test.each([
    ["{}", "/url"],
    ['{"url":""}', "/url"],
    ['{"url":"example.com/hooks"}', "/url"],
    ['{"url":"ftp://example.com"}', "/url"],
    ['{"url":"javascript:alert(1)"}', "/url"],
    [`{"url":"https://example.com/${"x".repeat(2_048)}"}`, "/url"],
    ['{"url":"https://example.com","types":"approval.requested"}', "/types"],
    ['{"url":"https://example.com","types":[""]}', "/types/0"],
    [`{"url":"https://example.com","types":[${Array(33).fill('"t"').join(",")}]}`, "/types"],
    ['{"url":"https://example.com","secret":"mine"}', "/secret"],
  ])("%s is refused at %s", async (body, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/webhooks", { body });
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
    expect(door.service.reached).toHaveLength(1);
  });

  test("an idempotency key is not pretended to be known", async () => {
    const door = await openDoor();
    const sent = { body: '{"url":"https://example.com"}', headers: { "idempotency-key": "k" } };
    const heard = await door.ask("POST", "/v1/webhooks", sent);
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { details: { fields: [{ pointer: "/Idempotency-Key" }] } } });
  });

  test("one is removed; a foreign, an unknown and a malformed one get the same bytes", async () => {
    const door = await openDoor();
    const removed = await door.ask("DELETE", `/v1/webhooks/${scriptedWebhookId}`);
    expect([removed.status, removed.json]).toEqual([200, { webhook_id: scriptedWebhookId, removed: true }]);
    const headers = { "x-request-id": "same" };
    const answers = await Promise.all([
      door.ask("DELETE", `/v1/webhooks/${scriptedWebhookId}`, { token: "bob-token", headers }),
      door.ask("DELETE", "/v1/webhooks/hook_unknown", { headers }),
      door.ask("DELETE", "/v1/webhooks/a%20b", { headers }),
    ]);
    expect([...new Set(answers.map(({ status, text }) => `${status} ${text}`))]).toEqual([
      '404 {"error":{"code":"webhook_not_found","message":"there is no such webhook; GET /v1/webhooks lists the tenant\'s webhooks","type":"not_found","retryable":false,"details":{},"request_id":"same"}}',
    ]);
  });
});

describe("deliveries", () => {
  test("tell how far each has come", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/webhooks:deliveries");
    expect([heard.status, heard.json]).toEqual([
      200,
      {
        items: [
          {
            delivery_id: "dlv_1",
            webhook_id: "hook_01KDY7MFG80000000000000000",
            type: "approval.requested",
            approval_id: "apr_01KDY7MFG80000000000000000",
            at: "2026-01-02T03:04:05.000Z",
            data: { args_hash: "ah1" },
            state: "pending",
            attempts: 1,
            next_at: "2026-01-02T03:04:10.000Z",
            ended_at: null,
            last_status: 503,
            last_error: "the receiver answered 503",
          },
        ],
        next_cursor: "more",
      },
    ]);
    expect(door.service.reached[1]?.args).toEqual([{}, 25, undefined]);
  });

  test("are narrowed", async () => {
    const door = await openDoor();
    await door.ask("GET", "/v1/webhooks:deliveries?webhook_id=hook_1&state=dead&limit=3&cursor=c");
    expect(door.service.reached[1]?.args).toEqual([{ webhookId: "hook_1", state: "dead" }, 3, "c"]);
  });

  test.each([
    ["state=lost", "/state"],
    ["webhook_id=", "/webhook_id"],
    ["limit=0", "/limit"],
    ["type=approval.voted", "/type"],
  ])("%s is refused at %s", async (query, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("GET", `/v1/webhooks:deliveries?${query}`);
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
  });
});
