// Tells a person what would happen to a call and why: every rule that concerns it, and which part of it decided.
import { policyBounds } from "./bounds.ts";
import type { CompiledCondition } from "./condition.ts";
import { absent, type Found } from "./condition/evaluate.ts";
import { textOf } from "./condition/text.ts";
import { childrenOf, type Node } from "./condition/tree.ts";
import { valueText } from "./condition/values.ts";
import { conclude, concludeTrigger, type Deliberation, type Judgement, type LevelDefaults } from "./decide.ts";
import { ruleOn, type Ruling } from "./ruling.ts";
import type { Outcome, PolicyLevel, PolicyMode } from "./types.ts";

export interface ExplainedRule {
  readonly policy: string;
  readonly version: string;
  readonly tenant: string;
  readonly level: PolicyLevel;
  readonly mode: PolicyMode;
  /** `waiting`: it reads arguments or counts that were not given. */
  readonly verdict: "matched" | "not_matched" | "failed" | "waiting";
  readonly outcome: Outcome;
  readonly reason: string;
  readonly when: string | null;
  /** One sentence each: the parts of the condition that decided, with the values they had. */
  readonly because: readonly string[];
}

export interface Explanation {
  /** Undefined for a trigger on which no rule has a say. */
  readonly judgement: Judgement | undefined;
  readonly rules: readonly ExplainedRule[];
}

/**
 * Explains a deliberation that has heard whatever was given. The sentences show values of arguments: they are for whoever
 * gave them, and not to be stored.
 */
export function explain(deliberation: Deliberation, id: string, defaults: LevelDefaults): Explanation {
  const { subject, rulings, waiting, variables, counts } = deliberation;
  const facts = { variables, counts };
  // The same steps as when they were heard, and in the same order: explaining costs no more than deciding may.
  let stepsLeft: number = policyBounds.decisionStepsMax;
  const heard = rulings.map((ruling): ExplainedRule => {
    const trace = new Map<Node, Found>();
    ruleOn(ruling.rule, facts, stepsLeft, trace);
    stepsLeft = Math.max(0, stepsLeft - ruling.steps);
    const verdict = ruling.because.kind === "error" ? "failed" : ruling.matched ? "matched" : "not_matched";
    return { ...shown(ruling.rule, ruling.outcome, ruling.reason), verdict, because: becauseOf(ruling, trace) };
  });
  const unheard = waiting.map((rule): ExplainedRule => {
    const { decision, reason } = rule.policy;
    const because = ["it reads arguments or counts of calls that were not given"];
    return { ...shown(rule, decision, reason), verdict: "waiting", because };
  });
  const judgement = subject.trigger === null ? conclude(deliberation, id, defaults) : concludeTrigger(deliberation, id);
  return { judgement, rules: [...heard, ...unheard] };
}

function shown(
  { policy }: Ruling["rule"],
  outcome: Outcome,
  reason: string,
): Omit<ExplainedRule, "verdict" | "because"> {
  const { name, version, tenant, level, mode, when } = policy;
  return { policy: name, version, tenant, level, mode, outcome, reason, when };
}

function becauseOf({ rule, because, matched }: Ruling, trace: ReadonlyMap<Node, Found>): readonly string[] {
  switch (because.kind) {
    case "unconditional":
      return ["it has no condition"];
    case "error":
      return [`it cannot be evaluated, and so denies: ${because.message}`];
    case "absent": {
      const lines = because.paths.map((path) => `${path} is absent`);
      if (because.missing === "skip" && matched) return [...lines, "the rest of the condition holds on its own"];
      return [...lines, `missing: ${because.missing}`];
    }
    default: {
      const compiled: CompiledCondition | null = rule.condition();
      if (compiled?.ok !== true) return [];
      return deciders(compiled.condition.root, because.kind === "condition_true", trace).map((node) =>
        sentence(node, trace),
      );
    }
  }
}

/** The smallest parts that made the whole come out as it did. */
function deciders(node: Node, outcome: boolean, trace: ReadonlyMap<Node, Found>): readonly Node[] {
  if (node.kind === "and" || node.kind === "or") {
    const parts = node.parts.filter((part) => trace.get(part) === outcome);
    return parts.flatMap((part) => deciders(part, outcome, trace));
  }
  if (node.kind === "not") {
    const inner = deciders(node.of, !outcome, trace);
    // `!has(x)` reads better than "has(x) is false, and turned round".
    return inner.length === 1 && inner[0] === node.of ? [node] : inner;
  }
  if (node.kind === "choice") {
    const taken = trace.get(node.test) === true ? node.met : node.unmet;
    return [node.test, ...deciders(taken, outcome, trace)];
  }
  return [node];
}

function sentence(node: Node, trace: ReadonlyMap<Node, Found>): string {
  const value = trace.get(node);
  const says = `${textOf(node)} is ${value === undefined || value === absent ? "open" : valueText(value)}`;
  const values = new Map<string, string>();
  if (isRead(node)) return says;
  collectValues(node, trace, values);
  const known = [...values].map(([text, shownValue]) => `${text} is ${shownValue}`);
  return known.length === 0 ? says : `${says}: ${known.join(", ")}`;
}

const isRead = ({ kind }: Node): boolean =>
  kind === "field" || kind === "count" || kind === "item" || kind === "variable";

/** The fields and counts that a part read, outermost first. */
function collectValues(node: Node, trace: ReadonlyMap<Node, Found>, into: Map<string, string>): void {
  const value = trace.get(node);
  if (node.kind === "has") return;
  if (isRead(node)) {
    if (value !== undefined && value !== absent) into.set(textOf(node), valueText(value));
    return;
  }
  if (node.kind === "each") collectValues(node.range, trace, into);
  else for (const child of childrenOf(node)) collectValues(child, trace, into);
}

const verdictWords = {
  matched: "matched",
  not_matched: "not matched",
  failed: "FAILED",
  waiting: "not heard",
} as const;
const outcomeWords = { allow: "allowed", deny: "denied", require_approval: "asked about" } as const;

/** The explanation as lines for a terminal. */
export function explanationLines({ judgement, rules }: Explanation): readonly string[] {
  const lines = judgement === undefined ? ["No rule has a say: what usually happens happens."] : headLines(judgement);
  if (rules.length === 0) lines.push("No rule concerns this call.");
  for (const rule of rules) {
    const observed = rule.mode === "observe" ? ", observed only" : "";
    lines.push(
      `${verdictWords[rule.verdict]}  ${rule.policy}@${rule.version} (${rule.level}${observed}): ${rule.outcome}` +
        (rule.verdict === "matched" && rule.reason !== "" ? `, "${rule.reason}"` : ""),
    );
    if (rule.when !== null) lines.push(`    when ${rule.when.replaceAll(/\s+/g, " ")}`);
    for (const because of rule.because) lines.push(`    ${because}`);
  }
  return lines;
}

function headLines({ decision, approval, obligations }: Judgement): string[] {
  const lines = [`The call would be ${outcomeWords[decision.outcome]}: ${decision.reason}`];
  for (const { route, quorum } of approval?.routes ?? [])
    lines.push(`  ${quorum === 1 ? "1 person" : `${quorum} people`} with role ${route}`);
  if (approval !== null) {
    if (approval.distinctFromRequester) lines.push("  none of them the requester");
    const escalation = approval.escalateTo === null ? "" : ` to ${approval.escalateTo}`;
    lines.push(`  within ${spanText(approval.timeoutMs)}, then ${approval.onTimeout}${escalation}`);
  }
  const { limits, sandbox, egress, paths } = obligations;
  for (const [name, value] of Object.entries(limits)) lines.push(`  limit ${snake(name)}: ${value}`);
  if (sandbox !== undefined) lines.push(`  sandbox: at least ${sandbox}`);
  if (egress !== undefined) lines.push(`  egress: ${egress.length === 0 ? "none" : egress.join(", ")}`);
  for (const [name, places] of Object.entries(paths ?? {}))
    lines.push(`  paths to ${name}: ${places.length === 0 ? "none" : places.join(", ")}`);
  return lines;
}

/** `24h`, `90m`, `1500ms`: the largest unit that says it without a fraction. */
function spanText(ms: number): string {
  const units = [
    ["h", 3_600_000],
    ["m", 60_000],
    ["s", 1_000],
  ] as const;
  const unit = units.find(([, length]) => ms >= length && ms % length === 0);
  return unit === undefined ? `${ms}ms` : `${ms / unit[1]}${unit[0]}`;
}

/** As REST writes the names of limits. */
function snake(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
