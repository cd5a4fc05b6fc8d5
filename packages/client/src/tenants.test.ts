// What the client asks about tenants and keys: routes, fields, and what it repeats.
import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import type { Client } from "./client.ts";

const busy = `{"error":{"code":"draining","message":"stopping","retryable":true}}`;

/** A client whose fetch gives these answers in turn, the last one again and again, and what was asked of it. */
function scripted(...answers: readonly (readonly [status: number, text: string])[]) {
  const seen: string[] = [];
  const client = createClient({
    url: "http://runtime.test",
    fetch: async (input, init) => {
      const { pathname, search } = new URL(input as string);
      const [status, text] = answers[Math.min(seen.length, answers.length - 1)] ?? [200, "{}"];
      const body = init?.body as string | undefined;
      seen.push(`${init?.method ?? ""} ${pathname}${search}${body === undefined ? "" : ` ${body}`}`);
      return new Response(text, { status });
    },
    ports: { sleep: async () => {}, random: () => 0, timeoutSignal: () => new AbortController().signal },
  });
  return { client, seen };
}

const key = { label: "ci", principal: "service:ci", scopes: ["tools:invoke"] } as const;

test.each<[(client: Client) => Promise<unknown>, string]>([
  [({ tenants }) => tenants.list(), "GET /v1/tenants"],
  [({ tenants }) => tenants.list({ limit: 2, cursor: "acme" }), "GET /v1/tenants?limit=2&cursor=acme"],
  [({ tenants }) => tenants.get("a/b"), "GET /v1/tenants/a%2Fb"],
  [
    ({ tenants }) => tenants.create({ tenant: "acme", weight: 2, admin: { principal: "user:ann" } }),
    `POST /v1/tenants {"tenant":"acme","weight":2,"admin":{"principal":"user:ann"}}`,
  ],
  [
    ({ tenants }) => tenants.change("acme", { suspended: true, reason: "unpaid" }),
    `PUT /v1/tenants/acme {"suspended":true,"reason":"unpaid"}`,
  ],
  [({ tenants }) => tenants.keys.list("acme", { status: "active" }), "GET /v1/tenants/acme/keys?status=active"],
  [
    ({ tenants }) => tenants.keys.create("acme", key),
    `POST /v1/tenants/acme/keys {"label":"ci","principal":"service:ci","scopes":["tools:invoke"]}`,
  ],
  [({ tenants }) => tenants.keys.revoke("acme", "key_1"), "DELETE /v1/tenants/acme/keys/key_1"],
  [({ keys }) => keys.list(), "GET /v1/keys"],
  [
    ({ keys }) => keys.list({ principal: "service:ci", project: "web", limit: 3 }),
    "GET /v1/keys?principal=service%3Aci&project=web&limit=3",
  ],
])("%s asks the right thing", async (ask, line) => {
  const { client, seen } = scripted([200, "{}"]);
  await ask(client);
  expect(seen).toEqual([line]);
});

test("a change is repeated, what makes a secret is sent once", async () => {
  const change = scripted([503, busy], [200, "{}"]);
  await change.client.tenants.change("acme", { weight: 2 });
  expect(change.seen).toHaveLength(2);
  for (const make of [
    ({ tenants }: Client) => tenants.create({ tenant: "acme" }),
    ({ tenants }: Client) => tenants.keys.create("acme", key),
  ]) {
    const { client, seen } = scripted([503, busy], [200, "{}"]);
    await expect(make(client)).rejects.toThrow("stopping");
    expect(seen).toHaveLength(1);
  }
});
