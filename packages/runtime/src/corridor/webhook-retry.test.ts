// What becomes of a delivery after each answer, and when it is tried again.
import { describe, expect, test } from "vitest";
import { sha256 } from "../adapters/system/crypto.ts";
import type { Delivery } from "../ledger/webhooks.ts";
import { afterAttempt, retryAfterMs, retryDelayMs } from "./webhook-retry.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const pending = (attempts = 0): Delivery => ({
  tenant: "acme",
  deliveryId: "dlv_1",
  webhookId: "whk_1",
  notice: { type: "approval.requested", tenant: "acme", approvalId: "apr_1", at: now, data: {} },
  state: "pending",
  attempts,
  nextAt: now,
  endedAt: null,
  lastStatus: null,
  lastError: null,
});
/** Hashes in the middle of their range: no jitter either way. */
const middle = (): string => "80000000ff";
const answered = (status: number, retryAfter: string | null = null) => ({ status, retryAfter });

describe("the curve", () => {
  test("doubles from 5 s and stops growing at an hour", () => {
    const delays = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11].map((attempts) => retryDelayMs("dlv_1", attempts, middle) / 1000);
    expect(delays).toEqual([5, 10, 20, 40, 80, 160, 320, 640, 1280, 2560, 3600]);
  });

  test("is spread by a tenth either way, by delivery and attempt, the same on every machine", () => {
    expect(retryDelayMs("dlv_1", 1, () => "00000000")).toBe(4_500);
    expect(retryDelayMs("dlv_1", 1, () => "ffffffff")).toBe(5_500);
    expect(retryDelayMs("dlv_1", 20, () => "ffffffff")).toBe(3_960_000);
    expect(retryDelayMs("dlv_1", 1, sha256)).toBe(4_604);
    expect(retryDelayMs("dlv_2", 1, sha256)).toBe(4_948);
    const asked: string[] = [];
    const noting = (text: string): string => {
      asked.push(text);
      return "80000000";
    };
    retryDelayMs("dlv_1", 1, noting);
    retryDelayMs("dlv_1", 2, noting);
    expect(asked).toEqual(["dlv_1.1", "dlv_1.2"]);
  });
});

describe("after an attempt", () => {
  test.each([200, 201, 202, 204, 299])("%i is delivered", (status) => {
    expect(afterAttempt(pending(2), answered(status), now, middle)).toEqual({ ...pending(), attempts: 3, state: "delivered", nextAt: null, endedAt: now, lastStatus: status });
  });

  test.each([
    [301, "answered 301; redirects are not followed"],
    [304, "answered 304; redirects are not followed"],
    [101, "answered 101"],
    [400, "answered 400"],
    [401, "answered 401"],
    [404, "answered 404"],
    [429, "answered 429"],
    [500, "answered 500"],
    [503, "answered 503"],
  ])("%i is tried again", (status, lastError) => {
    expect(afterAttempt(pending(1), answered(status), now, middle)).toEqual({ ...pending(), attempts: 2, nextAt: now + 10_000, lastStatus: status, lastError });
  });

  test("no answer is tried again, its reason cut to what a list can show", () => {
    expect(afterAttempt(pending(), { status: null, error: "x".repeat(1_000) }, now, middle)).toEqual({
      ...pending(),
      attempts: 1,
      nextAt: now + 5_000,
      lastError: "x".repeat(200),
    });
  });

  test("an error of an earlier attempt does not outlive a delivery", () => {
    expect(afterAttempt({ ...pending(1), lastStatus: 500, lastError: "answered 500" }, answered(200), now, middle)).toMatchObject({ lastStatus: 200, lastError: null });
  });

  test("410 is dead at once, whatever it asks for", () => {
    expect(afterAttempt(pending(), answered(410, "60"), now, middle)).toEqual({ ...pending(), attempts: 1, state: "dead", nextAt: null, endedAt: now, lastStatus: 410, lastError: "answered 410" });
  });

  test("the twelfth attempt is the last", () => {
    expect(afterAttempt(pending(10), answered(500), now, middle)).toMatchObject({ state: "pending", attempts: 11, nextAt: now + 3_600_000 });
    expect(afterAttempt(pending(11), answered(500, "60"), now, middle)).toMatchObject({ state: "dead", attempts: 12, nextAt: null, endedAt: now });
    expect(afterAttempt(pending(11), answered(204), now, middle)).toMatchObject({ state: "delivered", attempts: 12 });
  });

  test("Retry-After wins over the curve", () => {
    expect(afterAttempt(pending(), answered(503, "120"), now, middle).nextAt).toBe(now + 120_000);
    expect(afterAttempt(pending(), answered(429, "Thu, 01 Jan 2026 00:10:00 GMT"), now, middle).nextAt).toBe(now + 600_000);
    expect(afterAttempt(pending(), answered(503, "soon"), now, middle).nextAt).toBe(now + 5_000);
  });
});

test.each<[string | null, number | undefined]>([
  [null, undefined],
  ["", undefined],
  ["90", 90_000],
  [" 90 ", 90_000],
  ["0", 1_000],
  ["3600", 3_600_000],
  ["3601", 3_600_000],
  ["9999999999", 3_600_000],
  ["99999999999999999999", undefined],
  ["-5", undefined],
  ["1.5", undefined],
  ["1e3", undefined],
  ["Thu, 01 Jan 2026 00:00:30 GMT", 30_000],
  ["Wed, 31 Dec 2025 23:00:00 GMT", 1_000],
  ["Fri, 02 Jan 2026 00:00:00 GMT", 3_600_000],
  ["Thu, 99 Jan 2026 00:00:30 GMT", undefined],
  ["2026-01-01T00:00:30Z", undefined],
  ["Thursday, 01-Jan-26 00:00:30 GMT", undefined],
])("Retry-After: %j is a wait of %s ms", (text, expected) => {
  expect(retryAfterMs(text, now)).toBe(expected);
});
