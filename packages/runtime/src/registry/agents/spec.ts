// Reads `spec` of an agent: its model, its instructions, its tools, and what bounds it; defaults filled in.
import { utf8Bytes } from "@signalbox/protocol";
import { field, readFields, readInteger, readList, readRequiredText, readText, readTextMap, type Fields } from "../../document/fields.ts";
import { readPart } from "../../document/header.ts";
import { isRecord, refuse, shown, under, type Notes } from "../../document/problems.ts";
import { bounds } from "../bounds.ts";
import { envName, readInnerPath } from "../manifest/rules.ts";
import { fileOf } from "../manifest/schemas.ts";
import { readBindings, readPolicies } from "./bindings.ts";
import { agentBounds } from "./bounds.ts";
import { readAgentLimits } from "./limits.ts";
import * as rules from "./rules.ts";
import type { AgentSpec, ModelChoice } from "./types.ts";

/** The text of a file beside the manifest; undefined when there is none. May throw. */
export type TextFiles = (path: string) => string | undefined;

const specKeys = ["model", "instructions", "tools", "default_policies", "permissions", "limits", "secrets"] as const;

/** Where there are problems the result is partly made of defaults; the caller looks at the notes. */
export function readAgentSpec(value: unknown, path: string, notes: Notes, files: TextFiles | undefined): AgentSpec | undefined {
  const fields = readFields(value, path, specKeys, notes, policiesHint);
  if (fields === undefined) return undefined;
  const model = readPart(fields, "model", path, notes, (given, here) => readModel(given, here, notes));
  const instructions = readPart(fields, "instructions", path, notes, (given, here) => readInstructions(given, here, notes, files));
  const rest = {
    tools: readBindings(field(fields, "tools"), under(path, "tools"), notes),
    defaultPolicies: readPolicies(fields, "default_policies", path, notes),
    permissions: readPermissions(fields, path, notes),
    limits: readAgentLimits(field(fields, "limits"), under(path, "limits"), notes),
    secrets: readSecrets(fields, path, notes),
  };
  return model === undefined || instructions === undefined ? undefined : { model, instructions, ...rest };
}

/** Policies have their own documents, owners and history. */
const policiesHint = (key: string): string | undefined =>
  key === "policies" || key === "policy"
    ? "policies are published apart from agents, with 'signalbox policies publish'; name them in default_policies: [name@version]"
    : undefined;

function readModel(value: unknown, path: string, notes: Notes): ModelChoice | undefined {
  const fields = readFields(value, path, ["provider", "name", "max_output_tokens", "temperature"], notes);
  const provider = readRequiredText(fields, "provider", path, rules.provider, notes);
  const name = readRequiredText(fields, "name", path, rules.modelName, notes);
  const tokens = field(fields, "max_output_tokens");
  const most = { min: 1, max: agentBounds.outputTokensMax };
  const maxOutputTokens = tokens === undefined ? agentBounds.outputTokens : readInteger(tokens, under(path, "max_output_tokens"), most, notes);
  const temperature = readTemperature(field(fields, "temperature"), under(path, "temperature"), notes);
  return provider === undefined || name === undefined || maxOutputTokens === undefined ? undefined : { provider, name, maxOutputTokens, temperature };
}

function readTemperature(value: unknown, path: string, notes: Notes): number | undefined {
  if (value === undefined) return undefined;
  if (typeof value === "number" && value >= 0 && value <= agentBounds.temperatureMax) return value;
  refuse(notes, path, `must be a number from 0 to ${agentBounds.temperatureMax}, not ${shown(value)}`);
  return undefined;
}

function readInstructions(value: unknown, path: string, notes: Notes, files: TextFiles | undefined): string | undefined {
  const hint = "what the model is told before everything else: text, or {file: instructions.md}";
  const file = fileOf(value);
  if (file === undefined && isRecord(value)) {
    refuse(notes, path, "must be text or name one file", hint);
    return undefined;
  }
  const here = file === undefined ? path : under(path, "file");
  const given = file === undefined ? value : readFile(file, here, notes, files);
  if (file !== undefined && given === undefined) return undefined;
  const text = readText(given, here, { charsMax: agentBounds.instructionsBytesMax, hint }, notes);
  if (text === undefined) return undefined;
  const bytes = utf8Bytes(text);
  if (bytes <= agentBounds.instructionsBytesMax) return text;
  refuse(notes, here, `is ${bytes} bytes of text; at most ${agentBounds.instructionsBytesMax} are accepted`);
  return undefined;
}

function readFile(file: unknown, path: string, notes: Notes, files: TextFiles | undefined): string | undefined {
  const inner = readInnerPath(file, path, notes);
  if (inner === undefined) return undefined;
  if (files === undefined) {
    refuse(notes, path, "names a file, but only the manifest itself was sent", "write the text in place, or publish from the folder: signalbox agents publish <folder>");
    return undefined;
  }
  try {
    // Whatever ends the lines in the editor of whoever wrote them, the model reads the same.
    const text = files(inner)?.replaceAll("\r\n", "\n");
    if (text === undefined) refuse(notes, path, `there is no file ${inner}`);
    return text;
  } catch (error) {
    refuse(notes, path, `${inner} cannot be read: ${error instanceof Error ? error.message.slice(0, 300) : "unknown error"}`);
    return undefined;
  }
}

/** Nothing said is everything: the caller's own rights bound it then. An empty list is nothing at all. */
function readPermissions(fields: Fields, path: string, notes: Notes): readonly string[] {
  const given = field(fields, "permissions");
  if (given === undefined) return ["*"];
  return readList(given, under(path, "permissions"), notes, (item, here) => rules.readCeiling(item, here, notes));
}

function readSecrets(fields: Fields, path: string, notes: Notes): Readonly<Record<string, string>> {
  const here = under(path, "secrets");
  const secrets = readTextMap(field(fields, "secrets"), here, envName, { charsMax: bounds.textCharsMax, hint: rules.secretHint }, notes);
  if (Object.keys(secrets).length > agentBounds.secretsMax) refuse(notes, here, `has more than ${agentBounds.secretsMax} entries`);
  for (const [name, reference] of Object.entries(secrets)) {
    // What stands there may be the secret itself, so it is not repeated.
    if (!rules.secretReference.test(reference)) refuse(notes, under(here, name), "is no reference to a secret", rules.secretHint);
  }
  return secrets;
}
