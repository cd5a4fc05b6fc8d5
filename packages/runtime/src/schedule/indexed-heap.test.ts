// Any comings, goings and moves leave a heap whose order is that of a sorted list.
import fc from "fast-check";
import { expect, test } from "vitest";
import { IndexedHeap } from "./indexed-heap.ts";

interface Item {
  readonly name: number;
  key: number;
}

type Command = { readonly put: number } | { readonly deleteAt: number } | { readonly moveAt: number; readonly to: number } | { readonly pop: true };

const command: fc.Arbitrary<Command> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ put: fc.nat({ max: 12 }) }) },
  { weight: 2, arbitrary: fc.record({ deleteAt: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ moveAt: fc.nat(), to: fc.nat({ max: 12 }) }) },
  { weight: 1, arbitrary: fc.record({ pop: fc.constant(true as const) }) },
);

test("it holds what a list would, the first is the least, and parents come before children", () => {
  const before = (one: Item, other: Item) => (one.key === other.key ? one.name < other.name : one.key < other.key);
  fc.assert(
    fc.property(fc.array(command, { maxLength: 200 }), (commands) => {
      const heap = new IndexedHeap<Item>(before);
      const model: Item[] = [];
      let names = 0;
      const least = () => model.toSorted((one, other) => one.key - other.key || one.name - other.name)[0];
      for (const one of commands) {
        if ("put" in one) {
          const item = { name: ++names, key: one.put };
          model.push(item);
          heap.put(item);
        } else if ("pop" in one) {
          const gone = least();
          expect(heap.pop()).toBe(gone);
          if (gone !== undefined) model.splice(model.indexOf(gone), 1);
        } else if (model.length > 0 && "deleteAt" in one) {
          const [gone] = model.splice(one.deleteAt % model.length, 1);
          if (gone !== undefined) expect([heap.delete(gone), heap.delete(gone), heap.has(gone)]).toEqual([true, false, false]);
        } else if (model.length > 0 && "moveAt" in one) {
          const moved = model[one.moveAt % model.length];
          if (moved === undefined) continue;
          moved.key = one.to;
          heap.put(moved);
        }
        expect([heap.size, heap.first()]).toEqual([model.length, least()]);
        for (let place = 1; place < heap.size; place++) {
          const [child, parent] = [heap.at(place), heap.at((place - 1) >> 1)];
          expect(child !== undefined && parent !== undefined && before(parent, child)).toBe(true);
        }
      }
      const order = model.toSorted((one, other) => one.key - other.key || one.name - other.name);
      expect(order.map(() => heap.pop())).toEqual(order);
    }),
  );
});
