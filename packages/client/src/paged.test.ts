// Lists in pages: one for who awaits, all of them for who loops, and no request too many.
import { expect, test } from "vitest";
import { createClient } from "./client.ts";

/** A client whose requests are answered by their path and query. */
function answering(answers: Readonly<Record<string, unknown>>) {
  const seen: string[] = [];
  const client = createClient({
    url: "http://runtime.test",
    retry: { attemptsMax: 1 },
    fetch: async (input) => {
      const place = (input as string).slice("http://runtime.test".length);
      seen.push(place);
      const answer = answers[place];
      const status = answer === undefined ? 404 : 200;
      return new Response(JSON.stringify(answer ?? { error: { code: "route_not_found" } }), { status });
    },
  });
  return { client, seen };
}

const page = (ids: readonly string[], next: string | null) => ({
  items: ids.map((id) => ({ execution_id: id })),
  next_cursor: next,
});

const threePages = {
  "/v1/executions?tool=echo&limit=2": page(["a", "b"], "c1"),
  "/v1/executions?tool=echo&limit=2&cursor=c1": page([], "c2"),
  "/v1/executions?tool=echo&limit=2&cursor=c2": page(["c"], null),
};

test("a loop gets every item in order, over an empty page too, and asks for each page once", async () => {
  const { client, seen } = answering(threePages);
  const ids: string[] = [];
  for await (const call of client.list({ tool: "echo", limit: 2 })) ids.push(call.execution_id);
  expect(ids).toEqual(["a", "b", "c"]);
  expect(seen).toEqual(Object.keys(threePages));
});

test("awaited, it is one page and one request; a loop that is left asks for no further page", async () => {
  const { client, seen } = answering(threePages);
  expect(await client.list({ tool: "echo", limit: 2 })).toEqual(page(["a", "b"], "c1"));
  for await (const call of client.list({ tool: "echo", limit: 2 })) if (call.execution_id === "b") break;
  expect(seen).toEqual(Array.from({ length: 2 }, () => "/v1/executions?tool=echo&limit=2"));
});

test("a page that fails ends the loop with its error, the first and a later one", async () => {
  const [, second] = Object.keys(threePages);
  const { client } = answering({ ...threePages, [second ?? ""]: undefined });
  const ids: string[] = [];
  const all = async (): Promise<void> => {
    for await (const call of client.list({ tool: "echo", limit: 2 })) ids.push(call.execution_id);
  };
  await expect(all()).rejects.toMatchObject({ code: "route_not_found" });
  expect(ids).toEqual(["a", "b"]);
  await expect(client.keys.list()[Symbol.asyncIterator]().next()).rejects.toMatchObject({ httpStatus: 404 });
});

test("events are paged by their numbers", async () => {
  const { client } = answering({
    "/v1/executions/exec_1/events?after_seq=3": { items: [{ seq: 4 }, { seq: 5 }], next_after_seq: 5 },
    "/v1/executions/exec_1/events?after_seq=5": { items: [{ seq: 6 }], next_after_seq: null },
  });
  const seqs: number[] = [];
  for await (const event of client.events("exec_1", { after_seq: 3 })) seqs.push(event.seq);
  expect(seqs).toEqual([4, 5, 6]);
});

test.each([
  ["/v1/executions", "list"],
  ["/v1/tools", "tools.list"],
  ["/v1/tools:pins", "tools.pins"],
  ["/v1/tools:projects", "tools.projectStates"],
  ["/v1/keys", "keys.list"],
  ["/v1/grants", "grants.list"],
  ["/v1/audit", "audit.list"],
  ["/v1/workers", "workers.list"],
  ["/v1/policies", "policies.list"],
  ["/v1/policies:defaults", "policies.defaults"],
  ["/v1/approvals", "approvals.list"],
  ["/v1/projects", "projects.list"],
  ["/v1/freezes", "freezes.list"],
  ["/v1/webhooks", "webhooks.list"],
  ["/v1/webhooks:deliveries", "webhooks.deliveries"],
])("%s is looped over by %s", async (path, method) => {
  const { client } = answering({ [path]: page(["a"], "x"), [`${path}?cursor=x`]: page(["b"], null) });
  const list = method.split(".").reduce<unknown>((at, name) => (at as Record<string, unknown>)[name], client);
  const ids: unknown[] = [];
  for await (const item of (list as () => AsyncIterable<{ execution_id: string }>)()) ids.push(item.execution_id);
  expect(ids).toEqual(["a", "b"]);
});
