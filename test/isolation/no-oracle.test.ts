// No id of another tenant can be told from one that nobody has: for every place at which something can be named, the same bytes,
// the same headers and the same work. A new field that names something fails here until it has its row.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { routeTable, writtenPath } from "../../packages/runtime/src/adapters/http/routes/table.ts";
import type { Heard } from "./oracle/asking.ts";
import { harmless, rows, type Row } from "./oracle/rows.ts";
import { buildWorld, type Ids, type World } from "./oracle/world.ts";

let world: World;
beforeAll(async () => {
  world = await buildWorld();
});
afterAll(() => world.close());

const guarded = routeTable.flatMap((route) => (route.scope === null ? [] : [route]));
/** In the notation of the rows. */
const nameOf = (route: (typeof guarded)[number]): string => `${route.method} ${writtenPath(route)}`;

/** Every field by which a request to this route can say something. */
function fieldsOf({ path, body, operation }: (typeof guarded)[number]): readonly string[] {
  const params = [...path.matchAll(/\/:([a-z]+)/g)].map(([, name]) => name ?? "");
  const query = Object.keys(operation.query?.shape ?? {});
  if (body === "manifest") return [...params, ...query, "document"];
  if (body === "stream") return [...params, ...query, "content"];
  const shape = (operation.bodySchema as { readonly shape?: object } | undefined)?.shape ?? {};
  return [...params, ...query, ...Object.keys(shape)];
}

test("every field that names something has a row, and every row a field", () => {
  const covered = (route: string): ReadonlySet<string> =>
    new Set(rows.filter((row) => row.route === route).flatMap(({ fields }) => fields));
  const missing = guarded.flatMap((route) =>
    fieldsOf(route)
      // Cursors are asked for of every list, below.
      .filter((field) => !harmless.has(field) && field !== "cursor" && !covered(nameOf(route)).has(field))
      .map((field) => `${nameOf(route)}: ${field}`),
  );
  expect(missing).toEqual([]);
  const fields = new Map(guarded.map((route) => [nameOf(route), new Set(fieldsOf(route))]));
  const stray = rows.flatMap(({ route, fields: of }) =>
    of.filter((field) => fields.get(route)?.has(field) !== true).map((field) => `${route}: ${field}`),
  );
  expect(stray).toEqual([]);
});

/** What the asker cannot have of its own. */
const ownersOnly = (): readonly (readonly [string, string])[] =>
  Object.entries(world.owner as unknown as Readonly<Record<string, string>>).filter(
    ([kind]) => !["ownName", "content", "idempotencyKey"].includes(kind),
  );

/** The name that was asked for, and what the runtime makes up for every answer, put out of sight. */
function evened(text: string, ids: Ids): string {
  let even = text;
  for (const id of Object.values(ids) as readonly string[]) {
    even = even.replaceAll(id, "<name>");
    const quoted = JSON.stringify(id).slice(1, -1);
    even = even.replaceAll(quoted, "<name>").replaceAll(JSON.stringify(quoted).slice(1, -1), "<name>");
  }
  return even
    .replace(/\b(exec|dec|key|apr|grant|whk|agv|sess)_[0-9A-HJKMNP-TV-Z]{26}/g, "$1_…")
    .replace(/\bsbk_[\w-]{70}/g, "sbk_…")
    .replace(/\bwhsec_[\w+/=]+/g, "whsec_…")
    .replace(/v1\.[\w-]{40,}/g, "sealed")
    .replace(/\b[0-9a-f]{64}\b/g, "<hash>")
    .replace(/"(startTag|spentMicros)":[\d.]+/g, '"$1":0')
    .replace(/"spent_micros":\d+/g, '"spent_micros":0');
}

interface Tried {
  readonly heard: Heard;
  readonly work: readonly string[];
  /** Looks at the owner's things: its name where a tenant's stands, whatever was asked. */
  readonly trespasses: readonly string[];
}

const ofOwner = /^(?:ledger|store)\.\w+ \["acm2"|"tenant":"acm2"/;

async function both(row: Pick<Row, "ask">): Promise<readonly Tried[]> {
  const found: Tried[] = [];
  await world.asks(row.ask(world.spare));
  for (const ids of [world.owner, world.nobody]) {
    world.works.take();
    const { status, headers, text } = await world.asks(row.ask(ids));
    const work = world.works.take();
    found.push({
      heard: { status, text: evened(text, ids), headers: headers.map((one) => evened(one, ids)) },
      work: work.map((one) => evened(one, ids)),
      trespasses: work.filter((one) => ofOwner.test(one)),
    });
  }
  return found;
}

describe("API-14, report 218: another tenant's, and nobody's", () => {
  const named = rows.map((row) => [`${row.route} ${row.fields.join(", ")}`, row] as const);
  test.each(named)("%s", async (_, row) => {
    const [foreign, unknown] = await both(row);
    expect(foreign?.heard.status).toBe(row.status);
    expect(foreign?.heard).toEqual(unknown?.heard);
    expect(foreign?.work).toEqual(unknown?.work);
    expect(foreign?.trespasses).toEqual([]);
  });
});

describe("cursors", () => {
  const lists = guarded.filter((route) => route.operation.query?.shape["cursor"] !== undefined).map(writtenPath);
  /** The same place in any list, and no cursor that was ever given out. */
  const altered = (cursor: string): string => `${cursor}!`;

  test.each(lists.filter((path) => !path.includes("/:") && path !== "/v1/tenants"))(
    "of another tenant's %s lead nowhere",
    async (path) => {
      const cursor = world.cursors.get(path);
      if (cursor === undefined) throw new Error("the owner has no second page here: give it more in the world");
      const ask = (which: string) =>
        world.asks({ method: "GET", path: `${path}?limit=100&cursor=${encodeURIComponent(which)}` });
      world.works.take();
      const foreign = await ask(cursor);
      const foreignWork = world.works.take();
      const unknown = await ask(altered(cursor));
      expect(foreign).toEqual(unknown);
      expect(foreignWork.filter((one) => ofOwner.test(one))).toEqual([]);
      for (const [, name] of ownersOnly()) expect(foreign.text).not.toContain(name);
    },
  );

  test("lists that the ledger pages refuse them as they refuse any text", async () => {
    for (const path of [
      "/v1/executions",
      "/v1/tools",
      "/v1/policies",
      "/v1/approvals",
      "/v1/audit",
      "/v1/webhooks:deliveries",
      "/v1/usage",
    ]) {
      const { status, text } = await world.asks({ method: "GET", path: `${path}?cursor=${world.cursors.get(path)}` });
      expect([path, status]).toEqual([path, 400]);
      expect(text).toContain("the cursor is not one that this list gave out");
      expect((await world.asOwner({ method: "GET", path: `${path}?cursor=${world.cursors.get(path)}` })).status).toBe(
        200,
      );
    }
  });
});

test("what the other tenant has is in no list of one's own", async () => {
  const names = ownersOnly();
  for (const path of guarded.filter((route) => route.method === "GET").map(writtenPath)) {
    if (path.includes("/:")) continue;
    const { status, text } = await world.asks({ method: "GET", path });
    expect([path, status]).toEqual([path, 200]);
    for (const [kind, name] of names)
      expect({ path, kind, there: text.includes(name) }).toEqual({ path, kind, there: false });
    for (const worker of ["w-one", "w-two"]) expect(text).not.toContain(worker);
  }
});

test("near names come from one's own tools alone", async () => {
  for (const tool of ["charge-card", "ship-parcels", "mina"]) {
    const { text } = await world.asks({ method: "POST", path: "/v1/executions", body: { tool, input: {} } });
    expect(text.match(/"did_you_mean":\[[^\]]*\]/)?.[0]).toBe(tool === "mina" ? '"did_you_mean":["mine"]' : undefined);
  }
});
