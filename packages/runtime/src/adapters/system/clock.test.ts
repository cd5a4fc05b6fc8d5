// The system's clock: it keeps up with the host's, never goes back, and does not stand still when the host's is set back.
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { systemClock } from "./clock.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["Date", "performance", "setTimeout", "clearTimeout"], now: 1_000_000 }));
afterEach(() => void vi.useRealTimers());

test("now is the host's time, in whole milliseconds", () => {
  const clock = systemClock();
  expect(clock.now()).toBe(1_000_000);
  vi.advanceTimersByTime(250);
  expect(clock.now()).toBe(1_000_250);
});

test("set forward, it follows; set back, it goes on from where it was", () => {
  const clock = systemClock();
  expect(clock.now()).toBe(1_000_000);
  vi.setSystemTime(1_500_000);
  expect(clock.now()).toBe(1_500_000);
  vi.setSystemTime(1_100_000);
  expect(clock.now()).toBe(1_500_000);
  vi.advanceTimersByTime(2_000);
  expect(clock.now()).toBe(1_502_000);
  vi.setSystemTime(1_600_000);
  expect(clock.now()).toBe(1_600_000);
});

test("durations do not hear of the host's clock being set", () => {
  const clock = systemClock();
  const before = clock.monotonic();
  vi.setSystemTime(9_000_000);
  vi.advanceTimersByTime(40);
  expect(clock.monotonic() - before).toBe(40);
});

test("after calls back once, and not at all when it was taken back", () => {
  const clock = systemClock();
  const heard: string[] = [];
  clock.after(100, () => heard.push("kept"));
  const takeBack = clock.after(100, () => heard.push("taken back"));
  takeBack();
  vi.advanceTimersByTime(99);
  expect(heard).toEqual([]);
  vi.advanceTimersByTime(1_000);
  expect(heard).toEqual(["kept"]);
});

test("a wait that a timer cannot hold is cut, never taken for none", () => {
  const heard: string[] = [];
  systemClock().after(Number.POSITIVE_INFINITY, () => heard.push("called"));
  systemClock().after(2 ** 32, () => heard.push("called"));
  vi.advanceTimersByTime(1_000_000);
  expect(heard).toEqual([]);
});
