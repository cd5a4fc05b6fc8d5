// What the client asks about limits and usage: routes, queries and bodies, and that all of it may be repeated.
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

const asking: readonly [(client: Client) => Promise<unknown>, string][] = [
  [({ limits }) => limits.list(), "GET /v1/limits"],
  [({ limits }) => limits.list({ tenant: "acme", limit: 2 }), "GET /v1/limits?tenant=acme&limit=2"],
  [
    ({ limits }) => limits.set({ scope: "tool", subject: "payments.charge", rate: { per_minute: 300, burst: 50 } }),
    `PUT /v1/limits {"scope":"tool","subject":"payments.charge","rate":{"per_minute":300,"burst":50}}`,
  ],
  [
    ({ limits }) => limits.set({ tenant: "acme", scope: "tenant", quotas: { executions_per_day: 9 }, time_zone: "Europe/Paris" }),
    `PUT /v1/limits?tenant=acme {"scope":"tenant","quotas":{"executions_per_day":9},"time_zone":"Europe/Paris"}`,
  ],
  [({ limits }) => limits.remove({ scope: "project", subject: "*" }), "DELETE /v1/limits?scope=project&subject=*"],
  [({ limits }) => limits.remove({ scope: "tenant", tenant: "acme" }), "DELETE /v1/limits?scope=tenant&tenant=acme"],
  [(client) => client.usage(), "GET /v1/usage"],
  [
    (client) => client.usage({ tenant: "*", from: "2026-01-01", to: "2026-01-31", group_by: ["tenant", "day"] }),
    "GET /v1/usage?tenant=*&from=2026-01-01&to=2026-01-31&group_by=tenant%2Cday",
  ],
  [(client) => client.usage({ group_by: [] }), "GET /v1/usage?group_by="],
];

test.each(asking)("%s asks the right thing, and again after a refusal that passes", async (ask, line) => {
  const { client, seen } = scripted([503, busy], [200, "{}"]);
  await ask(client);
  expect(seen).toEqual([line, line]);
});
