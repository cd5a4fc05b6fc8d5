// The heap of instants against a sorted list.
import fc from "fast-check";
import { expect, test } from "vitest";
import { DueHeap } from "./heap.ts";

test("nothing is due in an empty heap", () => {
  const heap = new DueHeap<string>();
  expect(heap.size).toBe(0);
  expect(heap.nextAt()).toBe(Infinity);
  expect(heap.popDue(Number.MAX_SAFE_INTEGER)).toBeUndefined();
});

test("what is due at now comes, what is due after does not, and it comes in order", () => {
  const heap = new DueHeap<string>();
  for (const [at, what] of [[30, "c"], [10, "a"], [40, "d"], [20, "b"]] as const) heap.push(at, what);
  expect(heap.nextAt()).toBe(10);
  expect(heap.popDue(9)).toBeUndefined();
  expect([heap.popDue(20), heap.popDue(20), heap.popDue(20)]).toEqual(["a", "b", undefined]);
  expect([heap.popDue(100), heap.popDue(100), heap.popDue(100)]).toEqual(["c", "d", undefined]);
  expect(heap.size).toBe(0);
});

type Command = { readonly push: number } | { readonly popUntil: number };

const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(fc.nat({ max: 50 }).map((push) => ({ push })), fc.nat({ max: 60 }).map((popUntil) => ({ popUntil }))),
  { maxLength: 200 },
);

test("any order of pushes and pops takes out what a sorted list would", () => {
  fc.assert(
    fc.property(commands, (all) => {
      const heap = new DueHeap<number>();
      let model: number[] = [];
      for (const command of all) {
        if ("push" in command) {
          heap.push(command.push, command.push);
          model = [...model, command.push].sort((a, b) => a - b);
        } else {
          const due = model[0] !== undefined && model[0] <= command.popUntil ? model.shift() : undefined;
          expect(heap.popDue(command.popUntil)).toBe(due);
        }
        expect(heap.nextAt()).toBe(model[0] ?? Infinity);
        expect(heap.size).toBe(model.length);
      }
    }),
  );
});
