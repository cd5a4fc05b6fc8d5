// Reads a tool's manifest (`kind: Tool`): every field checked, every problem named with its path, defaults filled in.
import { field, readFields, readRequiredText, readText, readTextMap } from "../document/fields.ts";
import { readPart, readTop, readVersion } from "../document/header.ts";
import { newNotes, refuse, under, type Notes, type Problem } from "../document/problems.ts";
import { bounds } from "./bounds.ts";
import { crossCheck } from "./manifest/cross-checks.ts";
import * as rules from "./manifest/rules.ts";
import type { Files } from "./manifest/schemas.ts";
import { readSpec } from "./manifest/spec.ts";
import type { ToolMetadata, ToolSpec } from "./types.ts";

export type ManifestOutcome =
  | {
      readonly ok: true;
      readonly metadata: ToolMetadata;
      readonly spec: ToolSpec;
      readonly warnings: readonly Problem[];
    }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * Reads one parsed document. Strict: unknown keys are refused. Never throws, whatever the document is.
 * The schemas are looked over (caps, keywords, references) but not compiled: see `compileToolSchemas`.
 * @param files content of the tool's folder, for `input: {file: schema.json}`; paths are already known to stay inside
 */
export function readManifest(document: unknown, files?: Files): ManifestOutcome {
  const notes = newNotes();
  const within = { depthMax: bounds.manifestDepthMax, valuesMax: bounds.manifestValuesMax };
  const fields = readTop(document, "Tool", within, notes, rules.trustHint);
  if (fields === undefined) return { ok: false, problems: notes.problems };
  const metadata = readPart(fields, "metadata", "", notes, (value) => readMetadata(value, notes));
  const spec = readPart(fields, "spec", "", notes, (value, path) => readSpec(value, path, notes, files));
  if (spec !== undefined) crossCheck(spec, field(fields, "spec"), "spec", notes);
  if (metadata === undefined || spec === undefined || notes.problems.length > 0)
    return { ok: false, problems: notes.problems };
  return { ok: true, metadata, spec, warnings: notes.warnings };
}

function readMetadata(value: unknown, notes: Notes): ToolMetadata | undefined {
  const path = "metadata";
  const fields = readFields(
    value,
    path,
    ["name", "version", "owner", "description", "category", "labels"],
    notes,
    rules.trustHint,
  );
  const name = readRequiredText(fields, "name", path, rules.toolName, notes);
  const version = readVersion(fields, path, notes);
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
