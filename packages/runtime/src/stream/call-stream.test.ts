// The stream of one call: order, gaps, the end, and what is handed out for keeping.
import { describe, expect, test } from "vitest";
import { CallStream } from "./call-stream.ts";

const roomy = { keptCharsMax: 10_000, batchCharsMax: 10_000 };
/** Room for three events of one character. */
const narrow = { keptCharsMax: 3 * 65, batchCharsMax: 10_000 };

function streamOf(bounds: ConstructorParameters<typeof CallStream>[0], count: number): CallStream {
  const stream = new CallStream(bounds);
  for (let at = 1; at <= count; at++) stream.append("stdout", String(at % 10), at);
  return stream;
}

const seqs = (stream: CallStream, after: number): number[] => stream.read(after).events.map(({ seq }) => seq);

describe("reading", () => {
  test("from the beginning, from the middle, and from the last event on", () => {
    const stream = streamOf(roomy, 4);
    expect([seqs(stream, 0), seqs(stream, 2), seqs(stream, 4)]).toEqual([[1, 2, 3, 4], [3, 4], []]);
    expect(stream.read(0)).toMatchObject({ gap: null, over: false });
  });

  test("who comes too late is told what is missing, once", () => {
    const stream = streamOf(narrow, 10);
    expect(stream.read(0)).toMatchObject({ gap: { from: 1, to: 7 } });
    expect(seqs(stream, 0)).toEqual([8, 9, 10]);
    expect(stream.read(4).gap).toEqual({ from: 5, to: 7 });
    expect(stream.read(7).gap).toBeNull();
  });

  test("one event that is larger than everything that may be kept is kept all the same", () => {
    const stream = new CallStream(narrow);
    stream.append("stdout", "x".repeat(1_000), 1);
    expect(seqs(stream, 0)).toEqual([1]);
    stream.append("stdout", "y", 2);
    expect(stream.read(0)).toMatchObject({ gap: { from: 1, to: 1 } });
  });

  test("a look is bounded, and the next one goes on", () => {
    const stream = streamOf({ keptCharsMax: 10_000, batchCharsMax: 2 * 65 }, 5);
    expect([seqs(stream, 0), seqs(stream, 2), seqs(stream, 4)]).toEqual([[1, 2], [3, 4], [5]]);
    stream.end();
    expect([stream.read(0).over, stream.read(2).over, stream.read(3).over, stream.read(4).over]).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });

  test("a stream that is taken up again goes on behind what was known, with a gap", () => {
    const stream = new CallStream(roomy, 10_001);
    expect(stream.read(57)).toEqual({ gap: { from: 58, to: 10_000 }, events: [], over: false });
    stream.append("stdout", "1", 1);
    expect(stream.read(57)).toMatchObject({ gap: { from: 58, to: 10_000 }, events: [{ seq: 10_001 }] });
  });
});

describe("the end", () => {
  test("has the number behind the last event, and nothing follows it", () => {
    const stream = streamOf(roomy, 1);
    stream.end();
    stream.end();
    stream.append("stdout", "late", 3);
    expect([stream.endSeq, stream.lastSeq]).toEqual([2, 2]);
    expect(stream.read(0)).toMatchObject({ events: [{ seq: 1 }], over: true });
    expect(stream.read(1)).toEqual({ gap: null, events: [], over: true });
    expect(stream.read(2)).toEqual({ gap: null, events: [], over: true });
  });

  test("of a stream whose events are gone stands behind a gap", () => {
    const stream = streamOf(roomy, 3);
    stream.end();
    stream.forget(3);
    expect(stream.read(1)).toEqual({ gap: { from: 2, to: 3 }, events: [], over: true });
    expect(stream.read(3)).toEqual({ gap: null, events: [], over: true });
  });
});

describe("waiting", () => {
  test("a reader is woken once by what is new, and not when it has taken its wish back", () => {
    const stream = new CallStream(roomy);
    const woken: string[] = [];
    stream.wait(() => woken.push("one"));
    const takeBack = stream.wait(() => woken.push("two"));
    takeBack();
    stream.append("log", '"a"', 1);
    stream.append("log", '"b"', 2);
    expect(woken).toEqual(["one"]);
  });

  test("the end wakes, too, and who waits again while it is woken is not woken for ever", () => {
    const stream = new CallStream(roomy);
    let count = 0;
    const again = (): void => {
      count++;
      stream.wait(again);
    };
    stream.wait(again);
    stream.end();
    expect(count).toBe(1);
  });
});

describe("keeping", () => {
  test("events are handed out once, oldest first, and only what is still there", () => {
    const stream = streamOf(roomy, 2);
    expect(stream.takeUnsaved(1_000).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(stream.hasUnsaved).toBe(false);
    stream.append("log", "3", 3);
    expect(stream.hasUnsaved).toBe(true);
    expect(stream.takeUnsaved(1_000).map(({ seq }) => seq)).toEqual([3]);
    expect(stream.takeUnsaved(1_000)).toEqual([]);
    expect(
      streamOf(narrow, 10)
        .takeUnsaved(1_000)
        .map(({ seq }) => seq),
    ).toEqual([8, 9, 10]);
  });

  test("as much as is asked for, at least one; the end is not among them", () => {
    const stream = streamOf(roomy, 5);
    stream.end();
    expect(stream.takeUnsaved(2 * 65).map(({ seq }) => seq)).toEqual([1, 2]);
    expect(stream.takeUnsaved(1).map(({ seq }) => seq)).toEqual([3]);
    expect(stream.hasUnsaved).toBe(true);
    expect(stream.takeUnsaved(1_000).map(({ seq }) => seq)).toEqual([4, 5]);
    expect(stream.hasUnsaved).toBe(false);
  });

  test("what is forgotten takes no room, and is a gap", () => {
    const stream = streamOf(roomy, 5);
    expect(stream.chars).toBe(325);
    stream.forget(3);
    expect(stream.chars).toBe(130);
    expect(stream.read(0)).toMatchObject({ gap: { from: 1, to: 3 }, events: [{ seq: 4 }, { seq: 5 }] });
    stream.forget(99);
    expect(stream.chars).toBe(0);
    stream.append("stdout", "6", 6);
    expect(stream.read(5)).toMatchObject({ gap: null, events: [{ seq: 6 }] });
  });

  test("a flood takes no more room than its bound", () => {
    const stream = new CallStream({ keptCharsMax: 1_048_576, batchCharsMax: 262_144 });
    const chunk = JSON.stringify("x".repeat(65_534));
    for (let at = 0; at < 16_384; at++) stream.append("stdout", chunk, at);
    expect(stream.chars).toBe(15 * (65_536 + 64));
    expect(stream.read(0)).toMatchObject({ gap: { from: 1, to: 16_369 } });
  });
});
