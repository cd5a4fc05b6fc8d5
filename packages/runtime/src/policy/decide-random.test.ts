// Random sets of rules against a model in three lines: the strictest of what each rule is known to say.
import fc from "fast-check";
import { expect, test } from "vitest";
import { policySubject, policyVersion } from "../../../../test/support/policies.ts";
import { untyped } from "./condition/shape.ts";
import {
  beginDecision,
  conclude,
  hearArgs,
  hearCounts,
  isDenied,
  type Judgement,
  type LevelDefaults,
} from "./decide.ts";
import { createPolicySet } from "./set.ts";
import type { PolicyVersion } from "./types.ts";

const args = { amount: 500, note: null };
const counts = { turn: 2, session: 2, windows: new Map([[60_000, 2]]) };

/** What each condition comes to with these arguments and counts, worked out by hand. `own`: the rule's own decision. */
const conditions: readonly (Pick<PolicyVersion, "when" | "missing"> & { readonly says: "own" | "nothing" | "deny" })[] =
  [
    { when: null, missing: null, says: "own" },
    { when: "args.amount > 100.0", missing: "deny", says: "own" },
    { when: "args.amount > 1000.0", missing: "deny", says: "nothing" },
    { when: "tool.name == 'payments.charge'", missing: null, says: "own" },
    { when: "tool.name == 'mail.send'", missing: null, says: "nothing" },
    { when: "args.gone > 1.0", missing: "match", says: "own" },
    { when: "args.gone > 1.0", missing: "skip", says: "nothing" },
    { when: "args.gone > 1.0", missing: "deny", says: "deny" },
    { when: "args.gone > 1.0", missing: null, says: "deny" },
    { when: "args.note > 1.0", missing: "skip", says: "deny" },
    { when: "args.amount", missing: null, says: "deny" },
    { when: "args.amount ><", missing: null, says: "deny" },
    { when: "calls.turn >= 2 && calls.window('1m') < 3", missing: null, says: "own" },
    { when: "calls.session > 2", missing: null, says: "nothing" },
    { when: "calls.window('2m') > 2", missing: null, says: "deny" },
  ];

const approval = {
  route: "finance",
  approvals: 1,
  distinctFromRequester: true,
  timeoutMs: 60_000,
  onTimeout: "deny",
  onReject: "fail",
  escalateTo: null,
  comprehension: false,
} as const;
const strictness = ["allow", "require_approval", "deny"] as const;

const anyRule = fc.record({
  condition: fc.constantFrom(...conditions),
  decision: fc.constantFrom(...strictness),
  level: fc.constantFrom("platform", "tenant", "project"),
  mode: fc.constantFrom("enforce", "enforce", "enforce", "observe"),
  hits: fc.boolean(),
});
type AnyRule = typeof anyRule extends fc.Arbitrary<infer T> ? T : never;

function versionOf({ condition, decision, level, mode, hits }: AnyRule, index: number): PolicyVersion {
  return policyVersion({
    name: `n${index}`,
    tenant: level === "platform" ? "platform" : "acme",
    level: level as PolicyVersion["level"],
    project: level === "project" ? "shop" : "",
    mode: mode as PolicyVersion["mode"],
    match: { tools: hits ? ["payments.*"] : ["mail.*"] },
    when: condition.when,
    missing: condition.missing,
    decision,
    approval: decision === "require_approval" ? approval : null,
  });
}

function judge(policies: readonly PolicyVersion[], defaults: LevelDefaults = {}): Judgement {
  const still = () => 0;
  let deliberation = beginDecision(createPolicySet(policies), policySubject(), 0, still);
  const early = isDenied(deliberation);
  deliberation = hearCounts(hearArgs(deliberation, args, untyped, still), counts, still);
  const judgement = conclude(deliberation, "d", defaults);
  // What is denied at the first step stays denied.
  if (early) expect(judgement.decision.outcome).toBe("deny");
  return judgement;
}

const rank = ({ decision }: Judgement): number => strictness.indexOf(decision.outcome);

function expected(rules: readonly AnyRule[]): string {
  const said = rules
    .filter(({ hits, mode, condition }) => hits && mode === "enforce" && condition.says !== "nothing")
    .map(({ condition, decision }) => (condition.says === "deny" ? "deny" : decision));
  return strictness.findLast((one) => said.includes(one)) ?? "allow";
}

test("the strictest of what the rules say, whatever their order", () => {
  fc.assert(
    fc.property(fc.array(anyRule, { maxLength: 12 }), (rules) => {
      const policies = rules.map(versionOf);
      const judgement = judge(policies);
      expect(judgement.decision.outcome).toBe(expected(rules));
      expect(judge(policies.toReversed())).toEqual(judgement);
      expect(judgement.approval === null).toBe(judgement.decision.outcome !== "require_approval");
      expect(judgement.code === null).toBe(judgement.decision.outcome !== "deny");
    }),
    { numRuns: 1_000 },
  );
});

test("a rule more never opens anything; a closed default never either", () => {
  fc.assert(
    fc.property(
      fc.array(anyRule, { maxLength: 8 }),
      anyRule,
      fc.constantFrom("platform", "tenant", "project"),
      (rules, more, level) => {
        const policies = rules.map(versionOf);
        const before = judge(policies);
        expect(rank(judge([...policies, versionOf(more, 99)]))).toBeGreaterThanOrEqual(rank(before));
        expect(rank(judge(policies, { [level]: "deny" }))).toBeGreaterThanOrEqual(rank(before));
      },
    ),
    { numRuns: 500 },
  );
});

test("rows with unknown words are never an allow", () => {
  const word = fc.constantFrom<unknown>("allowed", "ALLOW", "", null, undefined, 1, {}, ["allow"]);
  fc.assert(
    fc.property(word, (decision) => {
      expect(judge([policyVersion({ decision: decision as "deny" })]).decision.outcome).toBe("deny");
    }),
  );
});
