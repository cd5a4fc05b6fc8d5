// Decides about one call in steps: rules without arguments first, then those with, then those that count calls.
import type { Decision, MatchedRule } from "../call/types.ts";
import { isRecord } from "../document/problems.ts";
import { requirementsProblem } from "./approval/requirements.ts";
import type { ApprovalRequirements, ApprovalSubject } from "./approval/types.ts";
import { policyBounds } from "./bounds.ts";
import { combineApprovals, combineObligations, type Asking } from "./combine.ts";
import type { CountsNeeded } from "./condition.ts";
import { moment } from "./condition/clock.ts";
import { recordOf, untyped, type Shape } from "./condition/shape.ts";
import { bind, type Value } from "./condition/values.ts";
import { errorReason, failedRuling, needsOf, ruleOn, type Ruling } from "./ruling.ts";
import { byLevel, type PolicySet, type Rule } from "./set.ts";
import type { Attachment, CallCounts, Obligations, Outcome, PolicyLevel, Subject } from "./types.ts";

/** Ms that only grow; differences of it are durations. */
export type Monotonic = () => number;

/** A decision on its way: which rules have been heard, and which wait for arguments or counts. */
export interface Deliberation {
  readonly subject: Subject;
  readonly rulings: readonly Ruling[];
  readonly waiting: readonly Rule[];
  readonly unresolved: readonly Attachment[];
  readonly variables: ReadonlyMap<string, Value>;
  readonly counts: CallCounts | undefined;
  readonly stepsLeft: number;
  readonly spentMs: number;
}

export interface Judgement {
  readonly decision: Decision;
  /** The error code of a denial; null when it is none. */
  readonly code: "forbidden" | "policy_error" | null;
  /** The rule that the decision's reason comes from; null where a default, a reference or nothing decided. */
  readonly deciding: MatchedRule | null;
  /** Set exactly when the outcome is `require_approval`. */
  readonly approval: ApprovalRequirements | null;
  readonly obligations: Obligations;
}

/** What a level says of a call that none of its rules matches. */
export type LevelDefaults = Readonly<Partial<Record<Exclude<PolicyLevel, "attached">, "allow" | "deny">>>;

/**
 * Hears all rules that need neither arguments nor counts.
 * @param now wall clock, ms since 1970: what conditions see as `now`
 */
export function beginDecision(set: PolicySet, subject: Subject, now: number, monotonic: Monotonic): Deliberation {
  const began = monotonic();
  const { rules, unresolved } = set.applicable(subject);
  const fresh: Deliberation = {
    subject,
    rulings: [],
    waiting: rules,
    unresolved,
    variables: rules.some(({ policy }) => policy.when !== null) ? standingVariables(subject, now) : new Map(),
    counts: undefined,
    stepsLeft: policyBounds.decisionStepsMax,
    spentMs: 0,
  };
  return heard(fresh, began, monotonic);
}

const text: Shape = { ...untyped, kinds: new Set(["string"]) };
const list: Shape = { ...untyped, kinds: new Set(["list"]), item: () => text };
const labels: Shape = { ...untyped, kinds: new Set(["map"]), member: () => ({ shape: text, presence: "maybe" }) };
const toolShape = recordOf({ name: text, version: text, class: text, labels });
const principalShape = recordOf({ name: text, roles: list });

function standingVariables(subject: Subject, now: number): ReadonlyMap<string, Value> {
  const { tool, principal, agent, tenant, project, environment } = subject;
  const variables = new Map<string, Value>([
    ["tool", { type: "json", raw: { ...tool }, shape: toolShape }],
    ["principal", { type: "json", raw: { ...principal }, shape: principalShape }],
    ["agent", agent],
    ["tenant", tenant],
    ["project", project],
    ["environment", environment],
    ["context", bind(isRecord(subject.context) ? subject.context : {}, untyped)],
  ]);
  const at = moment(now);
  return at === undefined ? variables : variables.set("now", at);
}

/**
 * Hears the rules that waited for the arguments alone; the arguments have been validated.
 * @param args parsed JSON
 * @param shape the tool's `inputShape`
 */
export function hearArgs(before: Deliberation, args: unknown, shape: Shape, monotonic: Monotonic): Deliberation {
  const began = monotonic();
  const variables = new Map(before.variables);
  // What is no JSON at all is nothing to decide on: the rules go on waiting, and in the end deny.
  if (args !== undefined) variables.set("args", bind(args, shape));
  return heard({ ...before, variables }, began, monotonic);
}

/** Hears the rules that count calls; `counts` holds all that `countsNeeded` asked for. */
export function hearCounts(before: Deliberation, counts: CallCounts, monotonic: Monotonic): Deliberation {
  return heard({ ...before, counts }, monotonic(), monotonic);
}

function heard(before: Deliberation, began: number, monotonic: Monotonic): Deliberation {
  const { variables, counts } = before;
  const rulings = [...before.rulings];
  const waiting: Rule[] = [];
  let { stepsLeft } = before;
  for (const rule of before.waiting) {
    const { readsArgs, countsCalls } = needsOf(rule);
    if ((readsArgs && !variables.has("args")) || (countsCalls && counts === undefined)) {
      waiting.push(rule);
      continue;
    }
    const ruling = ruleOn(rule, { variables, counts }, stepsLeft);
    stepsLeft = Math.max(0, stepsLeft - ruling.steps);
    rulings.push(ruling);
  }
  return { ...before, rulings, waiting, stepsLeft, spentMs: before.spentMs + monotonic() - began };
}

/** What the admission commit must count for the rules that still wait. */
export function countsNeeded({ waiting }: Deliberation): CountsNeeded {
  const needs = waiting.map((rule) => needsOf(rule).counts);
  return {
    turn: needs.some(({ turn }) => turn),
    session: needs.some(({ session }) => session),
    windowsMs: [...new Set(needs.flatMap(({ windowsMs }) => windowsMs))].sort((one, other) => one - other),
  };
}

const enforced = ({ rule, matched }: Ruling): boolean => matched && rule.policy.mode !== "observe";

/** True as soon as nothing that is still to be heard could let the call through. */
export function isDenied({ rulings, unresolved }: Deliberation): boolean {
  return unresolved.length > 0 || rulings.some((ruling) => enforced(ruling) && ruling.outcome === "deny");
}

/**
 * The outcome: deny before require_approval before allow. A level none of whose rules matched says what its default
 * says; so a rule of another level, or an attached one, does not open what a level has closed.
 * A denial may be concluded early. Otherwise rules that still wait have gone unheard, and the call is denied.
 * @param id of the decision
 */
export function conclude(deliberation: Deliberation, id: string, defaults: LevelDefaults): Judgement {
  const all = isDenied(deliberation) ? deliberation : { ...deliberation, ...unheard(deliberation) };
  const closed = levels.find(
    (level) =>
      defaults[level] === "deny" && !all.rulings.some((one) => enforced(one) && one.rule.policy.level === level),
  );
  return judged(all, id, closed);
}

const levels = ["platform", "tenant", "project"] as const;

/** What rules with triggers say; undefined when none has a say, and what usually happens happens. */
export function concludeTrigger(deliberation: Deliberation, id: string): Judgement | undefined {
  const all = { ...deliberation, ...unheard(deliberation) };
  return all.unresolved.length > 0 || all.rulings.some(enforced) ? judged(all, id, undefined) : undefined;
}

function unheard({ rulings, waiting }: Deliberation): Pick<Deliberation, "rulings" | "waiting"> {
  const failed = waiting.map((rule) => failedRuling(rule, "the arguments or counts that it reads were not given"));
  return { rulings: [...rulings, ...failed], waiting: [] };
}

function judged(all: Deliberation, id: string, closed: (typeof levels)[number] | undefined): Judgement {
  const matched = all.rulings
    .filter((ruling) => ruling.matched)
    .toSorted((one, other) => byLevel(one.rule, other.rule));
  const speaking = matched.filter(enforced);
  const denials = speaking.filter(({ outcome }) => outcome === "deny");
  const asking = speaking.filter(({ outcome }) => outcome === "require_approval");
  // A denial that somebody wrote says more than one that an error made.
  const denial = denials.find(({ because }) => because.kind !== "error") ?? denials[0];
  const rules = [...matched.map(recordOfRuling), ...all.unresolved.map(recordOfLost)];
  const judgement = (outcome: Outcome, reason: string, more: Partial<Judgement>): Judgement => ({
    decision: { id, outcome, reason, rules, spentMicros: Math.round(all.spentMs * 1_000) },
    code: outcome === "deny" ? "forbidden" : null,
    deciding: null,
    approval: null,
    obligations: { limits: {} },
    ...more,
  });
  if (denial !== undefined) {
    const code = denial.because.kind === "error" ? "policy_error" : "forbidden";
    return judgement("deny", denial.reason, { deciding: recordOfRuling(denial), code });
  }
  const [lost] = all.unresolved;
  if (lost !== undefined) return judgement("deny", lostReason(lost), { code: "policy_error" });
  if (closed !== undefined) return judgement("deny", `no policy of the ${closed} allows this`, {});
  const obligations = combineObligations(speaking.map(({ rule }) => rule.policy.obligations));
  const deciding = asking[0] ?? speaking.find(({ reason }) => reason !== "");
  const said = deciding === undefined ? null : recordOfRuling(deciding);
  const approval = combineApprovals(asking.flatMap(demandOf));
  if (approval === null) return judgement("allow", said?.reason ?? "granted", { deciding: said, obligations });
  const problem = requirementsProblem(approval, subjectKind(all.subject));
  if (problem !== undefined) return judgement("deny", errorReason(problem), { code: "policy_error" });
  return judgement("require_approval", said?.reason ?? "", { deciding: said, approval, obligations });
}

function demandOf({ rule: { policy } }: Ruling): readonly Asking[] {
  const { approval, reason } = policy;
  return approval === null ? [] : [{ demand: approval, reason }];
}

/** What people would be asked about. */
function subjectKind({ trigger }: Subject): ApprovalSubject["kind"] {
  if (trigger?.startsWith("limit.") === true) return "limit";
  return trigger === "dispatch.indeterminate" || trigger === "dispatch.lease_expired" ? "resolve" : "call";
}

function recordOfRuling({ rule: { policy }, outcome, reason }: Ruling): MatchedRule {
  const { name, version, level, mode } = policy;
  return { policy: name, version, level, outcome, reason, observed: mode === "observe" };
}

const lostReason = ({ reference }: Attachment): string =>
  errorReason(`the attached policy ${reference} is not in force`);

function recordOfLost(lost: Attachment): MatchedRule {
  const [policy = "", version = ""] = lost.reference.split("@");
  return { policy, version, level: "attached", outcome: "deny", reason: lostReason(lost), observed: false };
}

/** The denial when the policies themselves could not be had: a store that fails must not open anything. */
export function policyFailure(id: string, message: string, spentMs: number): Judgement {
  const spentMicros = Math.round(spentMs * 1_000);
  return {
    decision: { id, outcome: "deny", reason: errorReason(message), rules: [], spentMicros },
    code: "policy_error",
    deciding: null,
    approval: null,
    obligations: { limits: {} },
  };
}
