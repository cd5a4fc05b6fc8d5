// `signalbox policies`: what is published from files, what is shown, explained and tested, and with which code it ends.
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cli, reaching } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const policy = {
  name: "payments-need-a-person",
  version: "1.0.0",
  level: "tenant",
  project: "",
  mode: "enforce",
  status: "active",
  digest: "d1",
  match: { tools: ["payments.*"], agents: [], principals: [], environments: ["production"], triggers: [] },
  when: "args.amount > 1000.0",
  missing: "match",
  decision: "require_approval",
  reason: "Payments above 1000 need a person",
  approval: {
    route: "finance",
    approvals: 2,
    distinct_from_requester: true,
    timeout_ms: 86_400_000,
    on_timeout: "escalate",
    on_reject: "return_to_agent",
    escalate_to: "finance-lead",
    comprehension: false,
  },
  obligations: { limits: { timeout_ms: 5_000 }, sandbox: "microvm", egress: [] },
  published_at: "2026-01-31T11:00:00.000Z",
  published_by: "user:me",
  tenant: "default",
};

async function folderWith(files: Readonly<Record<string, string>>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-policies-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
  return folder;
}

test("publish sends every policy below a folder, tells tools and warnings, and goes on after a refusal", async () => {
  const cwd = await folderWith({
    "a/deny.policy.yaml": "kind: Policy\nspec: {n: 12345678901234567890}\n",
    "b/broken.policy.yaml": "kind: Policy\nkind: Policy\n",
    "c/pay.yaml": "kind: Policy\n",
    "c/tool.yaml": "kind: Tool\n",
  });
  const warning = {
    path: "spec.match.tools[0]",
    message: "refund names no tool that is known",
    hint: "the rule waits",
  };
  const problems = [
    { path: "metadata", message: "is required" },
    { path: "spec.n", message: "is an unknown key", hint: "leave it out" },
  ];
  const refused = { error: { code: "invalid_input", message: "2 problems", retryable: false, details: { problems } } };
  const { url, seen } = await scriptedHttp({
    "PUT /v1/policies": [
      { status: 400, body: refused },
      {
        status: 201,
        body: {
          ...policy,
          already_there: false,
          dry_run: false,
          tools_hit: ["payments.charge", "payments.refund"],
          warnings: [warning],
        },
      },
    ],
  });
  const ended = await cli(["policies", "publish", "."], { ...reaching(url), cwd });
  expect(ended).toEqual({
    code: 1,
    out: "payments-need-a-person@1.0.0 is published: require_approval for payments.charge, payments.refund\n",
    err:
      "a/deny.policy.yaml\nerror: 2 problems (invalid_input)\nnext:  correct what is named here and try again\n  metadata: is required\n  spec.n: is an unknown key (leave it out)\nrequest: req_scripted\n" +
      `b/broken.policy.yaml\nerror: line 2: the key "kind" stands there twice\nnext:  signalbox validate b/broken.policy.yaml\n` +
      "warning: c/pay.yaml: spec.match.tools[0] refund names no tool that is known\n    the rule waits\n",
  });
  expect(seen.map(({ line, body }) => `${line} ${body}`)).toEqual([
    `PUT /v1/policies {"kind":"Policy","spec":{"n":12345678901234567890}}`,
    `PUT /v1/policies {"kind":"Policy"}`,
  ]);
});

test.each([
  [{ already_there: true, tools_hit: [] }, "was published before: require_approval for no tool that is known"],
  [
    { dry_run: true, mode: "observe", match: { ...policy.match, tools: [] }, decision: "deny" },
    "would be published, observes only: deny for any tool",
  ],
  [
    { level: "attached", match: { ...policy.match, tools: [] } },
    "is published: require_approval for the tools that name it",
  ],
  [
    { tools_hit: ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"] },
    "is published: require_approval for a, b, c, d, e, f, g, h and 2 more",
  ],
])("a publication of %j is told as it is", async (given, said) => {
  const cwd = await folderWith({ "p.yaml": "kind: Policy\n" });
  const body = { ...policy, already_there: false, dry_run: false, tools_hit: [], warnings: [], ...given };
  const { url, seen } = await scriptedHttp({ "PUT /v1/policies": [{ body }] });
  const { code, out } = await cli(["policies", "publish", "p.yaml", "--dry-run"], { ...reaching(url), cwd });
  expect([code, out]).toEqual([0, `payments-need-a-person@1.0.0 ${said}\n`]);
  expect(seen[0]?.line).toBe("PUT /v1/policies?dry_run=true");
  const json = await cli(["policies", "publish", "p.yaml", "--json"], { ...reaching(url), cwd });
  expect(JSON.parse(json.out)).toEqual({ items: [body] });
});

test("a folder without a policy is a wrong line", async () => {
  const cwd = await folderWith({ "a/tool.yaml": "kind: Tool\n" });
  const { code, err } = await cli(["policies", "publish", "a"], { ...reaching("http://127.0.0.1:9"), cwd });
  expect(code).toBe(2);
  expect(err).toBe("error: a has no policy in it or below: no *.policy.yaml, and no YAML file of kind Policy\n");
});

test("policies are listed, shown, activated and withdrawn", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/policies": [{ body: { items: [policy], next_cursor: null } }],
    "GET /v1/policies/payments-need-a-person": [
      { body: { ...policy, versions: ["1.0.0", "0.9.0"], document: { kind: "Policy" } } },
    ],
    "POST /v1/policies/payments-need-a-person/activate": [{ body: policy }],
    "POST /v1/policies/payments-need-a-person/withdraw": [{ body: { ...policy, status: "withdrawn" } }],
  });
  expect((await cli(["policies", "list", "--level", "tenant", "--status", "active"], reaching(url))).out).toBe(
    "POLICY                        LEVEL   STATUS  SAYS              TOOLS       BECAUSE\n" +
      "payments-need-a-person@1.0.0  tenant  active  require_approval  payments.*  Payments above 1000 need a person\n",
  );
  expect((await cli(["policies", "show", "payments-need-a-person@1.0.0"], reaching(url))).out).toBe(
    `payments-need-a-person@1.0.0  Payments above 1000 need a person

says          require_approval
asks          2 people with role finance within 24 h, not the requester; then finance-lead is asked
obliges       timeout_ms 5000; sandbox at least microvm; egress none
when          args.amount > 1000.0
if absent     match
tools         payments.*
environments  production
level         tenant
mode          enforce
status        active
versions      1.0.0, 0.9.0
published     2026-01-31T11:00:00.000Z (1 h ago) by user:me
document      sha256 d1

document
{
  "kind": "Policy"
}
`,
  );
  const activated = await cli(["policies", "activate", "payments-need-a-person", "1.0.0"], reaching(url));
  expect(activated.out).toBe("payments-need-a-person@1.0.0 is active\n");
  const withdrawn = await cli(["policies", "withdraw", "payments-need-a-person@1.0.0"], reaching(url));
  expect(withdrawn.out).toBe("payments-need-a-person@1.0.0 is withdrawn\n");
  expect(seen.map(({ line, body }) => `${line} ${body}`)).toEqual([
    "GET /v1/policies?level=tenant&status=active ",
    "GET /v1/policies/payments-need-a-person?version=1.0.0 ",
    `POST /v1/policies/payments-need-a-person/activate {"version":"1.0.0"}`,
    `POST /v1/policies/payments-need-a-person/withdraw {"version":"1.0.0"}`,
  ]);
  const noVersion = await cli(["policies", "withdraw", "payments-need-a-person"], reaching(url));
  expect([noVersion.code, noVersion.err]).toEqual([
    2,
    "error: which version?\nnext:  signalbox policies show payments-need-a-person\n",
  ]);
  expect((await cli(["policies", "show", "none"], reaching(url))).code).toBe(4);
});

const lines = [
  "The call would be asked about: Payments above 1000 need a person",
  "  2 people with role finance",
  "matched  payments-need-a-person@1.0.0 (tenant): require_approval",
  "    args.amount > 1000.0 is true: args.amount is 1200.0",
];

test("explain asks with everything that was said, and prints the lines", async () => {
  const answer = { decision: "require_approval", lines, missing_permissions: [], input_errors: null };
  const { url, seen } = await scriptedHttp({ "POST /v1/policies:explain": [{ body: answer }] });
  const who = ["--principal", "user:ann", "--role", "clerk", "cashier", "--agent", "agent:till"];
  const where = ["--environment", "production", "--project", "shop", "--trigger", "dispatch.no_handler"];
  const what = ["--input", `{"amount":12345678901234567890}`, "--context", `{"n":12345678901234567890}`];
  const args = [
    "policies",
    "explain",
    "payments.charge@^1",
    ...what,
    ...who,
    ...where,
    "--now",
    "2027-01-31T12:00:00Z",
  ];
  expect(await cli(args, reaching(url))).toEqual({ code: 0, out: `${lines.join("\n")}\n`, err: "" });
  expect(seen.map(({ body }) => body)).toEqual([
    `{"tool":"payments.charge","version":"^1","principal":"user:ann","roles":["clerk","cashier"],"agent":"agent:till",` +
      `"environment":"production","trigger":"dispatch.no_handler","project":"shop","now":"2027-01-31T12:00:00Z",` +
      `"context":{"n":12345678901234567890},"input":{"amount":12345678901234567890}}`,
  ]);
  expect(JSON.parse((await cli([...args, "--json"], reaching(url))).out)).toEqual(answer);
});

test("explain says first what would keep the call from its rules", async () => {
  const { url } = await scriptedHttp({
    "POST /v1/policies:explain": [
      {
        body: {
          decision: "allow",
          lines: ["The call would be allowed: no rule denies it", "No rule concerns this call."],
          missing_permissions: ["tool:invoke:payments.charge"],
          input_errors: [
            { pointer: "/amount", message: "must be number" },
            { pointer: "", message: "is \u001b[31mred" },
          ],
        },
      },
    ],
  });
  expect((await cli(["policies", "explain", "payments.charge"], reaching(url))).out).toBe(
    `The call would be denied before any rule is heard. The principal lacks:
  tool:invoke:payments.charge
The input does not match the tool's schema:
  /amount: must be number
  (whole): is \\u001b[31mred
Apart from that:
The call would be allowed: no rule denies it
No rule concerns this call.
`,
  );
});

test("test prints a line for each case, explains the failures, and exits with 1 when there is one", async () => {
  const cwd = await folderWith({
    "cases.yaml": "cases:\n  - name: small\n    call: {tool: a, args: {n: 12345678901234567890}}\n",
    "p/new.policy.yaml": "kind: Policy\n",
  });
  const small = { name: "small", passed: true, failures: [], explanation: [] };
  const large = {
    name: "large",
    passed: false,
    failures: ["decision is allow, not deny"],
    explanation: ["The call", "  so"],
  };
  const { url, seen } = await scriptedHttp({
    "POST /v1/policies:test": [
      { body: { passed: 1, failed: 1, items: [small, large] } },
      { body: { passed: 1, failed: 0, items: [small] } },
    ],
  });
  const failed = await cli(["policies", "test", "cases.yaml", "--policies", "p"], { ...reaching(url), cwd });
  expect(failed).toEqual({
    code: 1,
    out: "ok      small\nFAILED  large\n        decision is allow, not deny\n          The call\n            so\n",
    err: "1 passed, 1 failed\n",
  });
  const passed = await cli(["policies", "test", "cases.yaml"], { ...reaching(url), cwd });
  expect(passed).toEqual({ code: 0, out: "ok      small\n", err: "1 passed\n" });
  const cases = `{"cases":[{"name":"small","call":{"tool":"a","args":{"n":12345678901234567890}}}]}`;
  expect(seen.map(({ body }) => body)).toEqual([
    `{"cases":${cases},"policies":[{"kind":"Policy"}]}`,
    `{"cases":${cases}}`,
  ]);
});

test("a file of cases that is no YAML, or not there, never leaves the machine", async () => {
  const cwd = await folderWith({ "cases.yaml": "cases: [\n" });
  const around = { ...reaching("http://127.0.0.1:9"), cwd };
  const broken = await cli(["policies", "test", "cases.yaml"], around);
  expect(broken.code).toBe(1);
  expect(broken.err).toMatch(/^error: cases\.yaml: line \d: /);
  const none = await cli(["policies", "test", "none.yaml"], around);
  expect(none.err).toMatch(/^error: none\.yaml: cannot be read: /);
});

test("the default is shown and set", async () => {
  const level = (project: string, decision: string | null) => ({
    tenant: "acme",
    project,
    decision,
    changed_at: "2026-01-31T11:00:00.000Z",
    changed_by: "user:me",
  });
  const { url, seen } = await scriptedHttp({
    "GET /v1/policies:defaults": [
      { body: { items: [level("", "deny"), level("shop", null), { ...level("", null), tenant: "platform" }] } },
    ],
    "PUT /v1/policies:defaults": [{ body: level("shop", "deny") }, { body: level("", null) }],
  });
  expect((await cli(["policies", "default"], reaching(url))).out).toBe(
    "WHERE         DEFAULT        SINCE    BY\n" +
      "tenant acme   deny           1 h ago  user:me\n" +
      "project shop  (none: allow)  1 h ago  user:me\n" +
      "platform      (none: allow)  1 h ago  user:me\n",
  );
  const set = await cli(["policies", "default", "deny", "--project", "shop"], reaching(url));
  expect(set.out).toBe("project shop has the default deny\n");
  expect((await cli(["policies", "default", "none"], reaching(url))).out).toBe("tenant acme has no default: allow\n");
  expect(seen.slice(1).map(({ body }) => body)).toEqual([`{"project":"shop","decision":"deny"}`, `{"decision":null}`]);
  expect((await cli(["policies", "default", "maybe"], reaching(url))).code).toBe(2);
  expect((await cli(["policies", "default", "--project", "shop"], reaching(url))).code).toBe(2);
});

test("--platform speaks with the operator's key; to read, the ordinary one will do", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/policies": [{ body: { items: [], next_cursor: null } }],
    "PUT /v1/policies:defaults": [{ body: { tenant: "platform", project: "", decision: "deny" } }],
  });
  const client = { url, key: "sbx_own", platform_key: "sbx_platform" };
  const cwd = await folderWith({ ".signalbox/client.json": JSON.stringify(client) });
  const set = await cli(["policies", "default", "deny", "--platform"], { cwd });
  expect([set.code, set.out]).toEqual([0, "platform has the default deny\n"]);
  await cli(["policies", "list", "--platform"], { cwd });
  const without = await folderWith({ ".signalbox/client.json": JSON.stringify({ url, key: "sbx_own" }) });
  await cli(["policies", "list", "--platform"], { cwd: without });
  expect(seen.map(({ line, authorization }) => `${line} ${authorization}`)).toEqual([
    "PUT /v1/policies:defaults Bearer sbx_platform",
    "GET /v1/policies?platform=true Bearer sbx_platform",
    "GET /v1/policies?platform=true Bearer sbx_own",
  ]);
  const refused = await cli(["policies", "default", "deny", "--platform"], { cwd: without });
  expect(refused.code).toBe(3);
  expect(refused.err).toContain(
    "client.json has none (no_platform_key)\nnext:  give one: --key, or SIGNALBOX_PLATFORM_KEY",
  );
  expect(seen).toHaveLength(3);
});
