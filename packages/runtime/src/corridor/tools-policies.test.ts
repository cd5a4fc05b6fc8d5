// A new tool version beside the policies in force: what it names must be there, and what reads its arguments should fit.
import { expect, test } from "vitest";
import { manifest, refusal } from "../../../../test/support/corridor.ts";
import { policyVersion } from "../../../../test/support/policies.ts";
import { readManifest } from "../registry/manifest.ts";
import { createPolicySet } from "../policy/set.ts";
import type { PolicyVersion } from "../policy/types.ts";
import type { ToolVersion } from "../registry/types.ts";
import { checkPolicies } from "./tools-policies.ts";

/** acme's `pay`: a number `amount`, which is required, and a text `note`, which is not. */
function pay(spec: Readonly<Record<string, unknown>> = {}, tenant = "acme"): ToolVersion {
  const read = readManifest(manifest({ spec }));
  if (!read.ok) throw new Error(JSON.stringify(read.problems));
  return { tenant, tool: "pay", version: "1.0.0", metadata: read.metadata, spec: read.spec } as ToolVersion;
}

function check(policies: readonly PolicyVersion[], row = pay()): readonly string[] {
  const set = createPolicySet(policies);
  return checkPolicies({ current: () => ({ ok: true, set }) }, row).map(({ path, message }) => `${path}: ${message}`);
}

const problemsOf = async (policies: readonly PolicyVersion[], row: ToolVersion) =>
  (await refusal((async () => check(policies, row))())).details?.["problems"];

test("policies that it names and that are in force are fine, by name or by version", () => {
  const policies = [
    policyVersion({ name: "ask", level: "attached" }),
    policyVersion({ name: "old", version: "0.9.0", status: "superseded", level: "attached" }),
  ];
  expect(check(policies, pay({ default_policies: ["ask", "old@0.9.0"] }))).toEqual([]);
});

test.each<[string, readonly PolicyVersion[], string]>([
  ["is not published", [], "ask"],
  ["is another tenant's", [policyVersion({ name: "ask", tenant: "beta", level: "attached" })], "ask"],
  ["is withdrawn", [policyVersion({ name: "ask", status: "withdrawn", level: "attached" })], "ask"],
  ["is published in another version", [policyVersion({ name: "ask", level: "attached" })], "ask@2.0.0"],
])("one that %s is refused with its place", async (_, policies, reference) => {
  const fine = policyVersion({ name: "fine", level: "attached" });
  expect(await problemsOf([fine, ...policies], pay({ default_policies: ["fine", reference] }))).toEqual([
    {
      path: "spec.default_policies[1]",
      message: `names the policy ${reference}, and none of that name is in force in this tenant`,
      hint: "publish it first: signalbox policies publish <file>",
    },
  ]);
});

test("while the policies cannot be read, a tool that names some is not registered, and others unseen", async () => {
  const away = { current: () => ({ ok: false, failure: "the policies cannot be read: away" }) as const };
  const asking = (async () => checkPolicies(away, pay({ default_policies: ["ask"] })))();
  expect(await refusal(asking)).toMatchObject({
    code: "policy_error",
    message: "the policies cannot be read: away; a tool that names policies is not registered until they are",
  });
  expect(checkPolicies(away, pay())).toEqual([]);
});

test("a condition in force that does not fit its arguments is a warning", () => {
  const rule = policyVersion({ name: "limit", match: { tools: ["pay"] }, when: "args.amount == 'much'" });
  expect(check([rule])).toEqual([
    'spec.input: does not fit the policy limit@1.0.0: args.amount (a number) is never equal to "much" (a text)',
  ]);
});

test.each<[string, Partial<PolicyVersion>, readonly string[]]>([
  ["one that fits", { when: "args.amount > 10.0" }, []],
  ["one that reads what may be absent and says what then", { when: "args.note == 'x'", missing: "skip" }, []],
  [
    "one that reads what may be absent and does not",
    { when: "args.note == 'x'" },
    ["args.note may be absent, and the rule does not say what then"],
  ],
  [
    "one that names the tool and reads what it has not",
    { when: "args.payee == 'x'", missing: "match" },
    ["there is no args.payee"],
  ],
  ["one that reads no arguments", { when: "agent == 'x'" }, []],
  ["one without a condition", {}, []],
])("%s", (_, given, expected) => {
  const rule = policyVersion({ name: "rule", match: { tools: ["pay"] }, ...given });
  expect(check([rule])).toEqual(
    expected.map((message) => `spec.input: does not fit the policy rule@1.0.0: ${message}`),
  );
});

test("a rule for tools of any name may read what only some have, if it says what then", () => {
  expect(check([policyVersion({ when: "args.payee == 'x'", missing: "skip" })])).toEqual([]);
  expect(check([policyVersion({ when: "args.payee == 'x'" })])).toHaveLength(1);
});

test("only rules that can meet the tool's calls are looked at", () => {
  const when = "args.amount == 'much'";
  const policies = [
    policyVersion({ name: "other-tool", when, match: { tools: ["ship", "pay.*"] } }),
    policyVersion({ name: "other-tenant", when, tenant: "beta" }),
    policyVersion({ name: "withdrawn", when, status: "withdrawn" }),
    policyVersion({ name: "superseded", when, status: "superseded" }),
    policyVersion({ name: "unattached", when, level: "attached" }),
  ];
  expect(check(policies)).toEqual([]);
  const looked = [
    policyVersion({ name: "of-platform", when, tenant: "platform", level: "platform" }),
    policyVersion({ name: "of-project", when, level: "project", project: "shop" }),
    policyVersion({ name: "by-pattern", when, match: { tools: ["*"] } }),
    policyVersion({ name: "attached", when, level: "attached" }),
  ];
  const names = check([...policies, ...looked], pay({ default_policies: ["attached"] })).map(
    (text) => /policy (\S+)@/.exec(text)?.[1],
  );
  expect(names).toEqual(["of-platform", "of-project", "by-pattern", "attached"]);
});

test("warnings are bounded", () => {
  const many = Array.from({ length: 50 }, (_, index) =>
    policyVersion({ name: `rule${index}`, when: "args.amount == 'much'" }),
  );
  expect(check(many)).toHaveLength(20);
});
