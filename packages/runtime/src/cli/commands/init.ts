// `signalbox init`: writes a first tool and a worker that runs it, and never over somebody's files.
import type { Command } from "commander";
import { access, mkdir, writeFile } from "node:fs/promises";
import { basename, join, relative, resolve } from "node:path";
import { CliError } from "../failure.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { exampleFiles, toolDomain } from "../templates.ts";

export function addInit(program: Command, runs: Runs): void {
  const init = program
    .command("init")
    .description("write an example tool and its worker")
    .argument("[dir]", "the folder for it", ".")
    .option("--force", "write over files that are there");
  runs.offline<{ readonly force?: boolean }>(init, runInit);
}

async function runInit(
  session: Session,
  args: readonly string[],
  { force }: { readonly force?: boolean },
): Promise<Outcome> {
  const { cwd } = session.io;
  const folder = resolve(cwd, args[0] ?? ".");
  const tool = `${toolDomain(basename(folder))}.greet`;
  const files = exampleFiles(tool).map(({ name, text }) => ({ path: join(folder, name), text }));
  if (force !== true) await refuseIfThere(files.map(({ path }) => ({ path, shown: shownPath(cwd, path) })));
  await mkdir(folder, { recursive: true });
  for (const { path, text } of files) await writeNew(path, text, shownPath(cwd, path), force === true);
  const shown = files.map(({ path }) => shownPath(cwd, path));
  const there = shownPath(cwd, folder);
  session.print({ tool, files: shown }, () =>
    [
      `wrote ${shown.join(" and ")}\n`,
      "next:\n",
      "  (outside the Signalbox repository, once: npm install <repository>/packages/worker <repository>/packages/protocol)\n",
      "  signalbox dev                      (in another terminal, unless it runs)\n",
      `  signalbox tools register ${there}\n`,
      `  node ${join(there, "worker.js")}\n`,
      `  signalbox run ${tool} --input '{"name":"Ada"}'\n`,
    ].join(""),
  );
}

function shownPath(cwd: string, path: string): string {
  return relative(cwd, path) || ".";
}

/** All of them are looked at before the first is written, so that a refusal leaves nothing half done. */
async function refuseIfThere(files: readonly { readonly path: string; readonly shown: string }[]): Promise<void> {
  for (const { path, shown } of files) {
    const there = await access(path).then(
      () => true,
      () => false,
    );
    if (there) throw isThere(shown);
  }
}

function isThere(shown: string): CliError {
  return new CliError(`${shown} is there already and was left as it is`, {
    next: "choose another folder, or write over it with --force",
  });
}

/** Without force the file system itself says whether the file is there: an earlier look can be out of date. */
async function writeNew(path: string, text: string, shown: string, force: boolean): Promise<void> {
  try {
    await writeFile(path, text, { flag: force ? "w" : "wx" });
  } catch (error) {
    throw (error as NodeJS.ErrnoException).code === "EEXIST" ? isThere(shown) : error;
  }
}
