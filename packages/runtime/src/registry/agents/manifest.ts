// Reads an agent's manifest (`kind: Agent`): every field checked, every problem named with its path, defaults filled in.
import { canonicalJson, utf8Bytes } from "@signalbox/protocol";
import { field, readFields, readRequiredText, readTextMap } from "../../document/fields.ts";
import { readPart, readTop, readVersion } from "../../document/header.ts";
import { isRecord, newNotes, refuse, under, warn, type Notes, type Problem } from "../../document/problems.ts";
import { bounds } from "../bounds.ts";
import { labelName, labelText } from "../manifest/rules.ts";
import { fileOf } from "../manifest/schemas.ts";
import { compileSchema } from "../schema.ts";
import { agentBounds } from "./bounds.ts";
import * as rules from "./rules.ts";
import { readAgentSpec, type TextFiles } from "./spec.ts";
import type { AgentMetadata, AgentSpec, ToolBinding } from "./types.ts";

export type AgentOutcome =
  | { readonly ok: true; readonly metadata: AgentMetadata; readonly spec: AgentSpec; readonly warnings: readonly Problem[] }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads one parsed document. Strict: unknown keys are refused. Never throws, whatever the document is.
 * The schemas of bindings are compiled; whether tools and policies exist is not asked here.
 * @param files texts of the manifest's folder, for `instructions: {file: instructions.md}`; links out of it are the port's to refuse
 */
export function readAgent(document: unknown, files?: TextFiles): AgentOutcome {
  const notes = newNotes();
  const within = { depthMax: bounds.manifestDepthMax, valuesMax: bounds.manifestValuesMax };
  const fields = readTop(document, "Agent", within, notes);
  if (fields === undefined) return { ok: false, problems: notes.problems };
  const metadata = readPart(fields, "metadata", "", notes, (value) => readMetadata(value, notes));
  const spec = readPart(fields, "spec", "", notes, (value, path) => readAgentSpec(value, path, notes, files));
  if (metadata === undefined || spec === undefined || notes.problems.length > 0) return { ok: false, problems: notes.problems };
  compileBindings(spec.tools, notes);
  if (spec.tools.length === 0) noteNoTools(spec, notes);
  return notes.problems.length > 0 ? { ok: false, problems: notes.problems } : { ok: true, metadata, spec, warnings: notes.warnings };
}

function readMetadata(value: unknown, notes: Notes): AgentMetadata | undefined {
  const path = "metadata";
  const fields = readFields(value, path, ["name", "version", "owner", "description", "labels"], notes);
  const name = readRequiredText(fields, "name", path, rules.agentName, notes);
  const version = readVersion(fields, path, notes);
  const owner = readRequiredText(fields, "owner", path, rules.owner, notes);
  const description = readRequiredText(fields, "description", path, rules.description, notes);
  const labels = readTextMap(field(fields, "labels"), under(path, "labels"), labelName, labelText, notes);
  if (Object.keys(labels).length > agentBounds.labelsMax) refuse(notes, under(path, "labels"), `has more than ${agentBounds.labelsMax} entries`);
  if (name === undefined || version === undefined || owner === undefined || description === undefined) return undefined;
  return { name, version, owner, description, labels };
}

/** Compiling takes time that everybody waits for, so all schemas together have the bound of a few. */
function compileBindings(bindings: readonly ToolBinding[], notes: Notes): void {
  const bytes = bindings.reduce((sum, { input }) => sum + (input === undefined ? 0 : utf8Bytes(JSON.stringify(input))), 0);
  if (bytes > agentBounds.bindingSchemasBytesMax) {
    refuse(notes, "spec.tools", `has schemas of ${bytes} bytes in all; at most ${agentBounds.bindingSchemasBytesMax} are accepted`, "tighten with short schemas: what the tool says holds as well");
    return;
  }
  for (const [index, { input }] of bindings.entries()) {
    if (input !== undefined) compileBinding(input, `spec.tools[${index}].input`, notes);
  }
}

/** The compiler names the place in a tool's manifest; here it is the binding's. */
function compileBinding(input: unknown, path: string, notes: Notes): void {
  const compiled = compileSchema(input, "input");
  const placed = (one: Problem): string => one.path.replace(/^spec\.input/, path);
  if (compiled.ok) for (const one of compiled.warnings) warn(notes, placed(one), one.message, one.hint);
  else for (const one of compiled.problems) refuse(notes, placed(one), one.message, one.hint);
}

function noteNoTools({ defaultPolicies }: AgentSpec, notes: Notes): void {
  if (defaultPolicies.length > 0) warn(notes, "spec.default_policies", "has no effect: the agent has no tools");
}

/**
 * The canonical text of a document that `readAgent` accepted with the same `files`: RFC 8785, the text of a named file in
 * its place, so the order of keys and YAML or JSON make no difference. As written, without our defaults.
 */
export function agentText(document: unknown, files?: TextFiles): string {
  return canonicalJson(wholeAgent(document, files));
}

/** The document with the text of a named instructions file in its place, as it can be sent. */
export function wholeAgent(document: unknown, files?: TextFiles): unknown {
  if (!isRecord(document) || !isRecord(document["spec"])) return document;
  const { spec } = document;
  const file = fileOf(spec["instructions"]);
  const text = typeof file === "string" ? files?.(file)?.replaceAll("\r\n", "\n") : undefined;
  return text === undefined ? document : { ...document, spec: { ...spec, instructions: text } };
}
