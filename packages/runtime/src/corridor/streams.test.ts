// Streams of calls with a clock by hand: what readers get, what is kept and when, restarts, and ledgers that fail.
import { beforeEach, describe, expect, test } from "vitest";
import { HandClock, settled } from "../../../../test/support/hand-clock.ts";
import { scriptedCall } from "../../../../test/support/scripted-call.ts";
import { StreamShelf } from "../../../../test/support/stream-shelf.ts";
import type { Call } from "../call/types.ts";
import { LedgerUnavailable, type Unit } from "../ledger/port.ts";
import type { Batch } from "../stream/types.ts";
import type { Reader } from "./stream-reader.ts";
import { Streams } from "./streams.ts";

const { tenant, callId } = scriptedCall();
const running = scriptedCall({ state: "running", settledAt: null, outputJson: null, workerId: "w1" });
const queued = scriptedCall({
  ...running,
  state: "queued",
  dispatchedAt: null,
  startedAt: null,
  workerId: null,
  fence: 0,
});
const done = scriptedCall({ workerId: "w1" });

let clock: HandClock;
let ledger: StreamShelf;
let streams: Streams;
let live: Call | undefined;
let logged: string[];
let outputSeq: number;
let alive: object;

/** A process that starts on the same ledger; the one before it is dead and writes nothing any more. */
function process(): Streams {
  const self = {};
  alive = self;
  const log = { info() {}, error() {}, warn: (_fields: object, message: string) => void logged.push(message) };
  const own = {
    commit: (unit: Unit) => (alive === self ? ledger.commit(unit) : new Promise<never>(() => {})),
    streamChunks: ledger.streamChunks.bind(ledger),
    lastStreamSeq: ledger.lastStreamSeq.bind(ledger),
    getCall: ledger.getCall.bind(ledger),
  };
  return new Streams({ ledger: own, clock, find: () => live, log });
}

beforeEach(() => {
  clock = new HandClock(1_700_000_000_000);
  ledger = new StreamShelf();
  logged = [];
  outputSeq = 0;
  live = running;
  ledger.calls.set(`${tenant}/${callId}`, running);
  streams = process();
});

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

function say(text: string, of: Streams = streams, call: Call = running): void {
  of.hear(call, { type: "output", callId, fence: call.fence, seq: ++outputSeq, channel: "stdout", chunk: bytes(text) });
}

function settle(of: Streams = streams, call: Call = done): void {
  ledger.calls.set(`${tenant}/${callId}`, call);
  of.told(call);
}

/** What a reader gets, in short words: `1 start`, `2 stdout hi`, `gap 3-9`, `10 done`; `…` where nothing came in time. */
function words({ gap, events, end, leaving }: Batch): string[] {
  const told = events.map(({ seq, type, dataJson }) => {
    const { text = "" } = JSON.parse(dataJson) as { text?: string };
    return `${seq} ${type} ${text.slice(0, 8)}`.trim();
  });
  const all = [...(gap === null ? [] : [`gap ${gap.from}-${gap.to}`]), ...told];
  if (end !== null) all.push(`${end.seq} ${end.call.state === "succeeded" ? "done" : "error"}`);
  if (leaving) all.push("leaving");
  return all.length === 0 ? ["…"] : all;
}

async function next(reader: Reader): Promise<string[]> {
  const batch = reader.next(1_000);
  await settled();
  void clock.pass(1_000);
  return words(await batch);
}

/** Everything up to the end. */
async function rest(reader: Reader): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const batch = await reader.next(0);
    all.push(...words(batch));
    if (batch.end !== null || batch.leaving) return all;
    if (all.at(-1) === "…") throw new Error(`the end did not come behind ${all.join(", ")}`);
  }
}

describe("what a reader gets", () => {
  test("all kinds in their order, and one end", async () => {
    const reader = await streams.follow(running, 0);
    say("one");
    streams.hear(running, { type: "progress", callId, fence: 1, percent: 40, message: "on the way" });
    streams.hear(running, {
      type: "emit",
      callId,
      fence: 1,
      ordinal: 1,
      eventType: "charged",
      payloadJson: '{"n":12345678901234567890}',
    });
    streams.hear(running, {
      type: "output",
      callId,
      fence: 1,
      seq: ++outputSeq,
      channel: "log",
      chunk: bytes("a line"),
    });
    settle();
    say("late");
    streams.told(done);
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
    const reader = await streams.follow(running, 1);
    const waiting = reader.next(1_000);
    await settled();
    say("now");
    expect(words(await waiting)).toEqual(["2 stdout now"]);
    expect(await next(reader)).toEqual(["…"]);
    settle();
    expect(await next(reader)).toEqual(["3 done"]);
  });

  test("its place is its own: two readers do not hinder one another", async () => {
    const [ahead, behind] = [await streams.follow(running, 0), await streams.follow(running, 0)];
    say("a");
    expect(await next(ahead)).toEqual(["1 start", "2 stdout a"]);
    say("b");
    expect(await next(ahead)).toEqual(["3 stdout b"]);
    expect(await next(behind)).toEqual(["1 start", "2 stdout a", "3 stdout b"]);
  });

  test("behind a number that was never given: what is new", async () => {
    say("a");
    const reader = await streams.follow(running, 999);
    say("b");
    expect(await next(reader)).toEqual(["3 stdout b"]);
  });

  test("half a character at the end is told before the end", async () => {
    const reader = await streams.follow(running, 1);
    streams.hear(running, {
      type: "output",
      callId,
      fence: 1,
      seq: 1,
      channel: "stderr",
      chunk: Uint8Array.of(0xe2, 0x82),
    });
    settle();
    expect(await next(reader)).toEqual(["2 stderr \uFFFD", "3 done"]);
  });

  test("chunks that were dropped on the way are counted in the next one", async () => {
    const reader = await streams.follow(running, 1);
    outputSeq = 4;
    say("five");
    const { events } = await reader.next(0);
    expect(events.map(({ dataJson }) => dataJson)).toEqual(['{"text":"five","missed_chunks":4}']);
  });

  test.each(["{", "", "1 2", "[".repeat(100) + "]".repeat(100)])(
    "a payload that is no JSON (or too deep) is left out, and nothing breaks: %j",
    async (payloadJson) => {
      const reader = await streams.follow(running, 1);
      streams.hear(running, { type: "emit", callId, fence: 1, ordinal: 1, eventType: 'a"b', payloadJson });
      expect((await reader.next(0)).events.map(({ dataJson }) => JSON.parse(dataJson) as unknown)).toEqual([
        { type: 'a"b', payload: null, malformed: true },
      ]);
    },
  );

  test("a call that waits, from the beginning: asked, given, run, given again", async () => {
    const parked = scriptedCall({ ...queued, state: "awaiting_approval", approvalId: "apr_1" });
    ledger.calls.set(`${tenant}/${callId}`, parked);
    const reader = await streams.follow(parked, 0);
    streams.told(parked);
    live = { ...running, approvalId: "apr_1" };
    streams.given(tenant, callId);
    say("a", streams, live);
    live = { ...live, fence: 2, attempt: 2, workerId: "w2" };
    streams.given(tenant, callId);
    outputSeq = 0;
    say("b", streams, live);
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
    const reader = await streams.follow(running, 1);
    streams.told(scriptedCall({ ...running, state: "indeterminate", approvalId: "apr_2" }));
    expect((await reader.next(0)).events.map(({ dataJson }) => dataJson)).toEqual([
      '{"approval_id":"apr_2","status":"indeterminate"}',
    ]);
    settle();
    expect(await next(reader)).toEqual(["3 done"]);
  });

  test("a reader that is closed waits for nothing more", async () => {
    const reader = await streams.follow(running, 1);
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
    const reader = await streams.follow(queued, 0);
    expect(await next(reader)).toEqual(["1 start"]);
  });

  test("an end that nobody was there to hear", async () => {
    streams.told(done);
    ledger.calls.set(`${tenant}/${callId}`, done);
    const reader = await streams.follow(running, 0);
    expect(await next(reader)).toEqual(["1 start", "2 done"]);
    expect(ledger.chunks).toEqual([]);
  });

  test("an end that comes while the row is read again", async () => {
    ledger.beforeRow = () => settle();
    const reader = await streams.follow(running, 0);
    expect(await rest(reader)).toEqual(["1 start", "2 done"]);
  });

  test("what is said, and the end, while the row is read again", async () => {
    ledger.beforeRow = () => {
      say("a");
      settle();
    };
    const reader = await streams.follow(running, 0);
    expect(await rest(reader)).toEqual(["1 start", "2 stdout a", "3 done"]);
    await clock.pass(200);
    expect(ledger.runs).toEqual(["1-2", "end 3"]);
  });

  test("a row that cannot be read fails the reader, and leaves nothing behind", async () => {
    ledger.beforeRow = () => Promise.reject(new LedgerUnavailable("away"));
    await expect(streams.follow(queued, 0)).rejects.toThrow("away");
    ledger.beforeRow = () => undefined;
    expect(await next(await streams.follow(queued, 0))).toEqual(["1 start"]);
  });
});

describe("keeping", () => {
  test("a hundred milliseconds after it was said, in one run, and nobody waits", async () => {
    say("a");
    await clock.pass(60);
    say("b");
    await clock.pass(39);
    expect(ledger.runs).toEqual([]);
    await clock.pass(1);
    expect(ledger.runs).toEqual(["1-3"]);
    await clock.pass(1_000);
    expect(ledger.units).toBe(1);
  });

  test("64 KiB go at once", async () => {
    say("x".repeat(65_536));
    await settled();
    expect(ledger.runs).toEqual(["1-2"]);
  });

  test("a flood is written at a pace, one unit after the other, and in bounded pieces", async () => {
    ledger.holding = true;
    for (let count = 0; count < 40; count++) say("x".repeat(65_536));
    await clock.pass(1_000);
    expect(ledger.units).toBe(1);
    ledger.release();
    await settled();
    // It has had a second: now the others have nine times as long, but two seconds at most.
    await clock.pass(1_999);
    expect(ledger.units).toBe(1);
    await clock.pass(1);
    expect(ledger.units).toBe(2);
    await clock.pass(49);
    expect(ledger.units).toBe(2);
    await clock.pass(1);
    expect(ledger.units).toBe(3);
    await clock.pass(1_000);
    // A MiB is kept in memory: what was trimmed before its turn is in no run.
    expect(ledger.runs).toEqual(["27-33", "34-40", "41-41"]);
  });

  test("calls take their turns in one unit", async () => {
    const other = scriptedCall({ ...running, callId: "exec_2" });
    say("a");
    streams.hear(other, { type: "output", callId: "exec_2", fence: 1, seq: 1, channel: "stdout", chunk: bytes("b") });
    await clock.pass(100);
    expect([ledger.units, ledger.chunks.map((chunk) => chunk.callId)]).toEqual([1, [callId, "exec_2"]]);
  });

  test("the ledger keeps the newest MiB of a call", async () => {
    for (let count = 0; count < 40; count++) {
      say("x".repeat(65_536));
      await settled();
      await clock.pass(60);
    }
    expect(ledger.runs).toHaveLength(15);
    expect(ledger.runs.at(0)).toBe("27-27");
    expect(ledger.runs.at(-1)).toBe("41-41");
    settle();
    await clock.pass(100);
    expect(await rest(await streams.follow(done, 0))).toEqual([
      "gap 1-26",
      ...Array.from({ length: 15 }, (_, at) => `${27 + at} stdout xxxxxxxx`),
      "42 done",
    ]);
  });

  test("what nobody reads is not held in memory once it is written", async () => {
    say("x".repeat(60_000));
    await clock.pass(100);
    const reader = await streams.follow(running, 0);
    ledger.chunks = [];
    expect(await next(reader)).toEqual(["gap 1-2"]);
  });

  test("more than can be written is lost by those who have waited longest, and the rest is kept", async () => {
    ledger.holding = true;
    say("first");
    await clock.pass(100);
    const half = "x".repeat(524_288);
    const others = Array.from({ length: 70 }, (_, at) => scriptedCall({ ...running, callId: `exec_${at}` }));
    for (const other of others)
      for (let seq = 1; seq <= 2; seq++)
        streams.hear(other, {
          type: "output",
          callId: other.callId,
          fence: 1,
          seq,
          channel: "stdout",
          chunk: bytes(half),
        });
    expect(logged).toEqual(["output of calls is not kept for late readers: more comes than the ledger can write"]);
    ledger.release();
    for (const other of others) streams.told({ ...done, callId: other.callId });
    await streams.stop();
    const kept = others.map(
      (other) => ledger.chunks.filter((chunk) => chunk.callId === other.callId && chunk.events.length > 0).length > 0,
    );
    expect([kept[0], kept.at(-1)]).toEqual([false, true]);
    expect(kept.filter(Boolean).length).toBeGreaterThanOrEqual(32);
    const marks = ledger.chunks.filter(({ events }) => events.length === 0);
    expect(marks).toHaveLength(70);
    // Of the first nothing is left but its end, whose number is the one that a reader would have had.
    const reader = await streams.follow({ ...done, callId: "exec_0" }, 0);
    expect(await rest(reader)).toEqual(["gap 1-3", "4 done"]);
  });

  test("the process that ends writes the rest", async () => {
    say("a");
    await streams.stop();
    expect(ledger.runs).toEqual(["1-2"]);
  });
});

describe("after the end", () => {
  test("a late reader gets what was kept, and the end with the number that it had", async () => {
    say("a");
    const first = await rest(await follow(streams, 0, () => settle()));
    await clock.pass(200);
    expect(await rest(await streams.follow(done, 0))).toEqual(first);
    expect(first).toEqual(["1 start", "2 stdout a", "3 done"]);
    expect(await rest(await streams.follow(done, 2))).toEqual(["3 done"]);
  });

  test("who has everything is told so", async () => {
    say("a");
    settle();
    expect([(await streams.follow(done, 2)).over, (await streams.follow(done, 3)).over]).toEqual([false, true]);
    await clock.pass(200);
    expect([(await streams.follow(done, 2)).over, (await streams.follow(done, 3)).over]).toEqual([false, true]);
  });

  test("a call that said nothing has a start and an end; one that never ran has an end", async () => {
    settle();
    expect(await rest(await streams.follow(done, 0))).toEqual(["1 start", "2 done"]);
    expect(await rest(await streams.follow(done, 1))).toEqual(["2 done"]);
    const denied = scriptedCall({ ...queued, state: "denied", settledAt: 5 });
    expect(await rest(await streams.follow(denied, 0))).toEqual(["1 error"]);
    expect(ledger.chunks).toEqual([]);
  });

  test("an end whose number was not written down is told once more, rather than not at all", async () => {
    say("a");
    await clock.pass(100);
    settle();
    const restarted = process();
    expect(await rest(await restarted.follow(done, 2))).toEqual(["3 done"]);
    expect(await rest(await restarted.follow(done, 3))).toEqual(["4 done"]);
  });

  test("holes in what was kept are told one by one", async () => {
    for (const text of ["a", "lost", "b", "c", "lost", "d"]) {
      ledger.failing = text === "lost" ? new LedgerUnavailable("the disk is full") : undefined;
      say(text);
      await clock.pass(200);
    }
    settle();
    await clock.pass(200);
    const told = await rest(await streams.follow(done, 0));
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

async function follow(of: Streams, after: number, then: () => void): Promise<Reader> {
  const reader = await of.follow(running, after);
  then();
  return reader;
}

describe("a restart in mid-call", () => {
  test("numbers leap; what was kept is read from the ledger, what was not is a gap; one end", async () => {
    say("kept");
    await clock.pass(100);
    say("lost");
    const restarted = process();
    await restarted.recover(running);
    const [early, late] = [await restarted.follow(running, 0), await restarted.follow(running, 3)];
    say("new", restarted);
    settle(restarted);
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
    say("lost");
    const restarted = process();
    await restarted.recover(running);
    settle(restarted);
    await clock.pass(100);
    expect(ledger.runs).toEqual(["end 1000000"]);
    // This reader had the lost event, whose number is also that of an end without output.
    const reader = await restarted.follow(done, 2);
    expect(reader.over).toBe(false);
    expect(await rest(reader)).toEqual(["gap 3-999999", "1000000 done"]);
  });

  test("chunks that the dead process heard are not missed", async () => {
    outputSeq = 56;
    const restarted = process();
    await restarted.recover(running);
    const reader = await restarted.follow(running, 1_000_000);
    say("57", restarted);
    expect((await reader.next(0)).events.map(({ dataJson }) => dataJson)).toEqual(['{"text":"57"}']);
  });

  test("a call that parks before it goes on keeps its leap", async () => {
    say("a");
    await clock.pass(100);
    const restarted = process();
    await restarted.recover(running);
    restarted.told(scriptedCall({ ...running, state: "indeterminate", approvalId: "apr_1" }));
    live = { ...running, fence: 2 };
    ledger.calls.set(`${tenant}/${callId}`, live);
    outputSeq = 0;
    const reader = await restarted.follow(live, 2);
    say("b", restarted, live);
    expect(await next(reader)).toEqual(["gap 3-1000001", "1000002 start", "1000003 stdout b"]);
  });

  test("a call that nobody can have been told of starts at one", async () => {
    await streams.recover(queued);
    const reader = await streams.follow(queued, 0);
    expect(await next(reader)).toEqual(["1 start"]);
  });
});

describe("a ledger that cannot write", () => {
  test("costs readers that are there nothing, and is told once a minute", async () => {
    ledger.failing = new LedgerUnavailable("the disk is full");
    const reader = await streams.follow(running, 0);
    for (const text of ["a", "b", "c"]) {
      say(text);
      await clock.pass(200);
    }
    expect(await next(reader)).toEqual(["1 start", "2 stdout a", "3 stdout b", "4 stdout c"]);
    expect(logged).toEqual(["output of calls is not kept for late readers: the ledger cannot write"]);
    ledger.failing = undefined;
    say("d");
    await clock.pass(200);
    expect(ledger.runs).toEqual(["5-5"]);
  });

  test("holds nothing up and keeps nothing in memory that nobody reads", async () => {
    ledger.failing = new LedgerUnavailable("the disk is full");
    say("a");
    await clock.pass(200);
    const reader = await streams.follow(running, 0);
    expect(await next(reader)).toEqual(["gap 1-2"]);
    settle();
    expect(await next(reader)).toEqual(["3 done"]);
  });
});

describe("a runtime that leaves", () => {
  test("sends readers away, those who wait and those who come; the end of a call that ended is told", async () => {
    const other = scriptedCall({ ...running, callId: "exec_2" });
    ledger.calls.set(`${tenant}/exec_2`, other);
    const [waiting, ending] = [await streams.follow(other, 1), await streams.follow(running, 1)];
    const away = waiting.next(60_000);
    await settled();
    settle();
    streams.leave();
    expect(words(await away)).toEqual(["leaving"]);
    expect(await next(ending)).toEqual(["2 done"]);
    expect(await next(await streams.follow(other, 0))).toEqual(["leaving"]);
    expect(clock.timers).toBe(0);
  });
});
