// Writes pages anew: cuts from the files as they are now, and, where that is wished, outputs as commands print them now.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { withBlocks } from "./markdown.ts";
import { allPages, isPlayed, partsOf, readRepo, whyNot } from "./pages.ts";
import { runPage } from "./page.ts";
import { staleCuts } from "./proof.ts";
import { openShell, repo } from "./shell.ts";

export interface RenewOptions {
  /** Paths from the root of the repository; none = all. */
  readonly pages: readonly string[];
  readonly update: boolean;
  readonly write: (text: string) => void;
}

/** @returns the exit code: 0, or 1 where a page cannot be played to its end */
export async function renewDocs({ pages, update, write }: RenewOptions): Promise<number> {
  const known = allPages();
  const unknown = pages.find((page) => !known.includes(page));
  if (unknown !== undefined) throw new Error(`there is no page ${unknown}; there are: ${known.join(", ")}`);
  let exitCode = 0;
  for (const page of pages.length === 0 ? known : pages) {
    const stale = staleCuts(partsOf(page), readRepo);
    if (stale.size > 0) writeFileSync(join(repo, page), withBlocks(readRepo(page) ?? "", stale));
    if (stale.size > 0) write(`${page}: ${stale.size} cut anew\n`);
    if (update && !(await renewOutputs(page, write))) exitCode = 1;
  }
  return exitCode;
}

async function renewOutputs(page: string, write: (text: string) => void): Promise<boolean> {
  const parts = partsOf(page);
  if (!isPlayed(parts)) return true;
  const shell = await openShell();
  const startedAt = performance.now();
  try {
    const { problems, passedOver, changed } = await runPage(parts, shell, { whyNot, update: true });
    if (changed.size > 0) writeFileSync(join(repo, page), withBlocks(readRepo(page) ?? "", changed));
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    write(`${page}: played in ${seconds} s, ${changed.size} blocks have other outputs\n`);
    for (const line of [...passedOver.map((one) => `passed over: ${one}`), ...problems]) write(`${page}: ${line}\n`);
    return problems.length === 0;
  } finally {
    await shell.close();
  }
}
