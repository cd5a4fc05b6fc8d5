// How long a failed attempt is waited after: a curve that a tool names, capped, and spread a little.

export const backOffStrategies = ["fixed", "linear", "exponential"] as const;
export type BackOffStrategy = (typeof backOffStrategies)[number];

export interface Curve {
  readonly strategy: BackOffStrategy;
  /** After the first attempt, in ms. */
  readonly initialMs: number;
  /** By which an exponential wait grows with every attempt. */
  readonly factor: number;
  /** No wait is longer before it is spread, in ms. */
  readonly maxMs: number;
}

/** The spread on either side, as a part of the wait: what failed together must not come back together. */
export const jitter = 0.1;

/** Without the spread. @param attempt that failed, from 1 */
export function curveMs({ strategy, initialMs, factor, maxMs }: Curve, attempt: number): number {
  const grown = strategy === "fixed" ? initialMs : strategy === "linear" ? initialMs * attempt : initialMs * factor ** (attempt - 1);
  return Math.min(Math.round(grown), maxMs);
}

/** The same for the same call and attempt wherever and whenever it is asked: no chance in it. */
export function backOffMs(curve: Curve, callId: string, attempt: number): number {
  return Math.round(curveMs(curve, attempt) * (1 - jitter + 2 * jitter * placeOf(`${callId}.${attempt}`)));
}

/** A text's place in [0, 1): FNV-1a, and a last mix, since it spreads the end of a text over the low bits alone. */
function placeOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) hash = Math.imul(hash ^ text.charCodeAt(at), 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) / 2 ** 32;
}
