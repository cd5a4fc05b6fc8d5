// A session whose runtime dies at each of its commits in turn: its history, calls and events are those of one that lived.
import { afterEach, beforeAll, describe, expect, test } from "vitest";
import { Telling, type Tale } from "../../../../../test/support/session-tale.ts";

/** At least as many as there are units and claims from the session's start to its rest. */
const instantsMax = 72;
const instants = Array.from({ length: instantsMax }, (_, index) => index + 1);
let whole: Tale;
beforeAll(async () => {
  const lived = new Telling();
  whole = await lived.tell();
  await lived.house.close();
});

let telling: Telling;
afterEach(() => telling.house.close());

function same({ history, calls, events, entered, session }: Tale) {
  return { history, calls, events, entered, session };
}

test("the tale that nobody dies in has a batch, a question, a message, a cancel and a limit", async () => {
  telling = new Telling();
  const tale = await telling.tell();
  expect(tale).toEqual(whole);
  expect(tale.commits).toBeLessThanOrEqual(instantsMax);
  expect(tale.events.filter((word) => word.includes(" out of order "))).toEqual([]);
  expect(tale.events).toEqual([
    "session.started",
    "turn.started",
    "message",
    "assistant",
    "tool.started 0",
    "tool.started 1",
    "tool.completed 1 row succeeded",
    "tool.completed 0 row succeeded",
    "message",
    "assistant",
    "tool.started 0",
    "approval.requested 0",
    "tool.completed 0 row succeeded",
    "assistant",
    "tool.started 0",
    "tool.started 1",
    "tool.completed 0 row succeeded",
    "tool.completed 1 synthetic cancelled",
    "limit.reached",
    "approval.requested",
    "limit.extended",
    "assistant",
    "turn.ended",
  ]);
  expect(tale.asked).toEqual([0, 1, 2, 3]);
  expect(Object.values(tale.entered)).toEqual([1, 1, 1, 1, 1]);
  expect(Object.values(tale.calls)).toEqual(["succeeded", "succeeded", "succeeded", "succeeded", "cancelled"]);
});

describe.each([
  ["before it is stored", false],
  ["after it was stored, and nobody heard of it", true],
] as const)("death at a commit, %s", (_when, stored) => {
  test.each(instants)("number %i", async (at) => {
    telling = new Telling();
    const tale = await telling.tell({ at, stored });
    expect(tale.deaths).toBe(at <= whole.commits ? 1 : 0);
    expect(same(tale)).toEqual(same(whole));
    // What was recorded is not asked for again; what was lost on its way to the record is, once.
    expect([...new Set(tale.asked)]).toEqual([0, 1, 2, 3]);
    expect(tale.asked.length).toBeLessThanOrEqual(5);
  });
});
