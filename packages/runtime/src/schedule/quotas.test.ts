// Quotas of the day: what is counted on which day, and which quota breaks first.
import { describe, expect, test } from "vitest";
import { DayCounts } from "./day-counts.ts";
import { LimitBook } from "./limit-book.ts";
import { brokenQuota } from "./quotas.ts";
import type { Day, Limit, Quotas } from "./types.ts";

const day = (n: number, length = 1_000): Day => ({ label: `2026-01-0${n}`, from: n * 1_000, until: n * 1_000 + length });
const one = day(1);
const place = { tenant: "acme", project: "shop" };

function limit(quotas: Quotas, fields: Partial<Limit> = {}): Limit {
  return { tenant: "acme", setBy: "tenant", scope: "tenant", subject: "", rate: null, quotas, timeZone: null, changedAt: 0, changedBy: "", ...fields };
}

function bookOf(...limits: readonly Limit[]): LimitBook {
  const book = new LimitBook();
  for (const each of limits) book.put(each);
  return book;
}

describe("counts of a day", () => {
  test("are kept by project and for the whole tenant", () => {
    const counts = new DayCounts();
    counts.add("acme", "shop", one, { executions: 1 });
    counts.add("acme", "back", one, { executions: 2, cpuUs: 5 });
    counts.add("globex", "shop", one, { executions: 7 });
    expect(counts.ofTenant("acme", one)).toEqual({ executions: 3, cpuUs: 5, egressBytes: 0 });
    expect(counts.ofProject("acme", "shop", one)).toEqual({ executions: 1, cpuUs: 0, egressBytes: 0 });
    expect(counts.ofProject("acme", "elsewhere", one).executions).toBe(0);
  });

  test("end with it; what belongs to a day that is over counts nowhere", () => {
    const counts = new DayCounts();
    counts.add("acme", "shop", one, { executions: 3 });
    expect(counts.ofTenant("acme", day(2)).executions).toBe(0);
    counts.add("acme", "shop", day(2), { executions: 1 });
    counts.add("acme", "shop", one, { executions: 9, cpuUs: 9 });
    expect([counts.ofTenant("acme", day(2)), counts.ofTenant("acme", one).executions]).toEqual([{ executions: 1, cpuUs: 0, egressBytes: 0 }, 0]);
  });

  test("what is given back is no more than what was there", () => {
    const counts = new DayCounts();
    counts.add("acme", "shop", one, { executions: -1 });
    counts.add("acme", "shop", one, { executions: 1 });
    expect(counts.ofTenant("acme", one).executions).toBe(1);
    counts.forget("acme");
    expect(counts.ofTenant("acme", one).executions).toBe(0);
  });
});

describe("a quota of the day", () => {
  test("lets in as many calls as it says, and the next one on the next day", () => {
    const [book, counts] = [bookOf(limit({ executionsPerDay: 3 })), new DayCounts()];
    for (let n = 0; n < 3; n++) {
      expect(brokenQuota(book, counts, place, one)).toBeUndefined();
      counts.add("acme", "shop", one, { executions: 1 });
    }
    expect(brokenQuota(book, counts, place, one)).toMatchObject({ name: "executionsPerDay", used: 3, quota: { max: 3, scope: "tenant", subject: "" } });
    expect(brokenQuota(book, counts, place, day(2))).toBeUndefined();
  });

  test("of CPU time and of bytes lets nobody in once it is used up", () => {
    const [book, counts] = [bookOf(limit({ cpuSecondsPerDay: 2, egressBytesPerDay: 10 })), new DayCounts()];
    counts.add("acme", "shop", one, { cpuUs: 1_999_999, egressBytes: 9 });
    expect(brokenQuota(book, counts, place, one)).toBeUndefined();
    counts.add("acme", "shop", one, { egressBytes: 1 });
    expect(brokenQuota(book, counts, place, one)).toMatchObject({ name: "egressBytesPerDay", used: 10 });
    counts.add("acme", "shop", one, { cpuUs: 500_001 });
    expect(brokenQuota(book, counts, place, one)).toMatchObject({ name: "cpuSecondsPerDay", used: 2.5 });
  });

  test("of a project is its own; of each project each has one", () => {
    const book = bookOf(limit({ executionsPerDay: 2 }, { scope: "project", subject: "*" }));
    const counts = new DayCounts();
    counts.add("acme", "shop", one, { executions: 2 });
    expect(brokenQuota(book, counts, place, one)).toMatchObject({ quota: { scope: "project", subject: "shop" } });
    expect(brokenQuota(book, counts, { ...place, project: "back" }, one)).toBeUndefined();
    expect(brokenQuota(book, counts, { ...place, tenant: "globex" }, one)).toBeUndefined();
  });

  test("by the operator and one by the tenant both hold", () => {
    const counts = new DayCounts();
    counts.add("acme", "shop", one, { executions: 4 });
    const operators = limit({ executionsPerDay: 4 }, { setBy: "operator" });
    expect(brokenQuota(bookOf(operators, limit({ executionsPerDay: 9 })), counts, place, one)).toMatchObject({ quota: { max: 4 } });
    expect(brokenQuota(bookOf(operators, limit({ executionsPerDay: 3 })), counts, place, one)).toMatchObject({ quota: { max: 4 } });
    expect(brokenQuota(bookOf(limit({ executionsPerDay: 5 })), counts, place, one)).toBeUndefined();
  });
});
