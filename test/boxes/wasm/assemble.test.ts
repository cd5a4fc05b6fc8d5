// The committed modules are what the assembler makes of the committed texts.
import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { assemble } from "./assemble.ts";

const folder = new URL("fixtures/", import.meta.url);
const names = readdirSync(folder);

test.each(names.filter((name) => name.endsWith(".wat")))("%s", (name) => {
  const written = readFileSync(new URL(name.replace(/t$/, "sm"), folder));
  expect(Buffer.from(assemble(readFileSync(new URL(name, folder), "utf8"))).equals(written)).toBe(true);
});

test("the smallest module, by hand", () => {
  const text = `(module (memory (export "memory") 1) (func $start (export "_start") i32.const -1 drop))`;
  const sections = [
    [0, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    [1, 4, 1, 0x60, 0, 0],
    [3, 2, 1, 0],
    [5, 3, 1, 0, 1],
    [7, 19, 2, 6, 0x5f, 0x73, 0x74, 0x61, 0x72, 0x74, 0, 0, 6, 0x6d, 0x65, 0x6d, 0x6f, 0x72, 0x79, 2, 0],
    [10, 7, 1, 5, 0, 0x41, 0x7f, 0x1a, 0x0b],
  ];
  expect([...assemble(text)]).toEqual(sections.flat());
});
