// Reads a tool's manifest (`kind: Tool`): every field checked, every problem named with its path, defaults filled in.
import { bounds } from "./bounds.ts";
import { shapeProblem } from "../document/json-shape.ts";
import { crossCheck } from "./manifest/cross-checks.ts";
import { field, readFields, readRequiredText, readText, readTextMap, type Fields } from "../document/fields.ts";
import * as rules from "./manifest/rules.ts";
import type { Files } from "./manifest/schemas.ts";
import { readSpec } from "./manifest/spec.ts";
import { newNotes, refuse, shown, under, type Notes, type Problem } from "../document/problems.ts";
import type { ToolMetadata, ToolSpec } from "./types.ts";
import { parseVersion } from "../document/versions.ts";

export type ManifestOutcome =
  | {
      readonly ok: true;
      readonly metadata: ToolMetadata;
      readonly spec: ToolSpec;
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

const apiVersion = "signalbox.dev/v1";

/**
 * Reads one parsed document. Strict: unknown keys are refused. Never throws, whatever the document is.
 * The schemas are looked over (caps, keywords, references) but not compiled: see `compileToolSchemas`.
 * @param files content of the tool's folder, for `input: {file: schema.json}`; paths are already known to stay inside
 */
export function readManifest(document: unknown, files?: Files): ManifestOutcome {
  const notes = newNotes();
  const shape = shapeProblem(document, { depthMax: bounds.manifestDepthMax, valuesMax: bounds.manifestValuesMax });
  if (shape !== undefined)
    return { ok: false, problems: [{ path: shape.keys.reduce(under, ""), message: shape.message }] };
  const fields = readFields(document, "", ["apiVersion", "kind", "metadata", "spec"], notes);
  if (fields === undefined) return { ok: false, problems: notes.problems };
  readConstant(fields, "apiVersion", apiVersion, notes);
  readConstant(fields, "kind", "Tool", notes);
  const metadata = readPart(fields, "metadata", notes, (value) => readMetadata(value, notes));
  const spec = readPart(fields, "spec", notes, (value) => readSpec(value, "spec", notes, files));
  if (spec !== undefined) crossCheck(spec, field(fields, "spec"), "spec", notes);
  if (metadata === undefined || spec === undefined || notes.problems.length > 0)
    return { ok: false, problems: notes.problems };
  return { ok: true, metadata, spec, warnings: notes.warnings };
}

function readConstant(fields: Fields, key: string, wanted: string, notes: Notes): void {
  const value = field(fields, key);
  if (value === wanted) return;
  refuse(
    notes,
    key,
    value === undefined ? "is required" : `must be ${wanted}, not ${shown(value)}`,
    `${key}: ${wanted}`,
  );
}

function readPart<T>(
  fields: Fields,
  key: string,
  notes: Notes,
  read: (value: unknown) => T | undefined,
): T | undefined {
  const value = field(fields, key);
  if (value !== undefined) return read(value);
  refuse(notes, key, "is required");
  return undefined;
}

function readMetadata(value: unknown, notes: Notes): ToolMetadata | undefined {
  const path = "metadata";
  const fields = readFields(value, path, ["name", "version", "owner", "description", "category", "labels"], notes);
  const name = readRequiredText(fields, "name", path, rules.toolName, notes);
  const version = readVersion(fields, under(path, "version"), notes);
  const owner = readRequiredText(fields, "owner", path, rules.owner, notes);
  const description = readRequiredText(fields, "description", path, rules.description, notes);
  const given = field(fields, "category");
  const category = given === undefined ? "" : readText(given, under(path, "category"), rules.category, notes);
  const labels = readTextMap(field(fields, "labels"), under(path, "labels"), rules.labelName, rules.labelText, notes);
  if (Object.keys(labels).length > bounds.labelsMax)
    refuse(notes, under(path, "labels"), `has more than ${bounds.labelsMax} entries`);
  if (
    name === undefined ||
    version === undefined ||
    owner === undefined ||
    description === undefined ||
    category === undefined
  )
    return undefined;
  return { name, version, owner, description, category, labels };
}

function readVersion(fields: Fields | undefined, path: string, notes: Notes): string | undefined {
  const hint = "one exact version, like 1.0.0";
  const text = readRequiredText(fields, "version", "metadata", { charsMax: bounds.versionCharsMax, hint }, notes);
  if (text === undefined || parseVersion(text) !== undefined) return text;
  refuse(notes, path, `${shown(text)} is no version`, hint);
  return undefined;
}
