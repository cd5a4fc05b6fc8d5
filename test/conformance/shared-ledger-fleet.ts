// Conformance: heartbeats, roles, the revision of rules, and wake-ups.
import { expect, vi } from "vitest";
import type { Write } from "../../packages/runtime/src/ledger/port.ts";
import type { SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import { samplePolicy } from "./ledger-governance-rows.ts";
import { dayStart, sampleGrant, sampleKey, sampleToolVersion } from "./ledger-rows.ts";
import { beatOf, claimOnce, echoLane, Ear, idsOf, makeTenant, putInLine, queuedCall, type SharedCase } from "./shared-ledger-case.ts";

const gone = -1;

async function governs(ledger: SharedLedger, writes: readonly Write[]): Promise<number> {
  const before = (await ledger.beat(beatOf("r1"))).revision;
  expect(await ledger.commit({ writes })).toEqual({ applied: true });
  return (await ledger.beat(beatOf("r1"))).revision - before;
}

/** Who has begun to listen is known by what it hears: what is sent before is lost. */
async function untilHeard(sender: SharedLedger, ...ears: readonly Ear[]): Promise<void> {
  await vi.waitFor(() => {
    sender.wake([{ type: "approvals" }]);
    for (const ear of ears) expect(ear.heard.map(({ type }) => type)).toContain("approvals");
  }, { timeout: 10_000, interval: 10 });
}

export function fleetCases(sharedCase: SharedCase): void {
  sharedCase("each that beats sees the others that live, by name", async (store) => {
    const [one, two] = [await store.open("r1"), await store.open("r2")];
    expect((await one.beat(beatOf("r1"))).peers).toEqual([{ replica: "r1", grpcAddress: "r1:7443", draining: false, lanes: [echoLane] }]);
    await two.beat({ ...beatOf("r2"), draining: true, lanes: [] });
    expect((await one.beat(beatOf("r1"))).peers.map(({ replica, draining }) => [replica, draining])).toEqual([
      ["r1", false],
      ["r2", true],
    ]);
    await two.beat(beatOf("r2", gone));
    expect((await one.beat(beatOf("r1"))).peers.map(({ replica }) => replica)).toEqual(["r1"]);
    await two.beat(beatOf("r2"));
    await one.leave("r2");
    expect((await one.beat(beatOf("r1"))).peers.map(({ replica }) => replica)).toEqual(["r1"]);
  });

  sharedCase("a beat tells the queued calls by tenant, and the store's clock", async (store) => {
    const ledger = await store.open("r1");
    const asked = Date.now();
    await putInLine(ledger, queuedCall("c1"), queuedCall("c2"), queuedCall("c3", { tenant: "globex" }), queuedCall("c4", { state: "dispatched" }));
    await claimOnce(ledger);
    const { queued, storeNow } = await ledger.beat(beatOf("r1"));
    expect(queued).toEqual({ acme: 2, globex: 1 });
    expect(Math.abs(storeNow - asked)).toBeLessThan(60_000);
  });

  sharedCase("a role is had by one that lives, and by the next when it lives no more", async (store) => {
    const [one, two] = [await store.open("r1"), await store.open("r2")];
    await one.beat(beatOf("r1"));
    await two.beat(beatOf("r2"));
    expect(await one.hold("sweep", "r1", 60_000)).toBe(true);
    expect(await two.hold("sweep", "r2", 60_000)).toBe(false);
    expect(await two.hold("webhooks", "r2", 60_000)).toBe(true);
    expect(await one.hold("sweep", "r1", 60_000)).toBe(true);
    await one.beat(beatOf("r1", gone));
    expect(await two.hold("sweep", "r2", gone)).toBe(true);
    await one.beat(beatOf("r1"));
    // Its time is over, though it lives.
    expect(await one.hold("sweep", "r1", 60_000)).toBe(true);
    await one.leave("r1");
    expect(await two.hold("sweep", "r2", 60_000)).toBe(true);
  });

  sharedCase("of many that ask for a role at once one has it", async (store) => {
    const ledgers = await Promise.all(["r1", "r2", "r3"].map((replica) => store.open(replica)));
    for (const [at, ledger] of ledgers.entries()) await ledger.beat(beatOf(`r${at + 1}`));
    const held = await Promise.all(ledgers.map((ledger, at) => ledger.hold("sweep", `r${at + 1}`, 60_000)));
    expect(held.filter(Boolean)).toHaveLength(1);
  });

  sharedCase("the revision grows with every change of what replicas keep in mind, and with nothing else", async (store) => {
    const ledger = await store.open("r1");
    const tenant = { tenant: "acme", weight: 1, createdAt: dayStart, suspendedAt: null, suspendedBy: null, suspendedReason: null };
    const freeze = { tenant: "acme", tool: "", reason: "audit", at: dayStart, by: "user:ada" };
    const limit = { tenant: "acme", setBy: "operator", scope: "tenant", subject: "" } as const;
    const changes: Write[] = [
      { op: "insert_tenant", row: tenant },
      { op: "update_tenant", row: { ...tenant, suspendedAt: dayStart, suspendedBy: "user:ada", suspendedReason: "unpaid" } },
      { op: "insert_key", row: sampleKey({ keyId: "key_1", hash: "h1" }) },
      { op: "revoke_key", tenant: "acme", keyId: "key_1", at: dayStart },
      { op: "insert_grant", row: sampleGrant({ grantId: "g1" }) },
      { op: "revoke_grant", tenant: "acme", grantId: "g1", at: dayStart },
      { op: "insert_tool_version", row: sampleToolVersion("1.0.0"), activate: true },
      { op: "put_freeze", row: freeze },
      { op: "lift_freeze", tenant: "acme", tool: "" },
      { op: "insert_policy", row: samplePolicy({ name: "reads" }) },
      { op: "put_policy_default", row: { tenant: "acme", project: "", decision: "deny", changedAt: dayStart, changedBy: "user:ada" } },
      { op: "put_limit", row: { ...limit, rate: null, quotas: { queueDepth: 5 }, timeZone: null, changedAt: dayStart, changedBy: "user:ada" } },
      { op: "remove_limit", key: limit },
    ];
    for (const write of changes) expect([write.op, await governs(ledger, [write])]).toEqual([write.op, 1]);
    const others: Write[] = [
      { op: "insert_call", row: queuedCall("c1") },
      { op: "touch_key", tenant: "acme", keyId: "key_1", at: dayStart + 1 },
    ];
    for (const write of others) expect([write.op, await governs(ledger, [write])]).toEqual([write.op, 0]);
    const before = (await ledger.beat(beatOf("r1"))).revision;
    expect(await ledger.commit({ writes: [{ op: "insert_tenant", row: tenant }] })).toEqual({ applied: false, write: 0 });
    expect((await ledger.beat(beatOf("r1"))).revision).toBe(before);
  });

  sharedCase("a wake is heard by every replica but the one that sends it", async (store) => {
    const [one, two, three] = [await store.open("r1"), await store.open("r2"), await store.open("r3")];
    const [own, second, third] = [new Ear(one), new Ear(two), new Ear(three)];
    await untilHeard(two, own);
    await untilHeard(one, second, third);
    const wakes = [
      { type: "queued", lanes: [echoLane] },
      { type: "touched", replica: "r2", tenant: "acme", callId: "c1" },
      { type: "governance" },
    ] as const;
    one.wake(wakes);
    one.wake([{ type: "governance" }, { type: "notices" }]);
    for (const ear of [second, third]) await ear.hears(({ type }) => type === "notices");
    for (const ear of [second, third]) expect(ear.heard.filter(({ type }) => type !== "approvals")).toEqual([...wakes, { type: "notices" }]);
    two.wake([{ type: "notices" }]);
    await own.hears(({ type }) => type === "notices");
    expect(own.heard.filter(({ type }) => type !== "approvals")).toEqual([{ type: "notices" }]);
  });

  sharedCase("many wakes of one turn are heard all, however long they are together", async (store) => {
    const [one, two] = [await store.open("r1"), await store.open("r2")];
    const ear = new Ear(two);
    await untilHeard(one, ear);
    const ids = Array.from({ length: 1_000 }, (_, at) => `call-${at}`);
    for (const callId of ids) one.wake([{ type: "told", tenant: "acme", callId }]);
    await ear.hears((heard) => heard.type === "told" && heard.callId === ids.at(-1));
    expect(ear.heard.flatMap((heard) => (heard.type === "told" ? [heard.callId] : []))).toEqual(ids);
  });

  sharedCase("what is with a replica that leaves can be had at once", async (store) => {
    const [one, two] = [await store.open("r1"), await store.open("r2")];
    await makeTenant(one, "acme", 1);
    await one.beat(beatOf("r1"));
    await two.beat(beatOf("r2"));
    await putInLine(one, queuedCall("c1"), queuedCall("c2"));
    expect(idsOf((await claimOnce(one, { limit: 2 })).calls)).toEqual(["c1", "c2"]);
    expect((await claimOnce(two, { replica: "r2", limit: 2 })).calls).toEqual([]);
    await one.leave("r1");
    expect(idsOf((await claimOnce(two, { replica: "r2", limit: 2 })).calls)).toEqual(["c1", "c2"]);
  });
}
