// Days of time zones, by the time zone data that comes with Node: with an hour more or less where clocks are moved.
import type { Calendar, Day } from "../../schedule/types.ts";

const dayMs = 86_400_000;
/** Longer than any day there ever was, with the hours that moved clocks add. */
const longestDayMs = 50 * 3_600_000;
/** Days of one zone that are remembered: today, and those of calls that have waited for long. */
const daysKeptMax = 32;

export function systemCalendar(): Calendar {
  const zones = new Map<string, Zone>();
  const zoneOf = (name: string): Zone => {
    let zone = zones.get(name);
    if (zone === undefined) zones.set(name, (zone = new Zone(name)));
    return zone;
  };
  return {
    zoneNamed(text) {
      try {
        return new Intl.DateTimeFormat("en", { timeZone: text }).resolvedOptions().timeZone;
      } catch {
        return undefined;
      }
    },
    dayAt: (zone, at) => (zone === "UTC" ? utcDay(at) : zoneOf(zone).dayAt(at)),
  };
}

let lastUtc: Day = { label: "1970-01-01", from: 0, until: dayMs };

function utcDay(at: number): Day {
  if (at >= lastUtc.from && at < lastUtc.until) return lastUtc;
  const from = Math.floor(at / dayMs) * dayMs;
  lastUtc = { label: new Date(from).toISOString().slice(0, 10), from, until: from + dayMs };
  return lastUtc;
}

class Zone {
  readonly #format: Intl.DateTimeFormat;
  /** The newest first. */
  #days: Day[] = [];

  constructor(name: string) {
    // The one locale whose dates read year-month-day.
    this.#format = new Intl.DateTimeFormat("sv-SE", { timeZone: name, year: "numeric", month: "2-digit", day: "2-digit" });
  }

  dayAt(at: number): Day {
    const known = this.#days.find(({ from, until }) => at >= from && at < until);
    if (known !== undefined) return known;
    const label = this.#label(at);
    const isDay = (instant: number): boolean => this.#label(instant) === label;
    const day = { label, from: firstWhere(at - longestDayMs, at, isDay), until: firstWhere(at, at + longestDayMs, (instant) => !isDay(instant)) };
    this.#days = [day, ...this.#days].slice(0, daysKeptMax);
    return day;
  }

  #label(at: number): string {
    return this.#format.format(at);
  }
}

/** The first instant behind `low` of which it holds, where it does not hold of `low` and holds of `high`. */
function firstWhere(low: number, high: number, holds: (instant: number) => boolean): number {
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2);
    if (holds(middle)) high = middle;
    else low = middle;
  }
  return high;
}
