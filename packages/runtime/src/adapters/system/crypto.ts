// Hashes and chance from the operating system.
import { hash, randomBytes, randomFillSync } from "node:crypto";
import type { Chance, Hash } from "../../corridor/ports.ts";

export const sha256: Hash = (text) => hash("sha256", text, "hex");

/** Small requests are cut from a pool: one system call for some hundred ids. */
export function systemChance(): Chance {
  const pool = Buffer.alloc(4096);
  let at = pool.length;
  return {
    bytes(count) {
      if (count > 64) return randomBytes(count);
      if (at + count > pool.length) {
        randomFillSync(pool);
        at = 0;
      }
      const piece = Uint8Array.prototype.slice.call(pool, at, at + count);
      // What was handed out must not stay behind in the pool.
      pool.fill(0, at, at + count);
      at += count;
      return piece;
    },
  };
}

export function base64url(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString("base64url");
}
