// Memory and tables of a module are bounded in its own bytes, and what is no module is refused.
import { describe, expect, test } from "vitest";
import { boundModule } from "./binary.ts";

const magic = [0x00, 0x61, 0x73, 0x6d, 0x01, 0x00, 0x00, 0x00];
const bounded = (sections: readonly number[], memoryBytes = 10 * 65_536): unknown => {
  const result = boundModule(Uint8Array.from([...magic, ...sections]), memoryBytes);
  return result.ok ? [...result.bytes].slice(magic.length) : [result.message, result.memoryBytes];
};

describe("memory", () => {
  test("without a maximum gets the limit", () => {
    expect(bounded([5, 3, 1, 0, 1])).toEqual([5, 4, 1, 1, 1, 10]);
  });
  test("with a larger one gets the limit, with a smaller one keeps its own", () => {
    expect(bounded([5, 5, 1, 1, 1, 0x80, 0x02])).toEqual([5, 4, 1, 1, 1, 10]);
    expect(bounded([5, 4, 1, 1, 1, 3])).toEqual([5, 4, 1, 1, 1, 3]);
  });
  test("that starts over the limit is named by what it asks for", () => {
    expect(bounded([5, 3, 1, 0, 11])).toEqual([expect.stringContaining("720896 bytes of memory"), 720_896]);
  });
  test("that is shared, 64 bits wide, or one of two is refused", () => {
    expect(bounded([5, 4, 1, 3, 1, 2])).toEqual([expect.stringContaining("shared or 64 bits"), null]);
    expect(bounded([5, 3, 1, 4, 1])).toEqual([expect.stringContaining("shared or 64 bits"), null]);
    expect(bounded([5, 5, 2, 0, 1, 0, 1])).toEqual([expect.stringContaining("one memory"), null]);
  });
});

describe("tables", () => {
  test("get a maximum", () => {
    expect(bounded([4, 4, 1, 0x70, 0, 1])).toEqual([4, 7, 1, 0x70, 1, 1, 0xa0, 0x8d, 0x06]);
  });
  test("that are huge, many, or of other kinds are refused", () => {
    expect(bounded([4, 7, 1, 0x70, 0, 0x80, 0xad, 0xe2, 0x04])).toEqual([
      expect.stringContaining("10000000 entries"),
      null,
    ]);
    expect(bounded([4, 1, 17])).toEqual([expect.stringContaining("16 tables"), null]);
    expect(bounded([4, 4, 1, 0x63, 0, 1])).toEqual([expect.stringContaining("not supported"), null]);
  });
});

test("other sections pass as they are", () => {
  expect(bounded([0, 2, 1, 0x61, 1, 1, 0])).toEqual([0, 2, 1, 0x61, 1, 1, 0]);
});

describe("what is no module", () => {
  test.each([
    [[]],
    [[0x7f, 0x45, 0x4c, 0x46, 1, 0, 0, 0]],
    // The header of a component.
    [[0x00, 0x61, 0x73, 0x6d, 0x0d, 0x00, 0x01, 0x00]],
  ])("%j", (bytes) => {
    const result = boundModule(Uint8Array.from(bytes), 65_536);
    expect(result).toMatchObject({ ok: false, message: expect.stringContaining("not a WebAssembly core module") });
  });
  test("or is cut off, or lies about its lengths", () => {
    expect(bounded([5, 3, 1, 0])).toEqual([expect.stringContaining("cut off"), null]);
    expect(bounded([5])).toEqual([expect.stringContaining("cut off"), null]);
    expect(bounded([5, 4, 1, 0, 1, 9])).toEqual([expect.stringContaining("more than it says"), null]);
    expect(bounded([5, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01])).toEqual([expect.stringContaining("too long"), null]);
  });
});
