// Lets one rule say what it has to say about one call, and why.
import { cutText } from "@signalbox/protocol";
import { policyBounds } from "./bounds.ts";
import type { Condition } from "./condition.ts";
import { evaluate, type Evaluation, type Facts, type Found } from "./condition/evaluate.ts";
import type { Node } from "./condition/tree.ts";
import type { Rule } from "./set.ts";
import { outcomes, type Outcome } from "./types.ts";

export type Because =
  | { readonly kind: "unconditional" | "condition_true" | "condition_false" }
  /** `paths` are the absent fields; the rule's `missing` (null: it has none) decided. */
  | { readonly kind: "absent"; readonly paths: readonly string[]; readonly missing: "match" | "skip" | "deny" | null }
  | { readonly kind: "error"; readonly message: string };

export interface Ruling {
  readonly rule: Rule;
  /** Whether it has a say: its condition holds, or it could not be evaluated. */
  readonly matched: boolean;
  /** What it says when it matched. */
  readonly outcome: Outcome;
  readonly reason: string;
  readonly because: Because;
  readonly steps: number;
}

export const errorReason = (message: string): string =>
  cutText(`policy_error: ${message}`, policyBounds.reasonCharsMax);

/** A rule that could not be heard denies. */
export function failedRuling(rule: Rule, message: string, steps = 0): Ruling {
  return {
    rule,
    matched: true,
    outcome: "deny",
    reason: errorReason(message),
    because: { kind: "error", message },
    steps,
  };
}

/**
 * @param stepsLeft of the whole decision
 * @param trace see `evaluate`
 */
export function ruleOn(rule: Rule, facts: Facts, stepsLeft: number, trace?: Map<Node, Found>): Ruling {
  const compiled = rule.condition();
  const { decision, reason, approval } = rule.policy;
  // Publishing refuses both; a row that says them all the same must not come out as an allow.
  if (!outcomes.includes(decision)) return failedRuling(rule, "the decision is not known");
  if (decision === "require_approval" && approval === null) return failedRuling(rule, "it names nobody to ask");
  if (compiled === null)
    return { rule, matched: true, outcome: decision, reason, because: { kind: "unconditional" }, steps: 1 };
  if (!compiled.ok) return failedRuling(rule, compiled.problems[0]?.message ?? "the condition is not valid");
  const { root } = compiled.condition;
  const evaluation = evaluate(root, facts, Math.min(policyBounds.evaluationStepsMax, stepsLeft), trace);
  const { error, absent, steps, result } = evaluation;
  if (error !== undefined) return failedRuling(rule, error, steps);
  if (absent.length > 0) return absentRuling(rule, evaluation);
  const because = { kind: result === true ? "condition_true" : "condition_false" } as const;
  return { rule, matched: result === true, outcome: decision, reason, because, steps };
}

/**
 * `match` and `deny` hold as soon as an absent field is read. With `skip` absence alone never makes a rule match; but a
 * guard whose other parts hold on their own still does: `a > 1 || b > 1` with b = 5 must not be skipped for want of a.
 */
function absentRuling(rule: Rule, { absent, steps, result }: Evaluation): Ruling {
  const { missing, decision, reason } = rule.policy;
  const because: Because = { kind: "absent", paths: absent, missing };
  const reads = `reads ${absent.slice(0, 3).join(", ")}, which ${absent.length > 1 ? "are" : "is"} absent`;
  if (missing === null) return failedRuling(rule, `${reads}, and does not say what that means`, steps);
  const denial = cutText(`the rule ${reads}`, policyBounds.reasonCharsMax);
  if (missing === "deny") return { rule, matched: true, outcome: "deny", reason: denial, because, steps };
  const matched = missing === "match" || (result === true && decision !== "allow");
  return { rule, matched, outcome: decision, reason, because, steps };
}

/** What a rule must know before it can be heard. */
export function needsOf(rule: Rule): Pick<Condition, "readsArgs" | "countsCalls" | "counts"> {
  const compiled = rule.condition();
  if (compiled?.ok === true) return compiled.condition;
  return { readsArgs: false, countsCalls: false, counts: { turn: false, session: false, windowsMs: [] } };
}
