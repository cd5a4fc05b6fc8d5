// Conformance: a call is with one replica, whoever asks how; what the dead leave behind is had by the living.
import { expect } from "vitest";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import { dayStart, sampleCall, settledCall } from "./ledger-rows.ts";
import { beatOf, claimEach, claimOnce, echoLane, idsOf, putInLine, queuedCall, type SharedCase, type SharedStore } from "./shared-ledger-case.ts";

const gone = -1;
const applied = { applied: true };
const refused = { applied: false, write: 0 };

async function twoReplicas(store: SharedStore) {
  const [one, two] = [await store.open("r1"), await store.open("r2")];
  await one.beat(beatOf("r1"));
  await two.beat(beatOf("r2"));
  return { one, two };
}

const expecting = (row: Call, replica: string | null, fields: Partial<Call>) =>
  ({ op: "update_call", expect: { state: row.state, fence: row.fence, replica }, before: row, row: { ...row, ...fields } }) as const;

export function claimCases(sharedCase: SharedCase): void {
  sharedCase("claims of two replicas never overlap, and leave nothing", async (store) => {
    const { one, two } = await twoReplicas(store);
    const ids = Array.from({ length: 60 }, (_, at) => `c${String(at).padStart(2, "0")}`);
    await putInLine(one, ...ids.map((callId, at) => queuedCall(callId, { tenant: `t${at % 7}` })));
    const taken: Call[][] = [[], []];
    await Promise.all(
      [one, two].map(async (ledger, at) => {
        for (;;) {
          const { calls } = await claimOnce(ledger, { replica: `r${at + 1}`, limit: 3 });
          if (calls.length === 0) return;
          taken[at]?.push(...calls);
        }
      }),
    );
    expect(taken.flatMap(idsOf).sort()).toEqual(ids);
    for (const [at, calls] of taken.entries()) expect(new Set(calls.map(({ replica }) => replica))).toEqual(calls.length === 0 ? new Set() : new Set([`r${at + 1}`]));
  });

  sharedCase("a claimed call comes whole, and is then with the replica", async (store) => {
    const { one, two } = await twoReplicas(store);
    const call = queuedCall("c1", { inputJson: '{"n":9007199254740993}' });
    await putInLine(one, call);
    const [claimed] = (await claimOnce(one)).calls;
    expect(claimed).toEqual({ ...call, replica: "r1" });
    expect(await two.getCall("acme", "c1")).toEqual(claimed);
  });

  sharedCase("only calls of the asked lanes, that wait, and that are with nobody", async (store) => {
    const { one } = await twoReplicas(store);
    await putInLine(
      one,
      queuedCall("other", { version: "2.0.0" }),
      queuedCall("boxed", { sandbox: "native" }),
      queuedCall("parked", { state: "awaiting_approval" }),
      queuedCall("running", { state: "running", replica: "r1" }),
      queuedCall("held", { replica: "r2" }),
      queuedCall("free"),
    );
    expect(idsOf((await claimOnce(one, { limit: 9 })).calls)).toEqual(["free"]);
    expect(idsOf((await claimOnce(one, { limit: 9, lanes: ["platform\u0000\u0000native"] })).calls)).toEqual(["boxed"]);
    expect((await claimOnce(one, { limit: 9, lanes: [] })).calls).toEqual([]);
  });

  sharedCase("calls of two lanes come by their tags, not by their lanes", async (store) => {
    const { one } = await twoReplicas(store);
    const lanes = [echoLane, "platform\u0000echo\u00002.0.0"];
    await putInLine(one, ...[1, 2, 1, 2, 2].map((version, at) => queuedCall(`c${at}`, { version: `${version}.0.0` })));
    expect(idsOf(await claimEach(one, 5, { lanes }))).toEqual(["c0", "c1", "c2", "c3", "c4"]);
  });

  sharedCase("a call waits for its back-off, and the claim says when the next one may go", async (store) => {
    const { one } = await twoReplicas(store);
    await putInLine(one, queuedCall("late", { notBefore: dayStart + 500 }), queuedCall("later", { notBefore: dayStart + 900 }), queuedCall("now"));
    expect(await claimOnce(one, { limit: 9, now: dayStart + 100 })).toMatchObject({ calls: [{ callId: "now" }], nextAt: dayStart + 500 });
    expect(await claimOnce(one, { limit: 9, now: dayStart + 500 })).toMatchObject({ calls: [{ callId: "late" }], nextAt: dayStart + 900 });
    expect(await claimOnce(one, { limit: 9, now: dayStart + 900 })).toMatchObject({ calls: [{ callId: "later" }], nextAt: undefined });
  });

  sharedCase("what is frozen, suspended or not wanted stays, and hides nobody", async (store) => {
    const { one } = await twoReplicas(store);
    const tenant = { weight: 1, createdAt: dayStart, suspendedAt: null, suspendedBy: null, suspendedReason: null };
    const suspended = { ...tenant, tenant: "asleep", suspendedAt: dayStart, suspendedBy: "user:ada", suspendedReason: "unpaid" };
    await one.commit({ writes: [{ op: "insert_tenant", row: suspended }] });
    const freeze = { reason: "audit", at: dayStart, by: "user:ada" };
    await one.commit({ writes: [{ op: "put_freeze", row: { ...freeze, tenant: "cold", tool: "" } }] });
    await one.commit({ writes: [{ op: "put_freeze", row: { ...freeze, tenant: "cool", tool: "echo" } }] });
    await one.commit({ writes: [{ op: "put_freeze", row: { ...freeze, tenant: "warm", tool: "other" } }] });
    await putInLine(one, ...["asleep", "cold", "cool", "warm", "back"].map((name) => queuedCall(name, { tenant: name })));
    expect(idsOf((await claimOnce(one, { limit: 9, not: ["back"] })).calls)).toEqual(["warm"]);
    await one.commit({ writes: [{ op: "lift_freeze", tenant: "cool", tool: "echo" }] });
    expect(idsOf((await claimOnce(one, { limit: 9 })).calls)).toEqual(["back", "cool"]);
    await one.commit({ writes: [{ op: "put_freeze", row: { ...freeze, tenant: "platform", tool: "" } }, { op: "lift_freeze", tenant: "cold", tool: "" }] });
    expect((await claimOnce(one, { limit: 9 })).calls).toEqual([]);
  });

  sharedCase("caps hold over both replicas, and what they hold back hides nobody", async (store) => {
    const { one, two } = await twoReplicas(store);
    const many = Array.from({ length: 100 }, (_, at) => queuedCall(`a${String(at).padStart(2, "0")}`, { project: at % 2 === 0 ? "even" : "odd" }));
    await putInLine(one, queuedCall("busy", { state: "running", replica: "r2", project: "odd" }), ...many, queuedCall("b0", { tenant: "globex" }));
    const caps = [
      { tenant: "acme", project: null, max: 4 },
      { tenant: "acme", project: "even", max: 2 },
    ];
    const [first, second] = [await claimOnce(one, { limit: 3, caps }), await claimOnce(two, { replica: "r2", limit: 9, caps })];
    expect(idsOf(first.calls)).toEqual(["a00", "b0", "a01"]);
    expect(idsOf(second.calls)).toEqual(["a02"]);
    expect((await claimOnce(one, { limit: 9, caps })).calls).toEqual([]);
    // The project's cap is reached, the tenant's is not any more.
    const busy = await one.getCall("acme", "busy");
    if (busy === undefined) throw new Error("it was stored");
    await two.commit({ writes: [{ op: "update_call", expect: { state: "running", fence: 1 }, row: settledCall(busy) }] });
    expect(idsOf((await claimOnce(one, { limit: 9, caps })).calls)).toEqual(["a03"]);
  });

  sharedCase("a cap holds when both claim at once", async (store) => {
    const { one, two } = await twoReplicas(store);
    const caps = [{ tenant: "acme", project: null, max: 5 }];
    await putInLine(one, ...Array.from({ length: 30 }, (_, at) => queuedCall(`c${at}`)));
    const claims = Array.from({ length: 10 }, (_, at) => claimOnce(at % 2 === 0 ? one : two, { replica: `r${(at % 2) + 1}`, limit: 2, caps }));
    expect((await Promise.all(claims)).flatMap(({ calls }) => calls)).toHaveLength(5);
  });

  sharedCase("queued calls of a replica that lives no more are had by others, in their order", async (store) => {
    const { one, two } = await twoReplicas(store);
    await putInLine(one, queuedCall("c1"), queuedCall("c2"), queuedCall("c3"));
    await claimOnce(one, { limit: 2 });
    expect(idsOf((await claimOnce(two, { replica: "r2", limit: 9 })).calls)).toEqual(["c3"]);
    await two.release("r2", [{ tenant: "acme", callId: "c3" }]);
    await one.beat(beatOf("r1", gone));
    expect(idsOf((await claimOnce(two, { replica: "r2", limit: 9 })).calls)).toEqual(["c1", "c2", "c3"]);
  });

  sharedCase("a release gives back what waits with the replica, and nothing else", async (store) => {
    const { one, two } = await twoReplicas(store);
    await putInLine(one, queuedCall("mine"), queuedCall("running", { state: "running", replica: "r1" }), queuedCall("theirs", { replica: "r2" }));
    await claimOnce(one);
    await one.release("r1", ["mine", "running", "theirs", "unknown"].map((callId) => ({ tenant: "acme", callId })));
    const replicas = await Promise.all(["mine", "running", "theirs"].map(async (callId) => (await two.getCall("acme", callId))?.replica));
    expect(replicas).toEqual([null, "r1", "r2"]);
  });

  sharedCase("one call is had unless a living replica has it", async (store) => {
    const { one, two } = await twoReplicas(store);
    const parked = queuedCall("parked", { state: "indeterminate", outputJson: '{"a":1}', outputHash: "77".repeat(32), outputBytes: 7 });
    await putInLine(one, parked, queuedCall("held", { replica: "r1" }), queuedCall("over", { state: "failed" }));
    expect(await two.claimOne("acme", "parked", "r2")).toEqual({ ...parked, replica: "r2" });
    expect((await two.claimOne("acme", "parked", "r2"))?.replica).toBe("r2");
    expect(await one.claimOne("acme", "parked", "r1")).toBeUndefined();
    for (const callId of ["held", "over", "unknown"]) expect([callId, await two.claimOne("acme", callId, "r2")]).toEqual([callId, undefined]);
    await one.beat(beatOf("r1", gone));
    expect((await two.claimOne("acme", "held", "r2"))?.replica).toBe("r2");
    const both = await Promise.all([one.beat(beatOf("r1")).then(() => one.claimOne("acme", "parked", "r1")), two.claimOne("acme", "parked", "r2")]);
    expect(both.map((call) => call?.replica)).toEqual([undefined, "r2"]);
  });

  sharedCase("what nobody looks after is had when it is due", async (store) => {
    const { one, two } = await twoReplicas(store);
    const now = dayStart + 100_000;
    const leased = (callId: string, replica: string, leaseExpiresAt: number) =>
      sampleCall({ callId, state: "running", replica, leaseExpiresAt, startTag: 0 });
    await putInLine(
      one,
      queuedCall("timed-out", { queueDeadlineAt: now }),
      queuedCall("has-time", { queueDeadlineAt: now + 1 }),
      queuedCall("looked-after", { queueDeadlineAt: now, replica: "r1" }),
      queuedCall("left-behind", { queueDeadlineAt: now, replica: "r0" }),
      queuedCall("parked", { state: "awaiting_approval", totalDeadlineAt: now - 1 }),
      queuedCall("in-time", { state: "indeterminate", totalDeadlineAt: now + 1 }),
      queuedCall("unknown-end", { state: "indeterminate", totalDeadlineAt: now }),
      leased("renewed", "r0", now + 1),
      leased("of-the-dead", "r0", now),
      leased("of-the-living", "r1", now - 4_000),
      leased("left-too-long", "r1", now - 5_000),
    );
    // Asked to spare what a worker may have, it takes the rest alone; what is its own by then is found again.
    const spared = await two.claimDue({ replica: "r2", now, graceMs: 5_000, leasesToo: false, limit: 100 });
    expect(idsOf(spared).sort()).toEqual(["left-behind", "parked", "timed-out"]);
    const due = await two.claimDue({ replica: "r2", now, graceMs: 5_000, leasesToo: true, limit: 100 });
    expect(idsOf(due).sort()).toEqual(["left-behind", "left-too-long", "of-the-dead", "parked", "timed-out"]);
    expect(new Set(due.map(({ replica }) => replica))).toEqual(new Set(["r2"]));
    // Nobody is relied on whose lease is over by so much, the one who has just taken it as little as anybody else; nor the asking one itself.
    expect(idsOf(await one.claimDue({ replica: "r1", now, graceMs: 5_000, leasesToo: true, limit: 100 })).sort()).toEqual(["left-too-long", "looked-after"]);
    await one.claimDue({ replica: "r1", now: now + 60_000, graceMs: 5_000, leasesToo: true, limit: 2 }).then((some) => expect(some).toHaveLength(2));
  });

  sharedCase("a worker's calls go where its stream is, and the replica before can write none of them any more", async (store) => {
    const { one, two } = await twoReplicas(store);
    const held = (callId: string, fields: Partial<Call> = {}) => sampleCall({ callId, state: "running", replica: "r1", toolTenant: "acme", startTag: 0, ...fields });
    const calls = [
      held("a"),
      held("b", { state: "dispatched" }),
      held("boxed", { sandbox: "native" }),
      held("of-another", { workerId: "worker-b" }),
      held("before", { incarnation: "inc_0" }),
      held("foreign", { toolTenant: "globex" }),
      held("over", { state: "succeeded" }),
    ];
    await putInLine(one, ...calls);
    const query = { replica: "r2", workerTenant: "acme", workerId: "worker-a", incarnation: "inc_01KDVC3W80J7T4R1N3V9QK5XHD" };
    const taken = await two.claimHeld(query);
    expect(idsOf(taken).sort()).toEqual(["a", "b"]);
    // What the replica before told the worker of b, nobody else knows.
    expect(taken.map(({ mayHaveRun }) => mayHaveRun)).toEqual([true, true]);
    expect(idsOf(await two.claimHeld({ ...query, workerTenant: "platform" }))).toEqual(["boxed"]);
    const row = held("a");
    expect(await one.commit({ writes: [expecting(row, "r1", { state: "failed" })] })).toEqual(refused);
    const [now] = taken;
    if (now === undefined) throw new Error("it was taken");
    expect(await two.commit({ writes: [expecting({ ...row, replica: "r2" }, "r2", { state: "failed" })] })).toEqual(applied);
    expect((await one.getCall("acme", "a"))?.state).toBe("failed");
  });

  sharedCase("what waits and is with a replica is told of, and nothing else", async (store) => {
    const { one } = await twoReplicas(store);
    const own = (callId: string, fields: Partial<Call> = {}) => queuedCall(callId, { replica: "r1", ...fields });
    await putInLine(one, own("a"), own("b", { tenant: "globex" }), own("of-another", { replica: "r2" }), own("nobodys", { replica: null }), own("working", { state: "running" }));
    expect(await one.queuedWith("r1")).toEqual([
      { tenant: "acme", callId: "a" },
      { tenant: "globex", callId: "b" },
    ]);
  });

  sharedCase("states are told of those that are known", async (store) => {
    const { one } = await twoReplicas(store);
    await putInLine(one, queuedCall("c1"), queuedCall("c2", { state: "failed" }), queuedCall("c1", { tenant: "globex", state: "running" }));
    const states = await one.statesOf([
      { tenant: "acme", callId: "c1" },
      { tenant: "acme", callId: "c2" },
      { tenant: "acme", callId: "c3" },
      { tenant: "globex", callId: "c1" },
    ]);
    expect(states.map(({ tenant, callId, state }) => `${tenant} ${callId} ${state}`).sort()).toEqual(["acme c1 queued", "acme c2 failed", "globex c1 running"]);
    expect(await one.statesOf([])).toEqual([]);
  });
}
