// Reads the house as data: source files, their imports, and their code without comments and strings.
import { readdirSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";

export interface Source {
  /** From the repository root, with `/`. */
  readonly path: string;
  readonly text: string;
}

export interface Import {
  /** The importing file. */
  readonly path: string;
  /** As written: `./a.ts`, `@signalbox/protocol`, `node:fs`. */
  readonly name: string;
  /** The file that a relative name means, from the repository root; else undefined. */
  readonly target: string | undefined;
  /** `import type`, `export type`; an inline `type` still leaves an import behind, so it does not count. */
  readonly typeOnly: boolean;
}

/** All hand-written TypeScript under packages/<package>/src; generated files are not ours to judge. */
export function readHouse(root: string): Source[] {
  return readdirSync(join(root, "packages")).flatMap((name) =>
    readdirSync(join(root, "packages", name, "src"), { recursive: true, encoding: "utf8" })
      .filter((file) => file.endsWith(".ts") && !file.startsWith("gen/"))
      .map((file) => `packages/${name}/src/${file}`)
      .map((path) => ({ path, text: readFileSync(join(root, path), "utf8") })),
  );
}

const stringOrComment = /("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(`(?:\\[\s\S]|[^`\\])*`)|\/\/.*|\/\*[\s\S]*?\*\//g;

/** Templates stay whole, since they hold code. */
export function withoutComments(text: string): string {
  return text.replace(stringOrComment, (_, plain?: string, template?: string) => plain ?? template ?? " ");
}

export function withoutCommentsAndStrings(text: string): string {
  return text.replace(stringOrComment, (_, plain?: string, template?: string) => template ?? (plain ? '""' : " "));
}

const statement =
  /\b(?:import|export)\s+(type\s+)?(?:[\w$]+\s*,\s*)?(?:[\w$]+|\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})\s*from\s*["']([^"']+)["']/g;
const bareOrDynamic = /\bimport\s*\(?\s*["']([^"']+)["']/g;

export function importsOf({ path, text }: Source): Import[] {
  const code = withoutComments(text);
  const found = [
    ...[...code.matchAll(statement)].map(([, type, name]) => ({ name: name ?? "", typeOnly: type !== undefined })),
    ...[...code.matchAll(bareOrDynamic)].map(([, name]) => ({ name: name ?? "", typeOnly: false })),
  ];
  return found.map(({ name, typeOnly }) => {
    const target = name.startsWith(".") ? posix.join(posix.dirname(path), name) : undefined;
    return { path, name, target, typeOnly };
  });
}
