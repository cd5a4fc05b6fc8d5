// How long a key or a grant lives: read from a flag, and told in a list.
import { CliError } from "./failure.ts";
import type { Io } from "./io.ts";
import { parseSpanMs, relativeText } from "./times.ts";

const instant = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** `30d` or an RFC 3339 instant, as an instant; undefined when the flag was not given. */
export function expiryFlag(io: Pick<Io, "now">, text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  const spanMs = parseSpanMs(text);
  if (spanMs !== undefined) return new Date(io.now() + spanMs).toISOString();
  const at = instant.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at))
    throw new CliError(`--expires takes a duration like 30d or an instant like 2027-01-31T12:00:00Z, not "${text}"`);
  return new Date(at).toISOString();
}

export function lifeText(
  life: { readonly expires_at: string | null; readonly revoked_at: string | null },
  now: number,
): string {
  if (life.revoked_at !== null) return `revoked ${relativeText(Date.parse(life.revoked_at), now)}`;
  if (life.expires_at === null) return "no end";
  const at = Date.parse(life.expires_at);
  return `${at <= now ? "expired" : "expires"} ${relativeText(at, now)}`;
}
