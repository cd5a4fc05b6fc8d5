// The clock that follows a store's.
import { expect, test } from "vitest";
import { storeClock } from "./store-clock.ts";

function handClock(at: number) {
  const hand = { at };
  const own = { now: () => hand.at, monotonic: () => hand.at, after: () => () => undefined };
  return { hand, ...storeClock(own) };
}

test("the first answer sets it, also back: before it nothing was stored by it", () => {
  const { clock, storeTime } = handClock(1_000_000);
  expect(clock.now()).toBe(1_000_000);
  storeTime(400_000, 1_000_000, 1_000_000);
  expect(clock.now()).toBe(400_000);
});

test("what lies between question and answer is no error", () => {
  const { hand, clock, storeTime } = handClock(1_000);
  storeTime(1_000, 1_000, 1_000);
  hand.at = 2_030;
  storeTime(2_010, 2_000, 2_030);
  expect(clock.now()).toBe(2_030);
});

test("a store that is ahead pulls it forward, as far as it must", () => {
  const { hand, clock, storeTime } = handClock(1_000);
  storeTime(1_000, 1_000, 1_000);
  hand.at = 2_004;
  storeTime(2_070, 2_000, 2_004);
  expect(clock.now()).toBe(2_070);
});

test("a store that was set back slows it down, and it never goes back", () => {
  const { hand, clock, storeTime } = handClock(10_000);
  storeTime(10_000, 10_000, 10_000);
  hand.at = 11_000;
  expect(clock.now()).toBe(11_000);
  storeTime(5_000, 11_000, 11_000);
  expect(clock.now()).toBe(11_000);
  hand.at = 11_040;
  expect(clock.now()).toBe(11_000);
  hand.at = 11_080;
  expect(clock.now()).toBe(11_030);
});
