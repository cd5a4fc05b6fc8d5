// How long a worker waits before it dials again: longer each time, and never in step with the others.

const firstMs = 100;
const longestMs = 5_000;

/**
 * @param failures connections in a row that did not get as far as `registered`; 0 after one that did
 * @param chance 0 to below 1; half of the delay is left to it, so that workers of one runtime do not come back as a herd
 */
export function backoffMs(failures: number, chance: number): number {
  const most = Math.min(longestMs, firstMs * 2 ** Math.min(failures, 16));
  return most / 2 + (most / 2) * chance;
}
