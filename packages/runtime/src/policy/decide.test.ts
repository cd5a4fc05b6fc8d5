// What rules together come to: the strictest wins, in two steps around validation and a third that counts.
import { expect, test } from "vitest";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import { policyBounds } from "./bounds.ts";
import { inputShape, untyped } from "./condition/shape.ts";
import {
  beginDecision,
  conclude,
  concludeTrigger,
  countsNeeded,
  hearArgs,
  hearCounts,
  isDenied,
  policyFailure,
  type Judgement,
  type LevelDefaults,
} from "./decide.ts";
import { createPolicySet } from "./set.ts";
import type { ApprovalDemand, PolicyVersion, Subject } from "./types.ts";

const noon = Date.UTC(2026, 2, 2, 12);
/** A monotonic clock that moves one ms at every look. */
function ticking(): () => number {
  let ms = 0;
  return () => ms++;
}

interface Given {
  readonly subject?: Partial<Subject>;
  readonly args?: unknown;
  readonly now?: number;
  readonly defaults?: LevelDefaults;
}

function judge(
  policies: readonly PolicyVersion[],
  { subject, args = { amount: 500 }, now = noon, defaults = {} }: Given = {},
): Judgement {
  const begun = beginDecision(createPolicySet(policies), policySubject(subject), now, ticking());
  return conclude(hearArgs(begun, args, untyped, ticking()), "dec_1", defaults);
}

const finance: ApprovalDemand = {
  route: "finance",
  approvals: 1,
  distinctFromRequester: true,
  timeoutMs: 86_400_000,
  onTimeout: "deny",
  onReject: "return_to_agent",
  escalateTo: null,
  comprehension: false,
};
const allow = (name: string, more: Parameters<typeof policyVersion>[0] = {}) =>
  policyVersion({ name, decision: "allow", reason: "", ...more });
const ask = (name: string, more: Parameters<typeof policyVersion>[0] = {}) =>
  policyVersion({ name, decision: "require_approval", approval: finance, ...more });
const deny = (name: string, more: Parameters<typeof policyVersion>[0] = {}) => policyVersion({ name, ...more });

test.each([
  ["no rule", [], "allow", "granted", []],
  ["an allow", [allow("a")], "allow", "granted", ["a"]],
  ["an allow with a reason", [allow("a", { reason: "fine" })], "allow", "fine", ["a"]],
  ["an approval over an allow", [allow("a"), ask("b")], "require_approval", "because of b", ["a", "b"]],
  ["a denial over both", [allow("a"), ask("b"), deny("c")], "deny", "because of c", ["a", "b", "c"]],
  [
    "a lower denial under a higher allow",
    [allow("a", { tenant: "platform", level: "platform" }), deny("c", { level: "project", project: "shop" })],
    "deny",
    "because of c",
    ["a", "c"],
  ],
  [
    "a condition that does not hold",
    [deny("c", { when: "args.amount > 1000.0", missing: "deny" })],
    "allow",
    "granted",
    [],
  ],
  [
    "a condition that holds",
    [deny("c", { when: "args.amount > 100.0", missing: "skip" })],
    "deny",
    "because of c",
    ["c"],
  ],
  [
    "the first denial by level gives the reason",
    [deny("z", { tenant: "platform", level: "platform" }), deny("a")],
    "deny",
    "because of z",
    ["z", "a"],
  ],
] as const)("%s", (_, policies, outcome, reason, names) => {
  const { decision, code } = judge(policies);
  expect({ outcome: decision.outcome, reason: decision.reason }).toEqual({ outcome, reason });
  expect(decision.rules.map(({ policy }) => policy)).toEqual(names);
  expect(code).toBe(outcome === "deny" ? "forbidden" : null);
});

test("POL-01: the platform denies the shell in production, whatever the project allows, and is named", () => {
  const policies = [
    deny("no-shell-in-production", {
      tenant: "platform",
      level: "platform",
      version: "2.1.0",
      match: { tools: ["shell.*"], environments: ["production"] },
      reason: "no shell in production",
    }),
    allow("shell-for-us", { level: "project", project: "shop", match: { tools: ["shell.run"] } }),
  ];
  const tool = { name: "shell.run", version: "1.0.0", class: "irreversible_action" as const, labels: {} };
  expect(judge(policies, { subject: { tool } })).toMatchObject({
    code: "forbidden",
    deciding: {
      policy: "no-shell-in-production",
      version: "2.1.0",
      level: "platform",
      outcome: "deny",
      reason: "no shell in production",
      observed: false,
    },
  });
  expect(judge(policies, { subject: { tool, environment: "staging" } }).decision.outcome).toBe("allow");
});

test("POL-04: a conditional allow obliges to a second and a stronger box", () => {
  const narrow = allow("narrow", {
    when: "args.amount < 1000.0",
    missing: "deny",
    obligations: { limits: { timeoutMs: 1_000 }, sandbox: "gvisor" },
  });
  const wide = allow("wide", { obligations: { limits: { timeoutMs: 9_000, pids: 4 }, egress: ["*.example.com"] } });
  expect(judge([narrow, wide]).obligations).toEqual({
    limits: { timeoutMs: 1_000, pids: 4 },
    sandbox: "gvisor",
    egress: ["*.example.com"],
  });
  expect(judge([narrow, wide], { args: { amount: 2_000 } }).obligations).toEqual({
    limits: { timeoutMs: 9_000, pids: 4 },
    egress: ["*.example.com"],
  });
});

test("POL-05: policies that cannot be had deny", () => {
  expect(policyFailure("dec_1", "the ledger cannot be read", 1.5)).toEqual({
    decision: {
      id: "dec_1",
      outcome: "deny",
      reason: "policy_error: the ledger cannot be read",
      rules: [],
      spentMicros: 1_500,
    },
    code: "policy_error",
    deciding: null,
    approval: null,
    obligations: { limits: {} },
  });
});

test("POL-09: a window of time goes by the instant that is handed in", () => {
  const night = deny("night", { when: "now.getHours('Europe/Berlin') < 8 || now.getHours('Europe/Berlin') >= 18" });
  expect(judge([night], { now: Date.UTC(2026, 2, 2, 6, 59) }).decision.outcome).toBe("deny");
  expect(judge([night], { now: Date.UTC(2026, 2, 2, 7, 0) }).decision.outcome).toBe("allow");
  expect(judge([night], { now: Date.UTC(2026, 2, 2, 17, 0) }).decision.outcome).toBe("deny");
});

test("approvals and obligations of all matching rules come together", () => {
  const judgement = judge([
    ask("large", { obligations: { limits: { timeoutMs: 5_000 } } }),
    ask("abroad", { approval: { ...finance, route: "compliance", approvals: 2, timeoutMs: 60_000 } }),
    allow("payments", { obligations: { limits: { timeoutMs: 2_000 } } }),
  ]);
  expect(judgement.decision.outcome).toBe("require_approval");
  expect(judgement.approval).toMatchObject({
    routes: [
      { route: "compliance", quorum: 2 },
      { route: "finance", quorum: 1 },
    ],
    timeoutMs: 60_000,
    reason: "because of abroad; because of large",
  });
  expect(judgement.obligations).toEqual({ limits: { timeoutMs: 2_000 } });
  // What is denied runs nowhere and asks nobody.
  expect(judge([ask("large"), deny("c")])).toMatchObject({ approval: null, obligations: { limits: {} } });
});

test("more routes than an approval can have deny", () => {
  const many = Array.from({ length: 17 }, (_, n) => ask(`ask${n}`, { approval: { ...finance, route: `role${n}` } }));
  expect(judge(many)).toMatchObject({
    code: "policy_error",
    decision: { outcome: "deny", reason: "policy_error: an approval has 1 to 16 routes" },
  });
  expect(judge(many.slice(1)).decision.outcome).toBe("require_approval");
});

test.each([
  ["match", "deny", "because of r"],
  ["skip", "allow", "granted"],
  ["deny", "deny", "the rule reads args.payee, which is absent"],
  [null, "deny", "policy_error: reads args.payee, which is absent, and does not say what that means"],
] as const)("an absent field with missing: %s comes to %s", (missing, outcome, reason) => {
  const { decision, code } = judge([deny("r", { when: "args.payee == 'x'", missing })]);
  expect({ outcome: decision.outcome, reason: decision.reason }).toEqual({ outcome, reason });
  expect(code).toBe(missing === null ? "policy_error" : outcome === "deny" ? "forbidden" : null);
});

test("an allow with missing: deny denies", () => {
  expect(judge([allow("a", { when: "args.payee == 'x'", missing: "deny" })]).decision).toMatchObject({
    outcome: "deny",
    reason: "the rule reads args.payee, which is absent",
  });
});

test("a guard that holds without the absent field is not skipped for want of it; an allow is", () => {
  const when = "args.gone > 1.0 || args.amount > 100.0";
  expect(judge([deny("d", { when, missing: "skip" })]).decision.outcome).toBe("deny");
  expect(judge([deny("d", { when: "args.amount > 100.0 || args.gone > 1.0", missing: "skip" })]).decision.outcome).toBe(
    "deny",
  );
  expect(judge([allow("a", { when, missing: "skip", reason: "open" })]).decision).toMatchObject({
    reason: "granted",
    rules: [],
  });
});

test("an error in a condition denies, is recorded, and is not covered up by an allow or an earlier part", () => {
  const broken = allow("broken", { when: "args.amount > 'x' || true" });
  expect(judge([broken, allow("a")])).toMatchObject({
    code: "policy_error",
    decision: {
      outcome: "deny",
      reason: expect.stringMatching(/^policy_error: > does not go with/) as string,
      rules: [
        { policy: "a", outcome: "allow" },
        { policy: "broken", outcome: "deny" },
      ],
    },
  });
  // A denial that somebody wrote is the better reason.
  expect(judge([broken, deny("d")])).toMatchObject({ code: "forbidden", decision: { reason: "because of d" } });
});

test("reasons are bounded, whatever a condition is made of", () => {
  const name = "x".repeat(1_500);
  const long = judge([deny("r", { when: `args.${name} == 1.0 || args["${name} "] == 1.0`, missing: "deny" })]);
  expect(long.decision.reason).toHaveLength(500);
  expect(judge([deny("r", { when: `${name} == 1.0` })]).decision.reason.length).toBeLessThanOrEqual(500);
});

test("rows that publishing would have refused deny", () => {
  const rows = [
    deny("a", { when: "args.amount >" }),
    deny("a", { when: "args.amount.foo()" }),
    deny("a", { decision: "denny" as "deny" }),
    deny("a", { decision: "require_approval", approval: null }),
  ];
  for (const row of rows) expect(judge([row])).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
  expect(judge([deny("a", { mode: "enforced" as "enforce" })]).decision.outcome).toBe("deny");
});

test("a reference to a policy that is not in force denies", () => {
  expect(judge([], { subject: { attached: [{ tenant: "acme", reference: "gone@2.0.0" }] } })).toMatchObject({
    code: "policy_error",
    deciding: null,
    decision: {
      outcome: "deny",
      reason: "policy_error: the attached policy gone@2.0.0 is not in force",
      rules: [{ policy: "gone", version: "2.0.0", level: "attached", outcome: "deny", observed: false }],
    },
  });
});

test("observe: recorded, and nothing else", () => {
  const watching = deny("watching", { mode: "observe", obligations: { limits: { timeoutMs: 1 } } });
  const failing = deny("failing", { mode: "observe", when: "args.amount > 'x'" });
  expect(judge([watching, failing])).toMatchObject({
    code: null,
    obligations: { limits: {} },
    decision: {
      outcome: "allow",
      reason: "granted",
      rules: [
        { policy: "failing", outcome: "deny", observed: true },
        { policy: "watching", outcome: "deny", observed: true },
      ],
    },
  });
  expect(judge([watching], { defaults: { tenant: "deny" } }).decision.outcome).toBe("deny");
});

test.each([
  ["nothing matches", [], { tenant: "deny" }, "deny", "no policy of the tenant allows this"],
  ["a rule of that level matches", [allow("a")], { tenant: "deny" }, "allow", "granted"],
  [
    "a rule of a lower level alone matches",
    [allow("a", { level: "project", project: "shop" })],
    { tenant: "deny" },
    "deny",
    "no policy of the tenant allows this",
  ],
  [
    "a rule of a higher level alone matches",
    [allow("a", { tenant: "platform", level: "platform" })],
    { tenant: "deny" },
    "deny",
    "no policy of the tenant allows this",
  ],
  ["an approval of that level matches", [ask("a")], { tenant: "deny" }, "require_approval", "because of a"],
  [
    "the highest closed level is named",
    [],
    { platform: "deny", project: "deny" },
    "deny",
    "no policy of the platform allows this",
  ],
  ["allow is the default", [], { platform: "allow", tenant: "allow", project: "allow" }, "allow", "granted"],
] as const)("defaults: %s", (_, policies, defaults, outcome, reason) => {
  expect(judge(policies, { defaults }).decision).toMatchObject({ outcome, reason });
});

test("rules without args are decided before there are any, and a denial needs no more", () => {
  const set = createPolicySet([
    deny("by-name", { when: "tool.name.startsWith('payments.') && 'clerk' in principal.roles" }),
    ask("by-args", { when: "args.amount > 1.0", missing: "match" }),
  ]);
  const begun = beginDecision(set, policySubject(), noon, ticking());
  expect(begun.rulings.map(({ rule }) => rule.policy.name)).toEqual(["by-name"]);
  expect(begun.waiting.map(({ policy }) => policy.name)).toEqual(["by-args"]);
  expect(isDenied(begun)).toBe(true);
  expect(conclude(begun, "dec_1", {}).decision).toMatchObject({
    outcome: "deny",
    reason: "because of by-name",
    rules: [{ policy: "by-name" }],
  });
});

test("rules that are never heard deny", () => {
  const begun = beginDecision(
    createPolicySet([allow("by-args", { when: "args.amount > 1.0", missing: "match" })]),
    policySubject(),
    noon,
    ticking(),
  );
  expect(isDenied(begun)).toBe(false);
  expect(conclude(begun, "dec_1", {})).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
});

test("rules that count calls say what to count, and are decided last", () => {
  const set = createPolicySet([
    deny("burst", { when: "calls.window('10m') >= 3 || calls.turn > 5" }),
    deny("large-burst", { when: "args.amount > 100.0 && calls.window('1m') >= 1", missing: "deny" }),
  ]);
  const begun = beginDecision(set, policySubject(), noon, ticking());
  const heard = hearArgs(begun, { amount: 500 }, inputShape({ type: "object" }), ticking());
  expect(heard.rulings).toEqual([]);
  expect(countsNeeded(heard)).toEqual({ turn: true, session: false, windowsMs: [60_000, 600_000] });
  const counted = (tenMinutes: number, minute: number) => {
    const windows = new Map([
      [600_000, tenMinutes],
      [60_000, minute],
    ]);
    return conclude(hearCounts(heard, { turn: 0, session: 0, windows }, ticking()), "dec_1", {}).decision.outcome;
  };
  expect(counted(2, 0)).toBe("allow");
  expect(counted(3, 0)).toBe("deny");
  expect(counted(2, 1)).toBe("deny");
  const short = hearCounts(heard, { turn: 0, session: 0, windows: new Map([[600_000, 0]]) }, ticking());
  expect(conclude(short, "dec_1", {})).toMatchObject({ code: "policy_error" });
});

test("whole numbers of the schema are whole numbers to the rule", () => {
  const begun = beginDecision(
    createPolicySet([deny("odd", { when: "args.n % 2 == 1", missing: "deny" })]),
    policySubject(),
    noon,
    ticking(),
  );
  const shape = inputShape({ type: "object", properties: { n: { type: "integer" } } });
  expect(conclude(hearArgs(begun, { n: 3 }, shape, ticking()), "d", {}).code).toBe("forbidden");
  expect(conclude(hearArgs(begun, { n: 4 }, shape, ticking()), "d", {}).code).toBeNull();
});

test("rules see who asks, for what, where and in which context, and nothing of objects themselves", () => {
  const when =
    "tool.class == 'read_only' && tool.labels.tier == 'gold' && principal.name == 'user:ann' && agent == 'biller' && tenant == 'acme' && project == 'shop' && environment == 'production' && context.ticket == 'T-1' && !('constructor' in context) && !has(tool.labels.toString)";
  const subject: Partial<Subject> = {
    tool: { name: "reports.read", version: "1.2.3", class: "read_only", labels: { tier: "gold" } },
    agent: "biller",
    context: { ticket: "T-1" },
  };
  expect(judge([deny("r", { when, missing: "skip" })], { subject }).decision.outcome).toBe("deny");
  expect(judge([deny("r", { when, missing: "skip" })]).decision.outcome).toBe("allow");
});

test("triggers: only rules that name one apply, and nobody's silence is a decision", () => {
  const set = createPolicySet([
    deny("ordinary"),
    ask("lost", { match: { tools: ["payments.*"], triggers: ["dispatch.no_handler"] } }),
    ask("steps", { match: { triggers: ["limit.steps"] } }),
  ]);
  const on = (trigger: Subject["trigger"]) => {
    const begun = beginDecision(set, policySubject({ trigger }), noon, ticking());
    return concludeTrigger(begun, "dec_1");
  };
  expect(on("dispatch.no_handler")).toMatchObject({
    decision: { outcome: "require_approval", rules: [{ policy: "lost" }] },
    approval: { routes: [{ route: "finance", quorum: 1 }] },
  });
  expect(on("limit.steps")?.decision.rules.map(({ policy }) => policy)).toEqual(["steps"]);
  expect(on("dispatch.lease_expired")).toBeUndefined();
});

test("time does not judge what happened", () => {
  const row = ask("lost", {
    match: { triggers: ["dispatch.indeterminate"] },
    approval: { ...finance, onTimeout: "allow" },
  });
  const begun = beginDecision(
    createPolicySet([row]),
    policySubject({ trigger: "dispatch.indeterminate" }),
    noon,
    ticking(),
  );
  expect(concludeTrigger(begun, "dec_1")).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
});

test("the time spent is that of all steps", () => {
  const set = createPolicySet([deny("r", { when: "args.amount > 1000.0", missing: "skip" })]);
  const begun = beginDecision(set, policySubject(), noon, ticking());
  expect(conclude(begun, "dec_1", {}).decision.spentMicros).toBe(1_000);
  expect(conclude(hearArgs(begun, { amount: 1 }, untyped, ticking()), "dec_1", {}).decision.spentMicros).toBe(2_000);
});

test("the work of one decision is bounded, however many rules there are", () => {
  const slow = Array.from({ length: 20 }, (_, n) =>
    deny(`slow${n}`, { when: "args.items.exists(i, i == 7.0)", missing: "deny" }),
  );
  const begun = beginDecision(createPolicySet(slow), policySubject(), noon, ticking());
  const items = Array.from({ length: 5_000 }, () => 1);
  const heard = hearArgs(begun, { items }, untyped, ticking());
  const spent = heard.rulings.reduce((steps, ruling) => steps + ruling.steps, 0);
  expect(spent).toBeLessThanOrEqual(policyBounds.decisionStepsMax);
  expect(conclude(heard, "dec_1", {})).toMatchObject({ code: "policy_error", decision: { outcome: "deny" } });
});
