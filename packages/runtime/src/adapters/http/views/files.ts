// Stored files and packages as callers see them.
import type { StoredPackage } from "../../../corridor/files-packages.ts";
import type { StoredFile } from "../../../corridor/files-ports.ts";

/** `digest` is what a call, or a package, names the file by. */
export function fileView({ ref, bytes }: StoredFile): Record<string, unknown> {
  return { digest: ref, bytes };
}

export function packageView({ ref, bytes, alreadyThere }: StoredPackage): Record<string, unknown> {
  return { digest: ref, bytes, already_there: alreadyThere };
}
