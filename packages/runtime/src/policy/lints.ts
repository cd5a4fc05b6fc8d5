// Warns of policies that do not do what their author may think: patterns without a tool, rules without effect.
import { didYouMean } from "../document/nearest.ts";
import { under, type Problem } from "../document/problems.ts";
import { policyBounds } from "./bounds.ts";
import { patternCovers, patternMatches, readPattern, readPatterns } from "./pattern.ts";
import type { Match, Policy, PolicyVersion } from "./types.ts";

export interface PatternHits {
  readonly pattern: string;
  readonly tools: readonly string[];
}

/** For each pattern of `match.tools` the known tools that it names. */
export function toolsHit(match: Match, tools: readonly string[]): readonly PatternHits[] {
  return match.tools.map((text) => {
    const pattern = readPattern(text);
    return { pattern: text, tools: pattern === undefined ? [] : tools.filter((name) => patternMatches(pattern, name)) };
  });
}

/** Warnings for patterns that name no known tool: misspelt, or meant for tools to come. */
export function lintTools(match: Match, tools: readonly string[]): readonly Problem[] {
  const hits = toolsHit(match, tools);
  return hits.flatMap(({ pattern, tools: hit }, index) => {
    if (hit.length > 0) return [];
    const others = hits.filter((one) => one.tools.length > 0);
    const named = others.map((one) => `${one.pattern} names ${listed(one.tools)}`).join("; ");
    const hint = named === "" ? "the rule waits for a tool of that name" : named;
    return [{ path: under("spec.match.tools", index), message: `${pattern} names no tool that is known`, hint }];
  });
}

/**
 * Warnings for a project and for environments that nobody has: names are exact, so such a rule never speaks.
 * @param places the projects that the policy can reach, with their labels
 */
export function lintPlaces(
  { level, project, match }: Pick<Policy, "level" | "project" | "match">,
  places: readonly { readonly project: string; readonly environment: string }[],
): readonly Problem[] {
  const look = (name: string, known: ReadonlySet<string>, path: string, what: string): readonly Problem[] => {
    if (known.has(name)) return [];
    const hint = didYouMean(name, known) ?? "the rule waits for one";
    return [{ path, message: `${name} is ${what}`, hint }];
  };
  const projects = new Set(places.map((place) => place.project));
  const environments = new Set(places.map(({ environment }) => environment));
  return [
    ...(level === "project" ? look(project, projects, "metadata.project", "no project that is known") : []),
    ...match.environments.flatMap((name, index) =>
      look(name, environments, under("spec.match.environments", index), "the environment of no project"),
    ),
  ];
}

function listed(names: readonly string[]): string {
  const more = names.length - policyBounds.toolsNamedMax;
  return names.slice(0, policyBounds.toolsNamedMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/**
 * Warnings for a policy beside those that are in force: rules that a stricter one leaves without effect, and allows that
 * a denial still cuts into. The order of rules plays no part: the strictest wins.
 * @param others active policies that can apply to the same calls
 */
export function lintShadows(
  policy: Policy & { readonly tenant: string },
  others: Iterable<PolicyVersion>,
): readonly Problem[] {
  const warnings: Problem[] = [];
  const say = (message: string, hint: string): void => {
    if (warnings.length < policyBounds.shadowWarningsMax) warnings.push({ path: "spec", message, hint });
  };
  if (policy.mode !== "enforce") return warnings;
  for (const other of others) {
    if (other.status !== "active" || other.mode !== "enforce" || sameName(policy, other)) continue;
    const name = `${other.name}@${other.version}`;
    if (shadows(other, policy))
      say(
        `has no effect: ${name} says ${other.decision} for every call that it matches`,
        "the strictest rule wins, whatever the order",
      );
    else if (shadows(policy, other))
      say(
        `leaves ${name} without effect: ${other.decision} where this rule says ${policy.decision}`,
        "the strictest rule wins, whatever the order",
      );
    else if (cutsInto(other, policy))
      say(`does not reach what ${name} denies`, "deny wins over allow, whatever the order");
    else if (cutsInto(policy, other))
      say(`takes from ${name} what it allows`, "deny wins over allow, whatever the order");
  }
  return warnings;
}

type Placed = Policy & { readonly tenant: string };

const sameName = (one: Placed, other: Placed): boolean => one.name === other.name && one.tenant === other.tenant;

const strictness = { allow: 0, require_approval: 1, deny: 2 } as const;

/** Whether `strict` leaves nothing for `weak` to change, wherever `weak` applies. */
function shadows(strict: Placed, weak: Placed): boolean {
  if (strictness[strict.decision] <= strictness[weak.decision]) return false;
  // An allow under an approval may still oblige the call to something.
  if (strict.decision !== "deny" && hasObligations(weak)) return false;
  const always = strict.when === null || (strict.when === weak.when && strict.missing === weak.missing);
  return always && scopeCovers(strict, weak) && matchCovers(strict.match, weak.match);
}

function hasObligations({ obligations }: Policy): boolean {
  const { limits, sandbox, egress, paths } = obligations;
  return Object.keys(limits).length > 0 || sandbox !== undefined || egress !== undefined || paths !== undefined;
}

/** A denial inside what an allow allows: case "deny 'rm *', allow '*'". */
function cutsInto(denial: Placed, allowance: Placed): boolean {
  return (
    denial.decision === "deny" &&
    allowance.decision === "allow" &&
    (scopeCovers(denial, allowance) || scopeCovers(allowance, denial)) &&
    matchCovers(allowance.match, denial.match)
  );
}

function scopeCovers(outer: Placed, inner: Placed): boolean {
  if (outer.level === "attached" || inner.level === "attached") return false;
  if (outer.level === "platform") return true;
  if (outer.tenant !== inner.tenant || inner.level === "platform") return false;
  return outer.level === "tenant" || (inner.level === "project" && outer.project === inner.project);
}

function matchCovers(outer: Match, inner: Match): boolean {
  const names = (["tools", "agents", "principals"] as const).every((key) => patternsCover(outer[key], inner[key]));
  const environments =
    outer.environments.length === 0 ||
    (inner.environments.length > 0 && inner.environments.every((one) => outer.environments.includes(one)));
  const triggers =
    outer.triggers.length === 0
      ? inner.triggers.length === 0
      : inner.triggers.length > 0 && inner.triggers.every((one) => outer.triggers.includes(one));
  return names && environments && triggers;
}

function patternsCover(outer: readonly string[], inner: readonly string[]): boolean {
  if (outer.length === 0) return true;
  const patterns = readPatterns(outer);
  return (
    inner.length > 0 && readPatterns(inner).every((one) => patterns.some((pattern) => patternCovers(pattern, one)))
  );
}
