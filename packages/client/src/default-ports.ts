// The client's ajar door: waiting, clocks, chance and time-outs of the platform, for callers who bring none of their own.
import type { TransportPorts } from "./transport.ts";

function sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    // An abort of before tells its listeners nothing any more.
    if (signal?.aborted === true) return reject(signal.reason as Error);
    const stop = (): void => {
      clearTimeout(timer);
      reject(signal?.reason as Error);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", stop);
      resolve();
    }, ms);
    signal?.addEventListener("abort", stop, { once: true });
  });
}

const keyBytes = 16;

/** Works on pages without TLS too, where `randomUUID` is missing. */
function newKey(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(keyBytes));
  return `auto-${Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}

function stringify(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch (cause) {
    if (!(cause instanceof TypeError) || !cause.message.includes("BigInt")) throw cause;
    const next = "give createClient a stringify that does, such as stringifyWithBigInts of @signalbox/protocol";
    throw new TypeError(`JSON.stringify writes no bigint; ${next}`, { cause });
  }
}

/** Browsers refuse a fetch that is called without its window, hence the arrow. */
export const defaultPorts: TransportPorts = {
  fetch: (input, init) => globalThis.fetch(input, init),
  sleep,
  random: () => Math.random(),
  timeoutSignal: (ms) => AbortSignal.timeout(ms),
  monotonicMs: () => performance.now(),
  wallMs: () => Date.now(),
  newKey,
  parse: (json) => JSON.parse(json) as unknown,
  stringify,
};
