// The wait that somebody asks for before they are asked again: `Retry-After`, in seconds or as a date.

/** RFC 9110's preferred form of a date; the two old ones are refused, and with them everything else that Date.parse takes. */
const httpDate = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** @returns ms from `now`, below zero for a date that has passed; undefined for what cannot be read */
export function retryAfterTextMs(text: string, now: number): number | undefined {
  const trimmed = text.trim();
  const asked = /^\d{1,10}$/.test(trimmed) ? Number(trimmed) * 1000 : httpDate.test(trimmed) ? Date.parse(trimmed) - now : Number.NaN;
  return Number.isNaN(asked) ? undefined : asked;
}

/**
 * The same from an error's details: `retry_after_ms`, or `retry_after` (seconds or an HTTP date), or `retry_after_s`.
 * The first of them that can be read counts.
 */
export function retryAfterIn(details: unknown, now: number): number | undefined {
  if (typeof details !== "object" || details === null) return undefined;
  const { retry_after_ms: ms, retry_after: either, retry_after_s: seconds } = details as Readonly<Record<string, unknown>>;
  if (isWait(ms)) return ms;
  if (typeof either === "string") {
    const asked = retryAfterTextMs(either, now);
    if (asked !== undefined) return asked;
  }
  if (isWait(either)) return either * 1000;
  return isWait(seconds) ? seconds * 1000 : undefined;
}

function isWait(value: unknown): value is number {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}
