// Brings a tool's folder to the runtime as a package: sends what the runtime lacks, and nothing twice.
import { SignalboxApiError } from "@signalbox/client";
import type { StoredPackage } from "@signalbox/client";
import { NoPackage, readFolderFile, readToolFolder } from "../adapters/store/folder.ts";
import type { FolderFile, ToolFolder } from "../adapters/store/folder.ts";
import { CliError } from "./failure.ts";
import type { OnlineSession } from "./session.ts";
import { plainLine } from "./text.ts";

/** Files that a third answer still misses were removed, or changed, while they were being sent. */
const roundsMax = 3;

/** @param folder of the tool's manifest. @throws CliError for a folder that cannot be packed */
export async function uploadPackage(session: OnlineSession, folder: string): Promise<StoredPackage> {
  const { files, leftOut } = await packed(folder);
  if (leftOut.length > 0) session.remark(`left out: ${plainLine(leftOut.join(", "))}`);
  const listing = files.map(({ path, mode, ref }) => ({ path, mode, ref }));
  for (let round = 1; ; round++) {
    try {
      return await session.client.files.putPackage(listing, session);
    } catch (error) {
      const missing = missingIn(error);
      if (missing === undefined || round >= roundsMax) throw error;
      const wanted = files.filter(
        ({ ref }, index) => missing.has(ref) && files.findIndex((one) => one.ref === ref) === index,
      );
      for (const file of wanted) await send(session, file);
    }
  }
}

async function packed(folder: string): Promise<ToolFolder> {
  try {
    return await readToolFolder(folder);
  } catch (error) {
    if (!(error instanceof NoPackage)) throw error;
    throw new CliError(`${folder} cannot be packed:\n${error.message}`);
  }
}

function missingIn(error: unknown): ReadonlySet<string> | undefined {
  if (!(error instanceof SignalboxApiError)) return undefined;
  const missing = error.details["missing"];
  return Array.isArray(missing) ? new Set(missing.filter((one): one is string => typeof one === "string")) : undefined;
}

async function send(session: OnlineSession, { path, place, ref }: FolderFile): Promise<void> {
  const stored = await session.client.files.put(await readFolderFile(place), session);
  if (stored.digest !== ref) {
    throw new CliError(`${path} changed while it was being sent`, { next: "run the same command again" });
  }
}
