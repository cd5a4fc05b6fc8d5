// What is kept of a call's stream and when, what late readers get of it, and ledgers that are slow or cannot write.
import { beforeEach, describe, expect, test } from "vitest";
import { settled } from "../../../../test/support/hand-clock.ts";
import { bytes, callId, done, HandStreams, queued, rest, running } from "../../../../test/support/hand-streams.ts";
import { scriptedCall } from "../../../../test/support/scripted-call.ts";
import { LedgerUnavailable } from "../ledger/port.ts";

let hand: HandStreams;
beforeEach(() => {
  hand = new HandStreams();
});

describe("keeping", () => {
  test("a hundred milliseconds after it was said, in one run, and nobody waits", async () => {
    hand.say("a");
    await hand.clock.pass(60);
    hand.say("b");
    await hand.clock.pass(39);
    expect(hand.ledger.runs).toEqual([]);
    await hand.clock.pass(1);
    expect(hand.ledger.runs).toEqual(["1-3"]);
    await hand.clock.pass(1_000);
    expect(hand.ledger.units).toBe(1);
  });

  test("64 KiB go at once", async () => {
    hand.say("x".repeat(65_536));
    await settled();
    expect(hand.ledger.runs).toEqual(["1-2"]);
  });

  test("a flood is written at a pace, one unit after the other, and in bounded pieces", async () => {
    hand.ledger.holding = true;
    for (let count = 0; count < 40; count++) hand.say("x".repeat(65_536));
    await hand.clock.pass(1_000);
    expect(hand.ledger.units).toBe(1);
    hand.ledger.release();
    await settled();
    // It has had a second: now the others have nine times as long, but two seconds at most.
    await hand.clock.pass(1_999);
    expect(hand.ledger.units).toBe(1);
    await hand.clock.pass(1);
    expect(hand.ledger.units).toBe(2);
    await hand.clock.pass(49);
    expect(hand.ledger.units).toBe(2);
    await hand.clock.pass(1);
    expect(hand.ledger.units).toBe(3);
    await hand.clock.pass(1_000);
    // A MiB is kept in memory: what was trimmed before its turn is in no run.
    expect(hand.ledger.runs).toEqual(["27-33", "34-40", "41-41"]);
  });

  test("calls take their turns in one unit", async () => {
    const other = scriptedCall({ ...running, callId: "exec_2" });
    hand.say("a");
    hand.streams.hear(other, {
      type: "output",
      callId: "exec_2",
      fence: 1,
      seq: 1,
      channel: "stdout",
      chunk: bytes("b"),
    });
    await hand.clock.pass(100);
    expect([hand.ledger.units, hand.ledger.chunks.map((chunk) => chunk.callId)]).toEqual([1, [callId, "exec_2"]]);
  });

  test("the ledger keeps the newest MiB of a call", async () => {
    for (let count = 0; count < 40; count++) {
      hand.say("x".repeat(65_536));
      await settled();
      await hand.clock.pass(60);
    }
    expect(hand.ledger.runs).toHaveLength(15);
    expect(hand.ledger.runs.at(0)).toBe("27-27");
    expect(hand.ledger.runs.at(-1)).toBe("41-41");
    hand.settle();
    await hand.clock.pass(100);
    expect(await rest(await hand.streams.follow(done, 0))).toEqual([
      "gap 1-26",
      ...Array.from({ length: 15 }, (_, at) => `${27 + at} stdout xxxxxxxx`),
      "42 done",
    ]);
  });

  test("what nobody reads is not held in memory once it is written", async () => {
    hand.say("x".repeat(60_000));
    await hand.clock.pass(100);
    const reader = await hand.streams.follow(running, 0);
    hand.ledger.chunks = [];
    expect(await hand.next(reader)).toEqual(["gap 1-2"]);
  });

  test("more than can be written is lost by those who have waited longest, and the rest is kept", async () => {
    hand.ledger.holding = true;
    hand.say("first");
    await hand.clock.pass(100);
    const half = "x".repeat(524_288);
    const others = Array.from({ length: 70 }, (_, at) => scriptedCall({ ...running, callId: `exec_${at}` }));
    for (const other of others)
      for (let seq = 1; seq <= 2; seq++)
        hand.streams.hear(other, {
          type: "output",
          callId: other.callId,
          fence: 1,
          seq,
          channel: "stdout",
          chunk: bytes(half),
        });
    expect(hand.logged).toEqual(["output of calls is not kept for late readers: more comes than the ledger can write"]);
    hand.ledger.release();
    for (const other of others) hand.streams.told({ ...done, callId: other.callId });
    await hand.streams.stop();
    const kept = others.map(
      (other) =>
        hand.ledger.chunks.filter((chunk) => chunk.callId === other.callId && chunk.events.length > 0).length > 0,
    );
    expect([kept[0], kept.at(-1)]).toEqual([false, true]);
    expect(kept.filter(Boolean).length).toBeGreaterThanOrEqual(32);
    const marks = hand.ledger.chunks.filter(({ events }) => events.length === 0);
    expect(marks).toHaveLength(70);
    // Of the first nothing is left but its end, whose number is the one that a reader would have had.
    const reader = await hand.streams.follow({ ...done, callId: "exec_0" }, 0);
    expect(await rest(reader)).toEqual(["gap 1-3", "4 done"]);
  });

  test("the process that ends writes the rest", async () => {
    hand.say("a");
    await hand.streams.stop();
    expect(hand.ledger.runs).toEqual(["1-2"]);
  });
});

describe("after the end", () => {
  test("a late reader gets what was kept, and the end with the number that it had", async () => {
    hand.say("a");
    const reader = await hand.streams.follow(running, 0);
    hand.settle();
    const first = await rest(reader);
    await hand.clock.pass(200);
    expect(await rest(await hand.streams.follow(done, 0))).toEqual(first);
    expect(first).toEqual(["1 start", "2 stdout a", "3 done"]);
    expect(await rest(await hand.streams.follow(done, 2))).toEqual(["3 done"]);
  });

  test("who has everything is told so", async () => {
    hand.say("a");
    hand.settle();
    expect([(await hand.streams.follow(done, 2)).over, (await hand.streams.follow(done, 3)).over]).toEqual([
      false,
      true,
    ]);
    await hand.clock.pass(200);
    expect([(await hand.streams.follow(done, 2)).over, (await hand.streams.follow(done, 3)).over]).toEqual([
      false,
      true,
    ]);
  });

  test("a call that said nothing has a start and an end; one that never ran has an end", async () => {
    hand.settle();
    expect(await rest(await hand.streams.follow(done, 0))).toEqual(["1 start", "2 done"]);
    expect(await rest(await hand.streams.follow(done, 1))).toEqual(["2 done"]);
    const denied = scriptedCall({ ...queued, state: "denied", settledAt: 5 });
    expect(await rest(await hand.streams.follow(denied, 0))).toEqual(["1 error"]);
    expect(hand.ledger.chunks).toEqual([]);
  });

  test("an end whose number was not written down is told once more, rather than not at all", async () => {
    hand.say("a");
    await hand.clock.pass(100);
    hand.settle();
    const restarted = hand.process();
    expect(await rest(await restarted.follow(done, 2))).toEqual(["3 done"]);
    expect(await rest(await restarted.follow(done, 3))).toEqual(["4 done"]);
  });

  test("holes in what was kept are told one by one", async () => {
    for (const text of ["a", "lost", "b", "c", "lost", "d"]) {
      hand.ledger.failing = text === "lost" ? new LedgerUnavailable("the disk is full") : undefined;
      hand.say(text);
      await hand.clock.pass(200);
    }
    hand.settle();
    await hand.clock.pass(200);
    const told = await rest(await hand.streams.follow(done, 0));
    expect(told).toEqual([
      "1 start",
      "2 stdout a",
      "gap 3-3",
      "4 stdout b",
      "5 stdout c",
      "gap 6-6",
      "7 stdout d",
      "8 done",
    ]);
  });
});

describe("a ledger that cannot write", () => {
  test("costs readers that are there nothing, and is told once a minute", async () => {
    hand.ledger.failing = new LedgerUnavailable("the disk is full");
    const reader = await hand.streams.follow(running, 0);
    for (const text of ["a", "b", "c"]) {
      hand.say(text);
      await hand.clock.pass(200);
    }
    expect(await hand.next(reader)).toEqual(["1 start", "2 stdout a", "3 stdout b", "4 stdout c"]);
    expect(hand.logged).toEqual(["output of calls is not kept for late readers: the ledger cannot write"]);
    hand.ledger.failing = undefined;
    hand.say("d");
    await hand.clock.pass(200);
    expect(hand.ledger.runs).toEqual(["5-5"]);
  });

  test("holds nothing up and keeps nothing in memory that nobody reads", async () => {
    hand.ledger.failing = new LedgerUnavailable("the disk is full");
    hand.say("a");
    await hand.clock.pass(200);
    const reader = await hand.streams.follow(running, 0);
    expect(await hand.next(reader)).toEqual(["gap 1-2"]);
    hand.settle();
    expect(await hand.next(reader)).toEqual(["3 done"]);
  });
});
