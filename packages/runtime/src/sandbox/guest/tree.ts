// The files that a guest may read: a tree in memory without links, so that no path can lead out of it.

export interface TreeFile {
  readonly kind: "file";
  readonly sizeBytes: number;
  /** The whole content; loaded when first asked for. @throws Error when it cannot be read or too much was loaded already */
  read(): Uint8Array;
}

export interface TreeDir {
  readonly kind: "dir";
  readonly entries: ReadonlyMap<string, TreeNode>;
}

export type TreeNode = TreeFile | TreeDir;

/** Entries of both folders together; guards the guest program against a package that is a directory bomb. */
export const treeEntriesMax = 20_000;
export const treeDepthMax = 32;
/** What a run may load of files, all together. */
export const treeLoadedBytesMax = 64 * 1024 * 1024;
export const pathCharsMax = 4_096;

export type Lookup =
  /** `trail`: the folders from the root down to it, itself included when it is one. */
  | { readonly found: true; readonly node: TreeNode; readonly trail: readonly TreeDir[] }
  | { readonly found: false; readonly why: "absent" | "not_a_folder" | "outside" | "too_long" };

/**
 * Walks a relative path from a folder. `..` is taken step by step and never above the root; an absolute path is outside.
 * @param trail the folders from the root down to where the walk begins, that folder included
 */
export function lookUp(trail: readonly TreeDir[], path: string): Lookup {
  if (path.length > pathCharsMax) return { found: false, why: "too_long" };
  if (path.startsWith("/")) return { found: false, why: "outside" };
  const folders: TreeDir[] = [...trail];
  let node: TreeNode | undefined = folders.at(-1);
  for (const step of path.split("/")) {
    if (node?.kind !== "dir") return { found: false, why: "not_a_folder" };
    if (step === "" || step === ".") continue;
    if (step === "..") {
      if (folders.length <= 1) return { found: false, why: "outside" };
      folders.pop();
      node = folders.at(-1);
      continue;
    }
    node = node.entries.get(step);
    if (node === undefined) return { found: false, why: "absent" };
    if (node.kind === "dir") folders.push(node);
  }
  return node === undefined ? { found: false, why: "outside" } : { found: true, node, trail: folders };
}

/** The folders of a guest by the names it knows them by. */
export interface GuestFolders {
  readonly package: TreeDir;
  readonly workspace: TreeDir;
}

/** Finds `/package/…`, `/workspace/…`, or a path relative to `/workspace`. */
export function lookUpAnywhere(folders: GuestFolders, path: string): Lookup {
  for (const name of ["package", "workspace"] as const) {
    if (path === `/${name}`) return { found: true, node: folders[name], trail: [folders[name]] };
    const prefix = `/${name}/`;
    if (path.startsWith(prefix)) return lookUp([folders[name]], path.slice(prefix.length));
  }
  return lookUp([folders.workspace], path);
}

/** All files below a folder as relative paths, sorted. */
export function filePaths(folder: TreeDir, prefix = ""): string[] {
  const paths: string[] = [];
  for (const [name, node] of folder.entries) {
    if (node.kind === "dir") paths.push(...filePaths(node, `${prefix}${name}/`));
    else paths.push(`${prefix}${name}`);
  }
  return paths.sort();
}

/** Where `name`, imported by the module at `from`, stands; both relative to the package. Null when it is no relative path inside. */
export function importedPath(from: string, name: string): string | null {
  if (!name.startsWith("./") && !name.startsWith("../")) return null;
  const steps = from.split("/").slice(0, -1);
  for (const step of name.split("/")) {
    if (step === "" || step === ".") continue;
    if (step !== "..") steps.push(step);
    else if (steps.pop() === undefined) return null;
  }
  return steps.join("/");
}
