// Whether a package fits the executor that is to run it: what is started must be in it, and startable.
import { didYouMean } from "../../document/nearest.ts";
import type { Problem } from "../../document/problems.ts";
import type { Executor } from "../types.ts";
import type { PackageFile } from "./listing.ts";

const place = "spec.executor.entry";

/**
 * What keeps a tool version from being published with this package, or without one (`files` null); undefined where
 * nothing does.
 */
export function packageProblem(executor: Executor, files: readonly PackageFile[] | null): Problem | undefined {
  if (executor.type !== "sandbox") {
    const message = `executor ${executor.type} runs no package`;
    return files === null ? undefined : { path: "spec.executor.type", message, hint: "leave the package out" };
  }
  const { entry, runtime, image } = executor;
  // An absolute entry is the image's own.
  if (image !== undefined && entry.startsWith("/")) return undefined;
  if (files === null) {
    const hint = "register the tool's folder: signalbox tools register <folder>";
    return { path: place, message: "names a file of a package, and there is no package", hint };
  }
  const found = files.find(({ path }) => path === entry);
  if (found === undefined)
    return { path: place, message: `is not in the package: ${entry}`, ...nearHint(entry, files) };
  if (runtime === "exec" && found.mode !== "0755")
    return { path: place, message: `is no executable file: ${entry}`, hint: `chmod +x ${entry}` };
  return undefined;
}

function nearHint(entry: string, files: readonly PackageFile[]): { readonly hint?: string } {
  const hint = didYouMean(
    entry,
    files.map(({ path }) => path),
  );
  return hint === undefined ? {} : { hint };
}
