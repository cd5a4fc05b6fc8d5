// Further builds of the runtime for tests: copies of the built one, changed as a later version would have changed it.
import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Migration } from "../../packages/runtime/src/adapters/postgres/schema.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
/** What the package publishes. */
const published = ["package.json", "bin", "builtin", "dist", "launch"];

export interface BuildChange {
  /** Further entries of the shared ledger's list. */
  readonly migrations?: readonly Migration[];
  /** Texts that stand once in a built file, and what stands there instead; paths below `dist`. */
  readonly edits?: readonly { readonly file: string; readonly from: string; readonly to: string }[];
}

/** @returns the file to start it with, in place of the repository's own `signalbox.js` */
export function makeBuild(folder: string, name: string, { migrations = [], edits = [] }: BuildChange): string {
  const runtime = join(folder, name, "packages/runtime");
  mkdirSync(runtime, { recursive: true });
  for (const part of published) cpSync(join(root, "packages/runtime", part), join(runtime, part), { recursive: true });
  // The other packages and what all of them rest on are the repository's.
  symlinkSync(join(root, "node_modules"), join(folder, name, "node_modules"));
  const schema = join(runtime, "dist/adapters/postgres/schema.js");
  writeFileSync(schema, `${readFileSync(schema, "utf8")}\nmigrations.push(...${JSON.stringify(migrations)});\n`);
  for (const { file, from, to } of edits) {
    const path = join(runtime, "dist", file);
    const parts = readFileSync(path, "utf8").split(from);
    if (parts.length !== 2) throw new Error(`${file} holds ${JSON.stringify(from)} ${parts.length - 1} times, not once`);
    writeFileSync(path, parts.join(to));
  }
  return join(runtime, "bin/signalbox.js");
}
