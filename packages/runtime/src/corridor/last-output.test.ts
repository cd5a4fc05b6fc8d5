// What a lost call said last, from memory and from the ledger: nothing twice, and what is not there is told.
import { beforeEach, expect, test } from "vitest";
import { callId, HandStreams, queued, running, tenant } from "../../../../test/support/hand-streams.ts";
import { scriptedCall } from "../../../../test/support/scripted-call.ts";
import { Streams } from "./streams.ts";

const parked = scriptedCall({ ...running, state: "indeterminate", workerId: null, approvalId: "apr_1" });
let hand: HandStreams;
beforeEach(() => {
  hand = new HandStreams();
});

const last = async (of: Streams = hand.streams, endedAt = 0): Promise<unknown> => {
  const { lines, cut, missing } = await of.lastOutput(parked, endedAt);
  return [lines.map(({ text }) => text), cut, missing];
};

test("what is in memory alone, then in both, then in the ledger alone", async () => {
  hand.say("one\n");
  hand.say("two\n");
  expect(await last()).toEqual([["one", "two"], false, null]);
  await hand.clock.pass(100);
  hand.say("three\n");
  expect(await last()).toEqual([["one", "two", "three"], false, null]);
  await hand.clock.pass(200);
  expect(await last(hand.process())).toEqual([["one", "two", "three"], false, null]);
});

test("a call that said nothing", async () => {
  expect(await last()).toEqual([[], false, null]);
});

test("a flood: the newest lines, though one look at memory does not hold them all", async () => {
  for (let n = 0; n < 40; n++) hand.say(`${n}${"x".repeat(20_000)}\n`);
  hand.say("the end\n");
  const { lines, cut, missing } = await hand.streams.lastOutput(parked, 0);
  expect([lines.at(-1)?.text, cut, missing]).toEqual(["the end", true, null]);
});

test("what the ledger could not write is lost, and that is said", async () => {
  hand.say("one\n");
  await hand.clock.pass(200);
  hand.ledger.failing = new Error("the disk is full");
  hand.say("two\n");
  await hand.clock.pass(200);
  expect(await last()).toEqual([["one"], false, "lost"]);
});

test.each([
  ["people who are asked again", parked],
  ["somebody who follows a call that nobody is asked about", { ...parked, approvalId: null }],
])("%s after a restart: nothing is lost by that", async (_who, row) => {
  hand.say("one\n");
  await hand.clock.pass(200);
  const next = hand.process();
  await next.recover(row);
  hand.row(row);
  hand.live = row;
  const reader = await next.follow(row, 0);
  expect(await last(next)).toEqual([["one"], false, null]);
  reader.close();
});

test("of a call that another replica had, for as long as that one may still write", async () => {
  hand.say("one\n");
  await hand.clock.pass(200);
  const { ledger, clock } = hand;
  const log = { info() {}, warn() {}, error() {} };
  const shared = { ledger, clock, log, kept: () => undefined };
  const other = new Streams({ ...shared, find: () => undefined });
  expect(await last(other, clock.now() - 2_999)).toEqual([["one"], false, "elsewhere"]);
  expect(await last(other, Number.POSITIVE_INFINITY)).toEqual([["one"], false, "elsewhere"]);
  expect(await last(other, clock.now() - 3_000)).toEqual([["one"], false, null]);
  // Its own calls are in its own memory.
  const own = new Streams({ ...shared, find: () => queued });
  expect(await last(own, clock.now())).toEqual([["one"], false, null]);
});

test("is of that call alone", async () => {
  hand.say("one\n");
  const other = scriptedCall({ ...parked, callId: "exec_other" });
  expect(await hand.streams.lastOutput(other, 0)).toEqual({ lines: [], cut: false, missing: null });
  expect([callId, tenant]).not.toContain("exec_other");
});
