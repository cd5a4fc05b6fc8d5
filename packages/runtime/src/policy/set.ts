// The published policies as one immutable set that finds the rules of a call without looking at the others.
import { createRule, type Rule } from "./set/rule.ts";
import { buildTree, collectRules, emptyTree, withoutRule, withRule, type Tree } from "./set/tree.ts";
import { policyLevels, type Attachment, type PolicyVersion, type Subject } from "./types.ts";

export type { Rule } from "./set/rule.ts";

export interface Applicable {
  /** From platform to attached, by name within a level. */
  readonly rules: readonly Rule[];
  /** References that lead to no policy in force; a call that has one is denied. */
  readonly unresolved: readonly Attachment[];
}

/** Every change makes a new set; who holds the old one goes on with the old rules. */
export interface PolicySet {
  /** Versions held, in force or not. */
  readonly size: number;
  /**
   * The rules that concern a subject: those of the platform, of its tenant and of its project by their match, and those
   * that are attached, by reference and match. Rules with triggers only for a subject with one of them.
   */
  applicable(subject: Subject): Applicable;
  /** The version behind `name` (the active one) or `name@version`, unless it is withdrawn. */
  find(attachment: Attachment): PolicyVersion | undefined;
  versions(): IterableIterator<PolicyVersion>;
  /** An active version takes the place of the one before it, which becomes superseded. */
  with(policy: PolicyVersion): PolicySet;
  /** Takes versions out altogether: one, or all of the name. */
  without(tenant: string, name: string, version?: string): PolicySet;
}

interface State {
  /** Key of a version → its rule. */
  readonly rules: ReadonlyMap<string, Rule>;
  /** Key of a name → the version in force. */
  readonly active: ReadonlyMap<string, Rule>;
  /** Key of a scope → its rules by match. */
  readonly scopes: ReadonlyMap<string, Tree>;
}

// Neither tenants, names nor versions hold a line feed.
const keyOf = (...parts: readonly string[]): string => parts.join("\n");
const nameKey = ({ policy }: Rule): string => keyOf(policy.tenant, policy.name);
const versionKey = ({ policy }: Rule): string => keyOf(policy.tenant, policy.name, policy.version);

function scopeOf({ tenant, level, project }: PolicyVersion): string | undefined {
  if (level === "attached") return undefined;
  // Only the platform speaks for all tenants, whatever level a row claims.
  if (level === "platform" && tenant === "platform") return keyOf("platform");
  return level === "project" ? keyOf("project", tenant, project) : keyOf("tenant", tenant);
}

/** Of several active versions of one name the last in the list is in force. */
export function createPolicySet(policies: Iterable<PolicyVersion>): PolicySet {
  const rules = new Map<string, Rule>();
  const active = new Map<string, Rule>();
  for (const policy of policies) {
    const rule = createRule(policy);
    rules.set(versionKey(rule), rule);
    if (policy.status !== "active") continue;
    const before = active.get(nameKey(rule));
    if (before !== undefined && versionKey(before) !== versionKey(rule))
      rules.set(versionKey(before), superseded(before));
    active.set(nameKey(rule), rule);
  }
  // A version that comes twice stands there as it came last.
  for (const [key, rule] of active) if (rules.get(versionKey(rule)) !== rule) active.delete(key);
  const groups = new Map<string, Rule[]>();
  for (const rule of active.values()) {
    const scope = scopeOf(rule.policy);
    if (scope === undefined) continue;
    const group = groups.get(scope);
    if (group === undefined) groups.set(scope, [rule]);
    else group.push(rule);
  }
  return setOf({ rules, active, scopes: new Map([...groups].map(([scope, group]) => [scope, buildTree(group)])) });
}

function superseded({ policy, ...rest }: Rule): Rule {
  return { ...rest, policy: { ...policy, status: "superseded" } };
}

function setOf(state: State): PolicySet {
  return {
    size: state.rules.size,
    applicable: (subject) => applicable(state, subject),
    find: (attachment) => ruleBehind(state, attachment)?.policy,
    versions: () => [...state.rules.values()].map(({ policy }) => policy).values(),
    with: (policy) => setOf(added(state, createRule(policy))),
    without: (tenant, name, version) => setOf(removed(state, tenant, name, version)),
  };
}

function ruleBehind(state: State, { tenant, reference }: Attachment): Rule | undefined {
  const at = reference.indexOf("@");
  if (at === -1) return state.active.get(keyOf(tenant, reference));
  const rule = state.rules.get(keyOf(tenant, reference.slice(0, at), reference.slice(at + 1)));
  return rule?.policy.status === "withdrawn" ? undefined : rule;
}

function applicable(state: State, subject: Subject): Applicable {
  const found = new Set<Rule>();
  const scopes = [
    keyOf("platform"),
    keyOf("tenant", subject.tenant),
    keyOf("project", subject.tenant, subject.project),
  ];
  for (const scope of scopes) {
    const tree = state.scopes.get(scope);
    if (tree !== undefined) collectRules(tree, subject, found);
  }
  const unresolved: Attachment[] = [];
  for (const attachment of subject.attached) {
    const rule = ruleBehind(state, attachment);
    if (rule === undefined) unresolved.push(attachment);
    else if (rule.concerns(subject)) found.add(rule);
  }
  return { rules: [...found].sort(byLevel), unresolved };
}

/** From platform to attached, by name within a level: the order in which rules are shown and give reasons. */
export function byLevel({ policy: one }: Rule, { policy: other }: Rule): number {
  const level = policyLevels.indexOf(one.level) - policyLevels.indexOf(other.level);
  if (level !== 0) return level;
  if (one.name !== other.name) return one.name < other.name ? -1 : 1;
  return one.version < other.version ? -1 : 1;
}

function changedScope(
  scopes: ReadonlyMap<string, Tree>,
  rule: Rule,
  change: typeof withRule,
): ReadonlyMap<string, Tree> {
  const scope = scopeOf(rule.policy);
  if (scope === undefined) return scopes;
  return new Map(scopes).set(scope, change(scopes.get(scope) ?? emptyTree, rule));
}

function added(state: State, rule: Rule): State {
  const before = state.rules.get(versionKey(rule));
  const base = before === undefined ? state : takenOut(state, before);
  const rules = new Map(base.rules).set(versionKey(rule), rule);
  if (rule.policy.status !== "active") return { ...base, rules };
  const active = new Map(base.active).set(nameKey(rule), rule);
  const last = base.active.get(nameKey(rule));
  let { scopes } = base;
  if (last !== undefined) {
    rules.set(versionKey(last), superseded(last));
    scopes = changedScope(scopes, last, withoutRule);
  }
  return { rules, active, scopes: changedScope(scopes, rule, withRule) };
}

function takenOut(state: State, rule: Rule): State {
  const rules = new Map(state.rules);
  rules.delete(versionKey(rule));
  if (state.active.get(nameKey(rule)) !== rule) return { ...state, rules };
  const active = new Map(state.active);
  active.delete(nameKey(rule));
  return { rules, active, scopes: changedScope(state.scopes, rule, withoutRule) };
}

function removed(state: State, tenant: string, name: string, version: string | undefined): State {
  const gone = [...state.rules.values()].filter(
    ({ policy }) =>
      policy.tenant === tenant && policy.name === name && (version === undefined || policy.version === version),
  );
  return gone.reduce(takenOut, state);
}
