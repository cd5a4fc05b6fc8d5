// Reads what all documents begin with: that they are plain JSON of bounded size, their apiVersion, kind and version.
import { documentBounds } from "./bounds.ts";
import { field, readFields, readRequiredText, type Fields } from "./fields.ts";
import { shapeProblem, type ShapeBounds } from "./json-shape.ts";
import { refuse, shown, under, type Notes } from "./problems.ts";
import { parseVersion } from "./versions.ts";

const apiVersion = "signalbox.dev/v1";

/** The top of a document of one kind; undefined (and noted) when nothing below it can be looked at. */
export function readTop(
  document: unknown,
  kind: string,
  within: ShapeBounds,
  notes: Notes,
  hint?: (key: string) => string | undefined,
): Fields | undefined {
  const shape = shapeProblem(document, within);
  if (shape !== undefined) {
    refuse(notes, shape.keys.reduce(under, ""), shape.message);
    return undefined;
  }
  const fields = readFields(document, "", ["apiVersion", "kind", "metadata", "spec"], notes, hint);
  if (fields === undefined) return undefined;
  readConstant(fields, "apiVersion", apiVersion, notes);
  readConstant(fields, "kind", kind, notes);
  return fields;
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

/** A part that must be there, read by its own reader. */
export function readPart<T>(
  fields: Fields,
  key: string,
  path: string,
  notes: Notes,
  read: (value: unknown, path: string) => T | undefined,
): T | undefined {
  const value = field(fields, key);
  if (value !== undefined) return read(value, under(path, key));
  refuse(notes, under(path, key), "is required");
  return undefined;
}

/** `version`: one exact version. */
export function readVersion(fields: Fields | undefined, path: string, notes: Notes): string | undefined {
  const hint = "one exact version, like 1.0.0";
  const text = readRequiredText(fields, "version", path, { charsMax: documentBounds.versionCharsMax, hint }, notes);
  if (text === undefined || parseVersion(text) !== undefined) return text;
  refuse(notes, under(path, "version"), `${shown(text)} is no version`, hint);
  return undefined;
}
