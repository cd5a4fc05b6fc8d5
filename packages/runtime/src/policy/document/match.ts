// Reads `spec.match`: whom a rule concerns.
import { field, readChoice, readFields, readList, readText, type TextRule } from "../../document/fields.ts";
import { refuse, shown, under, warn, type Notes } from "../../document/problems.ts";
import { policyBounds } from "../bounds.ts";
import { patternHint, readPattern } from "../pattern.ts";
import { triggers, type Match, type Outcome, type PolicyLevel } from "../types.ts";

const keys = ["tools", "agents", "principals", "environments", "triggers"] as const;
const name: TextRule = { charsMax: policyBounds.patternCharsMax };
const environment: TextRule = {
  charsMax: policyBounds.patternCharsMax,
  pattern: /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/,
  hint: "an environment's exact name, like production",
};

export function readMatch(value: unknown, path: string, notes: Notes): Match | undefined {
  const fields = readFields(value, path, keys, notes);
  if (fields === undefined) return undefined;
  const patterns = (key: string): readonly string[] =>
    readList(field(fields, key), under(path, key), notes, (item, here) => {
      const text = readText(item, here, name, notes);
      if (text === undefined || readPattern(text) !== undefined) return text;
      refuse(notes, here, `${shown(text)} is no pattern`, patternHint);
      return undefined;
    });
  const match: Match = {
    tools: patterns("tools"),
    agents: patterns("agents"),
    principals: patterns("principals"),
    environments: readList(field(fields, "environments"), under(path, "environments"), notes, (item, here) =>
      readText(item, here, environment, notes),
    ),
    triggers: readList(field(fields, "triggers"), under(path, "triggers"), notes, (item, here) =>
      readChoice(item, here, triggers, notes),
    ),
  };
  if (match.tools.length > 0 && match.triggers.some((trigger) => trigger.startsWith("limit.")))
    refuse(notes, under(path, "tools"), "names tools, but a limit of a session is no tool's", "leave tools empty");
  return match;
}

/**
 * An allow for everybody and everything would be open without anybody having said so; a denial of everything is
 * strict, but hardly ever meant.
 */
export function lookAtScope(
  match: Match,
  rule: { readonly level: PolicyLevel; readonly decision: Outcome; readonly conditional: boolean },
  path: string,
  notes: Notes,
): void {
  const named = keys.some((key) => match[key].length > 0);
  if (named || rule.level === "attached") return;
  if (rule.decision === "allow")
    refuse(
      notes,
      path,
      "names nothing, so this rule would allow everything",
      'say so with tools: ["*"], or name what it allows',
    );
  else if (!rule.conditional) warn(notes, path, `names nothing, so this rule applies to every call: ${rule.decision}`);
}
