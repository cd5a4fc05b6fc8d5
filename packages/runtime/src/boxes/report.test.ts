// What code.run answers with: bounded, cut between characters, digits kept.
import { expect, test } from "vitest";
import { keepPrinted, reportBytesMax, reportText } from "./report.ts";

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

test("value and print in one object; the value's digits are kept", () => {
  const printed = keepPrinted();
  printed.stdout.push(bytes("a"));
  printed.stdout.push(bytes("b\n"));
  printed.stderr.push(bytes('"'));
  expect(reportText("12345678901234567890.10", printed)).toBe(
    `{"result":12345678901234567890.10,"stdout":"ab\\n","stderr":"\\"","truncated":[]}`,
  );
});

test("a character over two chunks is one; half a one at the end is told as such", () => {
  const printed = keepPrinted();
  const [first = 0, second = 0] = bytes("é");
  printed.stdout.push(Uint8Array.of(first));
  printed.stdout.push(Uint8Array.of(second));
  printed.stderr.push(Uint8Array.of(first));
  expect(JSON.parse(reportText("1", printed))).toEqual({ result: 1, stdout: "é", stderr: "\ufffd", truncated: [] });
});

test("the beginning is kept, without half a character, and that it was cut is told", () => {
  const printed = keepPrinted();
  printed.stdout.push(bytes("x" + "é".repeat(20_000)));
  printed.stdout.push(bytes("more"));
  printed.stderr.push(bytes("y".repeat(32_768)));
  const told = JSON.parse(reportText("null", printed)) as { stdout: string; stderr: string; truncated: string[] };
  expect(told.stdout).toBe("x" + "é".repeat(16_383));
  expect([told.stderr.length, told.truncated]).toEqual([32_768, ["stdout"]]);
});

test("what is added to the value has a bound", () => {
  const printed = keepPrinted();
  for (const one of [printed.stdout, printed.stderr]) one.push(new Uint8Array(100_000).fill(1));
  expect(bytes(reportText("", printed)).length).toBeLessThanOrEqual(reportBytesMax);
});
