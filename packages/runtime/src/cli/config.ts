// Finds the runtime to talk to and the key to show it: flags, environment, or the nearest data folder's client file.
import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { CliError } from "./failure.ts";
import { exitCodes } from "./exit-codes.ts";
import type { Io } from "./io.ts";

export const clientFilePath = join(".signalbox", "client.json");

export interface Connection {
  readonly url: string;
  readonly key: string;
}

export interface ConnectionFlags {
  readonly url?: string | undefined;
  readonly key?: string | undefined;
  /** Speak as the platform's operator. */
  readonly platform?: boolean | undefined;
}

interface ClientFile extends Connection {
  readonly path: string;
  readonly platformKey: string | undefined;
}

/** How many folders up a client file is looked for; guards against paths without end. */
const foldersMax = 64;

/**
 * The file's key is only ever sent to the file's URL, and a key from elsewhere only to a URL that was named with it or
 * stands on this machine: a client file that somebody planted in a folder above must not get to see it.
 *
 * With `platform` the operator's key takes the place of the ordinary one in the environment and in the file, and never
 * the other way round: what was meant for the platform must not be done to a tenant.
 * @throws CliError when no runtime or no key is known
 */
export async function findConnection(io: Io, flags: ConnectionFlags): Promise<Connection> {
  const platform = flags.platform === true;
  const url = given(flags.url) ?? given(io.env["SIGNALBOX_URL"]);
  const key = given(flags.key) ?? given(io.env[platform ? "SIGNALBOX_PLATFORM_KEY" : "SIGNALBOX_KEY"]);
  if (url !== undefined) checkUrl(url);
  if (url !== undefined && key !== undefined) return { url, key };
  const file = await nearestClientFile(io);
  if (url !== undefined) {
    if (file !== undefined && sameOrigin(file.url, url)) return { url, key: keyOf(file, platform) };
    throw platform
      ? noPlatformKey(url)
      : new CliError(`no key for ${url}`, { code: "no_key", exitCode: exitCodes.refused });
  }
  if (file === undefined) {
    throw new CliError(
      `no runtime is known here: no --url, no SIGNALBOX_URL, and no ${clientFilePath} in this folder or above`,
      {
        code: "no_runtime",
        exitCode: exitCodes.unavailable,
      },
    );
  }
  if (key === undefined) return { url: file.url, key: keyOf(file, platform) };
  if (isLoopback(file.url)) return { url: file.url, key };
  throw new CliError(`a key was given, but the URL would come from ${file.path}, and it is not on this machine`, {
    next: `name the URL too: --url ${file.url}`,
  });
}

function keyOf(file: ClientFile, platform: boolean): string {
  if (!platform) return file.key;
  if (file.platformKey === undefined) throw noPlatformKey(file.url, file.path);
  return file.platformKey;
}

function noPlatformKey(url: string, path?: string): CliError {
  const place = path === undefined ? "" : `: ${path} has none`;
  return new CliError(`no key of the platform's operator is known for ${url}${place}`, {
    code: "no_platform_key",
    exitCode: exitCodes.refused,
  });
}

const given = (text: string | undefined): string | undefined => (text === undefined || text === "" ? undefined : text);

function checkUrl(url: string): void {
  if (!URL.canParse(url) || !["http:", "https:"].includes(new URL(url).protocol)) {
    throw new CliError(`"${url}" is not a URL of a runtime`, { next: "write it like http://127.0.0.1:8080" });
  }
}

function sameOrigin(a: string, b: string): boolean {
  return new URL(a).origin === new URL(b).origin;
}

function isLoopback(url: string): boolean {
  const { hostname } = new URL(url);
  return hostname === "localhost" || hostname === "[::1]" || /^127(\.\d{1,3}){3}$/.test(hostname);
}

async function nearestClientFile(io: Io): Promise<ClientFile | undefined> {
  let folder = io.cwd;
  for (let count = 0; count < foldersMax; count++) {
    const file = await readClientFile(io, join(folder, clientFilePath));
    if (file !== undefined) return file;
    const above = dirname(folder);
    if (above === folder) return undefined;
    folder = above;
  }
  return undefined;
}

/** Undefined when there is none, or when it is another user's: then it says nothing about whom we mean to talk to. */
async function readClientFile(io: Io, path: string): Promise<ClientFile | undefined> {
  let text: string;
  try {
    const { uid, mode } = await stat(path);
    const self = process.getuid?.();
    if (self !== undefined && self !== 0 && uid !== self) {
      io.stderr.write(`warning: ${path} belongs to another user and is passed over\n`);
      return undefined;
    }
    if (self !== undefined && (mode & 0o077) !== 0)
      io.stderr.write(`warning: others can read the key in ${path}; next: chmod 600 ${path}\n`);
    text = await readFile(path, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError(`${path} cannot be read: ${(error as Error).message}`);
  }
  return parseClientFile(text, path);
}

function parseClientFile(text: string, path: string): ClientFile {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    value = undefined;
  }
  const known: Readonly<Record<string, unknown>> = typeof value === "object" && value !== null ? { ...value } : {};
  const { url, key, platform_key: platformKey } = known;
  if (typeof url !== "string" || typeof key !== "string" || !URL.canParse(url)) {
    throw new CliError(`${path} is not a client file: it needs {"url": …, "key": …}`, {
      next: "start the runtime again (signalbox dev), or make a new key: signalbox keys reset --local",
    });
  }
  return { url, key, path, platformKey: typeof platformKey === "string" ? platformKey : undefined };
}
