// A linear memory with a hard maximum that remembers when more than the maximum was asked for.
import { pageBytes } from "../../guest/wasi/binary.ts";
import { wasm, type WasmMemory } from "./engine.ts";

export interface WatchedMemory {
  readonly memory: WasmMemory;
  readonly limitBytes: number;
  /** What was asked for when it was refused, in bytes; null = it never was. */
  refusedBytes(): number | null;
}

/** The engine asks thrice, for less each time, before it gives up: one refusal alone is only its greed. */
const refusalsInARow = 3;

/**
 * The engine's own limit does not hold, and its script asks to grow through `memory.grow`: the maximum is the wall, and the
 * wrapped function only the witness, so that a run which failed for want of memory says so.
 */
export function watchedMemory(pagesMin: number, pagesMax: number): WatchedMemory {
  const memory = new wasm.Memory({ initial: pagesMin, maximum: pagesMax });
  const grow = memory.grow.bind(memory);
  let inARow = 0;
  let refused: number | null = null;
  memory.grow = (pages: number): number => {
    try {
      const before = grow(pages);
      inARow = 0;
      return before;
    } catch (error) {
      inARow++;
      if (inARow >= refusalsInARow) refused = Math.max(refused ?? 0, memory.buffer.byteLength + pages * pageBytes);
      throw error;
    }
  };
  return { memory, limitBytes: pagesMax * pageBytes, refusedBytes: () => refused };
}
