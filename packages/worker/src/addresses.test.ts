// Which address comes next, and after what pause, whatever the runtimes behind the addresses do.
import { expect, test } from "vitest";
import { createAddressBook, type AddressBook } from "./addresses.ts";

/** `a 0`, `b 75`: where to, and how long before; half of every delay is chance, and chance is half. */
const dial = (book: AddressBook): string => {
  const { address, delayMs } = book.next(0.5);
  return `${address} ${delayMs}`;
};
const dials = (book: AddressBook, count: number): string[] => Array.from({ length: count }, () => dial(book));

test("one address: at once, then after 75, 150, 300 ms and so on", () => {
  expect(dials(createAddressBook(["a"], 0.9), 5)).toEqual(["a 0", "a 75", "a 150", "a 300", "a 600"]);
});

test("three addresses: once around without a pause, then a longer one before every round", () => {
  const book = createAddressBook(["a", "b", "c"], 0);
  expect(dials(book, 7)).toEqual(["a 0", "b 0", "c 0", "a 75", "b 0", "c 0", "a 150"]);
});

test("workers begin at different ones, and no address counts twice", () => {
  expect(dials(createAddressBook(["a", "b", "c"], 0.99), 2)).toEqual(["c 0", "a 0"]);
  expect(dials(createAddressBook(["a", "b", "a"], 0.5), 3)).toEqual(["b 0", "a 0", "b 75"]);
});

test("a stream that breaks: the next address at once, the broken one after a pause", () => {
  const book = createAddressBook(["a", "b"], 0);
  dial(book);
  book.registered(0);
  book.ended(60_000);
  expect(dials(book, 3)).toEqual(["b 0", "a 75", "b 0"]);
});

test("one that broke within a second of its start: a pause first, so that nobody goes round without one", () => {
  const book = createAddressBook(["a", "b"], 0);
  dial(book);
  for (const next of ["b 75", "a 75", "b 75"]) {
    book.registered(1_000);
    book.ended(1_999);
    expect(dial(book)).toBe(next);
  }
  book.registered(2_000);
  book.ended(3_000);
  expect(dial(book)).toBe("a 0");
});

test("sent away: to the named address at once, and to the own ones when that fails", () => {
  const book = createAddressBook(["a"], 0);
  dial(book);
  book.registered(0);
  book.sentTo("z");
  book.ended(5_000);
  expect(book.next(0.5)).toEqual({ address: "z", named: true, delayMs: 0 });
  expect(dial(book)).toBe("a 150");
});

test("sent to one of the own addresses: it is one like any other, and the one behind it comes next", () => {
  const book = createAddressBook(["a", "b", "c"], 0);
  dial(book);
  book.registered(0);
  book.sentTo("b");
  book.ended(5_000);
  expect(book.next(0.5)).toEqual({ address: "b", named: false, delayMs: 0 });
  expect(dial(book)).toBe("c 0");
});

test("sent away without an address: to the next one at once", () => {
  const book = createAddressBook(["a", "b"], 0);
  dial(book);
  book.registered(0);
  book.sentTo("");
  book.ended(5_000);
  expect(dial(book)).toBe("b 0");
});

test("two runtimes that send a worker to each other are not dialled without end", () => {
  const book = createAddressBook(["a", "b"], 0);
  dial(book);
  let pausedMs = 0;
  for (const [turn, to] of ["b", "a", "b", "a", "b", "a"].entries()) {
    book.registered(turn);
    book.sentTo(to);
    book.ended(turn + 1);
    pausedMs += book.next(0.5).delayMs;
  }
  expect(pausedMs).toBe(6 * 75);
});

test("refused for good: when all of them refuse, with no stream in between", () => {
  const book = createAddressBook(["a", "b"], 0);
  expect(book.refused("a")).toBe(false);
  expect(book.refused("a")).toBe(false);
  book.registered(0);
  expect(book.refused("b")).toBe(false);
  expect(book.refused("a")).toBe(true);
});
