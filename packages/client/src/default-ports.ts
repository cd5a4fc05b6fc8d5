// The client's ajar door: waiting, chance and time-outs of the platform, for callers who bring none of their own.
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

/** Browsers refuse a fetch that is called without its window, hence the arrow. */
export const defaultPorts: TransportPorts = {
  fetch: (input, init) => globalThis.fetch(input, init),
  sleep,
  random: () => Math.random(),
  timeoutSignal: (ms) => AbortSignal.timeout(ms),
  parse: (json) => JSON.parse(json) as unknown,
};
