// Reads `spec.input` and `spec.output`: a JSON Schema in place, or `{file: schema.json}` from the tool's folder.
import { isRecord, refuse, under, type Notes } from "../../document/problems.ts";
import { surveySchema } from "../schema/survey.ts";
import { readInnerPath } from "./rules.ts";

/** The parsed content of a file of the tool's folder; undefined when there is none. May throw. */
export type Files = (path: string) => unknown;

/** `{file: …}` and nothing else; a schema would have to be very odd to look like it. */
export function fileOf(value: unknown): unknown {
  return isRecord(value) && Object.keys(value).length === 1 && Object.hasOwn(value, "file") ? value["file"] : undefined;
}

/** The schema's content with a named file in its place; undefined when it cannot be had. */
export function readSchema(value: unknown, path: string, notes: Notes, files: Files | undefined): unknown {
  if (value === undefined) return undefined;
  const file = fileOf(value);
  const schema = file === undefined ? value : readFile(file, under(path, "file"), notes, files);
  if (schema === undefined) return undefined;
  surveySchema(schema, path, notes);
  return schema;
}

function readFile(file: unknown, path: string, notes: Notes, files: Files | undefined): unknown {
  const inner = readInnerPath(file, path, notes);
  if (inner === undefined) return undefined;
  if (files === undefined) {
    refuse(
      notes,
      path,
      "names a file, but only the manifest itself was sent",
      "write the schema in place, or register the tool's folder",
    );
    return undefined;
  }
  try {
    const content = files(inner);
    if (content === undefined) refuse(notes, path, `there is no file ${inner}`);
    return content;
  } catch (error) {
    refuse(
      notes,
      path,
      `${inner} cannot be read: ${error instanceof Error ? error.message.slice(0, 300) : "unknown error"}`,
    );
    return undefined;
  }
}
