// A published policy made ready: its patterns read, its condition compiled when it is first needed.
import { policyBounds } from "../bounds.ts";
import { compileCondition, type CompiledCondition } from "../condition.ts";
import { patternMatches, readPatterns, type Pattern } from "../pattern.ts";
import type { PolicyVersion, Subject } from "../types.ts";

export interface Rule {
  readonly policy: PolicyVersion;
  /** Null for a rule without `when`. What no longer compiles has no say but to deny. */
  condition(): CompiledCondition | null;
  /** Whether the rule concerns this subject; level and attachment are not its question. */
  concerns(subject: Subject): boolean;
  /** For each dimension of the index the keys under which it stands; null = under "any". */
  readonly keys: readonly (readonly Pattern[] | null)[];
}

/** The dimensions of the index, in the order in which it splits, and what of a subject each looks at. */
export const dimensions: readonly ((subject: Subject) => string)[] = [
  ({ tool }) => tool.name,
  ({ principal }) => principal.name,
  ({ agent }) => agent,
  ({ environment }) => environment,
];

export function createRule(policy: PolicyVersion): Rule {
  const { match } = policy;
  const patterns = [match.tools, match.principals, match.agents].map(readPatterns);
  const environments = match.environments.map((text): Pattern => ({ text, open: false }));
  const wanted: readonly (readonly Pattern[])[] = [...patterns, environments];
  const given = [match.tools, match.principals, match.agents, match.environments];
  let compiled: CompiledCondition | null | undefined;
  return {
    policy,
    keys: keysOf(wanted, given),
    condition: () => (compiled ??= policy.when === null ? null : compileCondition(policy.when)),
    concerns: (subject) =>
      (match.triggers.length === 0
        ? subject.trigger === null
        : subject.trigger !== null && match.triggers.includes(subject.trigger)) &&
      dimensions.every((look, index) => {
        // A list of nothing but unreadable patterns is not an empty list: it must not turn into "anybody".
        if ((given[index]?.length ?? 0) === 0) return true;
        const name = look(subject);
        return wanted[index]?.some((pattern) => patternMatches(pattern, name)) === true;
      }),
  };
}

/** A rule with long lists in several dimensions would stand in their product; beyond the bound it stands under "any". */
function keysOf(
  wanted: readonly (readonly Pattern[])[],
  given: readonly (readonly string[])[],
): readonly (readonly Pattern[] | null)[] {
  let places: number = policyBounds.indexPlacesMax;
  return wanted.map((patterns, index) => {
    if ((given[index]?.length ?? 0) === 0 || patterns.length > places) return null;
    places = Math.floor(places / Math.max(patterns.length, 1));
    return patterns;
  });
}
