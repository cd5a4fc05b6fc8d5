// The routes about keys and grants.
import { describe, expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedGrant, scriptedKey } from "../../../../../../test/support/scripted-service.ts";

const shownKey = {
  key_id: "key_1",
  label: "ci",
  principal: "service:ci",
  project: "default",
  scopes: ["tools:invoke"],
  roles: [],
  created_at: "2026-01-02T03:04:05.000Z",
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
};
const shownGrant = {
  grant_id: "grant_1",
  subject: "service:ci",
  project: "",
  permissions: ["tool:invoke:echo"],
  roles: [],
  created_at: "2026-01-02T03:04:05.000Z",
  created_by: "user:alice",
  expires_at: null,
  revoked_at: null,
};

describe("keys", () => {
  test("the secret is shown once, the hash never", async () => {
    const door = await openDoor();
    const body =
      '{"label":"ci","principal":"service:ci","scopes":["tools:invoke","*"],"expires_at":"2026-01-02T03:04:05Z"}';
    const created = await door.ask("POST", "/v1/keys", { body });
    expect([created.status, created.json]).toEqual([201, { ...shownKey, secret: "the-secret" }]);
    expect(door.service.reached[1]?.args).toEqual([
      { label: "ci", principal: "service:ci", scopes: ["tools:invoke", "*"], expiresAt: 1_767_323_045_000 },
    ]);
    const listed = await door.ask("GET", "/v1/keys");
    expect([listed.status, listed.json]).toEqual([200, { items: [shownKey], next_cursor: null }]);
  });

  test("revoking shows since when", async () => {
    const door = await openDoor();
    const heard = await door.ask("DELETE", "/v1/keys/key_1");
    expect([heard.status, heard.json]).toEqual([200, { ...shownKey, revoked_at: "2026-01-02T03:04:05.000Z" }]);
    expect(door.service.reached[1]?.args).toEqual(["key_1"]);
  });

  test.each([
    ['{"principal":"user:a","scopes":["admin"]}', "/label"],
    ['{"label":"x","principal":"ci","scopes":["admin"]}', "/principal"],
    ['{"label":"x","principal":"robot:ci","scopes":["admin"]}', "/principal"],
    ['{"label":"x","principal":"user:a b","scopes":["admin"]}', "/principal"],
    ['{"label":"x","principal":"user:fay\\u200b","scopes":["admin"]}', "/principal"],
    ['{"label":"x","principal":"user:f\\u0430y","scopes":["admin"]}', "/principal"],
    ['{"label":"x","principal":"user:a","scopes":[]}', "/scopes"],
    ['{"label":"x","principal":"user:a","scopes":["root"]}', "/scopes/0"],
    ['{"label":"x","principal":"user:a","scopes":["admin"],"expires_at":"soon"}', "/expires_at"],
    ['{"label":"x","principal":"user:a","scopes":["admin"],"expires_at":1767323045000}', "/expires_at"],
    ['{"label":"x","principal":"user:a","scopes":["admin"],"tenant":"beta"}', "/tenant"],
  ])("%s is refused at %s", async (body, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("POST", "/v1/keys", { body });
    expect(heard.status).toBe(400);
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
  });

  test("a foreign key and an unknown one get the same bytes", async () => {
    let words = "no key key_1 in beta";
    const door = await openDoor({
      revokeKey: async () => {
        throw new SignalboxError("key_not_found", words, { details: { words } });
      },
    });
    const headers = { "x-request-id": "same" };
    const first = await door.ask("DELETE", "/v1/keys/key_1", { headers });
    words = "unknown";
    const second = await door.ask("DELETE", "/v1/keys/%20", { headers });
    expect(first.status).toBe(404);
    expect(second.text).toBe(first.text);
  });
});

describe("grants", () => {
  test("are given, listed and taken back", async () => {
    const door = await openDoor();
    const body = '{"subject":"service:ci","project":"web","permissions":["tool:invoke:echo"],"roles":["ops"]}';
    const created = await door.ask("POST", "/v1/grants", { body });
    expect([created.status, created.json]).toEqual([201, shownGrant]);
    expect(door.service.reached[1]?.args).toEqual([
      { subject: "service:ci", project: "web", permissions: ["tool:invoke:echo"], roles: ["ops"] },
    ]);
    expect((await door.ask("GET", "/v1/grants")).json).toEqual({ items: [shownGrant], next_cursor: null });
    const revoked = await door.ask("DELETE", "/v1/grants/grant_1");
    expect([revoked.status, revoked.json]).toEqual([200, { ...shownGrant, revoked_at: "2026-01-02T03:04:05.000Z" }]);
  });

  test.each([
    '{"subject":"service:ci","permissions":[]}',
    '{"subject":"service:ci","permissions":[""]}',
    '{"permissions":["*"]}',
  ])("%s is refused", async (body) => {
    const door = await openDoor();
    expect((await door.ask("POST", "/v1/grants", { body })).status).toBe(400);
  });
});

test.each(["/v1/keys", "/v1/grants"])("POST %s does not pretend to know an idempotency key", async (path) => {
  const door = await openDoor();
  const heard = await door.ask("POST", path, { body: "{}", headers: { "idempotency-key": "k" } });
  expect(heard.status).toBe(400);
  expect(heard.json).toMatchObject({ error: { details: { fields: [{ pointer: "/Idempotency-Key" }] } } });
});

test("a walk over 260 keys meets each of them once, whatever is made meanwhile", async () => {
  const id = (n: number): string => `key_${String(n).padStart(4, "0")}`;
  const keys = Array.from({ length: 260 }, (_, n) => scriptedKey({ keyId: id(n) }));
  const door = await openDoor({ listKeys: async () => keys.toReversed() });
  const met: string[] = [];
  let cursor: string | null = null;
  let pages = 0;
  do {
    const path: string = `/v1/keys?limit=101${cursor === null ? "" : `&cursor=${cursor}`}`;
    const page = (await door.ask("GET", path)).json as { items: { key_id: string }[]; next_cursor: string | null };
    met.push(...page.items.map((key) => key.key_id));
    cursor = page.next_cursor;
    pages += 1;
    keys.unshift(scriptedKey({ keyId: `key_${"0".repeat(3)}${pages}a` }));
  } while (cursor !== null);
  expect(pages).toBe(3);
  expect(met).toEqual(Array.from({ length: 260 }, (_, n) => id(n)));
  const first = (await door.ask("GET", "/v1/grants?limit=1")).json;
  expect(first).toMatchObject({ items: [{ grant_id: scriptedGrant().grantId }], next_cursor: null });
});
