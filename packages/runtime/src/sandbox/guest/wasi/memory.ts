// A module's memory as its host functions see it: every access is checked, and read anew because memory may have grown.

/** A pointer that does not lie in the module's memory. */
export class FaultError extends Error {}

export interface GuestMemory {
  u8(at: number): number;
  u16(at: number): number;
  u32(at: number): number;
  u64(at: number): bigint;
  setU8(at: number, value: number): void;
  setU16(at: number, value: number): void;
  setU32(at: number, value: number): void;
  setU64(at: number, value: bigint): void;
  /** A view, good until the module runs again. */
  bytes(at: number, length: number): Uint8Array;
  text(at: number, length: number): string;
  copyIn(at: number, bytes: Uint8Array): void;
}

export function createGuestMemory(buffer: () => ArrayBuffer): GuestMemory {
  /** Pointers come as signed 32-bit numbers. */
  const view = (at: number, length: number): DataView => {
    const whole = buffer();
    const start = at >>> 0;
    const size = length >>> 0;
    if (start + size > whole.byteLength) throw new FaultError(`${size} bytes at ${start}`);
    return new DataView(whole, start, size);
  };
  const bytes = (at: number, length: number): Uint8Array => {
    const { buffer: whole, byteOffset, byteLength } = view(at, length);
    return new Uint8Array(whole, byteOffset, byteLength);
  };
  return {
    u8: (at) => view(at, 1).getUint8(0),
    u16: (at) => view(at, 2).getUint16(0, true),
    u32: (at) => view(at, 4).getUint32(0, true),
    u64: (at) => view(at, 8).getBigUint64(0, true),
    setU8: (at, value) => view(at, 1).setUint8(0, value),
    setU16: (at, value) => view(at, 2).setUint16(0, value, true),
    setU32: (at, value) => view(at, 4).setUint32(0, value, true),
    setU64: (at, value) => view(at, 8).setBigUint64(0, value, true),
    bytes,
    text: (at, length) => new TextDecoder().decode(bytes(at, length)),
    copyIn: (at, source) => bytes(at, source.length).set(source),
  };
}
