// Opens the database file for one process alone: folder, lock, settings, schema.
import { mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { metaTableSql, migrations, type Migration } from "./schema.ts";
import { asLedgerError, storeFailure } from "./store-errors.ts";

export interface OpenDatabase {
  readonly db: DatabaseSync;
  /** Closes the database and gives the folder free. */
  close(): void;
}

/** How long a statement waits for a lock of some other program, for instance a backup; it blocks the process. */
const busyTimeoutMs = 1_000;
/** Pages (4 KiB) in the write-ahead log before they are moved into the database file. */
const checkpointPages = 2_000;
/** What the write-ahead log may keep on disk after a burst. */
const walBytesMax = 64 * 1024 * 1024;
const cacheKibMax = 16 * 1024;
const pageBytes = 4_096;

function makeFolder(folder: string): void {
  try {
    // 0700: the ledger holds arguments and results of every tenant.
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const reason = error instanceof Error ? error.message : "unknown";
    throw new LedgerUnavailable(`The data folder cannot be made (${reason}). Choose another one.`, { cause: error });
  }
}

/**
 * Takes the folder that this file is in: an exclusive transaction on a file of its own, which the operating system drops with the process
 * (so a kill -9 leaves nothing behind), and which leaves the ledger itself readable for other programs.
 */
export function lockFolder(path: string): DatabaseSync {
  const lock = new DatabaseSync(join(dirname(path), "ledger.lock"), { timeout: 0 });
  try {
    lock.exec("BEGIN EXCLUSIVE");
    return lock;
  } catch (error) {
    lock.close();
    if (storeFailure(error) === undefined) throw error;
    throw new LedgerUnavailable(
      `Another process has the data folder ${dirname(path)}.`,
      { cause: error, next: "stop it, or choose another folder with --data; each process has one of its own" },
    );
  }
}

/** {@link lockFolder} for who keeps no ledger there, and must be alone in it all the same. @throws LedgerUnavailable */
export function takeFolder(path: string): DatabaseSync {
  try {
    return lockFolder(path);
  } catch (error) {
    throw asLedgerError(error);
  }
}

function configure(db: DatabaseSync, databaseBytesMax: number | undefined): void {
  db.exec(`PRAGMA page_size = ${pageBytes}`); // before anything is written, or it has no effect
  const mode = db.prepare("PRAGMA journal_mode = WAL").get()?.["journal_mode"];
  if (mode !== "wal") {
    throw new LedgerUnavailable(
      "The data folder's file system has no shared memory for a write-ahead log; choose a local disk.",
    );
  }
  // A commit that was answered survives a power cut, at one fsync per group.
  db.exec("PRAGMA synchronous = FULL");
  db.exec(`PRAGMA wal_autocheckpoint = ${checkpointPages}`);
  db.exec(`PRAGMA journal_size_limit = ${walBytesMax}`);
  db.exec(`PRAGMA cache_size = -${cacheKibMax}`);
  db.exec("PRAGMA temp_store = MEMORY");
  if (databaseBytesMax !== undefined) db.exec(`PRAGMA max_page_count = ${Math.floor(databaseBytesMax / pageBytes)}`);
}

export function storedSchemaVersion(db: DatabaseSync): number {
  const row = db.prepare("SELECT value FROM meta WHERE name = 'schema_version'").get();
  return row === undefined ? 0 : Number(row["value"]);
}

/** @throws LedgerUnavailable */
export function refuseNewer(stored: number, newest: number): void {
  if (stored <= newest) return;
  throw new LedgerUnavailable(
    `The ledger has schema ${stored}; this Signalbox knows schemas up to ${newest}.`,
    { next: "start the version that wrote it, or a newer one" },
  );
}

/**
 * Brings the schema up to the newest migration, in one transaction.
 * @throws LedgerUnavailable when the database was written by a newer Signalbox
 */
export function migrate(db: DatabaseSync, now: number, list: readonly Migration[] = migrations): void {
  db.exec("BEGIN IMMEDIATE");
  try {
    db.exec(metaTableSql);
    const stored = storedSchemaVersion(db);
    const newest = list.at(-1)?.version ?? 0;
    refuseNewer(stored, newest);
    for (const { version, statements } of list) {
      if (version > stored) for (const statement of statements) db.exec(statement);
    }
    const setMeta = db.prepare(
      "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
    );
    if (stored < newest) {
      setMeta.run("schema_version", String(newest));
      setMeta.run("schema_changed_at", String(now));
    }
    db.exec("COMMIT");
  } catch (error) {
    if (db.isTransaction) db.exec("ROLLBACK");
    throw error;
  }
}

/** @throws LedgerUnavailable when the folder is in use, cannot be written, or holds a newer schema */
export function openDatabase(path: string, now: number, databaseBytesMax?: number): OpenDatabase {
  makeFolder(dirname(path));
  let lock: DatabaseSync | undefined;
  let db: DatabaseSync | undefined;
  try {
    lock = lockFolder(path);
    db = new DatabaseSync(path, { timeout: busyTimeoutMs, enableForeignKeyConstraints: false });
    configure(db, databaseBytesMax);
    migrate(db, now);
  } catch (error) {
    db?.close();
    lock?.close();
    throw asLedgerError(error);
  }
  const opened = { db, lock };
  return {
    db: opened.db,
    close() {
      opened.db.close();
      opened.lock.close();
    },
  };
}
