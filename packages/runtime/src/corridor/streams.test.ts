// Streams of calls with a clock by hand: what readers get, restarts in mid-call, and a runtime that leaves.
import { beforeEach, describe, expect, test } from "vitest";
import { settled } from "../../../../test/support/hand-clock.ts";
import {
  bytes,
  callId,
  done,
  HandStreams,
  queued,
  rest,
  running,
  tenant,
  words,
} from "../../../../test/support/hand-streams.ts";
import { scriptedCall } from "../../../../test/support/scripted-call.ts";
import { LedgerUnavailable } from "../ledger/port.ts";

let hand: HandStreams;
beforeEach(() => {
  hand = new HandStreams();
});

describe("what a reader gets", () => {
  test("all kinds in their order, and one end", async () => {
    const reader = await hand.streams.follow(running, 0);
    hand.say("one");
    hand.streams.hear(running, { type: "progress", callId, fence: 1, percent: 40, message: "on the way" });
    hand.streams.hear(running, {
      type: "emit",
      callId,
      fence: 1,
      ordinal: 1,
      eventType: "charged",
      payloadJson: '{"n":12345678901234567890}',
    });
    hand.streams.hear(running, {
      type: "output",
      callId,
      fence: 1,
      seq: ++hand.outputSeq,
      channel: "log",
      chunk: bytes("a line"),
    });
    hand.settle();
    hand.say("late");
    hand.streams.told(done);
    const batch = await reader.next(0);
    expect(words(batch)).toEqual(["1 start", "2 stdout one", "3 progress", "4 emit", "5 log a line", "6 done"]);
    expect(batch.events.map(({ dataJson }) => dataJson)).toEqual([
      '{"sandbox":"application","worker":"w1","attempt":1}',
      '{"text":"one"}',
      '{"percent":40,"message":"on the way"}',
      '{"type":"charged","payload":{"n":12345678901234567890}}',
      '{"text":"a line"}',
    ]);
    expect(batch.end?.call).toBe(done);
  });

  test("what comes while it waits, at once; nothing in time is an empty batch", async () => {
    const reader = await hand.streams.follow(running, 1);
    const waiting = reader.next(1_000);
    await settled();
    hand.say("now");
    expect(words(await waiting)).toEqual(["2 stdout now"]);
    expect(await hand.next(reader)).toEqual(["…"]);
    hand.settle();
    expect(await hand.next(reader)).toEqual(["3 done"]);
  });

  test("its place is its own: two readers do not hinder one another", async () => {
    const [ahead, behind] = [await hand.streams.follow(running, 0), await hand.streams.follow(running, 0)];
    hand.say("a");
    expect(await hand.next(ahead)).toEqual(["1 start", "2 stdout a"]);
    hand.say("b");
    expect(await hand.next(ahead)).toEqual(["3 stdout b"]);
    expect(await hand.next(behind)).toEqual(["1 start", "2 stdout a", "3 stdout b"]);
  });

  test("behind a number that was never given: what is new", async () => {
    hand.say("a");
    const reader = await hand.streams.follow(running, 999);
    hand.say("b");
    expect(await hand.next(reader)).toEqual(["3 stdout b"]);
  });

  test("half a character at the end is told before the end", async () => {
    const reader = await hand.streams.follow(running, 1);
    hand.streams.hear(running, {
      type: "output",
      callId,
      fence: 1,
      seq: 1,
      channel: "stderr",
      chunk: Uint8Array.of(0xe2, 0x82),
    });
    hand.settle();
    expect(await hand.next(reader)).toEqual(["2 stderr \uFFFD", "3 done"]);
  });

  test("chunks that were dropped on the way are counted in the next one", async () => {
    const reader = await hand.streams.follow(running, 1);
    hand.outputSeq = 4;
    hand.say("five");
    const { events } = await reader.next(0);
    expect(events.map(({ dataJson }) => dataJson)).toEqual(['{"text":"five","missed_chunks":4}']);
  });

  test.each(["{", "", "1 2", "[".repeat(100) + "]".repeat(100)])(
    "a payload that is no JSON (or too deep) is left out, and nothing breaks: %j",
    async (payloadJson) => {
      const reader = await hand.streams.follow(running, 1);
      hand.streams.hear(running, { type: "emit", callId, fence: 1, ordinal: 1, eventType: 'a"b', payloadJson });
      expect((await reader.next(0)).events.map(({ dataJson }) => JSON.parse(dataJson) as unknown)).toEqual([
        { type: 'a"b', payload: null, malformed: true },
      ]);
    },
  );

  test("a call that waits, from the beginning: asked, given, run, given again", async () => {
    const parked = scriptedCall({ ...queued, state: "awaiting_approval", approvalId: "apr_1" });
    hand.row(parked);
    const reader = await hand.streams.follow(parked, 0);
    hand.streams.told(parked);
    hand.live = { ...running, approvalId: "apr_1" };
    hand.streams.given(tenant, callId);
    hand.say("a", hand.streams, hand.live);
    hand.live = { ...hand.live, fence: 2, attempt: 2, workerId: "w2" };
    hand.streams.given(tenant, callId);
    hand.outputSeq = 0;
    hand.say("b", hand.streams, hand.live);
    const { events } = await reader.next(0);
    expect(events.map(({ seq, type, dataJson }) => [seq, type, dataJson])).toEqual([
      [1, "approval", '{"approval_id":"apr_1","status":"awaiting_approval"}'],
      [2, "start", '{"sandbox":"application","worker":"w1","attempt":1}'],
      [3, "stdout", '{"text":"a"}'],
      [4, "start", '{"sandbox":"application","worker":"w2","attempt":2}'],
      [5, "stdout", '{"text":"b"}'],
    ]);
  });

  test("an end that people are asked about is no end", async () => {
    const reader = await hand.streams.follow(running, 1);
    hand.streams.told(scriptedCall({ ...running, state: "indeterminate", approvalId: "apr_2" }));
    expect((await reader.next(0)).events.map(({ dataJson }) => dataJson)).toEqual([
      '{"approval_id":"apr_2","status":"indeterminate"}',
    ]);
    hand.settle();
    expect(await hand.next(reader)).toEqual(["3 done"]);
  });

  test("a reader that is closed waits for nothing more", async () => {
    const reader = await hand.streams.follow(running, 1);
    const waiting = reader.next(1_000);
    await settled();
    reader.close();
    reader.close();
    expect(words(await waiting)).toEqual(["…"]);
    expect(words(await reader.next(1_000))).toEqual(["…"]);
  });
});

describe("between the row's read and the end", () => {
  test("a start that nobody was there to hear", async () => {
    // The row that the request found is older than what has happened since.
    const reader = await hand.streams.follow(queued, 0);
    expect(await hand.next(reader)).toEqual(["1 start"]);
  });

  test("an end that nobody was there to hear", async () => {
    hand.streams.told(done);
    hand.row(done);
    const reader = await hand.streams.follow(running, 0);
    expect(await hand.next(reader)).toEqual(["1 start", "2 done"]);
    expect(hand.ledger.chunks).toEqual([]);
  });

  test("an end that comes while the row is read again", async () => {
    hand.ledger.beforeRow = () => hand.settle();
    const reader = await hand.streams.follow(running, 0);
    expect(await rest(reader)).toEqual(["1 start", "2 done"]);
  });

  test("what is said, and the end, while the row is read again", async () => {
    hand.ledger.beforeRow = () => {
      hand.say("a");
      hand.settle();
    };
    const reader = await hand.streams.follow(running, 0);
    expect(await rest(reader)).toEqual(["1 start", "2 stdout a", "3 done"]);
    await hand.clock.pass(200);
    expect(hand.ledger.runs).toEqual(["1-2", "end 3"]);
  });

  test("a row that cannot be read fails the reader, and leaves nothing behind", async () => {
    hand.ledger.beforeRow = () => Promise.reject(new LedgerUnavailable("away"));
    await expect(hand.streams.follow(queued, 0)).rejects.toThrow("away");
    hand.ledger.beforeRow = () => undefined;
    expect(await hand.next(await hand.streams.follow(queued, 0))).toEqual(["1 start"]);
  });
});

describe("a restart in mid-call", () => {
  test("numbers leap; what was kept is read from the ledger, what was not is a gap; one end", async () => {
    hand.say("kept");
    await hand.clock.pass(100);
    hand.say("lost");
    const restarted = hand.process();
    await restarted.recover(running);
    const [early, late] = [await restarted.follow(running, 0), await restarted.follow(running, 3)];
    hand.say("new", restarted);
    hand.settle(restarted);
    expect(await rest(early)).toEqual([
      "1 start",
      "2 stdout kept",
      "gap 3-1000001",
      "1000002 stdout new",
      "1000003 done",
    ]);
    expect(await rest(late)).toEqual(["gap 4-1000001", "1000002 stdout new", "1000003 done"]);
  });

  test("also where nothing was kept: no number comes twice", async () => {
    hand.say("lost");
    const restarted = hand.process();
    await restarted.recover(running);
    hand.settle(restarted);
    await hand.clock.pass(100);
    expect(hand.ledger.runs).toEqual(["end 1000000"]);
    // This reader had the lost event, whose number is also that of an end without output.
    const reader = await restarted.follow(done, 2);
    expect(reader.over).toBe(false);
    expect(await rest(reader)).toEqual(["gap 3-999999", "1000000 done"]);
  });

  test("chunks that the dead process heard are not missed", async () => {
    hand.outputSeq = 56;
    const restarted = hand.process();
    await restarted.recover(running);
    const reader = await restarted.follow(running, 1_000_000);
    hand.say("57", restarted);
    expect((await reader.next(0)).events.map(({ dataJson }) => dataJson)).toEqual(['{"text":"57"}']);
  });

  test("a call that parks before it goes on keeps its leap", async () => {
    hand.say("a");
    await hand.clock.pass(100);
    const restarted = hand.process();
    await restarted.recover(running);
    restarted.told(scriptedCall({ ...running, state: "indeterminate", approvalId: "apr_1" }));
    hand.live = { ...running, fence: 2 };
    hand.row(hand.live);
    hand.outputSeq = 0;
    const reader = await restarted.follow(hand.live, 2);
    hand.say("b", restarted, hand.live);
    expect(await hand.next(reader)).toEqual(["gap 3-1000001", "1000002 start", "1000003 stdout b"]);
  });

  test("a call that nobody can have been told of starts at one", async () => {
    await hand.streams.recover(queued);
    const reader = await hand.streams.follow(queued, 0);
    expect(await hand.next(reader)).toEqual(["1 start"]);
  });
});

describe("a runtime that leaves", () => {
  test("sends readers away, those who wait and those who come; the end of a call that ended is told", async () => {
    const other = scriptedCall({ ...running, callId: "exec_2" });
    hand.ledger.calls.set(`${tenant}/exec_2`, other);
    const [waiting, ending] = [await hand.streams.follow(other, 1), await hand.streams.follow(running, 1)];
    const away = waiting.next(60_000);
    await settled();
    hand.settle();
    hand.streams.leave();
    expect(words(await away)).toEqual(["leaving"]);
    expect(await hand.next(ending)).toEqual(["2 done"]);
    expect(await hand.next(await hand.streams.follow(other, 0))).toEqual(["leaving"]);
    expect(hand.clock.timers).toBe(0);
  });
});
