// The wait that a tool asks for: seconds, milliseconds, a date, and everything else that is not heard.
import { expect, test } from "vitest";
import { retryAfterIn, retryAfterTextMs } from "./retry-after.ts";

const now = Date.UTC(2026, 0, 5, 10, 0, 0);

test.each([
  ["5", 5_000],
  [" 0 ", 0],
  ["Mon, 05 Jan 2026 10:00:07 GMT", 7_000],
  ["Mon, 05 Jan 2026 09:59:00 GMT", -60_000],
])("report 213: %s is a wait", (text, ms) => {
  expect(retryAfterTextMs(text, now)).toBe(ms);
});

test.each(["", "soon", "-1", "1.5", "1e3", "2026-01-05T10:00:07Z", "Monday, 05-Jan-26 10:00:07 GMT", "Mon, 32 Jan 2026 10:00:07 GMT", "12345678901"])(
  "%j is none",
  (text) => {
    expect(retryAfterTextMs(text, now)).toBeUndefined();
  },
);

test.each([
  [{ retry_after_ms: 250 }, 250],
  [{ retry_after: 3 }, 3_000],
  [{ retry_after: "3" }, 3_000],
  [{ retry_after: "Mon, 05 Jan 2026 10:00:07 GMT" }, 7_000],
  [{ retry_after_s: 2 }, 2_000],
  [{ retry_after_ms: 250, retry_after: 3 }, 250],
  [{ retry_after_ms: -1, retry_after: 3 }, 3_000],
  [{ retry_after: "later", retry_after_s: 2 }, 2_000],
])("%j in the details", (details, ms) => {
  expect(retryAfterIn(details, now)).toBe(ms);
});

test.each([undefined, null, "5", [], {}, { retry_after: true }, { retry_after_ms: "5" }, { retry_after_ms: Number.NaN }, { retry_after: {} }])(
  "%j asks for nothing",
  (details) => {
    expect(retryAfterIn(details, now)).toBeUndefined();
  },
);
