// Conformance: what calls used is added up by tenant, day, project and tool, to the last microsecond, and limits are kept by their keys.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Limit, UsageDelta, UsageQuery } from "../../packages/runtime/src/schedule/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { admitUnit, dayStart, sampleCall, sampleUsage, settleUnit } from "./ledger-rows.ts";

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const add = (fields: Partial<UsageDelta> = {}): Write => ({ op: "add_usage", row: sampleUsage(fields) });
const whole: UsageQuery = { tenant: "acme", groupBy: [] };

async function sums(ledger: Ledger, query: Partial<UsageQuery> = {}) {
  return (await ledger.usage({ ...whole, ...query }, 100)).items;
}

/** A row in short words: the names that it was grouped by, and its executions. */
async function counted(ledger: Ledger, query: Partial<UsageQuery>): Promise<string[]> {
  const rows = await sums(ledger, query);
  return rows.map(({ tenant, project, tool, day, executions }) =>
    [tenant, project, tool, day, executions].filter((word) => word !== undefined).join(" "),
  );
}

const nothing = {
  executions: 0,
  succeeded: 0,
  failed: 0,
  timedOut: 0,
  cancelled: 0,
  denied: 0,
  cacheHits: 0,
  durationUs: 0,
  cpuUs: 0,
  peakMemoryBytes: 0,
  egressBytes: 0,
  inputBytes: 0,
  outputBytes: 0,
};

export function usageCases(ledgerCase: LedgerCase): void {
  ledgerCase("every field is added up, but for the peak, of which the largest stays", async ({ ledger, reopen }) => {
    expect(await sums(ledger)).toEqual([nothing]);
    await commit(ledger, add({ cpuUs: 7, peakMemoryBytes: 500, egressBytes: 1, cacheHits: 1 }));
    await commit(
      ledger,
      add({ executions: 1, succeeded: 0, failed: 1, durationUs: 1, peakMemoryBytes: 900, outputBytes: 0 }),
      add({ executions: 0, succeeded: 0, denied: 1, durationUs: 0, peakMemoryBytes: 20, inputBytes: 0, outputBytes: 0 }),
    );
    await commit(ledger, add({ succeeded: 0, timedOut: 1 }), add({ succeeded: 0, cancelled: 1 }));
    expect(await sums(await reopen())).toEqual([
      {
        executions: 4,
        succeeded: 1,
        failed: 1,
        timedOut: 1,
        cancelled: 1,
        denied: 1,
        cacheHits: 1,
        durationUs: 6_001,
        cpuUs: 7,
        peakMemoryBytes: 900,
        egressBytes: 1,
        inputBytes: 116,
        outputBytes: 39,
      },
    ]);
  });

  ledgerCase("units that are written together add up once each, and to their own rows", async ({ ledger }) => {
    const units = Array.from({ length: 300 }, (_, at) => ({
      writes: [add({ tool: at % 3 === 0 ? "a" : "b", tenant: at % 5 === 0 ? "globex" : "acme", cpuUs: at })],
    }));
    await Promise.all(units.map((unit) => ledger.commit(unit)));
    expect(await counted(ledger, { tenant: null, groupBy: ["tenant", "tool"] })).toEqual([
      "acme a 80",
      "acme b 160",
      "globex a 20",
      "globex b 40",
    ]);
    // 0 + 1 + … + 299
    expect((await sums(ledger, { tenant: null }))[0]?.cpuUs).toBe(44_850);
  });

  ledgerCase("a unit that is refused or that contradicts itself adds nothing, and takes nothing from the others", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    const faulty: Write = { op: "end_attempt", row: null as never };
    const outcomes = await Promise.allSettled([
      commit(ledger, add({ tool: "first" })),
      commit(ledger, add({ tool: "faulty" }), faulty),
      commit(ledger, { op: "insert_call", row: call }, add({ tool: "refused" })),
      commit(ledger, add({ tool: "last" })),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled", "fulfilled"]);
    expect(await counted(ledger, { groupBy: ["tool"] })).toEqual(["first 1", "last 1"]);
  });

  ledgerCase("the sum and the end of a call are one: a settle that loses its guard is not counted", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    const outcomes = await Promise.all([ledger.commit(settleUnit(call)), ledger.commit(settleUnit(call))]);
    expect(outcomes.map(({ applied }) => applied)).toEqual([true, false]);
    expect((await sums(ledger))[0]).toMatchObject({ executions: 1, succeeded: 1 });
  });

  ledgerCase("usage is asked for by tenant, project, tool and days, and grouped by any of them", async ({ ledger }) => {
    for (const [day, project, tool] of [
      ["2026-01-01", "shop", "pay"],
      ["2026-01-02", "shop", "pay"],
      ["2026-01-02", "shop", "ship"],
      ["2026-01-03", "back", "pay"],
      ["2026-02-01", "shop", "pay"],
    ] as const)
      await commit(ledger, add({ day, project, tool }), add({ day, project, tool }));
    await commit(ledger, add({ tenant: "globex", day: "2026-01-02" }));
    expect(await counted(ledger, { groupBy: ["day"] })).toEqual(["2026-01-01 2", "2026-01-02 4", "2026-01-03 2", "2026-02-01 2"]);
    expect(await counted(ledger, { groupBy: ["project", "tool"] })).toEqual(["back pay 2", "shop pay 6", "shop ship 2"]);
    expect(await counted(ledger, { from: "2026-01-02", to: "2026-01-03", groupBy: ["tool"] })).toEqual(["pay 4", "ship 2"]);
    expect(await counted(ledger, { project: "shop", tool: "pay", groupBy: ["day"], to: "2026-01-31" })).toEqual([
      "2026-01-01 2",
      "2026-01-02 2",
    ]);
    expect(await counted(ledger, { tenant: null, groupBy: ["tenant"] })).toEqual(["acme 10", "globex 1"]);
    expect(await counted(ledger, { tenant: "initech", groupBy: ["day"] })).toEqual([]);
  });

  ledgerCase("pages go on behind their last row", async ({ ledger }) => {
    for (const tool of ["a", "b", "c", "d", "e"]) await commit(ledger, add({ tool }), add({ tool, day: "2026-01-02" }));
    const query = { ...whole, groupBy: ["tool", "day"] as const };
    const seen: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ledger.usage(query, 4, cursor);
      seen.push(...page.items.map(({ tool, day }) => `${tool}${day?.slice(-1)}`));
      cursor = page.next;
    } while (cursor !== undefined);
    expect(seen).toEqual(["a1", "a2", "b1", "b2", "c1", "c2", "d1", "d2", "e1", "e2"]);
  });

  ledgerCase("sums that grow out of all measure stop, and harm nobody", async ({ ledger }) => {
    const much = { durationUs: 2 ** 47, cpuUs: 2 ** 47 };
    for (let at = 0; at < 4; at++) await commit(ledger, ...Array.from({ length: 100 }, () => add(much)));
    await commit(ledger, add({ tool: "other", ...much }));
    const [all] = await sums(ledger);
    expect(all).toMatchObject({ executions: 401, cpuUs: 2 ** 50 + 2 ** 47 });
  });
}

export function limitCases(ledgerCase: LedgerCase): void {
  const limit = (fields: Partial<Limit> = {}): Limit => ({
    tenant: "acme",
    setBy: "tenant",
    scope: "tool",
    subject: "pay",
    rate: { perMinute: 300, burst: 50 },
    quotas: {},
    timeZone: null,
    changedAt: dayStart,
    changedBy: "user:ada",
    ...fields,
  });
  const put = (row: Limit): Write => ({ op: "put_limit", row });

  ledgerCase("a limit comes back as it was, and a second one of the same key takes its place", async ({ ledger, reopen }) => {
    const whole = limit({ scope: "tenant", subject: "", rate: null, quotas: { executionsPerDay: 3, queueDepth: 9 }, timeZone: "Europe/Paris" });
    await commit(ledger, put(limit()), put(whole));
    await commit(ledger, put(limit({ rate: { perMinute: 6, burst: 1 }, changedBy: "user:bo" })));
    expect(await (await reopen()).limits("acme")).toEqual([whole, limit({ rate: { perMinute: 6, burst: 1 }, changedBy: "user:bo" })]);
  });

  ledgerCase("what the operator set stands beside what the tenant set", async ({ ledger }) => {
    const rows = [
      limit({ setBy: "operator" }),
      limit(),
      limit({ subject: "*" }),
      limit({ tenant: "globex" }),
      limit({ tenant: "platform", setBy: "operator", scope: "platform", subject: "" }),
    ];
    await commit(ledger, ...rows.map(put));
    expect(await ledger.limits("acme")).toEqual([rows[0], rows[2], rows[1]]);
    expect((await ledger.limits()).map(({ tenant, setBy }) => `${tenant} ${setBy}`)).toEqual([
      "acme operator",
      "acme tenant",
      "acme tenant",
      "globex tenant",
      "platform operator",
    ]);
  });

  ledgerCase("one that is removed is gone, and one that is not there is refused", async ({ ledger }) => {
    const { tenant, setBy, scope, subject } = limit();
    const remove = (of: Partial<Limit>): Write => ({ op: "remove_limit", key: { tenant, setBy, scope, subject, ...of } });
    await commit(ledger, put(limit()), put(limit({ setBy: "operator" })));
    expect(await commit(ledger, remove({ subject: "ship" }))).toEqual({ applied: false, write: 0 });
    expect(await commit(ledger, remove({}))).toEqual({ applied: true });
    expect(await commit(ledger, remove({}))).toEqual({ applied: false, write: 0 });
    expect(await ledger.limits()).toEqual([limit({ setBy: "operator" })]);
  });
}
