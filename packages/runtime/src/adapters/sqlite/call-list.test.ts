// The list of calls where few of many match: in order, each call once, and no turn without end.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { dayStart, sampleCall } from "../../../../../test/conformance/ledger-rows.ts";
import type { Call } from "../../call/types.ts";
import type { CallFilter } from "../../ledger/port.ts";
import { callLister } from "./call-list.ts";
import { SqliteLedger } from "./ledger.ts";
import { openDatabase } from "./open.ts";
import { statementCache } from "./reads.ts";

/** Two calls share each instant; by number, the oldest first. A turn looks at 250 of them. */
const calls = 3_500;
/** The newest, the last of a turn, the first of the next, two of one instant, and the oldest. */
const rare = [3_499, 2_500, 2_499, 1_001, 1_000, 0];
const name = (number: number): string => `c${String(number).padStart(4, "0")}`;
const instant = (number: number): number => dayStart + Math.floor(number / 2);

let folder = "";
let ledger: SqliteLedger;
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "signalbox-call-list-"));
  ledger = new SqliteLedger({ path: join(folder, "ledger.db"), auditKey: Buffer.alloc(32, 1), lane: "r1", now: Date.now });
  const row = (number: number): Call => {
    const base = sampleCall({ callId: name(number), admittedAt: instant(number), state: number % 2 === 0 ? "failed" : "succeeded" });
    return rare.includes(number) ? { ...base, tool: "orders.rare", principal: "user:rare", project: "rare" } : base;
  };
  await Promise.all(
    Array.from({ length: calls }, (_, number) => ledger.commit({ writes: [{ op: "insert_call", row: row(number) }] })),
  );
});
afterAll(async () => {
  await ledger.close();
  rmSync(folder, { recursive: true });
});

async function walked(filter: Omit<CallFilter, "tenant">, limit: number): Promise<number[]> {
  const seen: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await ledger.listCalls({ tenant: "acme", ...filter }, limit, cursor);
    expect(page.items.length).toBeLessThanOrEqual(limit);
    seen.push(...page.items.map(({ callId }) => Number(callId.slice(1))));
    cursor = page.next;
  } while (cursor !== undefined);
  return seen;
}

test("few of many are met once each, the newest first, whatever the size of a page", async () => {
  for (const limit of [1, 2, 5, 6, 100]) {
    expect(await walked({ tool: "orders.rare" }, limit)).toEqual([3_499, 2_500, 2_499, 1_001, 1_000, 0]);
    expect(await walked({ principal: "user:rare", project: "rare" }, limit)).toEqual([3_499, 2_500, 2_499, 1_001, 1_000, 0]);
    expect(await walked({ tool: "orders.rare", state: "succeeded" }, limit)).toEqual([3_499, 2_499, 1_001]);
    expect(await walked({ tool: "orders.rare", state: "failed" }, limit)).toEqual([2_500, 1_000, 0]);
  }
  expect(await walked({ tool: "orders.none" }, 10)).toEqual([]);
});

test("a time range begins with its first instant and ends before its last one, on every page", async () => {
  const between = { admittedFrom: instant(1_000), admittedTo: instant(2_500) };
  for (const limit of [1, 2, 100]) {
    expect(await walked({ tool: "orders.rare", ...between }, limit)).toEqual([2_499, 1_001, 1_000]);
    expect(await walked({ tool: "orders.rare", admittedTo: instant(1_000) }, limit)).toEqual([0]);
    expect(await walked({ tool: "orders.rare", admittedFrom: instant(2_500) }, limit)).toEqual([3_499, 2_500]);
  }
  expect(await walked({ admittedFrom: instant(3_496), admittedTo: instant(3_498) }, 1)).toEqual([3_497, 3_496]);
});

test("a cursor of another range leads no further than this one reaches", async () => {
  const { next } = await ledger.listCalls({ tenant: "acme" }, 1);
  const range = { admittedFrom: instant(10), admittedTo: instant(12) };
  const page = await ledger.listCalls({ tenant: "acme", ...range }, 10, next);
  expect(page.items.map(({ callId }) => callId)).toEqual(["c0011", "c0010"]);
});

test("others get their turns while a filter looks through the history", async () => {
  let turns = 0;
  let over = false;
  const others = (async () => {
    while (!over) {
      await setImmediate();
      turns++;
    }
  })();
  const found = await ledger.listCalls({ tenant: "acme", tool: "orders.none" }, 10);
  over = true;
  await others;
  expect(found.items).toEqual([]);
  // Fourteen turns look at 3500 calls; others come between them.
  expect(turns).toBeGreaterThanOrEqual(13);
});

test("a turn is searched for in the index at both of its ends, also where the list has a time range", async () => {
  const opened = openDatabase(join(folder, "plans", "ledger.db"), 1);
  const plans = new Set<string>();
  const prepare = statementCache(opened.db);
  const list = callLister((sql) => {
    const step = opened.db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all()[0]?.["detail"];
    plans.add(String(step));
    return prepare(sql);
  });
  const cursor = Buffer.from('[5,"c"]').toString("base64url");
  await list({ tenant: "acme", tool: "t", admittedFrom: 1, admittedTo: 9 }, 10, cursor);
  opened.close();
  expect([...plans]).toEqual([
    "SEARCH calls USING COVERING INDEX calls_by_time (tenant=? AND (admitted_at,call_id)>(?,?) AND (admitted_at,call_id)<(?,?))",
    "SEARCH calls USING INDEX calls_by_time (tenant=? AND (admitted_at,call_id)>(?,?) AND (admitted_at,call_id)<(?,?))",
  ]);
});
