// Installs the peers' exact versions into a cache folder of their own, away from the repository's packages.
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const here = import.meta.dirname;
const folder = join(here, "../../.tools/peers");
const files = ["package.json", "package-lock.json"] as const;
const installMsMax = 300_000;

/** What is installed, by package. */
export interface Installed {
  readonly folder: string;
  readonly versions: Readonly<Record<string, string>>;
}

/**
 * Once for each lock; no package runs a script of its own.
 * @throws Error when npm cannot
 */
export async function installPeers(note: (text: string) => void): Promise<Installed> {
  const wanted = createHash("sha256").update(files.map((file) => readFileSync(join(here, file), "utf8")).join("\0")).digest("hex");
  const stamp = join(folder, "installed");
  if (!existsSync(stamp) || readFileSync(stamp, "utf8") !== wanted) {
    note("installing the peers");
    mkdirSync(folder, { recursive: true });
    for (const file of files) copyFileSync(join(here, file), join(folder, file));
    await promisify(execFile)("npm", ["ci", "--ignore-scripts", "--no-audit", "--no-fund"], { cwd: folder, timeout: installMsMax });
    writeFileSync(stamp, wanted);
  }
  const { dependencies } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as { dependencies: Record<string, string> };
  return { folder, versions: dependencies };
}
