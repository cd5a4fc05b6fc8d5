// Gives every box a user of its own, which no other box on this host has while it lives.
import { mkdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";

/** Above what systemd gives to containers (up to 0x6fffffff), below what many file systems take for "nobody". */
const first = 0x7000_0000;
const count = 65_536;
const triesMax = 1_024;

/**
 * A number is taken by making its folder, which all workers of this host see.
 * @param root folder for all workers; numbers of dead ones come back when their owner's folder is reaped
 */
export class Uids {
  readonly #root: string;
  readonly #owner: string;
  #next: number;

  constructor(root: string, owner: string, start: number) {
    this.#root = root;
    this.#owner = owner;
    this.#next = start % count;
    mkdirSync(root, { recursive: true, mode: 0o700 });
  }

  take(): number {
    for (let tries = 0; tries < triesMax; tries += 1) {
      const uid = first + this.#next;
      this.#next = (this.#next + 1) % count;
      try {
        mkdirSync(join(this.#root, String(uid)), { mode: 0o700 });
        mkdirSync(join(this.#root, String(uid), this.#owner), { mode: 0o700 });
        return uid;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      }
    }
    throw new Error(`no user number is free among ${triesMax} from ${first}: too many boxes live on this host`);
  }

  give(uid: number): void {
    try {
      rmdirSync(join(this.#root, String(uid), this.#owner));
      rmdirSync(join(this.#root, String(uid)));
    } catch {
      // It is not taken again while its folder stands, which wastes one number.
    }
  }
}
