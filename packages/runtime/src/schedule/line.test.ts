// The waiting line: order by tag, depth per tenant, and any order of comings and goings against a sorted list.
import fc from "fast-check";
import { expect, test } from "vitest";
import { Line } from "./line.ts";

const entry = (callId: string, startTag: number, tenant = "acme") => ({ tenant, project: "shop", callId, startTag, notBefore: 0 });
const names = (line: Line, lane: string, max = 64): string[] => [...line.peek(lane, max)].map(({ callId }) => callId);

test("first come, first served; who is queued again keeps its tag and its place", () => {
  const line = new Line();
  line.add("pay", entry("c1", 1));
  line.add("pay", entry("c3", 3));
  line.add("pay", entry("c4", 4));
  line.add("pay", entry("c2", 2));
  expect(names(line, "pay")).toEqual(["c1", "c2", "c3", "c4"]);
});

test("equal tags (of two replicas) stand in the order in which they came", () => {
  const line = new Line();
  for (const callId of ["c1", "c2", "c3"]) line.add("pay", entry(callId, 7));
  line.remove("pay", entry("c2", 7));
  line.add("pay", entry("c2", 7));
  expect(names(line, "pay")).toEqual(["c1", "c3", "c2"]);
});

test("lanes are apart, and a look sees no more than it asked for", () => {
  const line = new Line();
  for (let n = 1; n <= 100; n++) line.add("pay", entry(`c${n}`, n));
  line.add("ship", entry("s1", 50));
  expect(names(line, "pay", 3)).toEqual(["c1", "c2", "c3"]);
  expect(names(line, "pay")).toHaveLength(64);
  expect(names(line, "ship")).toEqual(["s1"]);
  expect(names(line, "nobody")).toEqual([]);
});

test("depth counts per tenant over all lanes, and removing twice counts once", () => {
  const line = new Line();
  line.add("pay", entry("c1", 1));
  line.add("ship", entry("c2", 2));
  line.add("pay", entry("c1", 3, "other"));
  expect([line.depth("acme"), line.depth("other"), line.depth("nobody")]).toEqual([2, 1, 0]);
  line.remove("pay", entry("c1", 1));
  line.remove("pay", entry("c1", 1));
  line.remove("pay", entry("c9", 1));
  line.remove("nobody", entry("c2", 2));
  expect([line.depth("acme"), line.depth("other")]).toEqual([1, 1]);
  expect(names(line, "pay")).toEqual(["c1"]);
});

test("tags only grow, past the ones that were restored", () => {
  const line = new Line();
  expect([line.nextTag(), line.nextTag()]).toEqual([1, 2]);
  line.saw(40);
  line.saw(7);
  expect(line.nextTag()).toBe(41);
});

type Command = { readonly add: number; readonly tenant: string } | { readonly removeAt: number };

const commands: fc.Arbitrary<Command[]> = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ add: fc.nat({ max: 20 }), tenant: fc.constantFrom("a", "b") }) },
    { weight: 2, arbitrary: fc.record({ removeAt: fc.nat({ max: 30 }) }) },
  ),
  { maxLength: 150 },
);

test("any comings and goings leave the line that a stable sort would", () => {
  fc.assert(
    fc.property(commands, (all) => {
      const line = new Line();
      const model: ReturnType<typeof entry>[] = [];
      let count = 0;
      for (const command of all) {
        if ("add" in command) {
          const added = entry(`c${++count}`, command.add, command.tenant);
          line.add("lane", added);
          const place = model.findLastIndex((one) => one.startTag <= added.startTag) + 1;
          model.splice(place, 0, added);
        } else if (model.length > 0) {
          const [gone] = model.splice(command.removeAt % model.length, 1);
          if (gone !== undefined) line.remove("lane", gone);
        }
        expect(names(line, "lane", 1_000)).toEqual(model.map(({ callId }) => callId));
        for (const tenant of ["a", "b"]) expect(line.depth(tenant)).toBe(model.filter((one) => one.tenant === tenant).length);
      }
    }),
  );
});
