// Warnings of policies that do not do what their author may think.
import { expect, test } from "vitest";
import { policyVersion } from "../../../../test/support/policies.ts";
import { lintPlaces, lintShadows, lintTools, toolsHit } from "./lints.ts";

const tools = ["payments.charge", "payments.refund", "mail.send"];
const match = (...patterns: string[]) => policyVersion({ match: { tools: patterns } }).match;

test("the tools that a pattern names", () => {
  expect(toolsHit(match("payments.*", "mail.send", "sms.*", "*"), tools)).toEqual([
    { pattern: "payments.*", tools: ["payments.charge", "payments.refund"] },
    { pattern: "mail.send", tools: ["mail.send"] },
    { pattern: "sms.*", tools: [] },
    { pattern: "*", tools },
  ]);
});

test("a pattern that names no tool is warned of, with what the others name", () => {
  expect(lintTools(match("payments.*", "mail.sent"), tools)).toEqual([
    {
      path: "spec.match.tools[1]",
      message: "mail.sent names no tool that is known",
      hint: "payments.* names payments.charge, payments.refund",
    },
  ]);
  expect(lintTools(match("payment.*"), tools)).toEqual([
    {
      path: "spec.match.tools[0]",
      message: "payment.* names no tool that is known",
      hint: "the rule waits for a tool of that name",
    },
  ]);
  expect(lintTools(match(), tools)).toEqual([]);
});

test("a project and environments that nobody has are warned of, each by its place", () => {
  const places = [
    { project: "shop", environment: "production" },
    { project: "lab", environment: "staging" },
  ];
  const policy = policyVersion({
    level: "project",
    project: "shpo",
    match: { environments: ["staging", "prodution", "qa"] },
  });
  expect(lintPlaces(policy, places)).toEqual([
    { path: "metadata.project", message: "shpo is no project that is known", hint: 'did you mean "shop"?' },
    {
      path: "spec.match.environments[1]",
      message: "prodution is the environment of no project",
      hint: 'did you mean "production"?',
    },
    {
      path: "spec.match.environments[2]",
      message: "qa is the environment of no project",
      hint: "the rule waits for one",
    },
  ]);
  expect(lintPlaces(policyVersion({ match: { environments: ["production"] } }), places)).toEqual([]);
});

const said = (...all: Parameters<typeof lintShadows>) => lintShadows(...all).map(({ message }) => message);
const rmDenied = policyVersion({
  name: "no-rm",
  decision: "deny",
  match: { tools: ["shell.run"] },
  when: "args.command.startsWith('rm ')",
  missing: "deny",
});
const shellAllowed = policyVersion({ name: "shell", decision: "allow", match: { tools: ["*"] } });

test("041: a catch-all allow does not undo a denial, whichever comes first", () => {
  expect(said(shellAllowed, [rmDenied])).toEqual(["does not reach what no-rm@1.0.0 denies"]);
  expect(said(rmDenied, [shellAllowed])).toEqual(["takes from shell@1.0.0 what it allows"]);
});

const denied = policyVersion({ name: "stop", match: { tools: ["payments.*"] } });
const charged = policyVersion({ name: "charge", decision: "allow", match: { tools: ["payments.charge"] } });

test("a rule that a stricter one leaves nothing to decide", () => {
  expect(said(charged, [denied])).toEqual(["has no effect: stop@1.0.0 says deny for every call that it matches"]);
  expect(said(denied, [charged])).toEqual(["leaves charge@1.0.0 without effect: allow where this rule says deny"]);
});

test.each([
  ["another tenant's", policyVersion({ name: "stop", tenant: "umbrella", match: { tools: ["payments.*"] } })],
  ["in observe mode", policyVersion({ name: "stop", mode: "observe", match: { tools: ["payments.*"] } })],
  ["superseded", policyVersion({ name: "stop", status: "superseded", match: { tools: ["payments.*"] } })],
  ["for other tools", policyVersion({ name: "stop", match: { tools: ["payments.refund"] } })],
  [
    "for one environment",
    policyVersion({ name: "stop", match: { tools: ["payments.*"], environments: ["production"] } }),
  ],
  [
    "for a trigger",
    policyVersion({ name: "stop", match: { tools: ["payments.*"], triggers: ["dispatch.no_handler"] } }),
  ],
  [
    "of one project",
    policyVersion({ name: "stop", level: "project", project: "shop", match: { tools: ["payments.*"] } }),
  ],
  ["attached", policyVersion({ name: "stop", level: "attached", match: { tools: ["payments.*"] } })],
  ["no stricter", policyVersion({ name: "stop", decision: "allow", match: { tools: ["payments.*"] } })],
  ["an earlier version of itself", policyVersion({ name: "charge", match: { tools: ["payments.*"] } })],
])("a denial that is %s shadows nothing", (_, other) => {
  expect(said(charged, [other])).toEqual([]);
});

test("a narrower denial still cuts into an allow; an approval leaves obligations their effect", () => {
  const inside = policyVersion({
    name: "big",
    match: { tools: ["payments.charge"] },
    when: "args.amount > 9.0",
    missing: "deny",
  });
  expect(said(charged, [inside])).toEqual(["does not reach what big@1.0.0 denies"]);
  const asked = policyVersion({ name: "ask", decision: "require_approval", match: { tools: ["payments.*"] } });
  expect(said(charged, [asked])).toEqual([
    "has no effect: ask@1.0.0 says require_approval for every call that it matches",
  ]);
  expect(said({ ...charged, obligations: { limits: { timeoutMs: 1 } } }, [asked])).toEqual([]);
});

test("warnings are bounded", () => {
  const many = Array.from({ length: 50 }, (_, n) => policyVersion({ name: `stop${n}`, match: { tools: ["*"] } }));
  expect(said(charged, many)).toHaveLength(10);
});
