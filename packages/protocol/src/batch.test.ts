// What gathers in a turn goes out together, in order, and never grows too large.
import { expect, test } from "vitest";
import { createBatch } from "./batch.ts";

function gathering() {
  const sent: (readonly string[])[] = [];
  const taken: (() => void)[] = [];
  const turns: (() => void)[] = [];
  const batch = createBatch<string>({
    write: (messages, written) => {
      sent.push(messages);
      taken.push(written);
    },
    defer: (flush) => turns.push(flush),
    weigh: (message) => message.length,
  });
  const written: string[] = [];
  const add = (message: string): void => batch.add(message, () => written.push(message));
  return { batch, add, sent, written, take: () => taken.shift()?.(), turn: () => turns.shift()?.() };
}

test("one turn, one network message, in order", () => {
  const { add, sent, turn } = gathering();
  for (const message of ["a", "b", "c"]) add(message);
  expect(sent).toEqual([]);
  turn();
  expect(sent).toEqual([["a", "b", "c"]]);
  add("d");
  turn();
  expect(sent).toEqual([["a", "b", "c"], ["d"]]);
});

test("every message hears when the transport has it", () => {
  const { add, written, take, turn } = gathering();
  add("a");
  add("b");
  turn();
  expect(written).toEqual([]);
  take();
  expect(written).toEqual(["a", "b"]);
});

test("a large message does not wait in a batch with others, and the order stays", () => {
  const { add, sent, turn } = gathering();
  const large = "x".repeat(1024 * 1024);
  add("a");
  add(large);
  add("b");
  turn();
  expect(sent).toEqual([["a"], [large], ["b"]]);
});

test("4 096 messages fill a batch", () => {
  const { add, sent, turn } = gathering();
  for (let n = 0; n <= 4_096; n++) add("m");
  turn();
  expect(sent.map((messages) => messages.length)).toEqual([4_096, 1]);
});

test("a flush before a close leaves nothing for later", () => {
  const { batch, add, sent, turn } = gathering();
  add("a");
  batch.flush();
  turn();
  batch.flush();
  expect(sent).toEqual([["a"]]);
});
