// An order comes out of its text as it went in, or is refused by the name of the field that is wrong.
import { expect, test } from "vitest";
import { orderText, readOrder, type GuestOrder } from "./order.ts";

const order: GuestOrder = {
  guest: "js",
  entry: "code",
  packageRoot: null,
  workspaceRoot: "/workspace",
  nonce: "n0",
  env: { A: "b" },
  memoryBytes: 33_554_432,
  timeoutMs: 1_000,
  resultBytes: 1_024,
  runs: 1,
};

test("an order survives its text", () => {
  expect(readOrder(orderText(order))).toEqual(order);
});

test.each([
  ["null", "no object"],
  [JSON.stringify({ ...order, guest: "python" }), `unknown guest "python"`],
  [JSON.stringify({ ...order, entry: "" }), `"entry"`],
  [JSON.stringify({ ...order, memoryBytes: 16_777_215 }), `"memoryBytes" between 16777216 and 2147483648`],
  [JSON.stringify({ ...order, guest: "wasi", memoryBytes: 65_535 }), `"memoryBytes" between 65536`],
  [JSON.stringify({ ...order, timeoutMs: 0 }), `"timeoutMs"`],
  [JSON.stringify({ ...order, runs: 1.5 }), `"runs"`],
  [JSON.stringify({ ...order, env: { A: 1 } }), `the variable "A"`],
])("%s is refused", (text, said) => {
  expect(() => readOrder(text)).toThrow(said);
});
