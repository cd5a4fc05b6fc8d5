// The shapes of the names and references that only an agent's manifest has, each with the sentence that explains it.
import { limits } from "@signalbox/protocol";
import type { TextRule } from "../../document/fields.ts";
import { readText } from "../../document/fields.ts";
import { isRecord, refuse, type Notes } from "../../document/problems.ts";
import { bounds } from "../bounds.ts";
import { permission, readNamedVersion } from "../manifest/rules.ts";
import { agentBounds } from "./bounds.ts";

export const agentName: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/,
  hint: "lower-case letters and digits, with . _ - inside, like support",
};
export const owner: TextRule = { charsMax: bounds.ownerCharsMax, hint: "the team or person who answers for this agent" };
export const description: TextRule = { charsMax: bounds.descriptionCharsMax, hint: "say what the agent is for" };
export const provider: TextRule = {
  charsMax: limits.nameCharsMax,
  pattern: /^[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?$/,
  hint: "anthropic, openai, scripted, or the name of a server that the runtime was given",
};
export const modelName: TextRule = { charsMax: agentBounds.modelNameCharsMax, pattern: /^\S+$/, hint: "the model's name at its provider, without spaces" };
export const alias: TextRule = {
  charsMax: agentBounds.aliasCharsMax,
  pattern: /^[A-Za-z0-9_-]+$/,
  hint: `1 to ${agentBounds.aliasCharsMax} letters, digits, _ and -: what the model calls the tool`,
};
export const secretReference =
  /^(?:secret:\/\/[a-z0-9](?:[a-z0-9._-]*[a-z0-9])?(?:\/[A-Za-z0-9_-][A-Za-z0-9._-]*)*|env:[A-Za-z_][A-Za-z0-9_]*)$/;
export const secretHint = "secrets are named, never written down: secret://name or env:NAME";

/** Like a tool's permissions, and `*` for all. */
export function readCeiling(value: unknown, path: string, notes: Notes): string | undefined {
  return value === "*" ? value : readText(value, path, { ...permission, hint: `${permission.hint}, or "*"` }, notes);
}

/** `name` or `name@version` of a policy that is published; a document in its place is refused. */
export function readPolicyName(value: unknown, path: string, notes: Notes): string | undefined {
  if (!isRecord(value)) return readNamedVersion(value, path, notes, false);
  refuse(notes, path, "is a policy written in place, and policies are published apart from agents", "publish it with 'signalbox policies publish' and write its name@version here");
  return undefined;
}

/** What the model calls a tool whose binding says nothing else. */
export function defaultAlias(tool: string): string {
  return tool.replaceAll(/[^A-Za-z0-9_-]/g, "_").slice(0, agentBounds.aliasCharsMax);
}
