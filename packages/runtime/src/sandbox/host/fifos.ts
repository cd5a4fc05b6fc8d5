// Pipes that a tool can open again by name (/dev/stdout, /dev/fd/3): what Node calls a pipe is a socket, and those cannot.
import { execFile } from "node:child_process";
import { closeSync, constants, fchownSync, openSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Both ends of one pipe. The tool's end blocks, ours does not. */
export interface PipeEnds {
  readonly ours: number;
  readonly theirs: number;
}

/** One process makes this many: making them one by one would cost a box a millisecond each. */
const batch = 64;
const lowWater = 24;

/** A stock of named pipes in a folder of ours; a name is removed as soon as both ends are open. */
export class FifoStock {
  readonly #folder: string;
  readonly #ready: string[] = [];
  #made = 0;
  #making: Promise<void> | undefined;

  constructor(folder: string) {
    this.#folder = folder;
  }

  get count(): number {
    return this.#ready.length;
  }

  /** Resolves when `count` pipes were there: look again, somebody else may have been first. */
  async fill(count: number): Promise<void> {
    while (this.#ready.length < count) await (this.#making ??= this.#make());
    if (this.#ready.length < lowWater) void (this.#making ??= this.#make()).catch(() => undefined);
  }

  async #make(): Promise<void> {
    try {
      const paths = Array.from({ length: batch }, () => join(this.#folder, `p${(this.#made += 1)}`));
      await run("mkfifo", ["-m", "0600", ...paths]);
      this.#ready.push(...paths);
    } finally {
      this.#making = undefined;
    }
  }

  /**
   * @param we what we do with it
   * @param owner user whose processes may open it by name; null = ourselves
   */
  take(we: "read" | "write", owner: number | null): PipeEnds {
    const path = this.#ready.pop();
    if (path === undefined) throw new Error("no pipe is ready; fill the stock first");
    const { O_RDONLY, O_WRONLY, O_RDWR, O_NONBLOCK } = constants;
    const opened: number[] = [];
    const open = (flags: number): number => {
      const fd = openSync(path, flags);
      opened.push(fd);
      return fd;
    };
    try {
      // With a reader and writer in one hand neither of the next two waits for the other side.
      const both = open(O_RDWR);
      const ours = open((we === "read" ? O_RDONLY : O_WRONLY) | O_NONBLOCK);
      const theirs = open(we === "read" ? O_WRONLY : O_RDONLY);
      if (owner !== null) fchownSync(both, owner, owner);
      closeSync(both);
      return { ours, theirs };
    } catch (error) {
      for (const fd of opened) closeQuietly(fd);
      throw error;
    } finally {
      unlinkSync(path);
    }
  }
}

function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // Closed already.
  }
}
