// The file of an exported ledger: one line of JSON for what it is, one for each table and each row, and one for its end.
import { createReadStream } from "node:fs";
import type { CarriedTable, LedgerKind, Value } from "./tables.ts";

export const format = "signalbox.ledger";
export const formatVersion = 1;

export interface HeaderLine {
  readonly format: typeof format;
  readonly format_version: number;
  readonly ledger: LedgerKind;
  readonly schema: number;
  /** The version of Signalbox that wrote it. */
  readonly written_by: string;
  /** ISO 8601, UTC. */
  readonly exported_at: string;
  readonly rows: Readonly<Record<CarriedTable, number>>;
  /** See LedgerDump; left out where no such file belongs. */
  readonly audit_anchor?: string | null;
}

export interface TableLine {
  readonly table: CarriedTable;
  readonly columns: readonly string[];
}

export interface EndLine {
  readonly end: {
    readonly rows: number;
    /** SHA-256 of everything before this line, as hex digits. */
    readonly sha256: string;
  };
}

export function rowLine(row: readonly Value[]): string {
  return `${JSON.stringify(row.map((value) => (value instanceof Uint8Array ? { base64: base64Of(value) } : value)))}\n`;
}

function base64Of(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

/** @throws Error when the line is no row */
export function rowOfLine(parsed: unknown): Value[] {
  if (!Array.isArray(parsed)) throw new Error("it is no row");
  return parsed.map((value: unknown): Value => {
    if (value === null || typeof value === "string" || typeof value === "number") return value;
    if (typeof value === "object" && "base64" in value && typeof value.base64 === "string")
      return Buffer.from(value.base64, "base64");
    throw new Error("a row holds something that is neither text, number nor bytes");
  });
}

/** A row holds at most a large result, in base64. */
const lineBytesMax = 128 * 1024 * 1024;
const readBytes = 256 * 1024;
const lineFeed = 0x0a;

/** The lines of a file as bytes, each with its line feed; what stands behind the last one comes without. */
export async function* linesOf(path: string): AsyncGenerator<Buffer> {
  let begun: Buffer[] = [];
  let begunBytes = 0;
  for await (const chunk of createReadStream(path, { highWaterMark: readBytes }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let at = chunk.indexOf(lineFeed); at >= 0; at = chunk.indexOf(lineFeed, from)) {
      yield Buffer.concat([...begun, chunk.subarray(from, at + 1)]);
      begun = [];
      begunBytes = 0;
      from = at + 1;
    }
    begun.push(chunk.subarray(from));
    begunBytes += chunk.length - from;
    if (begunBytes > lineBytesMax) throw new Error(`a line is longer than ${lineBytesMax} bytes`);
  }
  if (begunBytes > 0) yield Buffer.concat(begun);
}
