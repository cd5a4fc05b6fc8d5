// Writes a ledger into one file, whole or not at all.
import { createHash } from "node:crypto";
import { open, rename, rm, type FileHandle } from "node:fs/promises";
import { format, formatVersion, rowLine, type EndLine, type HeaderLine, type TableLine } from "./lines.ts";
import { carriedNames, type CarriedTable, type LedgerDump } from "./tables.ts";

export interface Exported {
  readonly rows: Readonly<Record<CarriedTable, number>>;
  readonly rowsInAll: number;
  readonly sha256: string;
}

export interface ExportFacts {
  /** The version of Signalbox. */
  readonly version: string;
  /** Wall clock, ms since 1970. */
  readonly now: number;
}

/** Told after every few rows. */
export type OnProgress = (rows: number, ofRows: number) => void;

/** @throws Error when there is such a file already, or it cannot be written */
export async function writeExport(path: string, dump: LedgerDump, facts: ExportFacts, onProgress: OnProgress): Promise<Exported> {
  const making = `${path}.part`;
  // Arguments and results of every tenant stand in it.
  const file = await open(making, "wx", 0o600).catch((error: unknown) => Promise.reject(taken(making, error)));
  try {
    // Reserves the name, so that nothing of somebody else's is written over at the end.
    await (await open(path, "wx", 0o600).catch((error: unknown) => Promise.reject(taken(path, error)))).close();
    const exported = await writeLines(file, dump, facts, onProgress).catch(async (error: unknown) => {
      await rm(path, { force: true });
      throw error;
    });
    await file.sync();
    await rename(making, path);
    return exported;
  } catch (error) {
    await rm(making, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

function taken(path: string, error: unknown): Error {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EEXIST") return new Error(`${path} is there already; name another file, or move it away`);
  return new Error(`${path} cannot be written: ${message}`, { cause: error });
}

async function writeLines(file: FileHandle, dump: LedgerDump, facts: ExportFacts, onProgress: OnProgress): Promise<Exported> {
  const hash = createHash("sha256");
  const write = async (text: string): Promise<void> => {
    hash.update(text);
    await file.write(text);
  };
  const rows = await countAll(dump);
  const ofRows = Object.values(rows).reduce((sum, count) => sum + count, 0);
  const header: HeaderLine = {
    format,
    format_version: formatVersion,
    ledger: dump.kind,
    schema: dump.schemaVersion,
    written_by: facts.version,
    exported_at: new Date(facts.now).toISOString(),
    rows,
    ...(dump.anchor === undefined ? {} : { audit_anchor: dump.anchor }),
  };
  await write(`${JSON.stringify(header)}\n`);
  let rowsInAll = 0;
  for (const table of carriedNames) {
    const columns = await dump.columns(table);
    await write(`${JSON.stringify({ table, columns } satisfies TableLine)}\n`);
    for await (const batch of dump.rows(table, columns)) {
      await write(batch.map(rowLine).join(""));
      rowsInAll += batch.length;
      onProgress(rowsInAll, ofRows);
    }
  }
  const sha256 = hash.digest("hex");
  await file.write(`${JSON.stringify({ end: { rows: rowsInAll, sha256 } } satisfies EndLine)}\n`);
  return { rows, rowsInAll, sha256 };
}

async function countAll(dump: LedgerDump): Promise<Record<CarriedTable, number>> {
  const rows: Partial<Record<CarriedTable, number>> = {};
  for (const table of carriedNames) rows[table] = await dump.count(table);
  return rows as Record<CarriedTable, number>;
}
