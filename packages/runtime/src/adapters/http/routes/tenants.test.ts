// The routes about tenants, and about the keys that the operator gives out for them.
import { expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import type { NewTenant } from "../../../service-tenants.ts";

const at = "2026-01-02T03:04:05.000Z";
const acme = {
  tenant: "acme",
  weight: 1,
  suspended: false,
  suspended_at: null,
  suspended_by: null,
  suspended_reason: null,
  created_at: at,
};
const key = {
  key_id: "key_1",
  label: "ci",
  principal: "service:ci",
  project: "default",
  scopes: ["tools:invoke"],
  roles: [],
  created_at: at,
  expires_at: null,
  revoked_at: null,
  last_used_at: null,
};

test("are listed by name, page by page, with what stops them", async () => {
  const door = await openDoor();
  const beta = {
    ...acme,
    tenant: "beta",
    suspended: true,
    suspended_at: at,
    suspended_by: "user:operator",
    suspended_reason: "unpaid",
  };
  expect((await door.ask("GET", "/v1/tenants")).json).toEqual({ items: [acme, beta], next_cursor: null });
  expect((await door.ask("GET", "/v1/tenants?limit=1")).json).toEqual({ items: [acme], next_cursor: "acme" });
  expect((await door.ask("GET", "/v1/tenants?cursor=acme")).json).toEqual({ items: [beta], next_cursor: null });
  expect((await door.ask("GET", "/v1/tenants/acme")).json).toEqual(acme);
});

test.each<[string, NewTenant]>([
  ['{"tenant":"gamma"}', { tenant: "gamma" }],
  ['{"tenant":"gamma","weight":3}', { tenant: "gamma", weight: 3 }],
  [
    '{"tenant":"gamma","admin":{"principal":"user:gus","label":"of Gus"}}',
    { tenant: "gamma", admin: { principal: "user:gus", label: "of Gus" } },
  ],
])("%s makes one, and its first secret is shown once", async (body, wanted) => {
  const door = await openDoor();
  const heard = await door.ask("POST", "/v1/tenants", { body });
  const { weight = 1 } = wanted;
  const adminKey = { ...key, principal: "user:admin", scopes: ["*"], secret: "the-secret" };
  expect([heard.status, heard.json]).toEqual([201, { ...acme, tenant: "gamma", weight, admin_key: adminKey }]);
  expect(door.service.reached[1]).toMatchObject({ method: "createTenant", args: [wanted] });
});

test.each<[string, { readonly weight?: number; readonly suspended?: boolean; readonly reason?: string }]>([
  ['{"weight":4}', { weight: 4 }],
  ['{"suspended":true,"reason":"unpaid"}', { suspended: true, reason: "unpaid" }],
  ['{"suspended":false,"weight":2}', { suspended: false, weight: 2 }],
])("PUT %s changes that and nothing else", async (body, change) => {
  const door = await openDoor();
  const heard = await door.ask("PUT", "/v1/tenants/acme", { body });
  expect([heard.status, heard.json]).toMatchObject([200, { tenant: "acme", suspended: change.suspended ?? false }]);
  expect(door.service.reached[1]).toMatchObject({ method: "changeTenant", args: ["acme", change] });
});

test.each([
  ["POST", "/v1/tenants", "{}", "/tenant"],
  ["POST", "/v1/tenants", '{"tenant":""}', "/tenant"],
  ["POST", "/v1/tenants", '{"tenant":"a","weight":1.5}', "/weight"],
  ["POST", "/v1/tenants", '{"tenant":"a","admin":{"principal":"gus"}}', "/admin/principal"],
  ["POST", "/v1/tenants", '{"tenant":"a","admin":{"scopes":["*"]}}', "/admin/scopes"],
  ["POST", "/v1/tenants", '{"tenant":"a","suspended":true}', "/suspended"],
  ["PUT", "/v1/tenants/a", '{"tenant":"b"}', "/tenant"],
  ["PUT", "/v1/tenants/a", '{"suspended":"yes"}', "/suspended"],
  ["PUT", "/v1/tenants/a", '{"suspended":false,"reason":"paid"}', "/reason"],
  ["PUT", "/v1/tenants/a", `{"suspended":true,"reason":"${"x".repeat(501)}"}`, "/reason"],
  ["POST", "/v1/tenants/a/keys", '{"label":"x","principal":"user:a","scopes":["admin"],"tenant":"b"}', "/tenant"],
])("%s %s %s is refused at %s", async (method, path, body, pointer) => {
  const door = await openDoor();
  const heard = await door.ask(method, path, { body });
  expect(heard.status).toBe(400);
  expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { fields: [{ pointer }] } } });
  expect(door.service.reached).toHaveLength(1);
});

test("a change that changes nothing says what it could change", async () => {
  const door = await openDoor();
  const heard = await door.ask("PUT", "/v1/tenants/acme", { body: "{}" });
  expect(heard.json).toMatchObject({
    error: {
      code: "invalid_input",
      message: "the body changes nothing: give weight, or suspended (true or false)",
    },
  });
});

test("keys of a named tenant are made, listed and ended", async () => {
  const door = await openDoor();
  const body = '{"label":"ci","principal":"service:ci","scopes":["tools:invoke"]}';
  const made = await door.ask("POST", "/v1/tenants/beta/keys", { body });
  expect([made.status, made.json]).toEqual([201, { ...key, secret: "the-secret" }]);
  const listed = await door.ask("GET", "/v1/tenants/beta/keys?principal=service:ci&project=web&status=active");
  expect(listed.json).toEqual({ items: [key], next_cursor: null });
  const ended = await door.ask("DELETE", "/v1/tenants/beta/keys/key_1");
  expect([ended.status, ended.json]).toEqual([200, { ...key, revoked_at: at }]);
  expect(door.service.reached.filter(({ method }) => method !== "authenticate").map(({ args }) => args)).toEqual([
    ["beta", { label: "ci", principal: "service:ci", scopes: ["tools:invoke"] }],
    ["beta", { principal: "service:ci", project: "web", status: "active" }],
    ["beta", "key_1"],
  ]);
});

test("keys of one's own are narrowed by principal, project and status; others are not known", async () => {
  const door = await openDoor();
  await door.ask("GET", "/v1/keys?principal=service:ci&status=revoked&limit=5");
  expect(door.service.reached[1]).toMatchObject({
    method: "listKeys",
    args: [{ principal: "service:ci", status: "revoked" }],
  });
  for (const query of ["status=alive", "principal=ci", "tenant=beta"])
    expect((await door.ask("GET", `/v1/keys?${query}`)).status).toBe(400);
});

test("whatever the runtime says of a tenant that cannot be seen, the door says the same bytes", async () => {
  let words = "there is no such tenant";
  const door = await openDoor({
    getTenant: async () => {
      throw new SignalboxError("tenant_not_found", words, { details: { words } });
    },
  });
  const headers = { "x-request-id": "same" };
  const first = await door.ask("GET", "/v1/tenants/beta", { headers });
  words = "beta is not yours";
  const second = await door.ask("GET", "/v1/tenants/nobody", { headers });
  expect(first.status).toBe(404);
  expect(second.text).toBe(first.text);
});

test("takes the scope admin, and knows no idempotency keys", async () => {
  const door = await openDoor();
  expect((await door.ask("GET", "/v1/tenants", { token: "vic-token" })).json).toMatchObject({
    error: { code: "forbidden", details: { missing_scope: "admin" } },
  });
  for (const path of ["/v1/tenants", "/v1/tenants/acme/keys"])
    expect((await door.ask("POST", path, { body: "{}", headers: { "idempotency-key": "k" } })).json).toMatchObject({
      error: { details: { fields: [{ pointer: "/Idempotency-Key" }] } },
    });
});
