// Reads the YAML or JSON files that a command is given, and says on which line one is wrong.
import { resolve } from "node:path";
import type { ManifestFile } from "../adapters/files/manifest-files.ts";
import type { ManifestSource } from "../adapters/files/manifest-source.ts";
import { exitCodes } from "./exit-codes.ts";
import { CliError } from "./failure.ts";
import type { Io } from "./io.ts";

/** @throws CliError for a file that cannot be read, or is no YAML */
export async function readDocument(file: ManifestFile, next?: string): Promise<ManifestSource> {
  const { readSource } = await import("../adapters/files/manifest-source.ts");
  const read = await readSource(file);
  if (read.ok) return read.source;
  const [first] = read.problems;
  const place = first?.line === undefined ? "" : `line ${first.line}: `;
  throw new CliError(`${place}${first?.message ?? "holds no document"}`, {
    exitCode: exitCodes.failed,
    ...(next === undefined ? {} : { next }),
  });
}

/** One file that was named, as its document. */
export async function readNamed(io: Io, shown: string): Promise<unknown> {
  try {
    return (await readDocument({ path: resolve(io.cwd, shown), shown })).document;
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    throw new CliError(`${shown}: ${error.message}`, { exitCode: error.exitCode });
  }
}
