// What the WASI functions stand on, and what they are to the module that imports them.
import type { GuestFolders } from "../tree.ts";

/** Import object of a module: what a number means is the function's own affair. */
export type Preview1 = Record<string, (...numbers: never[]) => number>;

export interface Preview1Ports {
  /** The module's memory as it is now: growing detaches what was there before. */
  memory(): ArrayBuffer;
  /** The whole of standard input. */
  readonly input: Uint8Array;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly folders: GuestFolders;
  /** Descriptors 1 to 4. Returns when all of it is written, however long the reader takes. */
  write(fd: 1 | 2 | 3 | 4, bytes: Uint8Array): void;
  /** Wall clock, in milliseconds. */
  wallMs(): number;
  /** Monotonic since some moment, in milliseconds. */
  monotonicMs(): number;
  random(into: Uint8Array): void;
  /** Blocks; shorter when the run's time is up before. */
  sleep(ms: number): void;
}
