// Conformance: the fair line by its vectors, with one slot: tenants by weight, classes within a bounded lead, ageing.
import { expect } from "vitest";
import type { Call, Priority } from "../../packages/runtime/src/call/types.ts";
import type { SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import { dayStart } from "./ledger-rows.ts";
import { beatOf, claimEach, claimOnce, idsOf, makeTenant, putInLine, queuedCall, type SharedCase } from "./shared-ledger-case.ts";

function backlog(tenant: string, count: number, priority: Priority = "interactive", from = 0): Call[] {
  return Array.from({ length: count }, (_, at) => queuedCall(`${tenant}${String(from + at).padStart(3, "0")}`, { tenant, priority }));
}

async function weigh(ledger: SharedLedger, weights: Readonly<Record<string, number>>): Promise<void> {
  for (const [tenant, weight] of Object.entries(weights)) await makeTenant(ledger, tenant, weight);
  await ledger.beat(beatOf("r1"));
}

const words = (calls: readonly Call[]): string => calls.map(({ tenant }) => tenant).join(" ");

export function fairCases(sharedCase: SharedCase): void {
  sharedCase("weights 5, 1 and 1, all with work to do", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 5, b: 1, c: 1 });
    await putInLine(ledger, ...backlog("a", 60), ...backlog("b", 15), ...backlog("c", 15));
    const picks = await claimEach(ledger, 70);
    expect(words(picks.slice(0, 14))).toBe("a b c a a a a a b c a a a a");
    expect(["a", "b", "c"].map((tenant) => picks.filter((call) => call.tenant === tenant).length)).toEqual([50, 10, 10]);
  });

  sharedCase("weights 2 and 1", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 2, b: 1 });
    await putInLine(ledger, ...backlog("b", 10), ...backlog("a", 10));
    expect(words(await claimEach(ledger, 12))).toBe("a b a a b a a b a a b a");
  });

  sharedCase("who was alone gets no less for it, and who comes later no more", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 1, b: 1 });
    await putInLine(ledger, ...backlog("a", 10));
    expect(words(await claimEach(ledger, 10))).toBe("a a a a a a a a a a");
    await putInLine(ledger, ...backlog("a", 5, "interactive", 10), ...backlog("b", 5));
    expect(words(await claimEach(ledger, 10))).toBe("b a b a b a b a b a");
  });

  sharedCase("a class is ahead of another by two dispatches and no more", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 1, b: 1 });
    await putInLine(ledger, ...backlog("b", 6, "batch"), ...backlog("a", 6, "interactive"));
    expect(words(await claimEach(ledger, 8))).toBe("a a a b a b a b");
  });

  sharedCase("a tenant's slot goes to its best call, and its tags stay the tenant's", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 1, b: 1 });
    const named = (callId: string, priority: Priority) => queuedCall(callId, { tenant: "a", priority });
    await putInLine(ledger, ...["B0", "B1", "B2"].map((callId) => named(callId, "batch")), named("I", "interactive"), named("N", "normal"));
    const before = await tagsOf(ledger);
    expect(before).toEqual([0, 1, 2, 3, 4]);
    expect(idsOf(await claimEach(ledger, 5))).toEqual(["I", "N", "B0", "B1", "B2"]);
    expect(await tagsOf(ledger)).toEqual(before);
  });

  sharedCase("of many slots at once the order is the same", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 5, b: 1, c: 1 });
    await putInLine(ledger, ...backlog("a", 20, "batch"), ...backlog("b", 15, "batch"), ...backlog("c", 15, "batch"), queuedCall("first", { tenant: "c" , priority: "interactive" }));
    const [whole] = [(await claimOnce(ledger, { limit: 14 })).calls];
    expect(words(whole)).toBe("a b c a a a a a b c a a a a");
    expect(whole.find(({ tenant }) => tenant === "c")?.callId).toBe("first");
  });

  sharedCase("what has waited a minute goes before a fresh call of a better class", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 1 });
    await putInLine(ledger, queuedCall("old", { tenant: "a", priority: "batch", enqueuedAt: dayStart - 60_000 }), queuedCall("new", { tenant: "a", priority: "normal" }));
    expect(idsOf((await claimOnce(ledger, { now: dayStart })).calls)).toEqual(["new"]);
    await ledger.release("r1", [{ tenant: "a", callId: "new" }]);
    await ledger.claimDue({ replica: "r1", now: dayStart, graceMs: 0, leasesToo: true, limit: 10 });
    expect(idsOf((await claimOnce(ledger, { now: dayStart })).calls)).toEqual(["old"]);
  });

  sharedCase("what has waited half a minute has come up one class, and no more", async (store) => {
    const ledger = await store.open("r1");
    await weigh(ledger, { a: 1 });
    const waited = { tenant: "a", enqueuedAt: dayStart - 30_000 };
    await putInLine(
      ledger,
      queuedCall("batch", { ...waited, priority: "batch" }),
      queuedCall("fresh", { tenant: "a", priority: "interactive" }),
      queuedCall("normal", { ...waited, priority: "normal" }),
    );
    for (let sweep = 0; sweep < 3; sweep += 1) await ledger.claimDue({ replica: "r1", now: dayStart, graceMs: 0, leasesToo: true, limit: 10 });
    expect(idsOf(await claimEach(ledger, 3, { now: dayStart }))).toEqual(["fresh", "normal", "batch"]);
  });

  sharedCase("two replicas that take turns keep one order", async (store) => {
    const [one, two] = [await store.open("r1"), await store.open("r2")];
    await weigh(one, { a: 2, b: 1 });
    await two.beat(beatOf("r2"));
    await putInLine(one, ...backlog("a", 5));
    await putInLine(two, ...backlog("b", 10), ...backlog("a", 5, "interactive", 5));
    const picks: Call[] = [];
    for (let turn = 0; turn < 12; turn += 1) picks.push(...(await claimOnce(turn % 2 === 0 ? one : two, { replica: `r${(turn % 2) + 1}` })).calls);
    expect(words(picks)).toBe("a b a a b a a b a a b a");
  });

  sharedCase("a restart forgets no tag", async (store) => {
    const one = await store.open("r1");
    await weigh(one, { a: 1, b: 1 });
    await putInLine(one, ...backlog("a", 4));
    await claimEach(one, 4);
    await one.close();
    const two = await store.open("r2");
    await two.beat(beatOf("r2"));
    await putInLine(two, ...backlog("b", 3), ...backlog("a", 3, "interactive", 4));
    expect(words(await claimEach(two, 6, { replica: "r2" }))).toBe("b a b a b a");
  });
}

/** Of all calls that are open, sorted. */
async function tagsOf(ledger: SharedLedger): Promise<number[]> {
  const tags: number[] = [];
  for await (const { startTag } of ledger.openCalls()) tags.push(startTag);
  return tags.sort((x, y) => x - y);
}
