// Explanations as a person reads them.
import { expect, test } from "vitest";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import { untyped } from "./condition/shape.ts";
import { beginDecision, hearArgs } from "./decide.ts";
import { explain, explanationLines } from "./explain.ts";
import { createPolicySet } from "./set.ts";
import type { PolicyVersion, Subject } from "./types.ts";

const noon = Date.UTC(2026, 2, 2, 12);
const still = () => 0;

function because(when: string, args: unknown, more: Partial<PolicyVersion> = {}): readonly string[] {
  const { match: _, ...rest } = more;
  const begun = beginDecision(
    createPolicySet([policyVersion({ when, missing: "skip", ...rest })]),
    policySubject(),
    noon,
    still,
  );
  const [rule] = explain(hearArgs(begun, args, untyped, still), "d", {}).rules;
  return [rule?.verdict ?? "", ...(rule?.because ?? [])];
}

test.each<[string, unknown, string[]]>([
  ["args.amount > 1000.0", { amount: 500 }, ["not_matched", "args.amount > 1000.0 is false: args.amount is 500"]],
  ["args.amount > 1000.0", { amount: 1500.5 }, ["matched", "args.amount > 1000.0 is true: args.amount is 1500.5"]],
  [
    "args.a == 1.0 && args.b == 'x' && args.c",
    { a: 1, b: "y", c: true },
    ["not_matched", 'args.b == "x" is false: args.b is "y"'],
  ],
  [
    "args.a == 1.0 || args.b == 'x'",
    { a: 2, b: "y" },
    ["not_matched", "args.a == 1.0 is false: args.a is 2", 'args.b == "x" is false: args.b is "y"'],
  ],
  [
    "args.a == 1.0 && (args.b == 'x' || !has(args.c))",
    { a: 1, b: "y" },
    ["matched", "args.a == 1.0 is true: args.a is 1", "!has(args.c) is true"],
  ],
  ["!(args.a == 1.0 && args.b == 2.0)", { a: 1, b: 3 }, ["matched", "args.b == 2.0 is false: args.b is 3"]],
  [
    "args.on ? args.a > 1.0 : args.b > 1.0",
    { on: true, a: 0, b: 5 },
    ["not_matched", "args.on is true", "args.a > 1.0 is false: args.a is 0"],
  ],
  [
    "args.items.exists(i, i > 5.0)",
    { items: [1, 2] },
    ["not_matched", "args.items.exists(i, i > 5.0) is false: args.items is a list of 2"],
  ],
  ["now.getHours() >= 18", {}, ["not_matched", "now.getHours() >= 18 is false: now is 2026-03-02T12:00:00.000Z"]],
  [
    "args.text.startsWith('rm ')",
    { text: "rm -rf /" },
    ["matched", 'args.text.startsWith("rm ") is true: args.text is "rm -rf /"'],
  ],
  ["args.gone > 1.0", {}, ["not_matched", "args.gone is absent", "missing: skip"]],
  [
    "args.gone > 1.0 || args.a == 1.0",
    { a: 1 },
    ["matched", "args.gone is absent", "the rest of the condition holds on its own"],
  ],
  [
    "args.a > 'x'",
    { a: 1 },
    ["failed", "it cannot be evaluated, and so denies: > does not go with a number and a text"],
  ],
])("%s on %j", (when, args, expected) => {
  expect(because(when, args)).toEqual(expected);
});

test("rules that cannot be heard yet say so", () => {
  const begun = beginDecision(
    createPolicySet([policyVersion({ when: "args.a == 1.0", missing: "skip" })]),
    policySubject(),
    noon,
    still,
  );
  const { judgement, rules } = explain(begun, "d", {});
  expect(judgement?.code).toBe("policy_error");
  expect(rules).toMatchObject([
    { verdict: "waiting", because: ["it reads arguments or counts of calls that were not given"] },
  ]);
});

test("the whole of it, as lines", () => {
  const set = createPolicySet([
    policyVersion({
      name: "payments-need-a-person",
      when: "args.amount > 1000.0",
      missing: "match",
      decision: "require_approval",
      reason: "Payments above 1000 need a person",
      approval: {
        route: "finance",
        approvals: 2,
        distinctFromRequester: true,
        timeoutMs: 3_600_000,
        onTimeout: "escalate",
        onReject: "fail",
        escalateTo: "finance-lead",
        comprehension: false,
      },
      obligations: { limits: { timeoutMs: 5_000 }, sandbox: "microvm", egress: [], paths: { read: ["/data"] } },
    }),
    policyVersion({ name: "watching", mode: "observe" }),
  ]);
  const begun = beginDecision(set, policySubject(), noon, still);
  const explained = explain(hearArgs(begun, { amount: 1_500 }, untyped, still), "d", {});
  expect(explanationLines(explained)).toEqual([
    "The call would be asked about: Payments above 1000 need a person",
    "  2 people with role finance",
    "  none of them the requester",
    "  within 1h, then escalate to finance-lead",
    "  limit timeout_ms: 5000",
    "  sandbox: at least microvm",
    "  egress: none",
    "  paths to read: /data",
    'matched  watching@1.0.0 (tenant, observed only): deny, "because of watching"',
    "    it has no condition",
    'matched  payments-need-a-person@1.0.0 (tenant): require_approval, "Payments above 1000 need a person"',
    "    when args.amount > 1000.0",
    "    args.amount > 1000.0 is true: args.amount is 1500",
  ]);
});

test("no rule, and no say on a trigger", () => {
  const lines = (subject: Partial<Subject>) =>
    explanationLines(explain(beginDecision(createPolicySet([]), policySubject(subject), noon, still), "d", {}));
  expect(lines({})).toEqual(["The call would be allowed: granted", "No rule concerns this call."]);
  expect(lines({ trigger: "limit.steps" })).toEqual([
    "No rule has a say: what usually happens happens.",
    "No rule concerns this call.",
  ]);
});

test("explaining many costly rules takes no more steps than deciding did", () => {
  // Each looks at 3 000 entries, some 12 000 steps; ten of them are more than one decision may take.
  const costly = Array.from({ length: 40 }, (_, index) =>
    policyVersion({
      name: `rule${String(index).padStart(2, "0")}`,
      when: "args.list.exists(i, i > 9.0 && i > 8.0)",
      missing: "deny",
    }),
  );
  const begun = beginDecision(createPolicySet(costly), policySubject(), noon, still);
  const heard = hearArgs(begun, { list: Array(3_000).fill(1) }, untyped, still);
  const { rules } = explain(heard, "d", {});
  const heardToTheEnd = rules.filter(({ verdict }) => verdict === "not_matched").length;
  expect(heardToTheEnd).toBeGreaterThan(3);
  expect(heardToTheEnd).toBeLessThan(20);
  const failed = rules.slice(heardToTheEnd);
  expect(new Set(failed.map(({ verdict }) => verdict))).toEqual(new Set(["failed"]));
  expect(rules[0]?.because[0]).toMatch(/^args.list.exists\(.*is false: args.list is a list of 3000$/);
});
