// Times in conditions: reading them from text, writing them, and the parts of a moment in a named zone.
import type { ClockPart, Moment, Span, Zone } from "./tree.ts";

const dayMs = 86_400_000;
/** The years 1 to 9999, which is what CEL calls a timestamp. */
const momentMsMin = -62_135_596_800_000;
const momentMsMax = 253_402_300_799_999;

export function moment(ms: number): Moment | undefined {
  return ms >= momentMsMin && ms <= momentMsMax ? { type: "timestamp", ms } : undefined;
}

export function span(ms: number): Span | undefined {
  return Math.abs(ms) <= momentMsMax - momentMsMin ? { type: "duration", ms } : undefined;
}

const momentPattern =
  /^([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,9}))?(Z|[+-][0-9]{2}:[0-9]{2})$/;

/** RFC 3339: `2026-03-01T08:00:00Z`. */
export function parseMoment(text: string): Moment | undefined {
  const match = text.length > 40 ? null : momentPattern.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  // A day that a month does not have has moved into the next one.
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  const offset = parseOffset(match[8] === "Z" ? "+00:00" : (match[8] ?? ""));
  if (hour > 23 || minute > 59 || second > 59 || offset === undefined) return undefined;
  const fraction = Number((match[7] ?? "").padEnd(3, "0").slice(0, 3));
  return moment(date.getTime() + ((hour * 60 + minute - offset) * 60 + second) * 1_000 + fraction);
}

const spanPattern = /^-?(?:[0-9]{1,15}(?:\.[0-9]{1,9})?(?:h|ms|us|ns|m|s))+$/;
const msPerUnit: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1_000, ms: 1, us: 1e-3, ns: 1e-6 };

/** `90s`, `1h30m`, `-5m`, `1.5h`. */
export function parseSpan(text: string): Span | undefined {
  if (text === "0") return span(0);
  if (text.length > 64 || !spanPattern.test(text)) return undefined;
  let ms = 0;
  for (const [, count, unit] of text.matchAll(/([0-9]+(?:\.[0-9]+)?)(h|ms|us|ns|m|s)/g))
    ms += Number(count) * (msPerUnit[unit ?? ""] ?? Number.NaN);
  return span(Math.trunc(text.startsWith("-") ? -ms : ms));
}

function parseOffset(text: string): number | undefined {
  const match = /^([+-]?)([0-9]{2}):([0-9]{2})$/.exec(text);
  if (match === null || Number(match[2]) > 23 || Number(match[3]) > 59) return undefined;
  const minutes = Number(match[2]) * 60 + Number(match[3]);
  return match[1] === "-" ? -minutes : minutes;
}

export const utc: Zone = { name: "", offsetMinutes: 0 };

/** `UTC`, `+02:00`, or a name of the time zone database; undefined when there is none of that name. */
export function parseZone(name: string): Zone | undefined {
  const offsetMinutes = name === "UTC" ? 0 : parseOffset(name);
  if (offsetMinutes !== undefined) return { name, offsetMinutes };
  if (!/^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/.test(name)) return undefined;
  try {
    const format = new Intl.DateTimeFormat("en-US", {
      timeZone: name,
      calendar: "gregory",
      numberingSystem: "latn",
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    return { name, format };
  } catch {
    return undefined;
  }
}

/** The same clock face as a date in UTC, so that its UTC fields are the wanted ones. */
function face(ms: number, zone: Zone): Date {
  if ("offsetMinutes" in zone) return new Date(ms + zone.offsetMinutes * 60_000);
  const parts = new Map(zone.format.formatToParts(ms).map(({ type, value }) => [type, value]));
  const part = (name: Intl.DateTimeFormatPartTypes): number => Number(parts.get(name));
  const date = new Date(0);
  date.setUTCFullYear(parts.get("era") === "BC" ? 1 - part("year") : part("year"), part("month") - 1, part("day"));
  date.setUTCHours(part("hour"), part("minute"), part("second"), ((ms % 1_000) + 1_000) % 1_000);
  return date;
}

/** Months, days of the year and `getDayOfMonth` count from 0, `getDate` from 1, Sunday is 0: as CEL has it. */
export function momentPart(part: ClockPart, at: Moment, zone: Zone): number {
  const date = face(at.ms, zone);
  switch (part) {
    case "getFullYear":
      return date.getUTCFullYear();
    case "getMonth":
      return date.getUTCMonth();
    case "getDate":
      return date.getUTCDate();
    case "getDayOfMonth":
      return date.getUTCDate() - 1;
    case "getDayOfWeek":
      return date.getUTCDay();
    case "getDayOfYear": {
      const first = new Date(date.getTime());
      first.setUTCMonth(0, 1);
      return Math.round((date.getTime() - first.getTime()) / dayMs);
    }
    case "getHours":
      return date.getUTCHours();
    case "getMinutes":
      return date.getUTCMinutes();
    case "getSeconds":
      return date.getUTCSeconds();
    case "getMilliseconds":
      return date.getUTCMilliseconds();
  }
}

/** Of a duration: all of it in that unit, cut; of ms, what is left of the second. Undefined for parts it has not. */
export function spanPart(part: ClockPart, of: Span): number | undefined {
  if (part === "getHours") return Math.trunc(of.ms / 3_600_000);
  if (part === "getMinutes") return Math.trunc(of.ms / 60_000);
  if (part === "getSeconds") return Math.trunc(of.ms / 1_000);
  return part === "getMilliseconds" ? of.ms % 1_000 : undefined;
}
