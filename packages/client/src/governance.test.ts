// What the client asks about policies, approvals, the registry and the brakes: routes, fields, digits, and what it repeats.
import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import type { Client } from "./client.ts";
import { SignalboxApiError } from "./errors.ts";

const busy = `{"error":{"code":"draining","message":"stopping","retryable":true}}`;

/** A client whose fetch gives these answers in turn, the last one again and again, and what was asked of it. */
function scripted(...answers: readonly (readonly [status: number, text: string])[]) {
  const seen: string[] = [];
  const types: (string | undefined)[] = [];
  const client = createClient({
    url: "http://runtime.test",
    fetch: async (input, init) => {
      const { pathname, search } = new URL(input as string);
      const [status, text] = answers[Math.min(seen.length, answers.length - 1)] ?? [200, "{}"];
      const body = init?.body as string | undefined;
      seen.push(`${init?.method ?? ""} ${pathname}${search}${body === undefined ? "" : ` ${body}`}`);
      types.push(new Headers(init?.headers).get("content-type") ?? undefined);
      return new Response(text, { status });
    },
    ports: { sleep: async () => {}, random: () => 0, timeoutSignal: () => new AbortController().signal },
  });
  return { client, seen, types };
}

test.each<[(client: Client) => Promise<unknown>, string]>([
  [({ policies }) => policies.publish({ kind: "Policy" }), `PUT /v1/policies {"kind":"Policy"}`],
  [
    ({ policies }) => policies.publish("kind: Policy\n", { dryRun: true }),
    `PUT /v1/policies?dry_run=true kind: Policy\n`,
  ],
  [
    ({ policies }) => policies.list({ level: "tenant", status: "active", platform: true, limit: 2 }),
    "GET /v1/policies?level=tenant&status=active&platform=true&limit=2",
  ],
  [({ policies }) => policies.get("a/b", { version: "1.0.0" }), "GET /v1/policies/a%2Fb?version=1.0.0"],
  [({ policies }) => policies.activate("p", "1.0.0"), `POST /v1/policies/p/activate {"version":"1.0.0"}`],
  [({ policies }) => policies.withdraw("p", "1.0.0"), `POST /v1/policies/p/withdraw {"version":"1.0.0"}`],
  [({ policies }) => policies.defaults(), "GET /v1/policies:defaults"],
  [({ policies }) => policies.setDefault({ decision: null }), `PUT /v1/policies:defaults {"decision":null}`],
  [
    ({ policies }) => policies.setDefault({ project: "shop", decision: "deny" }),
    `PUT /v1/policies:defaults {"project":"shop","decision":"deny"}`,
  ],
  [
    ({ policies }) => policies.explain({ tool: "pay", roles: ["clerk"], inputText: `{"n":12345678901234567890}` }),
    `POST /v1/policies:explain {"tool":"pay","roles":["clerk"],"input":{"n":12345678901234567890}}`,
  ],
  [
    ({ policies }) => policies.test({ cases: { cases: [] }, policies: [{ kind: "Policy" }] }),
    `POST /v1/policies:test {"cases":{"cases":[]},"policies":[{"kind":"Policy"}]}`,
  ],
  [
    ({ approvals }) => approvals.list({ status: "pending", mine: true, execution_id: "exec_1" }),
    "GET /v1/approvals?status=pending&mine=true&execution_id=exec_1",
  ],
  [({ approvals }) => approvals.get("apr_1"), "GET /v1/approvals/apr_1"],
  [
    ({ approvals }) => approvals.approve("apr_1", { argsHash: "ab", args: { n: 1 }, comprehended: true }),
    `POST /v1/approvals/apr_1/votes {"decision":"approve","args":{"n":1},"comprehended":true,"args_hash":"ab"}`,
  ],
  [
    ({ approvals }) => approvals.approve("apr_1", { argsHash: "ab", argsText: `{"n":12345678901234567890}` }),
    `POST /v1/approvals/apr_1/votes {"decision":"approve","args_hash":"ab","args":{"n":12345678901234567890}}`,
  ],
  [
    ({ approvals }) => approvals.reject("apr_1", { argsHash: "ab", comment: "too much" }),
    `POST /v1/approvals/apr_1/votes {"decision":"reject","comment":"too much","args_hash":"ab"}`,
  ],
  [
    ({ tools }) => tools.list({ search: "pay money", label: "team=shop" }),
    "GET /v1/tools?search=pay+money&label=team%3Dshop",
  ],
  [({ tools }) => tools.pin("a.b", "^1"), `POST /v1/tools/a.b/pin {"version":"^1"}`],
  [({ tools }) => tools.unpin("a.b"), "DELETE /v1/tools/a.b/pin"],
  [({ tools }) => tools.pins({ limit: 5 }), "GET /v1/tools:pins?limit=5"],
  [({ tools }) => tools.rollBack("a.b"), "POST /v1/tools/a.b/rollback {}"],
  [({ tools }) => tools.rollBack("a.b", { version: "1.0.0" }), `POST /v1/tools/a.b/rollback {"version":"1.0.0"}`],
  [({ tools }) => tools.activations("a.b"), "GET /v1/tools/a.b/activations"],
  [({ tools }) => tools.deprecate("a.b", "1.0.0"), `POST /v1/tools/a.b/deprecate {"version":"1.0.0"}`],
  [
    ({ tools }) => tools.deprecate("a.b", "1.0.0", { deprecated: false }),
    `POST /v1/tools/a.b/deprecate {"version":"1.0.0","deprecated":false}`,
  ],
  [({ tools }) => tools.quarantine("a.b", { reason: "leaks" }), `POST /v1/tools/a.b/quarantine {"reason":"leaks"}`],
  [({ tools }) => tools.release("a.b", { version: "1.0.0" }), `POST /v1/tools/a.b/release {"version":"1.0.0"}`],
  [({ tools }) => tools.enable("a.b", { project: "shop" }), `POST /v1/tools/a.b/enable {"project":"shop"}`],
  [({ tools }) => tools.disable("a.b"), "POST /v1/tools/a.b/disable {}"],
  [({ tools }) => tools.projectStates(), "GET /v1/tools:projects"],
  [({ projects }) => projects.list(), "GET /v1/projects"],
  [({ projects }) => projects.put("my shop", "production"), `PUT /v1/projects/my%20shop {"environment":"production"}`],
  [({ freezes }) => freezes.list(), "GET /v1/freezes"],
  [({ freezes }) => freezes.freeze(), "POST /v1/freezes {}"],
  [({ freezes }) => freezes.freeze({ tool: "a.b", reason: "r" }), `POST /v1/freezes {"tool":"a.b","reason":"r"}`],
  [({ freezes }) => freezes.lift({ tool: "a.b" }), `POST /v1/freezes:lift {"tool":"a.b"}`],
  [({ webhooks }) => webhooks.add({ url: "https://x.test" }), `POST /v1/webhooks {"url":"https://x.test"}`],
  [({ webhooks }) => webhooks.list(), "GET /v1/webhooks"],
  [({ webhooks }) => webhooks.remove("wh_1"), "DELETE /v1/webhooks/wh_1"],
  [
    ({ webhooks }) => webhooks.deliveries({ webhook_id: "wh_1", state: "dead" }),
    "GET /v1/webhooks:deliveries?webhook_id=wh_1&state=dead",
  ],
])("%s", async (ask, expected) => {
  const { client, seen } = scripted([200, "{}"]);
  await ask(client);
  expect(seen).toEqual([expected]);
});

test("an approval keeps every digit of its arguments", async () => {
  const text = `{"approval_id":"apr_1","args":{"amount":12345678901234567890,"rate":1.10},"votes":[]}`;
  const { client } = scripted([200, text]);
  expect((await client.approvals.get("apr_1")).argsText).toBe(`{"amount":12345678901234567890,"rate":1.10}`);
  const vote = await client.approvals.approve("apr_1", { argsHash: "ab" });
  expect(vote.argsText).toBe(`{"amount":12345678901234567890,"rate":1.10}`);
  const { client: other } = scripted([200, `{"approval_id":"apr_2"}`]);
  expect((await other.approvals.get("apr_2")).argsText).toBeNull();
});

test("a policy goes out as YAML text or as JSON", async () => {
  const { client, types } = scripted([200, "{}"]);
  await client.policies.publish("kind: Policy\n");
  await client.policies.publish({ kind: "Policy" });
  expect(types).toEqual(["application/yaml", "application/json"]);
});

test("a vote, a freeze and a publication are repeated; what would go further each time is sent once", async () => {
  const again = [
    ({ approvals }: Client) => approvals.approve("apr_1", { argsHash: "ab" }),
    ({ freezes }: Client) => freezes.freeze(),
    ({ policies }: Client) => policies.publish({}),
    ({ tools }: Client) => tools.quarantine("a", { reason: "r" }),
  ];
  for (const ask of again) {
    const { client, seen } = scripted([503, busy], [200, "{}"]);
    await ask(client);
    expect(seen).toHaveLength(2);
  }
  const once = [
    ({ tools }: Client) => tools.rollBack("a.b"),
    ({ webhooks }: Client) => webhooks.add({ url: "https://x.test" }),
  ];
  for (const ask of once) {
    const { client, seen } = scripted([503, busy], [200, "{}"]);
    await expect(ask(client)).rejects.toBeInstanceOf(SignalboxApiError);
    expect(seen).toHaveLength(1);
  }
});

test("removing a webhook is fine with an answer without a body", async () => {
  const { client } = scripted([200, ""]);
  await expect(client.webhooks.remove("wh_1")).resolves.toBeUndefined();
});
