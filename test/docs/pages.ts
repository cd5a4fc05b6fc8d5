// The pages of this repository that are held to be proven, and what this machine can prove.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { whyNoBoxes } from "../support/boxed.ts";
import { whyNoPython } from "../support/python.ts";
import { readPage, type Part } from "./markdown.ts";
import { repo } from "./shell.ts";
import { isTerminal } from "./page.ts";

const topPages = ["README.md", "SECURITY.md", "CONTRIBUTING.md", "clients/python/README.md"];

/** Paths from the root of the repository. */
export function allPages(): readonly string[] {
  const inDocs = readdirSync(join(repo, "docs")).filter((name) => name.endsWith(".md"));
  return [
    ...topPages.filter((name) => existsSync(join(repo, name))),
    ...inDocs.toSorted().map((name) => `docs/${name}`),
  ];
}

export function readRepo(path: string): string | undefined {
  const file = join(repo, path);
  return existsSync(file) ? readFileSync(file, "utf8") : undefined;
}

/** The text of a page, or true for whatever else is there. */
export function thereInRepo(path: string): string | true | undefined {
  return existsSync(join(repo, path)) ? (path.endsWith(".md") ? readRepo(path) : true) : undefined;
}

export function partsOf(page: string): readonly Part[] {
  return readPage(readRepo(page) ?? "");
}

/** Has something that is run. */
export function isPlayed(parts: readonly Part[]): boolean {
  return parts.some((part) =>
    part.kind === "block" ? isTerminal(part) || part.marker?.word === "out" : part.word === "run",
  );
}

/** What a reader may have and this machine need not. */
const programs: readonly string[] = ["grpcurl"];

let boxes: Promise<string | undefined> | undefined;

/** @returns why this machine lacks what a page needs; undefined = it does not */
export async function whyNot(need: string): Promise<string | undefined> {
  if (need === "boxes") return (boxes ??= whyNoBoxes());
  if (need === "python") return whyNoPython();
  if (!programs.includes(need))
    return `nobody knows what "${need}" is; a page may need: boxes, python, ${programs.join(", ")}`;
  const folders = (process.env["PATH"] ?? "").split(":");
  return folders.some((folder) => existsSync(join(folder, need))) ? undefined : `this machine has no ${need}`;
}
