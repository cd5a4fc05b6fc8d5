// An index of rules as an immutable tree: split by tool, then principal, agent, environment, so that few are looked at.
import { policyBounds } from "../bounds.ts";
import { separators } from "../pattern.ts";
import type { Subject } from "../types.ts";
import { dimensions, type Rule } from "./rule.ts";

interface Leaf {
  readonly rules: readonly Rule[];
}

interface Split {
  readonly dimension: number;
  readonly exact: ReadonlyMap<string, Tree>;
  /** Under the beginning of open patterns: `payments.` for `payments.*`, empty for `*`. */
  readonly open: ReadonlyMap<string, Tree>;
  readonly any: Tree;
}

export type Tree = Leaf | Split;

export const emptyTree: Tree = { rules: [] };

export function buildTree(rules: readonly Rule[], dimension = 0): Tree {
  if (rules.length <= policyBounds.indexLeafMax || dimension >= dimensions.length) return { rules };
  const exact = new Map<string, Rule[]>();
  const open = new Map<string, Rule[]>();
  const any: Rule[] = [];
  for (const rule of rules) {
    const keys = rule.keys[dimension] ?? null;
    if (keys === null) any.push(rule);
    for (const key of keys ?? []) {
      const group = key.open ? open : exact;
      const there = group.get(key.text);
      if (there === undefined) group.set(key.text, [rule]);
      else there.push(rule);
    }
  }
  const built = (group: ReadonlyMap<string, readonly Rule[]>): ReadonlyMap<string, Tree> =>
    new Map([...group].map(([text, some]) => [text, buildTree(some, dimension + 1)]));
  return { dimension, exact: built(exact), open: built(open), any: buildTree(any, dimension + 1) };
}

/** A tree in which one place has changed; everything else is shared with the old one. */
function changed(tree: Tree, rule: Rule, change: (leaf: readonly Rule[]) => readonly Rule[], dimension: number): Tree {
  if ("rules" in tree) return buildTree(change(tree.rules), dimension);
  const keys = rule.keys[tree.dimension] ?? null;
  const next = tree.dimension + 1;
  if (keys === null) return { ...tree, any: changed(tree.any, rule, change, next) };
  const [exact, open] = [new Map(tree.exact), new Map(tree.open)];
  for (const key of keys) {
    const group = key.open ? open : exact;
    const inner = changed(group.get(key.text) ?? emptyTree, rule, change, next);
    if ("rules" in inner && inner.rules.length === 0) group.delete(key.text);
    else group.set(key.text, inner);
  }
  return { ...tree, exact, open };
}

export function withRule(tree: Tree, rule: Rule): Tree {
  return changed(tree, rule, (leaf) => [...leaf, rule], 0);
}

export function withoutRule(tree: Tree, rule: Rule): Tree {
  return changed(tree, rule, (leaf) => leaf.filter((one) => one !== rule), 0);
}

/** Puts the rules that concern the subject into `found`; each once, however many of its patterns match. */
export function collectRules(tree: Tree, subject: Subject, found: Set<Rule>): void {
  if ("rules" in tree) {
    for (const rule of tree.rules) if (rule.concerns(subject)) found.add(rule);
    return;
  }
  collectRules(tree.any, subject, found);
  const name = dimensions[tree.dimension]?.(subject) ?? "";
  if (name === "") return;
  const exact = tree.exact.get(name);
  if (exact !== undefined) collectRules(exact, subject, found);
  if (tree.open.size === 0) return;
  const everything = tree.open.get("");
  if (everything !== undefined) collectRules(everything, subject, found);
  for (let end = 1; end < name.length; end++) {
    if (!separators.has(name.charAt(end - 1))) continue;
    const beginning = tree.open.get(name.slice(0, end));
    if (beginning !== undefined) collectRules(beginning, subject, found);
  }
}
