// Instants, lengths of time and time zones in conditions.
import { expect, test } from "vitest";
import { momentPart, parseMoment, parseSpan, parseZone, spanPart, utc } from "./clock.ts";

test.each([
  ["2026-03-01T08:00:00Z", Date.UTC(2026, 2, 1, 8)],
  ["2026-03-01T08:00:00.5+02:00", Date.UTC(2026, 2, 1, 6, 0, 0, 500)],
  ["2024-02-29T00:00:00.123456789Z", Date.UTC(2024, 1, 29, 0, 0, 0, 123)],
  ["0001-01-01T00:00:00Z", -62_135_596_800_000],
  ["9999-12-31T23:59:59.999Z", 253_402_300_799_999],
  ["2026-02-29T00:00:00Z", undefined],
  ["2026-13-01T00:00:00Z", undefined],
  ["2026-01-01T24:00:00Z", undefined],
  ["0000-01-01T00:00:00Z", undefined],
  ["2026-01-01", undefined],
  ["2026-01-01T00:00:00", undefined],
  ["2026-01-01T00:00:00+25:00", undefined],
])("the instant %s", (text, ms) => {
  expect(parseMoment(text)?.ms).toBe(ms);
});

test.each([
  ["90s", 90_000],
  ["1h30m", 5_400_000],
  ["-1.5h", -5_400_000],
  ["1h1ms", 3_600_001],
  ["1500us", 1],
  ["0", 0],
  ["", undefined],
  ["10", undefined],
  ["1d", undefined],
  ["999999999999999h", undefined],
])("the length %s", (text, ms) => {
  expect(parseSpan(text)?.ms).toBe(ms);
});

test("a zone is known by name or offset, summer time included", () => {
  const at = (text: string) => parseMoment(text) ?? { type: "timestamp" as const, ms: Number.NaN };
  const berlin = parseZone("Europe/Berlin") ?? utc;
  expect(momentPart("getHours", at("2026-01-15T12:00:00Z"), berlin)).toBe(13);
  expect(momentPart("getHours", at("2026-07-15T12:00:00Z"), berlin)).toBe(14);
  // 02:30 does not exist on this day in Berlin; UTC has it all the same, whatever zone the host is in.
  expect(momentPart("getHours", at("2026-03-29T02:30:00Z"), utc)).toBe(2);
  expect(momentPart("getFullYear", at("2026-12-31T23:30:00Z"), berlin)).toBe(2027);
  expect(momentPart("getDayOfYear", at("2024-12-31T12:00:00Z"), utc)).toBe(365);
  expect(momentPart("getMinutes", at("2026-07-15T12:00:00Z"), parseZone("+05:45") ?? utc)).toBe(45);
  expect(momentPart("getFullYear", at("0099-07-15T12:00:00Z"), parseZone("Asia/Tokyo") ?? utc)).toBe(99);
  expect(["Europe/Atlantis", "", "+5", "UTC+1", "../etc/passwd"].map(parseZone)).toEqual(Array(5).fill(undefined));
});

test("a length has hours, minutes, seconds and what is left of a second", () => {
  const long = { type: "duration", ms: 5_400_123 } as const;
  expect(
    (["getHours", "getMinutes", "getSeconds", "getMilliseconds", "getDate"] as const).map((part) =>
      spanPart(part, long),
    ),
  ).toEqual([1, 90, 5_400, 123, undefined]);
});
