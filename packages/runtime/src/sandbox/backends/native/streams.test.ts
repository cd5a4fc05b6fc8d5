// What a tool writes is cut, kept, split and refused at the byte that its limits name.
import { expect, test } from "vitest";
import { CappedStream, Lines, WholeText } from "./streams.ts";

test("a stream is passed on up to its limit, and over the other one it is a flood, once", () => {
  const passed: string[] = [];
  const floods: number[] = [];
  const limits = { bytesMax: 5, bytesKill: 8, onFlood: (bytes: number) => void floods.push(bytes) };
  const stream = new CappedStream(limits, 4, (chunk) => void passed.push(Buffer.from(chunk).toString()));
  for (const text of ["abc", "de"]) void stream.push(Buffer.from(text));
  expect([passed.join(""), stream.truncated]).toEqual(["abcde", false]);
  for (const text of ["fgh", "i", "j"]) void stream.push(Buffer.from(text));
  expect([passed.join(""), stream.truncated, floods, stream.tail]).toEqual(["abcde", true, [9], "ghij"]);
});

test("a result is whole or not at all", () => {
  const over: number[] = [];
  const text = new WholeText(4, (bytes) => over.push(bytes));
  expect(text.text).toBeNull();
  text.push(Buffer.from("ab"));
  text.push(Buffer.from("cd"));
  expect([text.text, over]).toEqual(["abcd", []]);
  text.push(Buffer.from("e"));
  text.push(Buffer.from("f"));
  expect([text.text, over]).toEqual([null, [5]]);
});

test("lines are put together across chunks, empty ones left out, and an endless one is over", async () => {
  const lines: string[] = [];
  const over: number[] = [];
  const split = new Lines(
    6,
    (bytes) => over.push(bytes),
    (line) => void lines.push(line),
  );
  for (const text of ["on", "e\n\n  \ntwo", "\nsixsix\n", "toolong"]) await split.push(Buffer.from(text));
  await split.push(Buffer.from("\nlate\n"));
  expect([lines, over]).toEqual([["one", "two", "sixsix"], [7]]);
});

test("a character in two chunks stays one", async () => {
  const lines: string[] = [];
  const split = new Lines(
    10,
    () => undefined,
    (line) => void lines.push(line),
  );
  const bytes = Buffer.from("ä\n");
  await split.push(bytes.subarray(0, 1));
  await split.push(bytes.subarray(1));
  expect(lines).toEqual(["ä"]);
});
