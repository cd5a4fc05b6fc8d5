// Reads one YAML or JSON file that configures models, and says what is wrong with it.
import { readFile } from "node:fs/promises";
import type { Problem } from "../../document/problems.ts";
import { parseDocument } from "../../registry/yaml.ts";

/** The document in the file. @throws Error that names the file and the line */
export async function readModelFile(file: string): Promise<unknown> {
  let text: string;
  try {
    text = await readFile(file, "utf8");
  } catch (error) {
    throw new Error(`${file} cannot be read: ${(error as Error).message}`, { cause: error });
  }
  const parsed = parseDocument(text);
  if (parsed.ok) return parsed.value;
  const [first] = parsed.problems;
  throw new Error(`${file}:${first?.line ?? 1}: ${first?.message ?? "holds no document"}`);
}

export function refuseFile(file: string, problems: readonly Problem[]): Error {
  const lines = problems.map(({ path, message, hint }) => `  ${path === "" ? "the document" : path} ${message}${hint === undefined ? "" : ` (${hint})`}`);
  return new Error([`${file} is refused:`, ...lines].join("\n"));
}
