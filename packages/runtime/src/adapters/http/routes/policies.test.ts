// The routes about policies: documents in, what they say and would do out.
import { describe, expect, test } from "vitest";
import { SignalboxError } from "@signalbox/protocol";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedPolicy, scriptedPolicyAnswer } from "../../../../../../test/support/scripted-governance.ts";

const at = "2026-01-02T03:04:05.000Z";
const shown = {
  name: "payments-need-a-person",
  version: "1.0.0",
  level: "tenant",
  project: "",
  mode: "enforce",
  status: "active",
  digest: "pd1",
  match: { tools: ["payments.*"], agents: [], principals: [], environments: [], triggers: [] },
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
  obligations: { limits: { timeout_ms: 5_000, cpu_seconds: 2 }, sandbox: "microvm", egress: [] },
  published_at: at,
  published_by: "user:alice",
  tenant: "acme",
};

type Door = Awaited<ReturnType<typeof openDoor>>;

async function refusedAt(door: Door, method: string, path: string, body?: string): Promise<unknown> {
  const heard = await door.ask(method, path, body === undefined ? {} : { body });
  const { error } = heard.json as { error: { code: string; details: { fields?: { pointer: string }[] } } };
  return [heard.status, error.code, error.details.fields?.map(({ pointer }) => pointer)];
}

describe("publishing", () => {
  test("JSON reaches the runtime as it was parsed, long numbers and all", async () => {
    const door = await openDoor();
    const body = '{"kind":"Policy","spec":{"n":9007199254740993}}';
    const heard = await door.ask("PUT", "/v1/policies", { body });
    expect([heard.status, heard.json]).toEqual([
      201,
      {
        ...shown,
        already_there: false,
        dry_run: false,
        tools_hit: ["payments.send"],
        warnings: [{ path: "spec.match.tools", message: "names no tool", hint: "did you mean payments.*?" }],
      },
    ]);
    const [document, options] = door.service.reached[1]!.args;
    expect([JSON.stringify(document), options]).toEqual([body, {}]);
  });

  test("YAML is taken", async () => {
    const door = await openDoor();
    const headers = { "content-type": "application/yaml" };
    const heard = await door.ask("PUT", "/v1/policies", { body: "kind: Policy\nspec: {mode: observe}\n", headers });
    expect(heard.status).toBe(201);
    expect(JSON.stringify(door.service.reached[1]!.args[0])).toBe('{"kind":"Policy","spec":{"mode":"observe"}}');
  });

  test.each([
    ["?dry_run=true", false, { dryRun: true }, 200, true],
    ["?dry_run=false", false, { dryRun: false }, 201, false],
    ["", true, {}, 200, false],
    ["?dry_run=true", true, { dryRun: true }, 200, true],
  ])("%s of a document that was there: %s", async (query, alreadyThere, options, status, dryRun) => {
    const door = await openDoor({
      publishPolicy: async () => ({ policy: scriptedPolicy(), alreadyThere, warnings: [], toolsHit: [] }),
    });
    const heard = await door.ask("PUT", `/v1/policies${query}`, { body: "{}" });
    expect(heard.status).toBe(status);
    expect(heard.json).toMatchObject({ already_there: alreadyThere, dry_run: dryRun, tools_hit: [], warnings: [] });
    expect(door.service.reached[1]?.args[1]).toEqual(options);
  });

  test.each([
    ["dry_run=yes", "/dry_run"],
    ["dry_run=", "/dry_run"],
    ["activate=true", "/activate"],
  ])("%s is refused", async (query, pointer) => {
    const door = await openDoor();
    expect(await refusedAt(door, "PUT", `/v1/policies?${query}`, "{}")).toEqual([400, "invalid_input", [pointer]]);
  });

  test("what the runtime finds wrong with a document is told whole", async () => {
    const problems = [{ path: "spec.then.decision", message: "is no decision", hint: "deny" }];
    const door = await openDoor({
      publishPolicy: async () => {
        throw new SignalboxError("invalid_input", "the policy has 1 problem", { details: { problems } });
      },
    });
    const heard = await door.ask("PUT", "/v1/policies", { body: "{}" });
    expect(heard.json).toMatchObject({ error: { code: "invalid_input", details: { problems } } });
  });

  test("a document over 256 KiB is refused", async () => {
    const door = await openDoor();
    const body = JSON.stringify({ text: "x".repeat(256 * 1024) });
    expect((await door.ask("PUT", "/v1/policies", { body })).status).toBe(413);
  });
});

describe("reading", () => {
  test("a list has no documents, and the cursor of the next page", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/policies");
    expect([heard.status, heard.json]).toEqual([200, { items: [shown], next_cursor: "more" }]);
    expect(door.service.reached[1]?.args).toEqual([{ limit: 25 }]);
  });

  test("a list is narrowed by everything that it can be", async () => {
    const door = await openDoor();
    const query = "level=project&project=web&name=payments&status=withdrawn&platform=true&limit=5&cursor=c";
    await door.ask("GET", `/v1/policies?${query}`);
    expect(door.service.reached[1]?.args).toEqual([
      {
        level: "project",
        project: "web",
        name: "payments",
        status: "withdrawn",
        platform: true,
        limit: 5,
        cursor: "c",
      },
    ]);
  });

  test("a list may be empty", async () => {
    const door = await openDoor({ listPolicies: async () => ({ items: [], next: undefined }) });
    expect((await door.ask("GET", "/v1/policies")).text).toBe('{"items":[],"next_cursor":null}');
  });

  test.each([
    ["/v1/policies?level=global", "/level"],
    ["/v1/policies?status=on", "/status"],
    ["/v1/policies?platform=1", "/platform"],
    ["/v1/policies?project=", "/project"],
    ["/v1/policies?limit=x", "/limit"],
    ["/v1/policies?tenant=beta", "/tenant"],
    ["/v1/policies/payments?version=", "/version"],
    ["/v1/policies/payments?platform=yes", "/platform"],
    ["/v1/policies/payments?document=true", "/document"],
    ["/v1/policies:defaults?project=web", "/project"],
  ])("%s is refused at %s", async (path, pointer) => {
    const door = await openDoor();
    expect(await refusedAt(door, "GET", path)).toEqual([400, "invalid_input", [pointer]]);
  });

  test("one policy has its document, digit for digit, and its versions", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/policies/payments-need-a-person");
    const { document, ...rest } = heard.json as Record<string, unknown>;
    expect([heard.status, rest]).toEqual([200, { ...shown, versions: ["1.0.0", "0.9.0"] }]);
    expect(document).toMatchObject({ kind: "Policy" });
    expect(heard.text).toContain(
      '"document":{"kind":"Policy","spec":{"when":"args.n == 9007199254740993"},"n":9007199254740993}',
    );
    expect(door.service.reached[1]?.args).toEqual(["payments-need-a-person", undefined, false]);
  });

  test("one policy that asks nobody and always holds", async () => {
    const policy = scriptedPolicy({
      decision: "deny",
      approval: null,
      when: null,
      missing: null,
      obligations: { limits: {} },
    });
    const door = await openDoor({ getPolicy: async () => ({ policy, versions: ["1.0.0"] }) });
    const heard = await door.ask("GET", "/v1/policies/a%2Fb?version=1.0.0&platform=true");
    expect(heard.json).toMatchObject({ approval: null, when: null, missing: null, obligations: { limits: {} } });
    expect(door.service.reached[1]?.args).toEqual(["a/b", "1.0.0", true]);
  });

  test("one that is not there", async () => {
    const door = await openDoor({
      getPolicy: async () => {
        throw new SignalboxError("policy_not_found", "there is no policy paymnts", {
          details: { did_you_mean: ["p"] },
        });
      },
    });
    const heard = await door.ask("GET", "/v1/policies/paymnts");
    expect(heard.status).toBe(404);
    expect(heard.json).toMatchObject({ error: { code: "policy_not_found", details: { did_you_mean: ["p"] } } });
  });
});

describe("in and out of force", () => {
  test.each([
    ["activate", "active"],
    ["withdraw", "withdrawn"],
  ])("%s", async (action, status) => {
    const door = await openDoor();
    const heard = await door.ask("POST", `/v1/policies/payments/${action}`, { body: '{"version":"0.9.0"}' });
    expect([heard.status, heard.json]).toEqual([200, { ...shown, version: "0.9.0", status }]);
    expect(door.service.reached[1]).toMatchObject({ method: "setPolicyStatus", args: ["payments", "0.9.0", status] });
    for (const [body, pointer] of [
      ["{}", "/version"],
      ['{"version":9}', "/version"],
      ['{"version":"1.0.0","status":"active"}', "/status"],
    ] as const)
      expect(await refusedAt(door, "POST", `/v1/policies/payments/${action}`, body)).toEqual([
        400,
        "invalid_input",
        [pointer],
      ]);
  });
});

describe("defaults", () => {
  test("are listed by level", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/policies:defaults")).json).toEqual({
      items: [
        { tenant: "acme", project: "", decision: "deny", changed_at: at, changed_by: "user:alice" },
        { tenant: "platform", project: "", decision: null, changed_at: at, changed_by: "user:alice" },
      ],
      next_cursor: null,
    });
    const page = (await door.ask("GET", "/v1/policies:defaults?limit=1")).json as { next_cursor: string };
    const next = await door.ask("GET", `/v1/policies:defaults?cursor=${encodeURIComponent(page.next_cursor)}`);
    expect(next.json).toMatchObject({ items: [{ tenant: "platform" }], next_cursor: null });
  });

  test.each([
    ['{"decision":"deny"}', ["", "deny"]],
    ['{"decision":"allow","project":"web"}', ["web", "allow"]],
    ['{"decision":null}', ["", null]],
  ])("%s is set", async (body, args) => {
    const door = await openDoor();
    const heard = await door.ask("PUT", "/v1/policies:defaults", { body });
    expect([heard.status, heard.json]).toEqual([
      200,
      { tenant: "acme", project: args[0], decision: args[1], changed_at: at, changed_by: "user:alice" },
    ]);
    expect(door.service.reached[1]?.args).toEqual(args);
  });

  test.each([
    ["{}", "/decision"],
    ['{"decision":"require_approval"}', "/decision"],
    ['{"decision":"deny","project":""}', "/project"],
    ['{"decision":"deny","tenant":"beta"}', "/tenant"],
  ])("%s is refused at %s", async (body, pointer) => {
    const door = await openDoor();
    expect(await refusedAt(door, "PUT", "/v1/policies:defaults", body)).toEqual([400, "invalid_input", [pointer]]);
  });
});

describe("explaining", () => {
  const path = "/v1/policies:explain";

  test("tells the decision, every rule, and what else stands in the way", async () => {
    const door = await openDoor();
    const heard = await door.ask("POST", path, { body: '{"tool":"payments.send"}' });
    expect([heard.status, heard.json]).toEqual([
      200,
      {
        decision: "deny",
        reason: "No refunds",
        code: "forbidden",
        deciding: {
          policy: "no-refunds",
          version: "2.0.0",
          level: "tenant",
          outcome: "deny",
          reason: "No refunds",
          observed: false,
        },
        rules: [
          {
            policy: "no-refunds",
            version: "2.0.0",
            tenant: "acme",
            level: "tenant",
            mode: "enforce",
            verdict: "matched",
            outcome: "deny",
            reason: "No refunds",
            when: "args.refund",
            because: ["args.refund is true"],
          },
        ],
        approval: null,
        obligations: { limits: { memory_bytes: 1_024 } },
        lines: ["The call would be denied: No refunds"],
        missing_permissions: ["net:egress:bank.example.com"],
        input_errors: [{ pointer: "/amount", message: "must be a number" }],
      },
    ]);
    expect(door.service.reached[1]?.args).toEqual([{ tool: "payments.send" }]);
  });

  test("tells whom a call would be asked of", async () => {
    const judgement = {
      ...scriptedPolicyAnswer.explanation.judgement!,
      code: null,
      deciding: null,
      approval: {
        routes: [{ route: "finance", quorum: 2 }],
        distinctFromRequester: true,
        comprehension: true,
        timeoutMs: 60_000,
        onTimeout: "escalate",
        onReject: "fail",
        escalateTo: "lead",
        reason: "large",
      },
    } as const;
    const explained = { ...scriptedPolicyAnswer, explanation: { judgement, rules: [] }, inputErrors: null };
    const door = await openDoor({ explainPolicy: async () => explained });
    expect((await door.ask("POST", path, { body: '{"tool":"echo"}' })).json).toMatchObject({
      code: null,
      deciding: null,
      rules: [],
      approval: {
        routes: [{ route: "finance", quorum: 2 }],
        distinct_from_requester: true,
        comprehension: true,
        timeout_ms: 60_000,
        on_timeout: "escalate",
        on_reject: "fail",
        escalate_to: "lead",
        reason: "large",
      },
      input_errors: null,
    });
  });

  test("of a trigger on which no rule has a say has no decision", async () => {
    const silent = { ...scriptedPolicyAnswer, explanation: { judgement: undefined, rules: [] } };
    const door = await openDoor({ explainPolicy: async () => silent });
    const heard = await door.ask("POST", path, { body: '{"tool":"echo","trigger":"dispatch.no_handler"}' });
    expect(heard.json).toMatchObject({
      decision: null,
      reason: null,
      code: null,
      deciding: null,
      approval: null,
      obligations: null,
    });
  });

  test("takes a whole question, and keeps the digits of its input", async () => {
    const door = await openDoor();
    const body = `{"tool":"payments.send","version":"^1","project":"web","input":{"amount":9007199254740993},
      "context":{"agent":"a"},"principal":"user:fred","roles":["finance"],"agent":"","environment":"production",
      "trigger":"limit.steps","counts":{"turn":1,"session":2,"windows":{"10m":3}},"now":"2026-01-02T03:04:05Z"}`;
    expect((await door.ask("POST", path, { body })).status).toBe(200);
    const [question] = door.service.reached[1]!.args as [{ input: unknown }];
    const { input, ...rest } = question;
    expect(JSON.stringify(input)).toBe('{"amount":9007199254740993}');
    expect(rest).toEqual({
      tool: "payments.send",
      version: "^1",
      project: "web",
      context: { agent: "a" },
      principal: "user:fred",
      roles: ["finance"],
      agent: "",
      environment: "production",
      trigger: "limit.steps",
      counts: { turn: 1, session: 2, windows: { "10m": 3 } },
      now: 1_767_323_045_000,
    });
  });

  test("null is an input, and no input is none", async () => {
    const door = await openDoor();
    await door.ask("POST", path, { body: '{"tool":"echo","input":null}' });
    await door.ask("POST", path, { body: '{"tool":"echo","counts":{}}' });
    const asked = door.service.reached.filter(({ method }) => method === "explainPolicy").map(({ args }) => args[0]);
    expect(asked).toEqual([
      { tool: "echo", input: null },
      { tool: "echo", counts: {} },
    ]);
    expect(Object.keys(asked[1] as object)).toEqual(["tool", "counts"]);
  });

  test.each([
    ["{}", "/tool"],
    ['{"tool":""}', "/tool"],
    ['{"tool":"echo","version":1}', "/version"],
    ['{"tool":"echo","project":""}', "/project"],
    ['{"tool":"echo","context":[]}', "/context"],
    ['{"tool":"echo","principal":"fred"}', "/principal"],
    ['{"tool":"echo","roles":"finance"}', "/roles"],
    ['{"tool":"echo","roles":[""]}', "/roles/0"],
    [`{"tool":"echo","roles":[${Array(51).fill('"r"').join(",")}]}`, "/roles"],
    ['{"tool":"echo","agent":null}', "/agent"],
    [`{"tool":"echo","environment":"${"x".repeat(129)}"}`, "/environment"],
    ['{"tool":"echo","trigger":"dispatch.lost"}', "/trigger"],
    ['{"tool":"echo","counts":{"turn":-1}}', "/counts/turn"],
    ['{"tool":"echo","counts":{"session":1.5}}', "/counts/session"],
    ['{"tool":"echo","counts":{"day":1}}', "/counts/day"],
    ['{"tool":"echo","counts":{"windows":{"10m":"3"}}}', "/counts/windows/10m"],
    [
      `{"tool":"echo","counts":{"windows":{${Array.from({ length: 33 }, (_, n) => `"${n + 1}s":0`).join(",")}}}}`,
      "/counts/windows",
    ],
    ['{"tool":"echo","now":1767323045000}', "/now"],
    ['{"tool":"echo","args":{}}', "/args"],
  ])("%s is refused at %s", async (body, pointer) => {
    const door = await openDoor();
    expect(await refusedAt(door, "POST", path, body)).toEqual([400, "invalid_input", [pointer]]);
    expect(door.service.reached).toHaveLength(1);
  });
});

describe("testing", () => {
  const path = "/v1/policies:test";

  test("counts what holds and what does not, case by case", async () => {
    const door = await openDoor();
    const body = '{"cases":{"cases":[{"n":9007199254740993}]},"policies":[{"kind":"Policy"}]}';
    const heard = await door.ask("POST", path, { body });
    expect([heard.status, heard.json]).toEqual([
      200,
      {
        passed: 1,
        failed: 1,
        items: [
          { name: "small payments pass", passed: true, failures: [], explanation: [] },
          {
            name: "large ones ask",
            passed: false,
            failures: ["decision is allow, not deny"],
            explanation: ["No rule"],
          },
        ],
      },
    ]);
    const [cases, candidates] = door.service.reached[1]!.args;
    expect([JSON.stringify(cases), candidates]).toEqual(['{"cases":[{"n":9007199254740993}]}', [{ kind: "Policy" }]]);
  });

  test("tries no other policies than the published ones, and may have no case", async () => {
    const door = await openDoor({ testPolicies: async () => [] });
    const heard = await door.ask("POST", path, { body: '{"cases":{"cases":[]}}' });
    expect(heard.json).toEqual({ passed: 0, failed: 0, items: [] });
    expect(door.service.reached[1]?.args).toEqual([{ cases: [] }, []]);
  });

  test.each([
    ["{}", "/cases"],
    ['{"cases":{},"policies":{}}', "/policies"],
    [`{"cases":{},"policies":[${Array(101).fill("1").join(",")}]}`, "/policies"],
    ['{"cases":{},"policy":{}}', "/policy"],
  ])("%s is refused at %s", async (body, pointer) => {
    const door = await openDoor();
    expect(await refusedAt(door, "POST", path, body)).toEqual([400, "invalid_input", [pointer]]);
  });
});
