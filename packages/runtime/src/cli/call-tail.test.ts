// Following all calls against scripted answers: every call once, every end once, whatever happens between and within looks.
import { createClient } from "@signalbox/client";
import { expect, test } from "vitest";
import { CallTail, type TailQuery } from "./call-tail.ts";

interface Row {
  readonly execution_id: string;
  readonly tool: string;
  status: string;
  readonly created_at: string;
  settled_at: string | null;
}

const open = ["awaiting_approval", "queued", "dispatched", "running", "indeterminate"];
const start = Date.UTC(2026, 0, 31, 12);

/** Answers as the runtime's list and record do, over rows that a test changes. */
function scripted() {
  const rows: Row[] = [];
  const asked: string[] = [];
  /** Called before each answer. */
  let before = (_line: string): void => {};
  let broken = 0;
  const client = createClient({
    url: "http://runtime.test",
    retry: { attemptsMax: 1 },
    fetch: async (input) => {
      const url = new URL(input as string);
      asked.push(url.pathname + url.search);
      before(url.pathname + url.search);
      if (broken > 0) {
        broken -= 1;
        return new Response('{"error":{"code":"draining","message":"stopping","retryable":true}}', { status: 503 });
      }
      const id = /executions\/(.+)$/.exec(url.pathname)?.[1];
      if (id !== undefined) {
        const row = rows.find(({ execution_id: one }) => one === id);
        if (row !== undefined) return Response.json({ ...row, attempts: [], late_results: [], decision: {} });
        return Response.json({ error: { code: "execution_not_found", message: "none" } }, { status: 404 });
      }
      return Response.json(listed(rows, url.searchParams));
    },
  });
  return {
    client,
    rows,
    asked,
    beforeEach: (call: (line: string) => void) => void (before = call),
    breakNext: (count: number) => void (broken = count),
    admit: (id: string, ms: number, status = "running", tool = "pay") => {
      const ended = open.includes(status) ? null : new Date(start + ms).toISOString();
      rows.push({ execution_id: id, tool, status, created_at: new Date(start + ms).toISOString(), settled_at: ended });
    },
    end(id: string, status = "succeeded") {
      const row = rows.find(({ execution_id: one }) => one === id);
      if (row === undefined) throw new Error(`no ${id}`);
      row.status = status;
      if (!open.includes(status)) row.settled_at = new Date(start).toISOString();
    },
  };
}

function listed(rows: readonly Row[], query: URLSearchParams) {
  const [status, tool, from, cursor] = ["status", "tool", "from", "cursor"].map((name) => query.get(name));
  const limit = Number(query.get("limit") ?? 25);
  const key = (row: Row): string => `${row.created_at} ${row.execution_id}`;
  const fitting = rows
    .filter((row) => status === null || row.status === status)
    .filter((row) => tool === null || row.tool === tool)
    .filter((row) => from === null || from === undefined || row.created_at >= from)
    .filter((row) => cursor === null || cursor === undefined || key(row) < cursor)
    .toSorted((a, b) => (key(a) < key(b) ? 1 : -1));
  const items = fitting.slice(0, limit);
  const last = items.at(-1);
  return { items, next_cursor: fitting.length > limit && last !== undefined ? key(last) : null };
}

async function tailOf(runtime: ReturnType<typeof scripted>, count = 10, query: TailQuery = {}) {
  const tail = new CallTail(runtime.client, query);
  const words = (calls: readonly { execution_id: string; status: string }[]): string[] =>
    calls.map(({ execution_id: id, status }) => `${id} ${status}`);
  const first = words(await tail.begin(count, {}));
  return { first, look: async () => words(await tail.look({})) };
}

test("the last calls first, then each as it comes and as it ends", async () => {
  const runtime = scripted();
  for (const n of [1, 2, 3]) runtime.admit(`exec_${n}`, n * 1_000, n === 2 ? "running" : "succeeded");
  const { first, look } = await tailOf(runtime, 2);
  expect(first).toEqual(["exec_2 running", "exec_3 succeeded"]);
  expect(await look()).toEqual([]);
  runtime.admit("exec_4", 4_000, "queued");
  runtime.admit("exec_5", 5_000, "succeeded");
  expect(await look()).toEqual(["exec_4 queued", "exec_5 succeeded"]);
  runtime.end("exec_2");
  runtime.end("exec_4", "running");
  expect(await look()).toEqual(["exec_2 succeeded"]);
  runtime.end("exec_4", "failed");
  expect(await look()).toEqual(["exec_4 failed"]);
  expect(await look()).toEqual([]);
});

test("the end of a call that was open long before is told, though its beginning is not", async () => {
  const runtime = scripted();
  runtime.admit("exec_old", -3_600_000, "awaiting_approval");
  for (let n = 0; n < 120; n++) runtime.admit(`exec_${n}`, n, "succeeded");
  const { first, look } = await tailOf(runtime, 0);
  expect([first, await look()]).toEqual([[], []]);
  runtime.end("exec_old");
  expect(await look()).toEqual(["exec_old succeeded"]);
});

test("a call that begins to wait for people is news, once", async () => {
  const runtime = scripted();
  runtime.admit("exec_1", 0, "running");
  const { look } = await tailOf(runtime);
  runtime.end("exec_1", "indeterminate");
  expect([await look(), await look()]).toEqual([["exec_1 indeterminate"], []]);
});

test("a burst of more than a page is told whole and in order", async () => {
  const runtime = scripted();
  const { look } = await tailOf(runtime);
  const ids = Array.from({ length: 350 }, (_, n) => `exec_${String(n).padStart(3, "0")}`);
  for (const [n, id] of ids.entries()) runtime.admit(id, n, "succeeded");
  expect(await look()).toEqual(ids.map((id) => `${id} succeeded`));
  expect(await look()).toEqual([]);
});

test("a call that shows up after a later one, within the slack, is not missed", async () => {
  const runtime = scripted();
  runtime.admit("exec_1", 0, "succeeded");
  const { look } = await tailOf(runtime);
  runtime.admit("exec_3", 1_900, "succeeded");
  expect(await look()).toEqual(["exec_3 succeeded"]);
  runtime.admit("exec_2", 100, "succeeded");
  expect(await look()).toEqual(["exec_2 succeeded"]);
});

test("calls that come between the requests of one look are told by the next one", async () => {
  const runtime = scripted();
  runtime.admit("exec_1", 0, "running");
  let count = 0;
  runtime.beforeEach(() => {
    count += 1;
    if (count < 8) runtime.admit(`exec_late_${count}`, 1_000 + count, "succeeded");
  });
  const { first, look } = await tailOf(runtime, 1);
  const told = [...first, ...(await look()), ...(await look())];
  const late = [1, 2, 3, 4, 5, 6, 7].map((n) => `exec_late_${n} succeeded`);
  expect(told.toSorted()).toEqual([...late].toSorted());
});

test("a look that broke off halfway is made again, and nothing is lost or told twice", async () => {
  const runtime = scripted();
  runtime.admit("exec_1", 0, "running");
  runtime.admit("exec_2", 1, "running");
  const { look } = await tailOf(runtime);
  runtime.end("exec_1");
  runtime.end("exec_2");
  runtime.admit("exec_3", 2, "succeeded");
  // The list still answers, then the runtime goes away.
  runtime.beforeEach((line) => {
    if (line.endsWith("/exec_2")) runtime.breakNext(1);
  });
  await expect(look()).rejects.toMatchObject({ code: "draining" });
  runtime.beforeEach(() => undefined);
  expect((await look()).toSorted()).toEqual(["exec_1 succeeded", "exec_2 succeeded", "exec_3 succeeded"]);
  expect(await look()).toEqual([]);
});

test("of many open calls so many are asked after at a time, all in turn", async () => {
  const runtime = scripted();
  for (let n = 0; n < 120; n++) runtime.admit(`exec_${n}`, n, "running");
  const { look } = await tailOf(runtime, 0);
  for (let n = 0; n < 120; n++) runtime.end(`exec_${n}`);
  const counts = [(await look()).length, (await look()).length, (await look()).length, (await look()).length];
  expect(counts).toEqual([50, 50, 20, 0]);
});

test("a record that was removed is forgotten", async () => {
  const runtime = scripted();
  runtime.admit("exec_1", 0, "running");
  const { look } = await tailOf(runtime);
  runtime.rows.length = 0;
  const before = runtime.asked.length;
  expect([await look(), await look()]).toEqual([[], []]);
  expect(runtime.asked.slice(before).filter((line) => line.includes("/exec_1"))).toHaveLength(1);
});

test("the filters are the runtime's to hold", async () => {
  const runtime = scripted();
  runtime.admit("exec_1", 0, "running", "other");
  const { first, look } = await tailOf(runtime, 10, { tool: "pay" });
  runtime.admit("exec_2", 1_000, "succeeded", "other");
  runtime.admit("exec_3", 1_000, "succeeded", "pay");
  expect([first, await look()]).toEqual([[], ["exec_3 succeeded"]]);
  expect(runtime.asked.every((line) => line.includes("tool=pay"))).toBe(true);
});
