// Writes a run's memory limit into a module's own bytes: an engine enforces the maximum that a module declares, and no other.

export const pageBytes = 64 * 1024;
/** Of one table, 8 bytes each on the host's heap: guards against tables that eat what the memory limit does not see. */
export const tableEntriesMax = 100_000;
export const tablesMax = 16;
export const moduleBytesMax = 32 * 1024 * 1024;

export type Bounded =
  | { readonly ok: true; readonly bytes: Uint8Array<ArrayBuffer> }
  /** `memoryBytes`: what it asks for at once, when that alone is over the limit. */
  | { readonly ok: false; readonly message: string; readonly memoryBytes: number | null };

const magic = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const section = { table: 4, memory: 5 } as const;
const refTypes = [0x70, 0x6f];
const hasMaximum = 1;

class Refusal extends Error {
  readonly memoryBytes: number | null;
  constructor(message: string, memoryBytes: number | null = null) {
    super(message);
    this.memoryBytes = memoryBytes;
  }
}

/** The module with its memory and tables bounded. Everything else in it is left for the engine to judge. */
export function boundModule(module: Uint8Array, memoryBytes: number): Bounded {
  try {
    return { ok: true, bytes: rewritten(module, Math.floor(memoryBytes / pageBytes)) };
  } catch (error) {
    if (error instanceof Refusal) return { ok: false, message: error.message, memoryBytes: error.memoryBytes };
    throw error;
  }
}

interface Cursor {
  readonly bytes: Uint8Array;
  at: number;
}

function rewritten(module: Uint8Array, pagesMax: number): Uint8Array<ArrayBuffer> {
  if (module.length > moduleBytesMax) throw new Refusal(`a module has at most ${moduleBytesMax} bytes`);
  if (magic.some((byte, index) => module[index] !== byte)) {
    throw new Refusal("not a WebAssembly core module of version 1 (a component must be taken apart first)");
  }
  const cursor: Cursor = { bytes: module, at: magic.length };
  const parts: Uint8Array[] = [module.subarray(0, magic.length)];
  while (cursor.at < module.length) {
    const start = cursor.at;
    const id = readByte(cursor);
    const size = readNumber(cursor);
    const body = cursor.at;
    cursor.at = body + size;
    if (cursor.at > module.length) throw new Refusal("the module is cut off in the middle of a section");
    if (id !== section.table && id !== section.memory) {
      parts.push(module.subarray(start, cursor.at));
      continue;
    }
    const inner: Cursor = { bytes: module.subarray(body, cursor.at), at: 0 };
    const written = id === section.memory ? memorySection(inner, pagesMax) : tableSection(inner);
    if (inner.at !== inner.bytes.length) throw new Refusal("a section of the module holds more than it says");
    parts.push(Uint8Array.from([id, ...numberBytes(written.length), ...written]));
  }
  return joined(parts);
}

function memorySection(cursor: Cursor, pagesMax: number): number[] {
  const count = readNumber(cursor);
  if (count > 1) throw new Refusal("a module has one memory here, not several");
  if (count === 0) return [0];
  const { min, max } = readLimits(cursor, "memory");
  if (min > pagesMax) {
    const asked = min * pageBytes;
    throw new Refusal(`the module starts with ${asked} bytes of memory; its limit is ${pagesMax * pageBytes}`, asked);
  }
  // A smaller maximum of the module's own stays as it is.
  return [1, hasMaximum, ...numberBytes(min), ...numberBytes(Math.min(max ?? pagesMax, pagesMax))];
}

function tableSection(cursor: Cursor): number[] {
  const count = readNumber(cursor);
  if (count > tablesMax) throw new Refusal(`a module has at most ${tablesMax} tables here`);
  const written = numberBytes(count);
  for (let index = 0; index < count; index++) {
    const type = readByte(cursor);
    if (!refTypes.includes(type)) throw new Refusal("a table of the module is of a kind that is not supported here");
    const { min, max } = readLimits(cursor, "table");
    if (min > tableEntriesMax) {
      throw new Refusal(`a table of the module has ${min} entries; at most ${tableEntriesMax} are allowed`);
    }
    written.push(
      type,
      hasMaximum,
      ...numberBytes(min),
      ...numberBytes(Math.min(max ?? tableEntriesMax, tableEntriesMax)),
    );
  }
  return written;
}

function readLimits(cursor: Cursor, what: "memory" | "table"): { readonly min: number; readonly max: number | null } {
  const flags = readByte(cursor);
  if (flags > hasMaximum)
    throw new Refusal(`the module's ${what} is shared or 64 bits wide; neither is supported here`);
  const min = readNumber(cursor);
  return { min, max: flags === hasMaximum ? readNumber(cursor) : null };
}

function readByte(cursor: Cursor): number {
  const byte = cursor.bytes[cursor.at];
  if (byte === undefined) throw new Refusal("the module is cut off");
  cursor.at++;
  return byte;
}

/** An unsigned LEB128 of at most 32 bits. */
function readNumber(cursor: Cursor): number {
  let value = 0;
  for (let shift = 0; shift < 35; shift += 7) {
    const byte = readByte(cursor);
    value += (byte & 0x7f) * 2 ** shift;
    if (byte < 0x80) {
      if (value > 0xffff_ffff) break;
      return value;
    }
  }
  throw new Refusal("a number in the module is too long");
}

function numberBytes(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const low = rest % 0x80;
    rest = Math.floor(rest / 0x80);
    bytes.push(rest > 0 ? low | 0x80 : low);
  } while (rest > 0);
  return bytes;
}

function joined(parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
