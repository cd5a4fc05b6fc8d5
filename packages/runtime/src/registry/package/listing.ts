// What a package is: a list of files by path, mode and content; and the digest that names it, whatever order the list is in.
import { documentBounds } from "../../document/bounds.ts";
import { under, type Problem } from "../../document/problems.ts";
import { packageBounds } from "./bounds.ts";
import { pathProblems } from "./paths.ts";

/** The two modes there are: owners, groups and times of files are no part of a package. */
export const fileModes = ["0644", "0755"] as const;
export type FileMode = (typeof fileModes)[number];

export interface PackageFile {
  readonly path: string;
  readonly mode: FileMode;
  /** `sha256:` and 64 hex digits, of the content. */
  readonly ref: string;
}

const refPattern = /^sha256:[0-9a-f]{64}$/;

/** Whether a text names content: `sha256:` and 64 hexadecimal digits in lower case. */
export function isRef(text: string): boolean {
  return refPattern.test(text);
}

/** Everything that is wrong with a list of files; each problem's path leads to its place, like `files[3].path`. */
export function listingProblems(files: readonly PackageFile[]): readonly Problem[] {
  if (files.length === 0) return [{ path: "files", message: "is empty; a package has one file at least" }];
  if (files.length > packageBounds.filesMax)
    return [{ path: "files", message: `has ${files.length} entries; at most ${packageBounds.filesMax} are taken` }];
  const at = (index: number, key: string): string => under(under("files", index), key);
  const paths = pathProblems(files.map(({ path }) => path));
  const parts = files.flatMap(({ mode, ref }, index) => [
    ...(fileModes.includes(mode) ? [] : [{ path: at(index, "mode"), message: `must be ${fileModes.join(" or ")}` }]),
    ...(isRef(ref) ? [] : [{ path: at(index, "ref"), message: "must be sha256: and 64 hexadecimal digits" }]),
  ]);
  const all = [...paths.map(({ index, message }) => ({ path: at(index, "path"), message })), ...parts];
  return all.slice(0, documentBounds.problemsMax);
}

const head = "signalbox package 1";

/**
 * The text that a package's digest is taken over: a first line, then `<mode> <ref> <path>` for each file, in the order
 * of the paths' UTF-8 bytes, each line ended by a line feed. Paths hold no line feeds, so a text means one package only.
 */
export function listingText(files: readonly PackageFile[]): string {
  const lines = files
    .toSorted((one, other) => comparePaths(one.path, other.path))
    .map(({ path, mode, ref }) => `${mode} ${ref} ${path}`);
  return `${[head, ...lines].join("\n")}\n`;
}

/** By code points, which is the order of UTF-8 bytes; JavaScript's own order differs beyond U+FFFF. */
function comparePaths(one: string, other: string): number {
  const [a, b] = [Array.from(one), Array.from(other)];
  for (let i = 0; i < a.length && i < b.length; i++) {
    const difference = (a[i]?.codePointAt(0) ?? 0) - (b[i]?.codePointAt(0) ?? 0);
    if (difference !== 0) return difference;
  }
  return a.length - b.length;
}

/** @param hash text → SHA-256 in hex. @returns `sha256:` and the hex digits */
export function packageDigest(files: readonly PackageFile[], hash: (text: string) => string): string {
  return `sha256:${hash(listingText(files))}`;
}

/** Reads {@link listingText} back; undefined for any text that it cannot have written. */
export function parseListing(text: string): readonly PackageFile[] | undefined {
  const files = text
    .split("\n")
    .slice(1, -1)
    .map((line) => {
      const [, mode = "", ref = "", path = ""] = /^(\S+) (\S+) (.+)$/su.exec(line) ?? [];
      return { path, mode: mode as FileMode, ref };
    });
  return listingProblems(files).length === 0 && listingText(files) === text ? files : undefined;
}
