// The platform's own packaged tools: where their folders stand in this package, and how they come into the store and the ledger.
import { fileURLToPath } from "node:url";
import { join } from "node:path";
import type { ContentStore } from "../../corridor/files-ports.ts";
import { packageDigest } from "../../registry/package/listing.ts";
import { platformTenant } from "../../tenancy/types.ts";
import { inlined, readSource } from "../files/manifest-source.ts";
import { readFolderFile, readToolFolder } from "../store/folder.ts";
import { sha256 } from "../system/crypto.ts";

export const packagedNames = ["code.run", "shell.run"] as const;

/** Beside `src` and `dist`, and a part of what npm installs. */
const builtinFolder = fileURLToPath(new URL("../../../builtin", import.meta.url));

export interface PackagedTool {
  readonly document: unknown;
  readonly packageDigest: string;
  /** Puts the package into the store, unless it is there. */
  store(store: Pick<ContentStore, "putFile" | "putPackage" | "usePackage">): Promise<void>;
}

/** @throws Error when the installation is damaged */
export async function readPackaged(name: (typeof packagedNames)[number]): Promise<PackagedTool> {
  const folder = join(builtinFolder, name);
  const path = join(folder, "tool.yaml");
  const read = await readSource({ path, shown: path });
  if (!read.ok)
    throw new Error(`the built-in ${name} cannot be read: ${read.problems[0]?.message}; install Signalbox again`);
  const { files } = await readToolFolder(folder);
  const ref = packageDigest(files, sha256);
  return {
    document: inlined(read.source),
    packageDigest: ref,
    async store(store) {
      if ((await store.usePackage(platformTenant, ref)) !== undefined) return;
      for (const file of files) await store.putFile(platformTenant, [await readFolderFile(file.place)]);
      const listing = files.map(({ path: inner, mode, ref }) => ({ path: inner, mode, ref }));
      const outcome = await store.putPackage(platformTenant, listing);
      if (!outcome.ok) throw new Error(`the built-in ${name} could not be stored: ${outcome.reason}`);
    },
  };
}
