// Holds a new tool version against the policies in force: those that it names, and those whose conditions will read its arguments.
import { SignalboxError } from "@signalbox/protocol";
import type { Problem } from "../document/problems.ts";
import { checkCondition, compileCondition } from "../policy/condition.ts";
import { inputShape, type Shape } from "../policy/condition/shape.ts";
import { patternMatches, readPatterns } from "../policy/pattern.ts";
import type { PolicySet } from "../policy/set.ts";
import type { PolicyVersion } from "../policy/types.ts";
import type { ToolVersion } from "../registry/types.ts";
import { platformTenant } from "../tenancy/types.ts";
import type { PolicyBook } from "./policy-book.ts";

/** Rules whose conditions are checked at one registration; compiling and checking one takes some 50 µs. */
const rulesCheckedMax = 1_000;
const warningsMax = 20;

/**
 * Warnings about rules in force that do not fit the version's input schema.
 * @throws SignalboxError invalid_input when it names a policy that is not in force: every call would be denied;
 *   policy_error when it names any while they cannot be read
 */
export function checkPolicies(policies: Pick<PolicyBook, "current">, row: ToolVersion): readonly Problem[] {
  const book = policies.current();
  if (!book.ok) {
    if (row.spec.defaultPolicies.length === 0) return [];
    throw new SignalboxError(
      "policy_error",
      `${book.failure}; a tool that names policies is not registered until they are`,
    );
  }
  const problems = unpublished(book.set, row);
  const [first] = problems;
  if (first !== undefined) {
    const message = `the manifest has ${problems.length} problem(s); the first: ${first.path}: ${first.message}`;
    throw new SignalboxError("invalid_input", message, { details: { problems } });
  }
  return misfits(book.set, row);
}

function unpublished(set: PolicySet, { tenant, spec }: ToolVersion): readonly Problem[] {
  return spec.defaultPolicies.flatMap((reference, index): Problem[] => {
    if (set.find({ tenant, reference }) !== undefined) return [];
    const message = `names the policy ${reference}, and none of that name is in force in this tenant`;
    return [
      { path: `spec.default_policies[${index}]`, message, hint: "publish it first: signalbox policies publish <file>" },
    ];
  });
}

function misfits(set: PolicySet, row: ToolVersion): readonly Problem[] {
  const shape = inputShape(row.spec.input);
  const warnings: Problem[] = [];
  let looked = 0;
  for (const policy of rulesFor(set, row)) {
    if (policy.when === null) continue;
    if (++looked > rulesCheckedMax || warnings.length >= warningsMax) break;
    warnings.push(...misfitOf(policy, shape));
  }
  return warnings.slice(0, warningsMax);
}

/** The rules that calls of this version may meet in its own tenant. */
export function* rulesFor(set: PolicySet, row: ToolVersion): Generator<PolicyVersion> {
  const attached = new Set(row.spec.defaultPolicies.map((reference) => set.find({ tenant: row.tenant, reference })));
  for (const policy of set.versions()) if ((attached.has(policy) || speaksFor(policy, row)) && matchesTool(policy, row.tool)) yield policy;
}

/** Whether the rule is in force for a tool's calls by its level; calls of a platform's tool meet their own tenants' rules, which are not looked at here. */
function speaksFor({ status, level, tenant }: PolicyVersion, row: ToolVersion): boolean {
  return (
    status === "active" &&
    level !== "attached" &&
    (tenant === row.tenant || (tenant === platformTenant && level === "platform"))
  );
}

function matchesTool({ match }: PolicyVersion, tool: string): boolean {
  return match.tools.length === 0 || readPatterns(match.tools).some((pattern) => patternMatches(pattern, tool));
}

/** A rule for tools of any name may well read what only some have; one that names this tool is meant to fit it. */
function misfitOf(policy: PolicyVersion, shape: Shape): readonly Problem[] {
  const compiled = policy.when === null ? undefined : compileCondition(policy.when);
  if (compiled?.ok !== true || !compiled.condition.readsArgs) return [];
  const types = checkCondition(compiled.condition, shape);
  const named = policy.match.tools.length > 0;
  const said = [
    ...[...types.problems, ...types.warnings].map(({ message }) => message),
    ...types.unknown.filter(() => named || policy.missing === null).map(({ path }) => `there is no ${path}`),
    ...types.mayBeAbsent
      .filter(() => policy.missing === null)
      .map((path) => `${path} may be absent, and the rule does not say what then`),
  ];
  return said.map((message) => ({
    path: "spec.input",
    message: `does not fit the policy ${policy.name}@${policy.version}: ${message}`,
    hint: "change the schema or publish a new version of the policy; 'signalbox policies explain' shows what it does to a call",
  }));
}
