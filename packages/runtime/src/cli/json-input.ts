// Takes JSON and longer text from the command line: as it is, from a file, or from standard input.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { CliError } from "./failure.ts";
import type { Io } from "./io.ts";

/**
 * `'{"a":1}'`, `@file` or `-`. Gives the text itself, so that long numbers keep their digits.
 * @param flag for the error message, `--input`
 */
export async function readJsonText(io: Io, flag: string, value: string): Promise<string> {
  const text = await rawText(io, flag, value);
  const { limits, parseJson } = await import("@signalbox/protocol");
  const parsed = parseJson(text, { depthMax: limits.jsonDepthMax, duplicateKeys: "refuse" });
  if (parsed.ok) return JSON.stringify(parsed.value);
  const hint =
    value.startsWith("@") || value === "-"
      ? "correct the text"
      : `quote it for the shell: ${flag} '{"name":"Ada"}'; a file is ${flag} @file.json`;
  throw new CliError(`${flag}: ${parsed.problem.message}`, { next: hint });
}

/** Words: as they are, from a `@file` or from `-`, without the line feed at their end. */
export async function readText(io: Io, flag: string, value: string): Promise<string> {
  const text = (await rawText(io, flag, value)).replace(/\r?\n$/, "");
  if (text.trim() === "") throw new CliError(`${flag} is empty`, { next: "give it some words" });
  return text;
}

async function rawText(io: Io, flag: string, value: string): Promise<string> {
  if (value === "-") return io.readStdin();
  if (!value.startsWith("@")) return value;
  try {
    return await readFile(resolve(io.cwd, value.slice(1)), "utf8");
  } catch (error) {
    throw new CliError(`${flag}: ${value.slice(1)} cannot be read: ${(error as Error).message}`);
  }
}
