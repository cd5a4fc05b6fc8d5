// Which paths files may have, in a package and in a workspace: one spelling each, and none that leads anywhere else.
import { isWellFormed, utf8Bytes } from "@signalbox/protocol";
import { packageBounds } from "./bounds.ts";

/** Control and format characters (also those that turn the direction of text), line separators, and what has no meaning. */
const unseen = /[\p{Cc}\p{Cf}\p{Cn}\p{Co}\p{Zl}\p{Zp}]/u;
const strangeSpace = /[^\S ]/;

/** Why a path is not taken; undefined where it is. Relative, with `/`, in its shortest form. */
export function pathProblem(path: string): string | undefined {
  if (path === "") return "is empty";
  // A lone surrogate would be stored as another character than the one that was sent.
  if (!isWellFormed(path)) return "holds half of a surrogate pair";
  if (utf8Bytes(path) > packageBounds.pathBytesMax) return `is longer than ${packageBounds.pathBytesMax} bytes`;
  if (path.startsWith("/")) return "must be a relative path";
  if (/[\\:]/.test(path)) return "holds a backslash or a colon";
  if (unseen.test(path) || strangeSpace.test(path)) return "holds a character that cannot be seen";
  // Two spellings that look the same would be two files here, and one on some other machine.
  if (path.normalize("NFC") !== path) return "is not in Unicode's composed form (NFC)";
  const names = path.split("/");
  if (names.length > packageBounds.depthMax) return `is deeper than ${packageBounds.depthMax} folders`;
  for (const name of names) {
    const problem = nameProblem(name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function nameProblem(name: string): string | undefined {
  if (name === "..") return "leads outside: .. is not accepted";
  if (name === "" || name === ".") return "is not in its shortest form";
  if (utf8Bytes(name) > packageBounds.nameBytesMax)
    return `has a name of more than ${packageBounds.nameBytesMax} bytes`;
  if (name.startsWith(" ") || /[ .]$/.test(name))
    return "has a name that starts with a space, or ends with a space or a dot";
  return undefined;
}

/** Equal for paths that a file system may take for one: by case, or by characters that stand for each other. */
export function foldedPath(path: string): string {
  return path.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFKC");
}

export interface PathProblem {
  /** Which of the paths. */
  readonly index: number;
  readonly message: string;
}

interface Place {
  readonly path: string;
  readonly kind: "file" | "folder";
}

/** Every path by itself, and all of them together: none twice, none as file and folder, none that differs by case alone. */
export function pathProblems(paths: readonly string[]): readonly PathProblem[] {
  const places = new Map<string, Place>();
  return paths.flatMap((path, index) => {
    const message = pathProblem(path) ?? collision(places, path);
    return message === undefined ? [] : [{ index, message }];
  });
}

function collision(places: Map<string, Place>, path: string): string | undefined {
  for (const place of placesOf(path)) {
    const key = foldedPath(place.path);
    const other = places.get(key);
    if (other === undefined) {
      places.set(key, place);
      continue;
    }
    if (other.path !== place.path) return `differs from ${JSON.stringify(other.path)} by case or likeness alone`;
    if (other.kind !== place.kind) return `needs ${JSON.stringify(place.path)} to be a file and a folder`;
    if (place.kind === "file") return "is there twice";
  }
  return undefined;
}

/** The folders that lead to a file, from the top, and the file. */
function placesOf(path: string): readonly Place[] {
  const folders = foldersOf(path).map((folder): Place => ({ path: folder, kind: "folder" }));
  return [...folders, { path, kind: "file" }];
}

/** `a/b/c` → `a`, `a/b`. */
export function foldersOf(path: string): readonly string[] {
  const names = path.split("/");
  return names.slice(1).map((_, count) => names.slice(0, count + 1).join("/"));
}
