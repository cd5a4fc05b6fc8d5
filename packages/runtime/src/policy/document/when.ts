// Reads `spec.when` and `spec.missing`, and checks the condition against the input schemas of the tools it concerns.
import { readChoice, readText } from "../../document/fields.ts";
import { refuse, warn, type Notes } from "../../document/problems.ts";
import { policyBounds } from "../bounds.ts";
import { checkCondition, compileCondition, type Condition } from "../condition.ts";
import type { Shape } from "../condition/shape.ts";
import { patternMatches, readPatterns } from "../pattern.ts";
import { absences, type Absence, type Match } from "../types.ts";

/** A tool as far as a policy's author can be told about it. */
export interface KnownTool {
  readonly name: string;
  /** What its arguments can be (`inputShape`); asked for only where a condition reads them. */
  readonly input: () => Shape;
}

export function readCondition(value: unknown, path: string, notes: Notes): Condition | undefined {
  const source = readText(value, path, { charsMax: policyBounds.conditionCharsMax }, notes);
  if (source === undefined) return undefined;
  const compiled = compileCondition(source);
  if (compiled.ok) return compiled.condition;
  for (const { message, hint } of compiled.problems) refuse(notes, path, message, hint);
  return undefined;
}

export function readMissing(value: unknown, path: string, notes: Notes): Absence | null {
  return value === undefined ? null : (readChoice(value, path, absences, notes) ?? null);
}

const missingHint = "say what then: missing: match, skip or deny; or ask for it first with has()";

/** @param tools those that are known, or undefined where nobody looked */
export function checkWhen(
  condition: Condition | null,
  missing: Absence | null,
  context: { readonly match: Match; readonly tools: readonly KnownTool[] | undefined; readonly given: boolean },
  notes: Notes,
): void {
  if (condition === null) {
    if (context.given) refuse(notes, "spec.missing", "has no effect without when");
    return;
  }
  const { match } = context;
  if (condition.readsArgs && match.triggers.some((trigger) => trigger.startsWith("limit.")))
    refuse(notes, "spec.when", "reads args, but a limit of a session has none");
  const known = condition.readsArgs ? concerned(match, context.tools ?? []) : [];
  const mayBeAbsent =
    known.length === 0
      ? condition.mayBeAbsent
      : checkTools(condition, known.slice(0, policyBounds.toolsCheckedMax), notes);
  const unchecked = known.length > policyBounds.toolsCheckedMax ? condition.mayBeAbsent : [];
  if (unchecked.length > 0)
    warn(
      notes,
      "spec.when",
      `was checked against ${policyBounds.toolsCheckedMax} of the ${known.length} tools it concerns`,
    );
  const open = [...new Set([...mayBeAbsent, ...unchecked])];
  if (open.length > 0 && missing === null && !context.given)
    refuse(notes, "spec.missing", `is required: ${listed(open)} may be absent`, missingHint);
}

function concerned(match: Match, tools: readonly KnownTool[]): readonly KnownTool[] {
  const patterns = readPatterns(match.tools);
  return patterns.length === 0
    ? tools
    : tools.filter(({ name }) => patterns.some((pattern) => patternMatches(pattern, name)));
}

function listed(names: readonly string[]): string {
  const { toolsNamedMax } = policyBounds;
  const more = names.length - toolsNamedMax;
  return names.slice(0, toolsNamedMax).join(", ") + (more > 0 ? ` and ${more} more` : "");
}

/** The fields that may be absent in some of the tools. */
function checkTools(condition: Condition, tools: readonly KnownTool[], notes: Notes): readonly string[] {
  const mayBeAbsent = new Set<string>();
  const unknown = new Map<string, { readonly hint: string | undefined; readonly tools: string[] }>();
  const said = new Map<
    string,
    { readonly hint: string | undefined; readonly refused: boolean; readonly tools: string[] }
  >();
  for (const tool of tools) {
    const types = checkCondition(condition, tool.input());
    for (const path of types.mayBeAbsent) mayBeAbsent.add(path);
    for (const { path, hint } of types.unknown) {
      const found = unknown.get(path) ?? { hint, tools: [] };
      unknown.set(path, found);
      found.tools.push(tool.name);
    }
    for (const [list, refused] of [[types.problems, true] as const, [types.warnings, false] as const])
      for (const { message, hint } of list) {
        const found = said.get(message) ?? { hint, refused, tools: [] };
        said.set(message, found);
        found.tools.push(tool.name);
      }
  }
  for (const [message, { hint, refused, tools: where }] of said)
    (refused ? refuse : warn)(notes, "spec.when", `${message} (${listed(where)})`, hint);
  for (const [path, { hint, tools: where }] of unknown) {
    // Among several tools a rule may well read what only some of them have; what none has is misspelt.
    if (where.length === tools.length) refuse(notes, "spec.when", `there is no ${path} in ${listed(where)}`, hint);
    else {
      warn(notes, "spec.when", `there is no ${path} in ${listed(where)}: there it counts as absent`, hint);
      mayBeAbsent.add(path);
    }
  }
  return [...mayBeAbsent];
}
