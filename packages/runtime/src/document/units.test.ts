// Durations and sizes, right and wrong.
import { expect, test } from "vitest";
import { parseDuration, parseSize } from "./units.ts";

test.each([
  ["0ms", 0],
  ["1ms", 1],
  ["500ms", 500],
  ["30s", 30_000],
  ["5m", 300_000],
  ["24h", 86_400_000],
])("the duration %s is %d ms", (text, ms) => {
  expect(parseDuration(text)).toEqual({ ok: true, value: ms });
});

test.each([
  "",
  "30",
  "s",
  "30 s",
  " 30s",
  "30S",
  "1.5s",
  "-1s",
  "+1s",
  "030s",
  "1e3s",
  "30sec",
  "5min",
  "1d",
  "٣s",
  "30s\n",
  null,
  true,
  {},
  [],
])("%j is no duration", (value) => {
  expect(parseDuration(value)).toEqual({
    ok: false,
    message: "is not a duration",
    hint: expect.stringContaining("500ms or 30s"),
  });
});

test("a number is no duration, whatever its unit would be", () => {
  expect(parseDuration(30)).toMatchObject({ ok: false, message: "is a duration without a unit" });
});

test("durations and sizes past exact integers are refused", () => {
  expect(parseDuration("9999999999999999h")).toMatchObject({ ok: false, message: "is too large" });
  expect(parseSize("9999999999999999Gi")).toMatchObject({ ok: false, message: "is too large" });
});

test.each([
  [0, 0],
  [1_048_576, 1_048_576],
  ["1048576", 1_048_576],
  ["64Ki", 65_536],
  ["256Mi", 268_435_456],
  ["2Gi", 2_147_483_648],
])("the size %j is %d bytes", (value, bytes) => {
  expect(parseSize(value)).toEqual({ ok: true, value: bytes });
});

test.each(["", "64K", "64KB", "64 Mi", "64mi", "1.5Gi", "-1", "0x10", "1Ti", null, false, {}])(
  "%j is no size",
  (value) => {
    expect(parseSize(value)).toMatchObject({ ok: false, message: "is not a size" });
  },
);

test.each([1.5, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 53])("the number %d is no size", (value) => {
  expect(parseSize(value)).toMatchObject({ ok: false, message: "is not a size in whole bytes" });
});
