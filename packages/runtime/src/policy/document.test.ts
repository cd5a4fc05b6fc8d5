// Policy documents: what is read, what is refused and in which words, what is warned of.
import { createHash } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { inputShape } from "./condition/shape.ts";
import { policyDigest, readPolicy, type ReadPolicyOptions } from "./document.ts";

interface Parts {
  readonly top?: object;
  readonly metadata?: object;
  readonly spec?: object;
  readonly then?: object;
  readonly approval?: object;
  readonly obligations?: object;
}

/** The document of the design's example, with parts overlaid; a part of undefined takes a key out. */
function paper(parts: Parts = {}): Record<string, unknown> {
  const approval = {
    route: "finance",
    approvals: 2,
    distinct_from_requester: true,
    timeout: "24h",
    on_timeout: "deny",
    on_reject: "return_to_agent",
    comprehension: false,
    ...parts.approval,
  };
  const obligations = { limits: { timeout: "5s" }, sandbox: "microvm", egress: [], ...parts.obligations };
  const document = {
    apiVersion: "signalbox.dev/v1",
    kind: "Policy",
    metadata: { name: "payments-need-a-person", version: "1.0.0", level: "tenant", ...parts.metadata },
    spec: {
      mode: "enforce",
      match: { tools: ["payments.*"], agents: [], principals: [], environments: [], triggers: [] },
      when: "args.amount > 1000.0 || !has(args.payee)",
      missing: "match",
      then: {
        decision: "require_approval",
        reason: "Payments above 1000 need a person",
        approval,
        obligations,
        ...parts.then,
      },
      ...parts.spec,
    },
    ...parts.top,
  };
  return JSON.parse(JSON.stringify(document)) as Record<string, unknown>;
}

function said(document: unknown, options?: ReadPolicyOptions): string[] {
  const outcome = readPolicy(document, options);
  return (outcome.ok ? outcome.warnings : outcome.problems).map(
    ({ path, message, hint }) =>
      `${outcome.ok ? "warning " : ""}${path}: ${message}${hint === undefined ? "" : ` (${hint})`}`,
  );
}

const plain = { decision: "deny", approval: undefined, obligations: undefined };

test("the example of the design", () => {
  const outcome = readPolicy(paper());
  expect(outcome).toMatchObject({ ok: true, warnings: [] });
  expect(outcome.ok && outcome.policy).toEqual({
    name: "payments-need-a-person",
    version: "1.0.0",
    level: "tenant",
    project: "",
    mode: "enforce",
    match: { tools: ["payments.*"], agents: [], principals: [], environments: [], triggers: [] },
    when: "args.amount > 1000.0 || !has(args.payee)",
    missing: "match",
    decision: "require_approval",
    reason: "Payments above 1000 need a person",
    approval: {
      route: "finance",
      approvals: 2,
      distinctFromRequester: true,
      timeoutMs: 86_400_000,
      onTimeout: "deny",
      onReject: "return_to_agent",
      escalateTo: null,
      comprehension: false,
    },
    obligations: { limits: { timeoutMs: 5_000 }, sandbox: "microvm", egress: [] },
  });
});

test("what is left out takes the strict default", () => {
  const outcome = readPolicy({
    apiVersion: "signalbox.dev/v1",
    kind: "Policy",
    metadata: { name: "ask", version: "0.1.0" },
    spec: { match: {}, then: { decision: "require_approval", reason: "Ask", approval: { route: "ops" } } },
  });
  expect(outcome.ok && outcome.policy).toMatchObject({
    level: "attached",
    mode: "enforce",
    match: { tools: [], agents: [], principals: [], environments: [], triggers: [] },
    when: null,
    missing: null,
    approval: {
      approvals: 1,
      distinctFromRequester: true,
      timeoutMs: 86_400_000,
      onTimeout: "deny",
      onReject: "return_to_agent",
    },
    obligations: { limits: {} },
  });
});

test.each<[string, Parts, string[]]>([
  [
    "a misspelt decision",
    { then: { ...plain, decision: "denny" } },
    ['spec.then.decision: must be one of allow, deny, require_approval, not "denny" (did you mean "deny"?)'],
  ],
  ["no decision", { then: { ...plain, decision: undefined } }, ["spec.then.decision: is required"]],
  [
    "a guard over a field that may be absent",
    { spec: { missing: undefined } },
    [
      "spec.missing: is required: args.amount may be absent (say what then: missing: match, skip or deny; or ask for it first with has())",
    ],
  ],
  [
    "a misspelt absence",
    { spec: { missing: "ignore" } },
    ['spec.missing: must be one of match, skip, deny, not "ignore"'],
  ],
  ["missing without when", { spec: { when: undefined } }, ["spec.missing: has no effect without when"]],
  [
    "an unscoped allow",
    { spec: { match: {}, when: undefined, missing: undefined }, then: { ...plain, decision: "allow" } },
    [
      'spec.match: names nothing, so this rule would allow everything (say so with tools: ["*"], or name what it allows)',
    ],
  ],
  ["no match at all", { spec: { match: undefined } }, ["spec.match: is required"]],
  ["an unknown key", { spec: { missng: "skip" } }, ['spec.missng: is an unknown key (did you mean "missing"?)']],
  [
    "unknown keys everywhere",
    { top: { x: 1 }, metadata: { y: 1 }, then: { z: 1 }, approval: { qorum: 2 }, obligations: { net: [] } },
    [
      "x: is an unknown key (known keys: apiVersion, kind, metadata, spec)",
      "metadata.y: is an unknown key (known keys: name, version, level, project)",
      "spec.then.z: is an unknown key (known keys: decision, reason, approval, obligations)",
      "spec.then.approval.qorum: is an unknown key (known keys: route, approvals, distinct_from_requester, timeout, on_timeout, on_reject, escalate_to, comprehension)",
      "spec.then.obligations.net: is an unknown key (known keys: limits, sandbox, egress, paths)",
    ],
  ],
  ["another kind", { top: { kind: "Tool" } }, ['kind: must be Policy, not "Tool" (kind: Policy)']],
  [
    "an unknown function",
    { spec: { when: "args.name.regex('x')" } },
    [
      'spec.when: "regex" is no function that a condition can use (functions: size, contains, startsWith, endsWith, lowerAscii, upperAscii, int, double, string, timestamp, duration, matches, has, exists, all, exists_one, filter, map, window, getFullYear, getMonth, getDate, getDayOfMonth, getDayOfWeek, getDayOfYear, getHours, getMinutes, getSeconds, getMilliseconds)',
    ],
  ],
  [
    "an unknown trigger",
    { spec: { match: { triggers: ["dispatch:no_handler"] } } },
    [
      'spec.match.triggers[0]: must be one of dispatch.no_handler, dispatch.capacity_exhausted, dispatch.lease_expired, dispatch.indeterminate, limit.steps, limit.tokens, limit.wall_clock, limit.tool_calls, not "dispatch:no_handler" (did you mean "dispatch.no_handler"?)',
    ],
  ],
  [
    "tools with a limit",
    { spec: { match: { tools: ["a"], triggers: ["limit.steps"] }, when: undefined, missing: undefined } },
    ["spec.match.tools: names tools, but a limit of a session is no tool's (leave tools empty)"],
  ],
  [
    "args with a limit",
    { spec: { match: { triggers: ["limit.steps"] } } },
    ["spec.when: reads args, but a limit of a session has none"],
  ],
  [
    "an unknown backend",
    { obligations: { sandbox: "vm" } },
    ['spec.then.obligations.sandbox: must be one of native, container, gvisor, wasm, microvm, not "vm"'],
  ],
  [
    "a bad pattern",
    { spec: { match: { tools: ["pay*"] } } },
    [
      'spec.match.tools[0]: "pay*" is no pattern (a name, or one that ends in * after . : / or -, like payments.* or user:*, or * alone)',
    ],
  ],
  ["a pattern twice", { spec: { match: { tools: ["a", "a"] } } }, ['spec.match.tools[1]: "a" stands there twice']],
  [
    "an approval without a route",
    { approval: { route: undefined } },
    ["spec.then.approval.route: is required (the name of a role, like finance)"],
  ],
  [
    "nobody to ask",
    { then: { approval: undefined } },
    ["spec.then.approval: is required: somebody must be asked (approval: { route: the-role })"],
  ],
  [
    "an approval of a denial",
    { then: { decision: "deny", obligations: undefined } },
    ["spec.then.approval: has no effect with decision deny"],
  ],
  [
    "obligations of a denial",
    { then: { decision: "deny", approval: undefined } },
    ["spec.then.obligations: has no effect with decision deny: nothing runs"],
  ],
  [
    "a denial without a reason",
    { then: { ...plain, reason: undefined } },
    ["spec.then.reason: is required (one sentence for whoever is refused or asked)"],
  ],
  ["no quorum", { approval: { approvals: 0 } }, ["spec.then.approval.approvals: must be at least 1"]],
  ["too many people", { approval: { approvals: 17 } }, ["spec.then.approval.approvals: must be at most 16"]],
  ["a timeout too short", { approval: { timeout: "10ms" } }, ["spec.then.approval.timeout: must be at least 1 s"]],
  [
    "a timeout too long",
    { approval: { timeout: "721h" } },
    ["spec.then.approval.timeout: must be at most 30 days"],
  ],
  [
    "escalation to nobody",
    { approval: { on_timeout: "escalate" } },
    ["spec.then.approval.escalate_to: is required with on_timeout: escalate (name the role that takes over)"],
  ],
  [
    "a name without an escalation",
    { approval: { escalate_to: "lead" } },
    ["spec.then.approval.escalate_to: has no effect with on_timeout: deny (on_timeout: escalate)"],
  ],
  [
    "time as a judge of what happened",
    {
      spec: { match: { triggers: ["dispatch.indeterminate"] }, when: undefined, missing: undefined },
      approval: { on_timeout: "allow" },
    },
    ["spec.then.approval.on_timeout: cannot be allow for dispatch.indeterminate: a person must judge"],
  ],
  [
    "a host that is an address",
    { obligations: { egress: ["https://a.example"] } },
    [
      'spec.then.obligations.egress[0]: "https://a.example" is not accepted (a port is a number from 1 to 65535 or *, and an IPv6 address stands in brackets)',
    ],
  ],
  [
    "a path that climbs",
    { obligations: { paths: { read: ["/a/../b"] } } },
    ['spec.then.obligations.paths.read[0]: "/a/../b" is not accepted (write the path without . and ..)'],
  ],
  [
    "a limit without a unit",
    { obligations: { limits: { timeout: 5 } } },
    [
      "spec.then.obligations.limits.timeout: is a duration without a unit (write a whole number and one of ms, s, m, h, like 500ms or 30s)",
    ],
  ],
  [
    "an unknown limit",
    { obligations: { limits: { ram: "1Gi" } } },
    [
      "spec.then.obligations.limits.ram: is an unknown key (known keys: timeout, cpu, cpu_seconds, memory_bytes, disk_bytes, pids, fds, output_bytes, egress_bytes)",
    ],
  ],
  [
    "level attached as a word",
    { metadata: { level: "attached" } },
    ['metadata.level: must be one of platform, tenant, project, not "attached"'],
  ],
  [
    "level project without one",
    { metadata: { level: "project" } },
    ["metadata.project: is required (the project that the policy is for)"],
  ],
  [
    "a project at another level",
    { metadata: { project: "shop" } },
    ["metadata.project: has no effect at level tenant (level: project)"],
  ],
  [
    "a version that is a range",
    { metadata: { version: "^1.0.0" } },
    ['metadata.version: "^1.0.0" is no version (one exact version, like 1.0.0)'],
  ],
  [
    "a name with capitals",
    { metadata: { name: "Payments" } },
    [
      'metadata.name: "Payments" is not valid here (lower-case letters and digits, with . _ - inside, like payments-need-a-person)',
    ],
  ],
])("refused: %s", (_, parts, expected) => {
  const outcome = readPolicy(paper(parts));
  expect(outcome.ok).toBe(false);
  expect(said(paper(parts))).toEqual(expected);
});

test("a tenant does not speak for the platform, nor the platform at a tenant's level", () => {
  expect(said(paper({ metadata: { level: "platform" } }), { owner: "tenant" })).toEqual([
    "metadata.level: platform is for the platform alone",
  ]);
  expect(said(paper(), { owner: "platform" })).toEqual([
    "metadata.level: tenant is a tenant's, and this is the platform",
  ]);
  expect(readPolicy(paper({ metadata: { level: "platform" } }), { owner: "platform" }).ok).toBe(true);
});

test("a rule for everything is strict, and warned of; one that is attached is not for everything", () => {
  const parts = { spec: { match: {}, when: undefined, missing: undefined }, then: plain };
  expect(said(paper(parts))).toEqual(["warning spec.match: names nothing, so this rule applies to every call: deny"]);
  expect(said(paper({ ...parts, metadata: { level: undefined } }))).toEqual([]);
});

const tool = (name: string, schema: object) => ({ name, input: () => inputShape(schema) });
const charge = tool("payments.charge", {
  type: "object",
  required: ["amount"],
  properties: { amount: { type: "number" }, payee: { type: "string" } },
  additionalProperties: false,
});
const refund = tool("payments.refund", {
  type: "object",
  properties: { amount: { type: "integer" }, reason: { type: "string" } },
  additionalProperties: false,
});
const mail = tool("mail.send", { type: "object", properties: { to: { type: "string" } }, additionalProperties: false });

test("the schemas of the tools that a rule concerns say what may be absent", () => {
  const when = (source: string, missing?: string) => paper({ spec: { when: source, missing } });
  expect(said(when("args.amount > 1000.0"), { tools: [charge, mail] })).toEqual([]);
  expect(said(when("args.amount > 1000.0"), { tools: [charge, refund] })).toEqual([
    "spec.missing: is required: args.amount may be absent (say what then: missing: match, skip or deny; or ask for it first with has())",
  ]);
  // A tool that is still to come has no required fields yet.
  expect(said(when("args.amount > 1000.0"), { tools: [mail] })).toHaveLength(1);
  expect(said(when("args.amuont > 1000.0", "match"), { tools: [charge, refund] })).toEqual([
    'spec.when: there is no args.amuont in payments.charge, payments.refund (did you mean "amount"?)',
  ]);
  const transfer = tool("payments.transfer", {
    type: "object",
    required: ["payee"],
    properties: { payee: { type: "string" } },
  });
  expect(said(when("args.payee == 'x'"), { tools: [transfer] })).toEqual([]);
  expect(said(when("args.payee == 'x'"), { tools: [transfer, refund] })).toEqual([
    "spec.missing: is required: args.payee may be absent (say what then: missing: match, skip or deny; or ask for it first with has())",
  ]);
  expect(said(when("args.payee == 'x'", "skip"), { tools: [charge, refund] })).toEqual([
    "warning spec.when: there is no args.payee in payments.refund: there it counts as absent (it has amount, reason)",
  ]);
  expect(said(when("args.amount % 2 == 0", "deny"), { tools: [charge, refund] })).toEqual([
    "spec.when: % does not go with args.amount (a number) and 2 (a whole number) (payments.charge) (whole numbers and other numbers do not mix: write 2.0 for 2, or double(…) or int(…) around one of them)",
  ]);
});

test("a digest is of the meaning, not of the order of keys", () => {
  const hash = (text: string) => createHash("sha256").update(text).digest("hex");
  const document = paper();
  const turned = Object.fromEntries(Object.entries(document).reverse());
  expect(policyDigest(turned, hash)).toBe(policyDigest(document, hash));
  expect(policyDigest(paper({ spec: { mode: "observe" } }), hash)).not.toBe(policyDigest(document, hash));
  expect(policyDigest({ b: 1, a: [] }, (text) => text)).toBe('{"a":[],"b":1}');
});

test("documents of any shape are read or refused, and never throw", () => {
  const junk = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.anything({ maxDepth: 3 }),
    fc.constantFrom<unknown>("5s", "*", ["*"], "allow", -1, {}, []),
  );
  const where = fc.constantFrom("top", "metadata", "spec", "then", "approval", "obligations");
  const key = fc.constantFrom(
    "match",
    "when",
    "missing",
    "then",
    "mode",
    "decision",
    "approval",
    "obligations",
    "limits",
    "egress",
    "paths",
    "route",
    "timeout",
    "level",
    "name",
    "kind",
    "__proto__",
  );
  fc.assert(
    fc.property(where, key, junk, (place, name, value) => {
      const document = paper() as { metadata: object; spec: { then: { approval: object; obligations: object } } };
      const { spec } = document;
      const target = {
        top: document,
        metadata: document.metadata,
        spec,
        then: spec.then,
        approval: spec.then.approval,
        obligations: spec.then.obligations,
      }[place];
      Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
      const outcome = readPolicy(document, { tools: [charge] });
      if (outcome.ok) expect(["allow", "deny", "require_approval"]).toContain(outcome.policy.decision);
      else expect(outcome.problems.length).toBeGreaterThan(0);
    }),
    { numRuns: 2_000 },
  );
  fc.assert(fc.property(junk, (value) => void readPolicy(value)));
});

test("wide, deep and circular documents are refused", () => {
  const circle: Record<string, unknown> = {};
  circle["spec"] = circle;
  expect(said(circle)[0]).toMatch(/nested more than 16 levels deep/);
  expect(said(paper({ spec: { match: { tools: Array.from({ length: 300 }, (_, n) => `t${n}`) } } }))[0]).toBe(
    "spec.match.tools: has more than 256 entries",
  );
  expect(said(Array(6_000).fill(1))[0]).toMatch(/has more than 5000 values/);
  expect(said(paper({ spec: { when: "a".repeat(5_000) } }))[0]).toBe("spec.when: is longer than 4096 characters");
});
