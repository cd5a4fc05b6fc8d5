// Waiting for an end: told once to everybody who listens, given up in time, and nothing left behind.
import { expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { HandClock, settled } from "../../../../test/support/hand-clock.ts";
import { waitAtMost, Waiters } from "./waiters.ts";

const { call } = admitted();

test("everybody who listens hears it; who listens later waits for the next word", async () => {
  const waiters = new Waiters();
  const [first, second] = [waiters.listen("a"), waiters.listen("a")];
  waiters.tell("a", call);
  expect(await Promise.all([first.told, second.told])).toEqual([call, call]);
  const third = waiters.listen("a");
  let heard = false;
  void third.told.then(() => (heard = true));
  await settled();
  expect(heard).toBe(false);
  waiters.tell("a", { ...call, state: "succeeded" });
  expect((await third.told).state).toBe("succeeded");
});

test("other calls are not concerned, and a word that nobody waits for is lost", async () => {
  const waiters = new Waiters();
  const { told } = waiters.listen("a");
  waiters.tell("b", { ...call, state: "failed" });
  waiters.tell("a", call);
  expect((await told).state).toBe("queued");
});

test("who stops listening leaves nothing behind, whether it was told or not", () => {
  const waiters = new Waiters();
  const [one, other, third] = [waiters.listen("a"), waiters.listen("a"), waiters.listen("b")];
  expect(waiters.size).toBe(2);
  one.stop();
  one.stop();
  expect(waiters.size).toBe(2);
  other.stop();
  expect(waiters.size).toBe(1);
  waiters.tell("b", call);
  third.stop();
  expect(waiters.size).toBe(0);
});

test("waitAtMost: the word, or nothing when the time is over; the timer is taken back", async () => {
  const clock = new HandClock(0);
  const waiters = new Waiters();
  const soon = waitAtMost(waiters.listen("a").told, 100, clock, []);
  waiters.tell("a", call);
  expect(await soon).toEqual(call);
  expect(clock.timers).toBe(0);
  const late = waitAtMost(waiters.listen("a").told, 100, clock, []);
  let over = false;
  void late.then(() => (over = true));
  await clock.pass(99);
  expect(over).toBe(false);
  await clock.pass(1);
  expect(await late).toBeUndefined();
});

test("waitAtMost: given up when any signal aborts, also when it had before", async () => {
  const clock = new HandClock(0);
  const never = new Promise<never>(() => undefined);
  const [caller, draining] = [new AbortController(), new AbortController()];
  const waiting = waitAtMost(never, 100, clock, [undefined, caller.signal, draining.signal]);
  draining.abort();
  expect(await waiting).toBeUndefined();
  expect(await waitAtMost(never, 100, clock, [draining.signal])).toBeUndefined();
  expect(clock.timers).toBe(0);
});
