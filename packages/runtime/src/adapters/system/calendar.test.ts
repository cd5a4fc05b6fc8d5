// Days of time zones: where they begin and end, with clocks that are moved, halves of hours, and a day that never was.
import { describe, expect, test } from "vitest";
import { systemCalendar } from "./calendar.ts";

const calendar = systemCalendar();
const at = (text: string): number => Date.parse(text);

/** The day's name, and its first and last instant in UTC. */
function day(zone: string, instant: string): string {
  const { label, from, until } = calendar.dayAt(zone, at(instant));
  return `${label}: ${new Date(from).toISOString()} to ${new Date(until).toISOString()}`;
}

describe("a day", () => {
  test.each([
    ["UTC", "2026-01-31T23:59:59.999Z", "2026-01-31: 2026-01-31T00:00:00.000Z to 2026-02-01T00:00:00.000Z"],
    ["UTC", "2026-02-01T00:00:00Z", "2026-02-01: 2026-02-01T00:00:00.000Z to 2026-02-02T00:00:00.000Z"],
    ["Asia/Tokyo", "2026-01-31T15:00:00Z", "2026-02-01: 2026-01-31T15:00:00.000Z to 2026-02-01T15:00:00.000Z"],
    ["Asia/Tokyo", "2026-01-31T14:59:59.999Z", "2026-01-31: 2026-01-30T15:00:00.000Z to 2026-01-31T15:00:00.000Z"],
    ["Asia/Kathmandu", "2026-06-01T12:00:00Z", "2026-06-01: 2026-05-31T18:15:00.000Z to 2026-06-01T18:15:00.000Z"],
    ["America/Los_Angeles", "2026-06-01T12:00:00Z", "2026-06-01: 2026-06-01T07:00:00.000Z to 2026-06-02T07:00:00.000Z"],
  ])("of %s at %s", (zone, instant, expected) => {
    expect(day(zone, instant)).toBe(expected);
  });

  test.each([
    // Spring: 23 hours. Autumn: 25.
    ["Europe/Paris", "2026-03-29T12:00:00Z", "2026-03-29: 2026-03-28T23:00:00.000Z to 2026-03-29T22:00:00.000Z"],
    ["Europe/Paris", "2026-10-25T12:00:00Z", "2026-10-25: 2026-10-24T22:00:00.000Z to 2026-10-25T23:00:00.000Z"],
    // Here midnight itself is skipped: the day begins at one o'clock.
    ["America/Santiago", "2026-09-06T12:00:00Z", "2026-09-06: 2026-09-06T04:00:00.000Z to 2026-09-07T03:00:00.000Z"],
    // Half an hour is enough for Lord Howe.
    ["Australia/Lord_Howe", "2026-10-04T02:00:00Z", "2026-10-04: 2026-10-03T13:30:00.000Z to 2026-10-04T13:00:00.000Z"],
    // Samoa went over the date line: the 30th never was, and the 31st follows the 29th.
    ["Pacific/Apia", "2011-12-30T09:59:59.999Z", "2011-12-29: 2011-12-29T10:00:00.000Z to 2011-12-30T10:00:00.000Z"],
    ["Pacific/Apia", "2011-12-30T10:00:00Z", "2011-12-31: 2011-12-30T10:00:00.000Z to 2011-12-31T10:00:00.000Z"],
  ])("on which clocks are moved: %s, %s", (zone, instant, expected) => {
    expect(day(zone, instant)).toBe(expected);
  });

  test("every instant of a year lies in the day that its own answer names, and days follow one another", () => {
    for (const zone of ["UTC", "Europe/Paris", "America/Santiago", "Pacific/Chatham"]) {
      const end = at("2027-01-02T00:00:00Z");
      let { until: next } = calendar.dayAt(zone, at("2026-01-01T00:00:00Z"));
      while (next < end) {
        const today = calendar.dayAt(zone, next);
        expect(today.from).toBe(next);
        expect(calendar.dayAt(zone, today.until - 1)).toEqual(today);
        next = today.until;
      }
    }
  });
});

test("names of zones are known in any letters, and kept in one way; what is none is none", () => {
  expect(["UTC", "utc", "Europe/Paris", "europe/paris"].map((name) => calendar.zoneNamed(name))).toEqual(["UTC", "UTC", "Europe/Paris", "Europe/Paris"]);
  expect(["", "Europe/Atlantis", "x".repeat(1_000), "../etc"].map((name) => calendar.zoneNamed(name))).toEqual([undefined, undefined, undefined, undefined]);
});
