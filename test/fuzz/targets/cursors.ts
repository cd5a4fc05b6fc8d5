// Cursors of every list: own, foreign, of another list, spoilt or of chance: a page of the caller's own rows or invalid_input, never an error of ours.
import fc from "fast-check";
import { checkAnswer } from "../answer.ts";
import { House, type Heard } from "../house.ts";
import { spoiltText } from "../mutate.ts";
import { target } from "../target.ts";

interface Asked {
  readonly list: string;
  readonly cursor: string;
  readonly limit: number;
}

/** Every list, each with filters that change what a cursor of it holds. */
export const lists: readonly string[] = [
  "/v1/executions",
  "/v1/executions?tool=mirror&status=succeeded",
  "/v1/executions?principal=user:alice",
  "/v1/tools",
  "/v1/tools?search=m",
  "/v1/tools:pins",
  "/v1/tools:projects",
  "/v1/policies",
  "/v1/policies?status=active&name=ask-people",
  "/v1/policies:defaults",
  "/v1/approvals",
  "/v1/approvals?mine=true&status=pending",
  "/v1/freezes",
  "/v1/keys",
  "/v1/grants",
  "/v1/projects",
  "/v1/tenants",
  "/v1/limits",
  "/v1/usage",
  "/v1/usage?group_by=tool,day",
  "/v1/webhooks",
  "/v1/webhooks:deliveries",
  "/v1/agents",
  "/v1/sessions",
  "/v1/audit",
  "/v1/audit?principal=user:alice",
  "/v1/workers",
];

export const cursorsTarget = target<Asked>({
  name: "cursors",
  about: "cursors of every list",
  async open() {
    const house = await House.open();
    await fill(house);
    const given = [...(await cursorsOf(house, "alice")), ...(await cursorsOf(house, "bob"))];
    if (given.length < 10) throw new Error(`only ${given.length} cursors were given out`);
    const decoded = given.map((cursor) => Buffer.from(cursor, "base64url").toString());
    const made = spoiltText(decoded).map((text) => Buffer.from(text).toString("base64url"));
    const keys = fc.jsonValue({ maxDepth: 2 }).map((value) => Buffer.from(JSON.stringify(value)).toString("base64url"));
    return {
      inputs: fc.record({
        list: fc.constantFrom(...lists),
        cursor: fc.oneof(fc.constantFrom(...given), made, spoiltText(given), keys).map((cursor) => cursor.toWellFormed()),
        limit: fc.integer({ min: 1, max: 101 }),
      }),
      check: (asked) => check(house, asked),
      write: ({ list, cursor, limit }) => Buffer.from(`${list}\n${limit}\n${cursor}`),
      read(bytes) {
        const [list = "", limit = "", ...cursor] = Buffer.from(bytes).toString().split("\n");
        return { list, limit: Number(limit), cursor: cursor.join("\n") };
      },
      close: () => house.close(),
    };
  },
});

async function check(house: House, { list, cursor, limit }: Asked): Promise<void> {
  const heard = await page(house, list, "alice", limit, cursor);
  // A path that is longer than a head may be is refused before it is one.
  if (heard.status === 431) return;
  checkAnswer(house, heard);
  if (heard.text.includes('"tenant":"beta"')) throw new Error(`rows of another tenant: ${heard.text.slice(0, 400)}`);
  const { items, error } = JSON.parse(heard.text) as { readonly items?: readonly unknown[]; readonly error?: { readonly code: string } };
  if (heard.status === 200 ? items === undefined || items.length > limit : error?.code !== "invalid_input")
    throw new Error(`neither a page nor invalid_input: ${heard.status} ${heard.text.slice(0, 400)}`);
}

function page(house: House, list: string, as: string, limit: number, cursor?: string): Promise<Heard> {
  const given = cursor === undefined ? "" : `&cursor=${encodeURIComponent(cursor)}`;
  const path = `${list}${list.includes("?") ? "&" : "?"}limit=${limit}${given}`;
  return house.ask({ method: "GET", path, headers: {}, body: undefined }, as);
}

async function cursorsOf(house: House, as: string): Promise<readonly string[]> {
  const found: string[] = [];
  for (const list of lists) {
    const heard = await page(house, list, as, 1);
    const { next_cursor: next } = JSON.parse(heard.text) as { readonly next_cursor?: string | null };
    if (typeof next === "string") found.push(next);
  }
  return found;
}

/** At least two rows of everything, so that there is a second page. */
async function fill(house: House): Promise<void> {
  for (let n = 0; n < 4; n++) {
    await house.json("POST", "/v1/executions", { tool: "mirror", input: { n } });
    await house.json("POST", "/v1/executions", { tool: "asked", input: { n }, mode: "async" });
    await house.json("POST", "/v1/webhooks", { url: `http://127.0.0.1:9/${n}` });
    await house.json("POST", "/v1/grants", { subject: `user:g${n}`, permissions: ["tool:invoke:mirror"] });
    await house.json("POST", "/v1/keys", { label: `k${n}`, principal: `user:k${n}`, scopes: ["calls:read"] });
    await house.json("PUT", `/v1/projects/p${n}`, { environment: "staging" });
    await house.json("PUT", "/v1/limits", { scope: "project", subject: `p${n}`, rate: { per_minute: 60, burst: 10 } });
    const tool = ["mirror", "asked", "pay"][n];
    if (tool === undefined) continue;
    await house.json("POST", `/v1/tools/${tool}/pin`, { version: "1.0.0" });
    await house.json("POST", "/v1/freezes", { tool });
  }
}
