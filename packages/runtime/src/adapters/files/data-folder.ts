// The data folder of a runtime on one machine: the audit key beside the ledger, and the file by which the CLI finds both door and key.
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, openSync, readFileSync, renameSync, writeSync, fsyncSync, closeSync, chmodSync } from "node:fs";
import { join } from "node:path";

export interface DataFolder {
  readonly path: string;
  readonly ledgerFile: string;
  readonly auditKeyFile: string;
  readonly clientFile: string;
}

export interface ClientFile {
  readonly url: string;
  readonly key: string;
  /** `host:port` of the gRPC door, for workers. */
  readonly grpc: string;
}

const auditKeyBytes = 32;
const privateMode = 0o600;

export function dataFolder(path: string): DataFolder {
  return {
    path,
    ledgerFile: join(path, "ledger.db"),
    auditKeyFile: join(path, "audit.key"),
    clientFile: join(path, "client.json"),
  };
}

/** Makes the folder for its owner alone. */
export function makeFolder(folder: DataFolder): void {
  mkdirSync(folder.path, { recursive: true, mode: 0o700 });
}

/**
 * Reads the key of the audit chain, or makes it on the very first start.
 * @throws Error when the ledger is there and its key is not: a new key would make the old records unprovable
 */
export function auditKey(folder: DataFolder): Buffer {
  if (existsSync(folder.auditKeyFile)) {
    const key = Buffer.from(readFileSync(folder.auditKeyFile, "utf8").trim(), "hex");
    if (key.length === auditKeyBytes) return key;
    throw new Error(`${folder.auditKeyFile} is damaged: it must hold ${auditKeyBytes * 2} hex digits; restore it from your backup`);
  }
  if (existsSync(folder.ledgerFile)) {
    throw new Error(
      `${folder.auditKeyFile} is missing, so the audit of the ledger beside it cannot be continued; restore the key from your backup, or choose another data folder`,
    );
  }
  const key = randomBytes(auditKeyBytes);
  writePrivate(folder.auditKeyFile, `${key.toString("hex")}\n`);
  return key;
}

export function readClientFile(folder: DataFolder): ClientFile | undefined {
  try {
    const { url, key, grpc } = JSON.parse(readFileSync(folder.clientFile, "utf8")) as Partial<ClientFile>;
    return typeof key === "string" ? { url: url ?? "", key, grpc: grpc ?? "" } : undefined;
  } catch {
    return undefined;
  }
}

export function writeClientFile(folder: DataFolder, file: ClientFile): void {
  writePrivate(folder.clientFile, `${JSON.stringify(file, null, 2)}\n`);
}

/** Written beside, made durable, and renamed into place: a crash leaves the old file or the new one. */
function writePrivate(path: string, text: string): void {
  const fresh = `${path}.new`;
  const fd = openSync(fresh, "w", privateMode);
  try {
    writeSync(fd, text);
    fsyncSync(fd);
  } finally {
    closeSync(fd);
  }
  chmodSync(fresh, privateMode);
  renameSync(fresh, path);
}
