// Moves a ledger: out of a data folder or a database into a file, and from the file into another one.
import { existsSync } from "node:fs";
import type { AuditVerdict } from "../../ledger/audit.ts";
import type { Hmac } from "../../ledger/audit-chain.ts";
import { dataFolder, readAuditKey, type DataFolder } from "../files/data-folder.ts";
import { dumpPostgres } from "../postgres/dump.ts";
import { keyMarkOf } from "../postgres/open.ts";
import { restorePostgres } from "../postgres/restore.ts";
import { verifyAuditDatabase } from "../postgres/verify-database.ts";
import { anchorPathOf, type CarriedAnchor } from "../sqlite/anchor.ts";
import { hmacWith } from "../sqlite/audit-key.ts";
import { dumpSqlite } from "../sqlite/dump.ts";
import { restoreSqlite } from "../sqlite/restore.ts";
import { verifyAuditFile } from "../sqlite/verify-file.ts";
import { contentIn, copyContent, type Content } from "./content.ts";
import { checkingKey } from "./key-check.ts";
import type { HeaderLine } from "./lines.ts";
import { readExport, readHeader } from "./read-file.ts";
import type { CarriedTable, LedgerDump, LedgerKind, LedgerRestore } from "./tables.ts";
import { writeExport, type OnProgress } from "./write-file.ts";

/** A ledger and what belongs to it on this machine. */
export interface LedgerPlace {
  readonly dataDir: string;
  /** `postgres://…`: the ledger is there, and not in the data folder. */
  readonly ledgerUrl?: string;
  /** Of the audit's key; `audit.key` in the data folder unless said otherwise. */
  readonly auditKeyFile?: string;
}

export interface MoveOptions {
  readonly file: string;
  /** Where the content of the store goes to, or comes from; it is left where it is otherwise. */
  readonly storeFolder?: string;
  /** The version of Signalbox. */
  readonly version: string;
  /** Wall clock, ms since 1970. */
  readonly now: number;
  readonly onProgress: OnProgress;
}

export interface LedgerExport {
  readonly ledger: LedgerKind;
  readonly schema: number;
  readonly rows: number;
  readonly tables: Readonly<Record<CarriedTable, number>>;
  readonly sha256: string;
  /** Of the content store beside the ledger. */
  readonly content: Content;
  /** Replicas that went on writing meanwhile. */
  readonly living: number;
}

export interface LedgerImport {
  readonly ledger: LedgerKind;
  readonly rows: number;
  readonly tables: Readonly<Record<CarriedTable, number>>;
  readonly sha256: string;
  readonly content: Content;
  readonly audit: AuditVerdict;
}

/** @throws LedgerUnavailable while a runtime has the data folder; Error when the file cannot be written */
export async function exportLedger(place: LedgerPlace, options: MoveOptions): Promise<LedgerExport> {
  const folder = dataFolder(place.dataDir);
  const dump = await dumpOf(place, folder);
  try {
    const { rows, rowsInAll, sha256 } = await writeExport(options.file, dump, options, options.onProgress);
    const content = await moved(folder.storeFolder, options.storeFolder);
    return { ledger: dump.kind, schema: dump.schemaVersion, rows: rowsInAll, tables: rows, sha256, content, living: dump.living };
  } finally {
    await dump.close();
  }
}

async function dumpOf({ ledgerUrl }: LedgerPlace, folder: DataFolder): Promise<LedgerDump> {
  if (ledgerUrl !== undefined) return dumpPostgres(ledgerUrl);
  if (!existsSync(folder.ledgerFile)) throw new Error(`${folder.path} holds no ledger; name the data folder with --data`);
  return dumpSqlite(folder.ledgerFile);
}

/** Copied where both places are named; counted in any case. */
async function moved(from: string | undefined, to: string | undefined): Promise<Content> {
  if (from === undefined) return { files: 0, bytes: 0, copied: false };
  if (to === undefined) return { ...(await contentIn(from)), copied: false };
  return { ...(await copyContent(from, to)), copied: true };
}

/**
 * Into an empty ledger; what is there already is refused. Verifies the audit at the end.
 * @throws LedgerUnavailable, or DamagedExport that says what is wrong with the file: then nothing was imported
 */
export async function importLedger(place: LedgerPlace, options: MoveOptions): Promise<LedgerImport> {
  const folder = dataFolder(place.dataDir);
  const auditKeyFile = place.auditKeyFile ?? folder.auditKeyFile;
  if (!existsSync(auditKeyFile))
    throw new Error(`${auditKeyFile} is not there: copy audit.key of the old ledger's data folder to ${folder.auditKeyFile}, or name it with --audit-key-file`);
  const auditKey = readAuditKey(auditKeyFile);
  const hmac = hmacWith(auditKey);
  const header = await readHeader(options.file);
  const opened = await restoreOf(place, folder, options.now, header, hmac);
  try {
    const { rows, sha256 } = await readExport(options.file, checkingKey(opened, hmac), options.onProgress);
    await opened.close();
    const content = await moved(options.storeFolder, options.storeFolder === undefined ? undefined : folder.storeFolder);
    const audit = await verified(place, folder, auditKey, header);
    return { ledger: opened.kind, rows, tables: header.rows, sha256, content, audit };
  } finally {
    await opened.close();
  }
}

async function restoreOf({ ledgerUrl }: LedgerPlace, folder: DataFolder, now: number, header: HeaderLine, hmac: Hmac): Promise<LedgerRestore> {
  if (ledgerUrl !== undefined) return restorePostgres(ledgerUrl, now, keyMarkOf(hmac));
  return restoreSqlite(folder.ledgerFile, now, carriedAnchor(header, hmac));
}

function carriedAnchor({ audit_anchor: text }: HeaderLine, hmac: Hmac): CarriedAnchor | undefined {
  if (text === undefined) return { renewedWith: hmac };
  return text === null ? undefined : { text };
}

async function verified({ ledgerUrl }: LedgerPlace, folder: DataFolder, auditKey: Buffer, header: HeaderLine): Promise<AuditVerdict> {
  if (ledgerUrl === undefined) return verifyAuditFile(folder.ledgerFile, auditKey);
  const hmac = hmacWith(auditKey);
  return verifyAuditDatabase(ledgerUrl, hmac, anchorPathOf(folder.ledgerFile), carriedAnchor(header, hmac));
}
