// Files of cases: how they are read, and what running them says.
import { expect, test } from "vitest";
import { policyVersion } from "../../../../test/support/policies.ts";
import { readCases, runCases, type CaseResult, type CaseRunner } from "./cases.ts";
import { untyped } from "./condition/shape.ts";
import { createPolicySet } from "./set.ts";

const set = createPolicySet([
  policyVersion({
    name: "payments-need-a-person",
    match: { tools: ["payments.*"] },
    when: "args.amount > 1000.0",
    missing: "match",
    decision: "require_approval",
    approval: {
      route: "finance",
      approvals: 1,
      distinctFromRequester: true,
      timeoutMs: 60_000,
      onTimeout: "deny",
      onReject: "fail",
      escalateTo: null,
      comprehension: false,
    },
  }),
  policyVersion({ name: "no-burst", match: { tools: ["payments.*"] }, when: "calls.window('10m') >= 3" }),
  policyVersion({ name: "closed-at-night", when: "now.getHours() < 6" }),
  policyVersion({ name: "nobody-there", match: { triggers: ["dispatch.no_handler"] } }),
]);
const runner: CaseRunner = {
  set,
  defaults: {},
  shapeOf: () => untyped,
  now: Date.UTC(2026, 2, 2, 12),
  monotonic: () => 0,
};

function run(...cases: object[]): readonly CaseResult[] {
  const read = readCases({ cases }, "acme");
  if (!read.ok) throw new Error(read.problems.map(({ path, message }) => `${path} ${message}`).join());
  return runCases(read.cases, runner);
}

test("a case's agent is that of a real call: its principal, or what the context says", () => {
  const agents = createPolicySet([policyVersion({ name: "no-clerks", match: { agents: ["clerk"] } })]);
  const call = { tool: "payments.charge" };
  const read = readCases(
    {
      cases: [
        { name: "its key", call: { ...call, principal: "agent:clerk" }, expect: { decision: "deny" } },
        { name: "its word", call: { ...call, context: { agent: "clerk" } }, expect: { decision: "deny" } },
        { name: "the case's word", call: { ...call, principal: "agent:clerk", agent: "buyer" }, expect: { decision: "allow" } },
        { name: "nobody's", call, expect: { decision: "allow" } },
      ],
    },
    "acme",
  );
  if (!read.ok) throw new Error("not read");
  expect(runCases(read.cases, { ...runner, set: agents }).map(({ name, passed }) => [name, passed])).toEqual([
    ["its key", true],
    ["its word", true],
    ["the case's word", true],
    ["nobody's", true],
  ]);
});

test("cases that hold", () => {
  const small = { tool: "payments.charge", args: { amount: 10 } };
  const results = run(
    { name: "small", call: small, expect: { decision: "allow", rules: [] } },
    {
      name: "large",
      call: { ...small, args: { amount: 5_000 } },
      expect: { decision: "require_approval", rules: ["payments-need-a-person"] },
    },
    {
      name: "burst",
      call: { ...small, counts: { windows: { "10m": 3 } } },
      expect: { decision: "deny", rules: ["no-burst"] },
    },
    { name: "night", call: { ...small, now: "2026-03-02T03:00:00Z" }, expect: { decision: "deny" } },
    {
      name: "lost",
      call: { ...small, trigger: "dispatch.no_handler" },
      expect: { decision: "deny", rules: ["nobody-there"] },
    },
    { name: "slow", call: { ...small, trigger: "dispatch.lease_expired" }, expect: { decision: "none" } },
    { name: "elsewhere", call: { ...small, tenant: "umbrella" }, expect: { decision: "allow", rules: [] } },
    { name: "attached", call: { ...small, attached: ["gone"] }, expect: { decision: "deny", rules: ["gone"] } },
  );
  expect(results.map(({ name, failures }) => [name, failures])).toEqual(
    ["small", "large", "burst", "night", "lost", "slow", "elsewhere", "attached"].map((name) => [name, []]),
  );
  expect(results.every(({ passed }) => passed)).toBe(true);
});

test("a case that does not hold says how, and explains", () => {
  const [result] = run({
    name: "wrong",
    call: { tool: "payments.charge", args: { amount: 5_000 } },
    expect: { decision: "deny", rules: ["no-burst"] },
  });
  expect(result).toMatchObject({
    name: "wrong",
    passed: false,
    failures: [
      "decision is require_approval, not deny",
      "no-burst does not match",
      "payments-need-a-person matches too",
    ],
  });
  expect(result?.explanation.join("\n")).toContain("args.amount > 1000.0 is true: args.amount is 5000");
});

test.each<[string, unknown, string[]]>([
  ["no list", {}, ["cases: must be a list, not nothing"]],
  ["no document", 7, ["must be a mapping, not 7", "cases: must be a list, not nothing"]],
  [
    "unknown keys",
    { cases: [{ name: "a", call: { tool: "a", arg: {} }, expect: { decision: "allow" }, note: "" }] },
    [
      'cases[0].note: is an unknown key (did you mean "name"?)',
      'cases[0].call.arg: is an unknown key (did you mean "args"?)',
    ],
  ],
  [
    "a misspelt decision",
    { cases: [{ name: "a", call: { tool: "a" }, expect: { decision: "allowed" } }] },
    [
      'cases[0].expect.decision: must be one of allow, deny, require_approval, none, not "allowed" (did you mean "allow"?)',
    ],
  ],
  ["no tool", { cases: [{ name: "a", call: {}, expect: { decision: "allow" } }] }, ["cases[0].call.tool: is required"]],
  ["no name", { cases: [{ call: { tool: "a" }, expect: { decision: "allow" } }] }, ["cases[0].name: is required"]],
  [
    "bad counts",
    {
      cases: [
        { name: "a", call: { tool: "a", counts: { turn: -1, windows: { soon: 1 } } }, expect: { decision: "allow" } },
      ],
    },
    [
      "cases[0].call.counts.windows.soon: is not a duration (write a whole number and one of ms, s, m, h, like 500ms or 30s)",
      "cases[0].call.counts.turn: must be at least 0",
    ],
  ],
  [
    "a bad instant",
    { cases: [{ name: "a", call: { tool: "a", now: "noon" }, expect: { decision: "allow" } }] },
    ["cases[0].call.now: is no instant (like 2026-03-01T08:00:00Z)"],
  ],
])("refused: %s", (_, document, expected) => {
  const read = readCases(document, "acme");
  const said = read.ok
    ? []
    : read.problems.map(
        ({ path, message, hint }) =>
          `${path === "" ? "" : `${path}: `}${message}${hint === undefined ? "" : ` (${hint})`}`,
      );
  expect(said).toEqual(expected);
});
