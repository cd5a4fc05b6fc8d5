// Reads the file of an exported ledger into an empty one: what is damaged, cut off or of another format leaves it empty.
import { createHash } from "node:crypto";
import { format, formatVersion, linesOf, rowOfLine, type EndLine, type HeaderLine, type TableLine } from "./lines.ts";
import { batchCharsMax, batchRowsMax, carriedTables, type CarriedTable, type LedgerRestore, type Value } from "./tables.ts";
import type { OnProgress } from "./write-file.ts";

export interface Imported {
  readonly header: HeaderLine;
  readonly rows: number;
  readonly sha256: string;
}

/** Says what is wrong with the file, and where. */
export class DamagedExport extends Error {
  override readonly name = "DamagedExport";
}

function damaged(path: string, line: number, what: string): DamagedExport {
  return new DamagedExport(`${path}, line ${line}: ${what}; nothing was imported`);
}

/** The first line alone; the file may end badly all the same. */
export async function readHeader(path: string): Promise<HeaderLine> {
  for await (const line of linesOf(path)) return headerOf(path, line);
  throw damaged(path, 1, "the file is empty");
}

function headerOf(path: string, line: Buffer): HeaderLine {
  const header = parsed(path, 1, line) as Partial<HeaderLine> | null;
  if (header?.format !== format) throw damaged(path, 1, "this is no exported ledger");
  if (header.format_version !== formatVersion)
    throw damaged(path, 1, `it has format ${header.format_version}, and this Signalbox (${formatVersion}) cannot read that; use the version that wrote it (${header.written_by}) or a newer one`);
  return header as HeaderLine;
}

function parsed(path: string, at: number, line: Buffer): unknown {
  try {
    return JSON.parse(line.toString("utf8")) as unknown;
  } catch {
    throw damaged(path, at, "it is no JSON; the file was changed or cut off");
  }
}

interface Open {
  readonly table: CarriedTable;
  readonly columns: readonly string[];
  rows: Value[][];
  chars: number;
}

/** Takes a file line by line, and hands rows on in batches. */
class Reader {
  readonly #path: string;
  readonly #restore: LedgerRestore;
  readonly #onRows: (rows: number) => void;
  #at = 1;
  #open: Open | undefined;
  #rows = 0;
  #end: EndLine["end"] | undefined;

  constructor(path: string, restore: LedgerRestore, onRows: (rows: number) => void) {
    this.#path = path;
    this.#restore = restore;
    this.#onRows = onRows;
  }

  get rows(): number {
    return this.#rows;
  }

  get end(): EndLine["end"] | undefined {
    return this.#end;
  }

  async take(line: Buffer): Promise<void> {
    this.#at += 1;
    if (this.#end !== undefined) throw this.#damaged("something stands behind the end");
    const value = parsed(this.#path, this.#at, line);
    if (Array.isArray(value)) await this.#takeRow(value, line.length);
    else await this.#takeMark(value as Partial<TableLine & EndLine>);
  }

  async #takeRow(value: readonly unknown[], bytes: number): Promise<void> {
    const open = this.#open;
    if (open === undefined) throw this.#damaged("a row stands before its table");
    if (value.length !== open.columns.length) throw this.#damaged("the row has another length than its table");
    open.rows.push(this.#row(value));
    open.chars += bytes;
    if (open.rows.length >= batchRowsMax || open.chars >= batchCharsMax) await this.#writeOpen(open);
  }

  #row(value: readonly unknown[]): Value[] {
    try {
      return rowOfLine(value);
    } catch (error) {
      throw this.#damaged((error as Error).message);
    }
  }

  async #takeMark(value: Partial<TableLine & EndLine> | null): Promise<void> {
    if (this.#open !== undefined) await this.#writeOpen(this.#open);
    this.#open = undefined;
    if (value?.end !== undefined) {
      this.#end = value.end;
      return;
    }
    const { table, columns } = value ?? {};
    if (table === undefined || !Object.hasOwn(carriedTables, table) || !Array.isArray(columns))
      throw this.#damaged(`it names a table that this Signalbox does not know (${String(table)}); import it with the version that wrote it, or a newer one`);
    await this.#checkColumns(table, columns as readonly string[]);
    this.#open = { table, columns: columns as readonly string[], rows: [], chars: 0 };
  }

  async #checkColumns(table: CarriedTable, columns: readonly string[]): Promise<void> {
    const { all, needed } = await this.#restore.columns(table);
    const unknown = columns.find((column) => !all.includes(column));
    if (unknown !== undefined)
      throw this.#damaged(`this Signalbox does not know ${table}.${unknown}; import it with the version that wrote it, or a newer one`);
    const missing = needed.find((column) => !columns.includes(column));
    if (missing !== undefined)
      throw this.#damaged(`it lacks ${table}.${missing}: an older Signalbox wrote it; bring the old ledger up first ('signalbox ledger migrate'), then export again`);
  }

  async #writeOpen(open: Open): Promise<void> {
    const { table, columns, rows } = open;
    open.rows = [];
    open.chars = 0;
    if (rows.length === 0) return;
    await this.#restore.write(table, columns, rows);
    this.#rows += rows.length;
    this.#onRows(this.#rows);
  }

  #damaged(what: string): DamagedExport {
    return damaged(this.#path, this.#at, what);
  }
}

/**
 * Reads a whole file into `restore`, which keeps it only when its end is there and what stands before it is what was written.
 * @throws DamagedExport
 */
export async function readExport(path: string, restore: LedgerRestore, onProgress: OnProgress): Promise<Imported> {
  const hash = createHash("sha256");
  let header: HeaderLine | undefined;
  let ofRows = 0;
  const reader = new Reader(path, restore, (rows) => onProgress(rows, ofRows));
  for await (const line of linesOf(path)) {
    if (header === undefined) {
      header = headerOf(path, line);
      ofRows = Object.values(header.rows).reduce((sum, count) => sum + count, 0);
    } else await reader.take(line);
    if (reader.end === undefined) hash.update(line);
  }
  const { end, rows } = reader;
  if (header === undefined || end === undefined) throw new DamagedExport(`${path} has no end: it was cut off; nothing was imported`);
  const sha256 = hash.digest("hex");
  if (end.rows !== rows || end.sha256 !== sha256)
    throw new DamagedExport(`${path} is not what was written: its digest is ${sha256}, and it says ${end.sha256}; nothing was imported`);
  await restore.keep();
  return { header, rows, sha256 };
}
