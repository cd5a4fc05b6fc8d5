// The stream of one call: order, gaps, ends, and what is handed out for keeping.
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
  test("from the beginning, from the middle, and from the end", () => {
    const stream = streamOf(roomy, 4);
    expect([seqs(stream, 0), seqs(stream, 2), seqs(stream, 4)]).toEqual([[1, 2, 3, 4], [3, 4], []]);
    expect(stream.read(0)).toMatchObject({ gap: null, ended: false });
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
  });

  test("nothing follows the end, and who has read it knows", () => {
    const stream = streamOf(roomy, 1);
    stream.append("done", "{}", 2);
    stream.append("stdout", "late", 3);
    expect(stream.read(0)).toMatchObject({ ended: true });
    expect(seqs(stream, 0)).toEqual([1, 2]);
    expect(stream.read(2)).toEqual({ gap: null, events: [], ended: true });
  });
});

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

test("what is to be kept is handed out once, and only what is still there", () => {
  const stream = streamOf(roomy, 2);
  expect(stream.takeUnsaved().map(({ seq }) => seq)).toEqual([1, 2]);
  stream.append("log", "3", 3);
  expect(stream.takeUnsaved().map(({ seq }) => seq)).toEqual([3]);
  expect(stream.takeUnsaved()).toEqual([]);
  expect(streamOf(narrow, 10).takeUnsaved().map(({ seq }) => seq)).toEqual([8, 9, 10]);
});

test("a stream that is taken up again goes on behind what was known, with a gap", () => {
  const stream = new CallStream(roomy, 10_001);
  stream.append("stdout", "1", 1);
  expect(stream.read(57)).toMatchObject({ gap: { from: 58, to: 10_000 }, events: [{ seq: 10_001 }] });
});
