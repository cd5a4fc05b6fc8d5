// Policies, their explanations and the results of cases as callers see them.
import { iso } from "../../../call/view.ts";
import type { Decision } from "../../../call/types.ts";
import type { CaseResult } from "../../../policy/cases.ts";
import type { ExplainedRule } from "../../../policy/explain.ts";
import type { ApprovalRequirements } from "../../../policy/approval/types.ts";
import type { ApprovalDemand, PolicyDefault, PolicyVersion, StoredPolicy } from "../../../policy/types.ts";
import type { PolicyAnswer, PublishedPolicy } from "../../../service-governance.ts";

export function policyView(policy: PolicyVersion): Record<string, unknown> {
  return {
    name: policy.name,
    version: policy.version,
    level: policy.level,
    project: policy.project,
    mode: policy.mode,
    status: policy.status,
    digest: policy.digest,
    match: policy.match,
    when: policy.when,
    missing: policy.missing,
    decision: policy.decision,
    reason: policy.reason,
    approval: policy.approval === null ? null : demandView(policy.approval),
    obligations: obligationsView(policy.obligations),
    published_at: iso(policy.publishedAt),
    published_by: policy.publishedBy,
    tenant: policy.tenant,
  };
}

function demandView(demand: ApprovalDemand): Record<string, unknown> {
  return {
    route: demand.route,
    approvals: demand.approvals,
    distinct_from_requester: demand.distinctFromRequester,
    timeout_ms: demand.timeoutMs,
    on_timeout: demand.onTimeout,
    on_reject: demand.onReject,
    escalate_to: demand.escalateTo,
    comprehension: demand.comprehension,
  };
}

/** Also of a stored decision, whose obligations are JSON data; the names of limits alone differ from the runtime's own. */
export function obligationsView(obligations: object): Record<string, unknown> {
  const { limits = {}, ...others } = obligations as { readonly limits?: Readonly<Record<string, unknown>> };
  const named = Object.entries(limits).map(([name, value]) => [obligedLimitName(name), value]);
  return { limits: Object.fromEntries(named), ...others };
}

/** `timeoutMs` is told as `timeout_ms`. */
export const obligedLimitName = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** What was decided about a call, in its record and in the approval that it waits for. */
export function decisionView({ outcome, reason, rules, obligations }: Decision): Record<string, unknown> {
  const decided = { decision: outcome, reason, rules };
  return obligations === undefined ? decided : { ...decided, obligations: obligationsView(obligations) };
}

export function publishedView(published: PublishedPolicy, dryRun: boolean): Record<string, unknown> {
  return {
    ...policyView(published.policy),
    already_there: published.alreadyThere,
    dry_run: dryRun,
    tools_hit: published.toolsHit,
    warnings: published.warnings,
  };
}

/** The document stands as it was published. */
export function policyDetailJson(policy: StoredPolicy, versions: readonly string[]): string {
  const head = JSON.stringify({ ...policyView(policy), versions });
  return `${head.slice(0, -1)},"document":${policy.documentJson}}`;
}

export function policyDefaultView(level: PolicyDefault): Record<string, unknown> {
  return {
    tenant: level.tenant,
    project: level.project,
    decision: level.decision,
    changed_at: iso(level.changedAt),
    changed_by: level.changedBy,
  };
}

/** Of a trigger on which no rule has a say, everything that a decision brings is null. */
export function explanationView(answer: PolicyAnswer): Record<string, unknown> {
  const { judgement, rules } = answer.explanation;
  return {
    decision: judgement?.decision.outcome ?? null,
    reason: judgement?.decision.reason ?? null,
    code: judgement?.code ?? null,
    deciding: judgement?.deciding ?? null,
    rules: rules.map(explainedRuleView),
    approval: judgement === undefined || judgement.approval === null ? null : requirementsView(judgement.approval),
    obligations: judgement === undefined ? null : obligationsView(judgement.obligations),
    lines: answer.lines,
    missing_permissions: answer.missingPermissions,
    input_errors: answer.inputErrors,
  };
}

function explainedRuleView(rule: ExplainedRule): Record<string, unknown> {
  return {
    policy: rule.policy,
    version: rule.version,
    tenant: rule.tenant,
    level: rule.level,
    mode: rule.mode,
    verdict: rule.verdict,
    outcome: rule.outcome,
    reason: rule.reason,
    when: rule.when,
    because: rule.because,
  };
}

function requirementsView(asking: ApprovalRequirements): Record<string, unknown> {
  return {
    routes: asking.routes.map(({ route, quorum }) => ({ route, quorum })),
    distinct_from_requester: asking.distinctFromRequester,
    comprehension: asking.comprehension,
    timeout_ms: asking.timeoutMs,
    on_timeout: asking.onTimeout,
    on_reject: asking.onReject,
    escalate_to: asking.escalateTo,
    reason: asking.reason,
  };
}

export function caseResultsView(results: readonly CaseResult[]): Record<string, unknown> {
  const passed = results.filter((one) => one.passed).length;
  return {
    passed,
    failed: results.length - passed,
    items: results.map(({ name, passed: held, failures, explanation }) => ({
      name,
      passed: held,
      failures,
      explanation,
    })),
  };
}
