// Bytes to text: characters across chunks, bytes that are none, and chunks that never came or came twice.
import { expect, test } from "vitest";
import { ChannelText } from "./channel-text.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);
const euro = bytes("€");

test("a character that two chunks share comes whole, each channel for itself", () => {
  const text = new ChannelText(0);
  expect(text.read("stdout", 1, euro.slice(0, 2))).toEqual({ text: "", missed: 0 });
  expect(text.read("stderr", 2, bytes("x"))).toEqual({ text: "x", missed: 0 });
  expect(text.read("stdout", 3, euro.slice(2))).toEqual({ text: "€", missed: 0 });
  expect(text.end()).toEqual([]);
});

test("what is no UTF-8 is replaced, also what never became whole", () => {
  const text = new ChannelText(0);
  expect(text.read("stdout", 1, Uint8Array.of(0x61, 0xff, 0x62))?.text).toBe("a\uFFFDb");
  expect(text.read("stdout", 2, Uint8Array.of(0xe2, 0x82))?.text).toBe("");
  expect(text.read("log", 3, euro.slice(0, 1))?.text).toBe("");
  expect(text.end()).toEqual([
    { channel: "stdout", text: "\uFFFD" },
    { channel: "log", text: "\uFFFD" },
  ]);
});

test("chunks that never came are counted, and told with the next text", () => {
  const text = new ChannelText(0);
  expect(text.read("stdout", 3, bytes("a"))).toEqual({ text: "a", missed: 2 });
  expect(text.read("stdout", 5, euro.slice(0, 1))).toEqual({ text: "", missed: 0 });
  expect(text.read("stdout", 6, euro.slice(1))).toEqual({ text: "€", missed: 1 });
});

test("a chunk that came before is left out", () => {
  const text = new ChannelText(0);
  text.read("stdout", 2, bytes("a"));
  expect([text.read("stdout", 2, bytes("a")), text.read("stdout", 1, bytes("b"))]).toEqual([undefined, undefined]);
});

test("where the numbers stand is not known, the first one says it", () => {
  const text = new ChannelText(undefined);
  expect(text.read("stdout", 57, bytes("a"))).toEqual({ text: "a", missed: 0 });
  expect(text.read("stdout", 59, bytes("b"))).toEqual({ text: "b", missed: 1 });
});
