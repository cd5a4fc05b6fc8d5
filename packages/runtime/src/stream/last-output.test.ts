// What a call said last: its lines put together from chunks, the newest of them, and what is missing.
import { describe, expect, test } from "vitest";
import { lastOutputOf } from "./last-output.ts";
import type { StreamEvent, StreamEventType } from "./types.ts";

const leap = 1_000_000;
const event = (seq: number, type: StreamEventType, data: unknown = {}): StreamEvent => ({ seq, at: 0, type, dataJson: JSON.stringify(data) });
const out = (seq: number, text: string): StreamEvent => event(seq, "stdout", { text });
const texts = (events: readonly StreamEvent[], lastSeq = events.at(-1)?.seq ?? 0): string[] => lastOutputOf(events, lastSeq, leap).lines.map(({ channel, text }) => `${channel}: ${text}`);

describe("lines", () => {
  test("of one channel are put together from chunks; each log entry and each progress is its own", () => {
    const events = [
      event(1, "start"),
      out(2, "pay"),
      out(3, "ing\r\nsent to the "),
      event(4, "stderr", { text: "slow\n" }),
      event(5, "log", { text: "a" }),
      event(6, "log", { text: "b\n" }),
      event(7, "progress", { percent: 40, message: "half" }),
      event(8, "progress", { percent: null, message: "on" }),
      event(9, "emit", { type: "charged" }),
      out(10, "bank"),
    ];
    expect(texts(events)).toEqual(["stdout: paying", "stdout: sent to the ", "stderr: slow", "log: a", "log: b", "progress: 40% half", "progress: on", "stdout: bank"]);
    expect(lastOutputOf(events, 10, leap)).toMatchObject({ cut: false, lost: false });
  });

  test("are those of the last attempt, and that there were others is said", () => {
    const events = [event(1, "start"), out(2, "first\n"), event(3, "start"), out(4, "second\n")];
    expect(lastOutputOf(events, 4, leap)).toEqual({ lines: [{ channel: "stdout", text: "second" }], cut: true, lost: false });
  });

  test("lastOutputLinesMax: ten lines, and that there were more", () => {
    const ten = Array.from({ length: 10 }, (_, n) => `${n}\n`).join("");
    expect(lastOutputOf([out(1, ten)], 1, leap)).toMatchObject({ cut: false, lines: { length: 10 } });
    const { lines, cut } = lastOutputOf([out(1, `x\n${ten}`)], 1, leap);
    expect([lines.length, lines[0]?.text, cut]).toEqual([10, "0", true]);
  });

  test("lastOutputBytesMax: the newest characters that fit, none halved", () => {
    expect(lastOutputOf([out(1, "a".repeat(2_048))], 1, leap)).toMatchObject({ cut: false, lines: [{ text: "a".repeat(2_048) }] });
    expect(lastOutputOf([out(1, `${"b".repeat(2_000)}\n${"a".repeat(2_000)}`)], 1, leap)).toMatchObject({ cut: true, lines: [{ text: "b".repeat(48) }, { text: "a".repeat(2_000) }] });
    // Four bytes each: 512 fit, and of 2 046 that are left 511.
    expect(lastOutputOf([out(1, "😀".repeat(600))], 1, leap)).toMatchObject({ cut: true, lines: [{ text: "😀".repeat(512) }] });
    expect(lastOutputOf([out(1, `${"😀".repeat(600)}ab`)], 1, leap)).toMatchObject({ lines: [{ text: `${"😀".repeat(511)}ab` }] });
    expect(lastOutputOf([out(1, "é".repeat(1_025))], 1, leap)).toMatchObject({ cut: true, lines: [{ text: "é".repeat(1_024) }] });
  });

  test("before the oldest event that is kept there were others", () => {
    expect(lastOutputOf([out(7, "tail")], 7, leap)).toMatchObject({ cut: true, lost: false });
  });
});

describe("what is lost", () => {
  test.each<[string, readonly StreamEvent[], number]>([
    ["numbers between two events", [out(1, "a"), out(4, "b")], 4],
    ["numbers behind the last one", [out(1, "a")], 3],
    ["everything", [], 3],
    ["chunks that never came", [event(1, "stdout", { text: "a", missed_chunks: 2 })], 1],
    ["what a process that died had not written", [out(1, "a"), out(1_000_001, "b")], 1_000_001],
    ["numbers before people were asked", [out(1, "a"), event(5, "approval", {})], 5],
  ])("%s", (_what, events, lastSeq) => {
    expect(lastOutputOf(events, lastSeq, leap).lost).toBe(true);
  });

  test.each<[string, readonly StreamEvent[], number]>([
    ["a call that said nothing", [], 0],
    ["people who are asked by a process that took the call up", [out(1, "a"), event(1_000_001, "approval", {})], 1_000_001],
    ["a hole in an earlier attempt", [out(1, "a"), out(4, "b"), event(5, "start"), out(6, "c")], 6],
  ])("nothing: %s", (_what, events, lastSeq) => {
    expect(lastOutputOf(events, lastSeq, leap).lost).toBe(false);
  });
});
