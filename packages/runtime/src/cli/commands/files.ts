// `signalbox files`: puts files that calls can then name as their inputs.
import type { InputFile, StoredFile } from "@signalbox/client";
import type { Command } from "commander";
import { realpath } from "node:fs/promises";
import { basename, resolve } from "node:path";
import { NoPackage, readFolderFile } from "../../adapters/store/folder.ts";
import { CliError } from "../failure.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";

export function addFiles(program: Command, runs: Runs): void {
  const files = program.command("files").description("put files that calls can name as their inputs");
  runs.online(
    files
      .command("put")
      .description("store files and print their digests; the same content again is the same file")
      .argument("<path...>", "files on this machine"),
    putFiles,
  );
}

async function putFiles(session: OnlineSession, paths: readonly string[]): Promise<Outcome> {
  const items: (StoredFile & { readonly path: string })[] = [];
  for (const path of paths) items.push({ path, ...(await putFile(session, path)) });
  session.print({ items }, () =>
    session.table(items, [
      { title: "DIGEST", cell: ({ digest }) => digest },
      { title: "BYTES", cell: ({ bytes }) => String(bytes) },
      { title: "FILE", cell: ({ path }) => path, shrinks: true },
    ]),
  );
}

/**
 * @param flags `path`, or `name=path`; without a name the file stands under its own, whatever folder it comes from
 * @throws CliError for a path that cannot be read
 */
export async function putInputFiles(session: OnlineSession, flags: readonly string[]): Promise<InputFile[]> {
  const files: InputFile[] = [];
  for (const flag of flags) {
    const at = flag.indexOf("=");
    const path = flag.slice(at + 1);
    const { digest } = await putFile(session, path);
    files.push({ path: at < 0 ? basename(path) : flag.slice(0, at), ref: digest });
  }
  return files;
}

async function putFile(session: OnlineSession, path: string): Promise<StoredFile> {
  let content: Uint8Array<ArrayBuffer>;
  try {
    // Whoever names a link means what it leads to.
    content = await readFolderFile(await realpath(resolve(session.io.cwd, path)));
  } catch (error) {
    if (error instanceof NoPackage) throw new CliError(plainLine(error.message));
    throw new CliError(`${plainLine(path)} cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
  return session.client.files.put(content, session);
}
