// Reads `spec.tools`: which tools an agent may call, what the model calls them, and what each binding tightens.
import { limits, sideEffectClasses } from "@signalbox/protocol";
import { documentBounds } from "../../document/bounds.ts";
import { field, readChoice, readFields, readList, readText, type Fields } from "../../document/fields.ts";
import { readPart } from "../../document/header.ts";
import { isRecord, refuse, shown, under, type Notes } from "../../document/problems.ts";
import { parseVersion } from "../../document/versions.ts";
import { scheduling, toolName } from "../manifest/rules.ts";
import { surveySchema } from "../schema/survey.ts";
import { agentBounds } from "./bounds.ts";
import { alias, defaultAlias, readPolicyName } from "./rules.ts";
import type { ToolBinding } from "./types.ts";

const bindingKeys = ["tool", "as", "input", "scheduling", "side_effect_class", "policies"] as const;

/** Problems carry the place of the binding: `spec.tools[2].tool`. */
export function readBindings(value: unknown, path: string, notes: Notes): readonly ToolBinding[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    refuse(notes, path, `must be a list, not ${shown(value)}`);
    return [];
  }
  if (value.length > agentBounds.toolsPerAgentMax) refuse(notes, path, `has more than ${agentBounds.toolsPerAgentMax} entries`);
  const read: ToolBinding[] = [];
  for (const [index, one] of value.slice(0, agentBounds.toolsPerAgentMax).entries()) {
    const here = under(path, index);
    const binding = readBinding(one, here, notes);
    if (binding === undefined) continue;
    refuseTwins(binding, read, { here, named: isRecord(one) && Object.hasOwn(one, "as") }, notes);
    read.push(binding);
  }
  return read;
}

function readBinding(value: unknown, path: string, notes: Notes): ToolBinding | undefined {
  const fields = readFields(value, path, bindingKeys, notes, policyHint);
  if (fields === undefined) return undefined;
  const tool = readPart(fields, "tool", path, notes, (given, here) => readReference(given, here, notes));
  const optional = <T>(key: string, read: (given: unknown, here: string) => T | undefined): T | undefined => {
    const given = field(fields, key);
    return given === undefined ? undefined : read(given, under(path, key));
  };
  const given = optional("as", (one, here) => readText(one, here, alias, notes));
  const rest = {
    input: optional("input", (one, here) => (surveySchema(one, here, notes) === undefined ? undefined : one)),
    scheduling: optional("scheduling", (one, here) => readText(one, here, scheduling, notes)),
    sideEffectClass: optional("side_effect_class", (one, here) => readChoice(one, here, sideEffectClasses, notes)),
    policies: readPolicies(fields, "policies", path, notes),
  };
  return tool === undefined ? undefined : { ...tool, alias: given ?? defaultAlias(tool.tool), ...rest };
}

const policyHint = (key: string): string | undefined =>
  key === "policy" ? "policies: [name@version], each of them published apart from agents" : undefined;

/** `name@version`, the version exact: what an agent may do must not change under it. */
function readReference(value: unknown, path: string, notes: Notes): Pick<ToolBinding, "tool" | "version"> | undefined {
  const hint = "one exact version, like payments.charge@1.0.0";
  const text = readText(value, path, { charsMax: limits.nameCharsMax + documentBounds.versionCharsMax + 1, hint }, notes);
  if (text === undefined) return undefined;
  const at = text.indexOf("@");
  if (at === -1) {
    refuse(notes, path, `${shown(text)} names no version`, hint);
    return undefined;
  }
  const [tool, version] = [text.slice(0, at), text.slice(at + 1)];
  if (readText(tool, path, toolName, notes) === undefined) return undefined;
  if (parseVersion(version) !== undefined) return { tool, version };
  refuse(notes, path, `${shown(version)} is no version`, hint);
  return undefined;
}

/** References to policies; a list without repetitions. */
export function readPolicies(fields: Fields | undefined, key: string, path: string, notes: Notes): readonly string[] {
  return readList(field(fields, key), under(path, key), notes, (item, here) => readPolicyName(item, here, notes));
}

interface Place {
  readonly here: string;
  readonly named: boolean;
}

function refuseTwins(binding: ToolBinding, before: readonly ToolBinding[], { here, named }: Place, notes: Notes): void {
  const sameTool = before.find(({ tool }) => tool === binding.tool);
  if (sameTool !== undefined) {
    refuse(notes, under(here, "tool"), `${binding.tool} is bound twice, ${sameTool.version} as ${shown(sameTool.alias)} before`, "keep one binding of each tool");
    return;
  }
  const sameAlias = before.find((one) => one.alias === binding.alias);
  if (sameAlias === undefined) return;
  const place = named ? under(here, "as") : under(here, "tool");
  refuse(notes, place, `the model would call it ${shown(binding.alias)}, and so it calls ${sameAlias.tool}`, `as: another name for ${binding.tool}`);
}
