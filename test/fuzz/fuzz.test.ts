// Every target for a few seconds: its corpus, then inputs of chance from a seed that is always the same. Longer: npm run fuzz.
import { setImmediate } from "node:timers/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { routeTable, writtenPath } from "../../packages/runtime/src/adapters/http/routes/table.ts";
import { readCorpus } from "./corpus.ts";
import { seeds } from "./requests.ts";
import { fuzz, target, type Target } from "./target.ts";
import { targets } from "./targets.ts";
import { lists } from "./targets/cursors.ts";

const seed = 20_260_401;
const msMax = 3_000;

test.each(targets)(
  `$name: $about, from seed ${seed}`,
  async (target) => {
    const { found, replayed, runs } = await fuzz(target, { seed, msMax });
    const input = found === undefined ? "" : found.input instanceof Uint8Array ? Buffer.from(found.input).toString("base64") : found.input.name;
    expect(found?.why, `npm run fuzz -- --target ${target.name} --seed ${seed}; the input: ${input}`).toBeUndefined();
    expect([replayed > 5, runs > 5]).toEqual([true, true]);
  },
  60_000,
);

describe("what goes wrong is found", () => {
  const breaking = (check: (input: string) => Promise<void>): Target =>
    target<string>({
      name: "none",
      about: "a target that goes wrong",
      open: async () => ({
        inputs: fc.constant("it"),
        check,
        write: (input) => Buffer.from(input),
        read: (bytes) => Buffer.from(bytes).toString(),
        close: async () => undefined,
      }),
    });
  const foundBy = async (check: (input: string) => Promise<void>) => (await fuzz(breaking(check), { seed, msMax: 50, hangsMs: 200 })).found;

  test("a rule that is broken", async () => {
    const found = await foundBy(() => Promise.reject(new Error("broken")));
    expect(found).toEqual({ why: expect.stringContaining("broken"), input: Buffer.from("it") });
  });

  test("a check that never ends, also where the time is over before", async () => {
    const found = await foundBy(() => new Promise(() => undefined));
    expect(found).toEqual({ why: expect.stringContaining("hangs: nothing came of it in 200 ms"), input: Buffer.from("it") });
  });

  test("a rejection that nobody hears", async () => {
    const found = await foundBy(async () => {
      void Promise.reject(new Error("unheard"));
      await setImmediate();
    });
    expect(found?.why).toContain("an unhandled rejection: Error: unheard");
  });
});

describe("nothing is left out", () => {
  test("every target has a corpus", async () => {
    for (const { name } of targets) expect((await readCorpus(name)).length, name).toBeGreaterThan(5);
  });

  test("every route has a request that is spoilt", () => {
    const asked = seeds.map(({ method, path }) => `${method} ${path}`);
    const unasked = routeTable.filter((route) => {
      const parts = writtenPath(route).split("/").map((part) => (part.startsWith(":") ? "[^/]+" : part.replaceAll(".", "\\.")));
      const pattern = new RegExp(`^${route.method} ${parts.join("/")}$`);
      return !asked.some((one) => pattern.test(one));
    });
    expect(unasked.map((route) => `${route.method} ${writtenPath(route)}`)).toEqual([]);
  });

  test("every list that gives out cursors is asked with all kinds of them", () => {
    const paths = lists.map((path) => path.split("?", 1)[0]);
    const withCursors = routeTable.filter((route) => "cursor" in (route.operation?.query?.shape ?? {})).map((route) => writtenPath(route));
    // The versions of an agent are handed over whole, so their cursor is a place; the operator's own list of a tenant's keys is the list of keys, for another tenant.
    expect(withCursors.filter((path) => !paths.includes(path))).toEqual(["/v1/agents/:name/versions", "/v1/tenants/:tenant/keys"]);
  });
});
