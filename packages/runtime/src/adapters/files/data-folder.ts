// The data folder of a runtime on one machine: the audit key beside the ledger, and the file by which the CLI finds both door and key.
import { randomBytes } from "node:crypto";
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { LedgerUnavailable } from "../../ledger/port.ts";

export interface DataFolder {
  readonly path: string;
  readonly ledgerFile: string;
  readonly auditKeyFile: string;
  readonly clientFile: string;
  /** The sandbox worker's own key. */
  readonly workerKeyFile: string;
  /** Packages and input files, content-addressed. */
  readonly storeFolder: string;
}

/** Named as the file names them. */
export interface ClientFile {
  readonly url: string;
  readonly key: string;
  /** `host:port` of the gRPC door, for workers. */
  readonly grpc: string;
  /** The operator's key of the tenant `platform`; absent in files that are older than it. */
  readonly platform_key?: string;
}

const auditKeyBytes = 32;
const privateMode = 0o600;

export function dataFolder(path: string): DataFolder {
  return {
    path,
    ledgerFile: join(path, "ledger.db"),
    auditKeyFile: join(path, "audit.key"),
    clientFile: join(path, "client.json"),
    workerKeyFile: join(path, "worker.key"),
    storeFolder: join(path, "store"),
  };
}

/** Makes the folder for its owner alone. */
export function makeFolder(folder: DataFolder): void {
  mkdirSync(folder.path, { recursive: true, mode: 0o700 });
}

/**
 * Reads the key of the audit chain, or makes it on the very first start.
 * @throws LedgerUnavailable when the ledger is there and its key is not: a new key would make the old records unprovable
 */
export function auditKey(folder: DataFolder): Buffer {
  if (existsSync(folder.auditKeyFile)) return readAuditKey(folder.auditKeyFile);
  if (existsSync(folder.ledgerFile)) {
    throw new LedgerUnavailable(`${folder.auditKeyFile} is missing, so the audit of the ledger beside it cannot be continued.`, {
      next: "restore the key from your backup, or choose another data folder",
    });
  }
  const key = randomBytes(auditKeyBytes);
  writePrivate(folder.auditKeyFile, `${key.toString("hex")}\n`);
  return key;
}

/** @throws LedgerUnavailable when it is missing or damaged: with another key the records of before could never be proven together with new ones */
export function readAuditKey(path: string): Buffer {
  let text: string;
  try {
    text = readFileSync(path, "utf8").trim();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    throw new LedgerUnavailable(`The audit key ${path} ${code === "ENOENT" ? "is missing" : `cannot be read (${message})`}.`, {
      cause: error,
      next: `name its file with --audit-key-file, or copy it there: all replicas have the same one. For a new ledger make one: openssl rand -hex ${auditKeyBytes} > ${path}`,
    });
  }
  // Buffer.from stops at the first character that is no digit, and says nothing.
  if (text.length === auditKeyBytes * 2 && /^[0-9a-f]+$/i.test(text)) return Buffer.from(text, "hex");
  throw new LedgerUnavailable(`The audit key ${path} is damaged: it must hold ${auditKeyBytes * 2} hex digits.`, { next: "restore it from your backup" });
}

export function readClientFile(folder: DataFolder): ClientFile | undefined {
  try {
    const { url, key, grpc, platform_key } = JSON.parse(readFileSync(folder.clientFile, "utf8")) as Partial<ClientFile>;
    if (typeof key !== "string") return undefined;
    return { url: url ?? "", key, grpc: grpc ?? "", ...(typeof platform_key === "string" ? { platform_key } : {}) };
  } catch {
    return undefined;
  }
}

/** The text of the worker's key; undefined where there is none yet. */
export function readWorkerKey(folder: DataFolder): string | undefined {
  return existsSync(folder.workerKeyFile) ? readFileSync(folder.workerKeyFile, "utf8").trim() : undefined;
}

export function writeWorkerKey(folder: DataFolder, key: string): void {
  writePrivate(folder.workerKeyFile, `${key}\n`);
}

export function writeClientFile(folder: DataFolder, file: ClientFile): void {
  writePrivate(folder.clientFile, `${JSON.stringify(file, null, 2)}\n`);
}

/** Written beside, made durable, and renamed into place: a crash leaves the old file or the new one. */
function writePrivate(path: string, text: string): void {
  const fresh = `${path}.new`;
  // What a crash left behind may be open to others; "wx" makes the file anew, with our mode from its first byte.
  rmSync(fresh, { force: true });
  const fd = openSync(fresh, "wx", privateMode);
  try {
    writeFileSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  renameSync(fresh, path);
  syncFolder(dirname(path));
}

/** Without it a power cut may undo the rename, and with it the only copy of a key. */
function syncFolder(path: string): void {
  const fd = openSync(path, "r");
  try {
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
}
