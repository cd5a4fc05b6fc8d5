// Server-Sent Events from text in pieces: however it is cut, the same messages come out.
import { expect, test } from "vitest";
import { SseReader } from "./stream-lines.ts";

const text =
  "retry: 1000\n\n" +
  'id: 1\nevent: start\ndata: {"seq":1}\n\n' +
  ": nothing new\n\n" +
  'id: 2\r\nevent:stdout\r\ndata: {"text":"a: b"}\r\n\r\n' +
  "event: empty\n\n" +
  "data: one\ndata:two\ndata\n\n" +
  "id: 4\ndata: unfinished";

const messages = [
  { id: "1", event: "start", data: '{"seq":1}' },
  { id: "2", event: "stdout", data: '{"text":"a: b"}' },
  { id: "2", event: "message", data: "one\ntwo\n" },
];

test.each([1, 2, 3, 7, 50, 1_000])("in pieces of %i characters", (length) => {
  const reader = new SseReader();
  const found = [];
  for (let at = 0; at < text.length; at += length) found.push(...reader.push(text.slice(at, at + length)));
  expect(found).toEqual(messages);
});

test("a line that never ends is refused before it fills the memory", () => {
  const reader = new SseReader();
  const piece = "x".repeat(1024 * 1024);
  expect(() => {
    for (let count = 0; count < 65; count++) reader.push(piece);
  }).toThrow(RangeError);
});
