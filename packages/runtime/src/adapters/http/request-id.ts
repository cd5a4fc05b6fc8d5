// Gives every request its name: the caller's own where it is harmless, else a new one.
import { randomFillSync } from "node:crypto";

/** Short and free of anything that a log line, a header or a shell could take for syntax. */
const harmless = /^[A-Za-z0-9._-]{1,64}$/;

/** @param header the `X-Request-Id` header as Node hands it over (several headers arrive joined by a comma, and are refused by it) */
export function requestIdOf(header: string | readonly string[] | undefined, make: () => string): string {
  return typeof header === "string" && harmless.test(header) ? header : make();
}

const poolBytes = 4_096;

/** Random bytes, drawn from the system in large pieces: one request id would cost 6 µs otherwise, and there is one per request. */
export function pooledRandom(): (bytes: number) => Uint8Array {
  const pool = new Uint8Array(poolBytes);
  let used = poolBytes;
  return (bytes) => {
    if (bytes > poolBytes) throw new RangeError(`pooledRandom gives at most ${poolBytes} bytes`);
    if (used + bytes > poolBytes) {
      randomFillSync(pool);
      used = 0;
    }
    used += bytes;
    return pool.slice(used - bytes, used);
  };
}
