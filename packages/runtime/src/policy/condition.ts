// Compiles the condition of a rule: parsed within bounds, everything unknown refused, and what it reads found out.
import { checkTypes, type TypeCheck } from "./condition/check.ts";
import { parseCondition, type ConditionProblem } from "./condition/parse.ts";
import { unknownArgs, type Shape } from "./condition/shape.ts";
import { childrenOf, pathOf, type Node } from "./condition/tree.ts";

/** What must have been counted before a condition can be evaluated. */
export interface CountsNeeded {
  readonly turn: boolean;
  readonly session: boolean;
  readonly windowsMs: readonly number[];
}

export interface Condition {
  readonly source: string;
  readonly root: Node;
  readonly readsArgs: boolean;
  /** The fields of the arguments that it reads or asks for, like `args.payee`, and `args` for all of them. */
  readonly argPaths: readonly string[];
  readonly counts: CountsNeeded;
  readonly countsCalls: boolean;
  /** Fields that may be absent, as long as no tool's schema is known. */
  readonly mayBeAbsent: readonly string[];
}

export type CompiledCondition =
  | { readonly ok: true; readonly condition: Condition }
  | { readonly ok: false; readonly problems: readonly ConditionProblem[] };

/** Never throws, whatever the text is. */
export function compileCondition(source: string): CompiledCondition {
  const parsed = parseCondition(source);
  if (!parsed.ok) return parsed;
  const types = checkTypes(parsed.root, unknownArgs);
  if (types.problems.length > 0) return { ok: false, problems: types.problems };
  const reads = readsOf(parsed.root);
  const { turn, session, windowsMs } = reads;
  const condition: Condition = {
    source,
    root: parsed.root,
    readsArgs: reads.paths.size > 0,
    argPaths: [...reads.paths],
    counts: { turn, session, windowsMs: [...windowsMs].sort((one, other) => one - other) },
    countsCalls: turn || session || windowsMs.size > 0,
    mayBeAbsent: types.mayBeAbsent,
  };
  return { ok: true, condition };
}

/** How a condition fares with the arguments of one tool. */
export function checkCondition(condition: Condition, args: Shape): TypeCheck {
  return checkTypes(condition.root, args);
}

interface Reads {
  readonly paths: Set<string>;
  turn: boolean;
  session: boolean;
  readonly windowsMs: Set<number>;
}

function readsOf(root: Node): Reads {
  const reads: Reads = { paths: new Set(), turn: false, session: false, windowsMs: new Set() };
  collect(root, reads);
  return reads;
}

function collect(node: Node, reads: Reads): void {
  const path = node.kind === "has" ? pathOf({ kind: "field", of: node.of, name: node.name }) : pathOf(node);
  if (path !== undefined) {
    // The longest path says it all; its beginnings are not looked at again.
    if (path === "args" || path.startsWith("args.") || path.startsWith("args[")) reads.paths.add(path);
    return;
  }
  if (node.kind === "count") {
    if (typeof node.over === "number") reads.windowsMs.add(node.over);
    else reads[node.over] = true;
  }
  for (const child of childrenOf(node)) collect(child, reads);
}
