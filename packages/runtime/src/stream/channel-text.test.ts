// Bytes to text: characters across chunks, and bytes that are none.
import { expect, test } from "vitest";
import { ChannelText } from "./channel-text.ts";

test("a character that two chunks share comes whole, each channel for itself", () => {
  const text = new ChannelText();
  const euro = new TextEncoder().encode("€");
  expect(text.read("stdout", euro.slice(0, 2))).toBe("");
  expect(text.read("stderr", new TextEncoder().encode("x"))).toBe("x");
  expect(text.read("stdout", euro.slice(2))).toBe("€");
});

test("what is no UTF-8 is replaced, also what never became whole", () => {
  const text = new ChannelText();
  expect(text.read("stdout", Uint8Array.of(0x61, 0xff, 0x62))).toBe("a\uFFFDb");
  expect(text.read("stdout", Uint8Array.of(0xe2, 0x82))).toBe("");
  expect(text.end("stdout")).toBe("\uFFFD");
  expect(text.end("stderr")).toBe("");
});
