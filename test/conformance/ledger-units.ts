// Conformance: a unit happens wholly or not at all, in order, and only while its guards hold.
import { expect } from "vitest";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import { LedgerUnavailable, type Ledger, type Unit, type Write } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import {
  admitUnit,
  appendEvents,
  dayStart,
  sampleAttempt,
  sampleAudit,
  sampleCall,
  settledCall,
  settleUnit,
} from "./ledger-rows.ts";

const insert = (row: Call): Unit => ({ writes: [{ op: "insert_call", row }] });

const update = (from: Call, fields: Partial<Call>): Unit => ({
  writes: [{ op: "update_call", expect: { state: from.state, fence: from.fence }, row: { ...from, ...fields } }],
});

/** Everything that could tell that a unit left something behind. */
async function traces(ledger: Ledger, tenant: string, callId: string) {
  return {
    call: await ledger.getCall(tenant, callId),
    attempts: await ledger.attempts(tenant, callId),
    events: await ledger.events(tenant, callId, 0, 100),
    outbox: (await ledger.outbox(0, 100)).filter((row) => row.callId === callId),
    audit: (await ledger.listAudit({ tenant, executionId: callId }, 100)).items,
  };
}

const noTrace = { call: undefined, attempts: [], events: [], outbox: [], audit: [] };

export function unitCases(ledgerCase: LedgerCase): void {
  ledgerCase("a call comes back as it was inserted, field by field", async ({ ledger }) => {
    const call = sampleCall({
      callId: "s1:agent-v1:t2.3:1",
      sessionId: "s1",
      turn: 2,
      step: 3,
      index: 1,
      idempotencyKey: "k-1",
    });
    expect(await ledger.commit(insert(call))).toEqual({ applied: true });
    expect(await ledger.getCall("acme", "s1:agent-v1:t2.3:1")).toEqual(call);
  });

  ledgerCase("an update writes every part of a call's progress and nothing of its identity", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    const moved: Call = {
      ...call,
      state: "indeterminate",
      routingOutcome: "lease_expired",
      fence: 4,
      attempt: 3,
      placements: 2,
      mayHaveRun: true,
      effectiveArgsJson: '{"customer":1}',
      approvalId: "apr_1",
      startTag: 12.125,
      notBefore: dayStart + 1,
      enqueuedAt: dayStart + 2,
      queueDeadlineAt: dayStart + 3,
      startDeadlineAt: dayStart + 4,
      provisionDeadlineAt: dayStart + 5,
      runDeadlineAt: dayStart + 6,
      leaseExpiresAt: dayStart + 7,
      graceDeadlineAt: dayStart + 8,
      dispatchedAt: dayStart + 9,
      startedAt: dayStart + 10,
      settledAt: dayStart + 11,
      workerId: "worker-b",
      incarnation: "inc_2",
      replica: "replica-2",
      cancelRequestedAt: dayStart + 12,
      cancelRequestedBy: "user:ada",
      stopReason: "cancel",
      outputJson: '{"text":"\\u0000 and \u{1f600}"}',
      outputHash: "aa".repeat(32),
      outputBytes: 31,
      outputIllFormed: true,
      error: {
        code: "indeterminate",
        message: "gone",
        type: "routing",
        retryable: false,
        details: { worker: "worker-b" },
      },
      usage: { durationMs: 1.5, cpuMs: 2, peakMemoryBytes: 3 },
      eventSeq: 9,
    };
    await ledger.commit(insert(call));
    const { writes } = update(call, { ...moved, tool: "another.tool", principal: "user:eve" });
    const nine = Array.from({ length: 9 }, () => "progress" as const);
    expect(await ledger.commit({ writes: [...writes, ...appendEvents(call, 1, ...nine)] })).toEqual({ applied: true });
    expect(await ledger.getCall("acme", "c1")).toEqual(moved);
  });

  ledgerCase("a call_id that exists refuses its unit, and nothing of the unit is written", async ({ ledger }) => {
    const first = sampleCall({ callId: "c1" });
    await ledger.commit(insert(first));
    const again = sampleCall({ callId: "c1", tool: "orders.cancel" });
    const unit: Unit = { writes: [...admitUnit(again).writes, { op: "append_audit", draft: sampleAudit(again) }] };
    expect(await ledger.commit(unit)).toEqual({ applied: false, write: 0 });
    expect(await traces(ledger, "acme", "c1")).toEqual({ ...noTrace, call: first, attempts: [sampleAttempt(first)] });
  });

  ledgerCase("two tenants may use the same call_id", async ({ ledger }) => {
    await ledger.commit(insert(sampleCall({ callId: "c1", tool: "a.tool" })));
    expect(await ledger.commit(insert(sampleCall({ callId: "c1", tenant: "globex", tool: "b.tool" })))).toEqual({
      applied: true,
    });
    expect((await ledger.getCall("acme", "c1"))?.tool).toBe("a.tool");
    expect((await ledger.getCall("globex", "c1"))?.tool).toBe("b.tool");
  });

  ledgerCase("an idempotency key is unique in its tenant and project, and only there", async ({ ledger }) => {
    const outcomes = [
      await ledger.commit(insert(sampleCall({ callId: "c1", idempotencyKey: "k" }))),
      await ledger.commit(insert(sampleCall({ callId: "c2", idempotencyKey: "k" }))),
      await ledger.commit(insert(sampleCall({ callId: "c3", idempotencyKey: "k", project: "support" }))),
      await ledger.commit(insert(sampleCall({ callId: "c4", idempotencyKey: "k", tenant: "globex" }))),
      await ledger.commit(insert(sampleCall({ callId: "c5", idempotencyKey: null }))),
      await ledger.commit(insert(sampleCall({ callId: "c6", idempotencyKey: null }))),
    ];
    expect(outcomes.map((outcome) => outcome.applied)).toEqual([true, false, true, true, true, true]);
    expect((await ledger.getCallByKey("acme", "shop", "k"))?.callId).toBe("c1");
    expect((await ledger.getCallByKey("acme", "support", "k"))?.callId).toBe("c3");
    expect((await ledger.getCallByKey("globex", "shop", "k"))?.callId).toBe("c4");
    expect(await ledger.getCallByKey("globex", "support", "k")).toBeUndefined();
  });

  ledgerCase("an update is refused when state, fence or call are others than expected", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1", state: "running", fence: 2 });
    await ledger.commit(insert(call));
    const refused = { applied: false, write: 0 };
    expect(await ledger.commit(update({ ...call, state: "dispatched" }, { state: "failed" }))).toEqual(refused);
    expect(await ledger.commit(update({ ...call, fence: 1 }, { state: "failed" }))).toEqual(refused);
    expect(await ledger.commit(update({ ...call, callId: "c2" }, { state: "failed" }))).toEqual(refused);
    expect(await ledger.commit(update({ ...call, tenant: "globex" }, { state: "failed" }))).toEqual(refused);
    expect(await ledger.getCall("acme", "c1")).toEqual(call);
  });

  ledgerCase("of two settlements that wait together the first one counts", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    const outcomes = await Promise.all([
      ledger.commit(settleUnit(call, { outputJson: '"first"' })),
      ledger.commit(settleUnit(call, { outputJson: '"second"' })),
    ]);
    expect(outcomes).toEqual([{ applied: true }, { applied: false, write: 0 }]);
    expect((await ledger.getCall("acme", "c1"))?.outputJson).toBe('"first"');
    expect((await ledger.events("acme", "c1", 0, 100)).map((event) => event.seq)).toEqual([1, 2, 3, 4, 5]);
    expect((await ledger.listAudit({ tenant: "acme" }, 100)).items).toHaveLength(1);
  });

  ledgerCase("units are applied in the order in which they were committed", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1", state: "queued", fence: 0 });
    const commits = [ledger.commit(insert(call))];
    for (let fence = 0; fence < 20; fence += 1)
      commits.push(ledger.commit(update({ ...call, fence }, { fence: fence + 1 })));
    expect((await Promise.all(commits)).every((outcome) => outcome.applied)).toBe(true);
    expect((await ledger.getCall("acme", "c1"))?.fence).toBe(20);
  });

  ledgerCase("a refused unit leaves its neighbours alone", async ({ ledger }) => {
    const calls = ["c1", "c2", "c3"].map((callId) => sampleCall({ callId }));
    const [first, taken, last] = calls as [Call, Call, Call];
    await ledger.commit(insert(taken));
    const outcomes = await Promise.all([first, taken, last].map((call) => ledger.commit(admitUnit(call))));
    expect(outcomes.map((outcome) => outcome.applied)).toEqual([true, false, true]);
    expect((await traces(ledger, "acme", "c1")).events).toHaveLength(3);
    expect((await traces(ledger, "acme", "c2")).events).toHaveLength(0);
    expect((await traces(ledger, "acme", "c3")).events).toHaveLength(3);
  });

  ledgerCase("a faulty unit is rejected alone, whole, and not as an unavailable ledger", async ({ ledger }) => {
    const [first, repeats, endsTwice, last] = ["c1", "c2", "c3", "c4"].map((callId) => sampleCall({ callId })) as [
      Call,
      Call,
      Call,
      Call,
    ];
    const audited = (call: Call): Write[] => [
      ...admitUnit(call).writes,
      { op: "append_audit", draft: sampleAudit(call) },
    ];
    const end: Write = { op: "end_attempt", row: sampleAttempt(endsTwice, { fence: 9, endReason: "nack" }) };
    const results = await Promise.allSettled([
      ledger.commit(admitUnit(first)),
      ledger.commit({ writes: [...audited(repeats), ...appendEvents(repeats, 3, "succeeded")] }),
      ledger.commit({ writes: [...audited(endsTwice), end, end] }),
      ledger.commit(admitUnit(last)),
    ]);
    expect(results.map((result) => result.status)).toEqual(["fulfilled", "rejected", "rejected", "fulfilled"]);
    for (const [at, call] of [repeats, endsTwice].entries()) {
      const { reason } = results[at + 1] as PromiseRejectedResult;
      expect(reason).toBeInstanceOf(Error);
      expect(reason).not.toBeInstanceOf(LedgerUnavailable);
      expect(await traces(ledger, "acme", call.callId)).toEqual(noTrace);
    }
    for (const call of [first, last]) expect((await traces(ledger, "acme", call.callId)).events).toHaveLength(3);
    expect((await ledger.verifyAudit()).ok).toBe(true);
  });

  ledgerCase("a settled row is never expected", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call));
    const settled = settledCall(call, { eventSeq: 5 });
    await expect(ledger.commit(update(settled, { state: "failed" }))).rejects.toThrow("settled");
    expect(await ledger.getCall("acme", "c1")).toEqual(settled);
  });

  ledgerCase("what the writer had handed over before stands, but for what it changes now", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    const before = { ...call, eventSeq: 3 };
    await ledger.commit(admitUnit(call));
    const lease = { tenant: "acme", callId: "c1", fence: 1, leaseExpiresAt: dayStart + 30_000 };
    await ledger.commit({ writes: [{ op: "renew_leases", leases: [lease] }] });
    const running: Call = { ...before, state: "running", startedAt: dayStart + 1, mayHaveRun: true, eventSeq: 4 };
    const changed = await ledger.commit({
      writes: [
        { op: "update_call", expect: { state: "dispatched", fence: 1 }, before, row: running },
        ...appendEvents(call, 4, "started"),
      ],
    });
    expect(changed).toEqual({ applied: true });
    // The renewal went past the row: the row that is written now counts, as it always does.
    expect(await ledger.getCall("acme", "c1")).toEqual(running);
  });

  ledgerCase("when a second guard does not hold, the first one's write is undone", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1", state: "queued" });
    const taken = sampleCall({ callId: "c9" });
    for (const row of [call, taken]) await ledger.commit(insert(row));
    const unit: Unit = {
      writes: [
        { op: "update_call", expect: { state: "queued", fence: 1 }, row: { ...call, state: "cancelled", eventSeq: 1 } },
        { op: "insert_call", row: taken },
        ...appendEvents(call, 1, "cancelled"),
      ],
    };
    const [before, refused, after] = await Promise.all([
      ledger.commit(insert(sampleCall({ callId: "c0" }))),
      ledger.commit(unit),
      ledger.commit(insert(sampleCall({ callId: "c2" }))),
    ]);
    expect([before, refused, after]).toEqual([{ applied: true }, { applied: false, write: 1 }, { applied: true }]);
    expect(await traces(ledger, "acme", "c1")).toEqual({ ...noTrace, call });
  });

  ledgerCase("a unit may have two guards that hold", async ({ ledger }) => {
    const parent = sampleCall({ callId: "c1", state: "queued" });
    await ledger.commit(insert(parent));
    const unit: Unit = {
      writes: [
        { op: "update_call", expect: { state: "queued", fence: 1 }, row: { ...parent, state: "failed" } },
        { op: "insert_call", row: sampleCall({ callId: "c2" }) },
        { op: "append_audit", draft: sampleAudit(parent) },
      ],
    };
    expect(await ledger.commit(unit)).toEqual({ applied: true });
    expect((await ledger.getCall("acme", "c1"))?.state).toBe("failed");
    expect((await ledger.getCall("acme", "c2"))?.state).toBe("dispatched");
  });

  ledgerCase("a guard behind a plain write is an error", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    const unit: Unit = { writes: [...appendEvents(call, 1, "requested"), { op: "insert_call", row: call }] };
    await expect(ledger.commit(unit)).rejects.toThrow("guards come first");
    expect(await traces(ledger, "acme", "c1")).toEqual(noTrace);
  });

  ledgerCase("a lazy unit is there after a flush", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(insert(call));
    void ledger.commit({ ...update(call, { state: "running" }), lazy: true });
    await ledger.flush();
    expect((await ledger.getCall("acme", "c1"))?.state).toBe("running");
  });

  ledgerCase("a lazy unit rides with the next commit and keeps its place before it", async ({ ledger }) => {
    const call = sampleCall({ callId: "c1" });
    await ledger.commit(insert(call));
    const running = { ...call, state: "running" } as const;
    void ledger.commit({ ...update(call, { state: "running" }), lazy: true });
    expect(await ledger.commit(update(running, { state: "failed" }))).toEqual({ applied: true });
    expect((await ledger.getCall("acme", "c1"))?.state).toBe("failed");
  });

  ledgerCase("a lazy unit that nothing follows is written all the same", async ({ ledger }) => {
    expect(await ledger.commit({ ...insert(sampleCall({ callId: "c1" })), lazy: true })).toEqual({ applied: true });
    expect(await ledger.getCall("acme", "c1")).toBeDefined();
  });

  ledgerCase("closing writes what waits", async ({ ledger, reopen }) => {
    void ledger.commit({ ...insert(sampleCall({ callId: "lazy" })), lazy: true });
    void ledger.commit(insert(sampleCall({ callId: "busy" })));
    const again = await reopen();
    expect(await again.getCall("acme", "lazy")).toBeDefined();
    expect(await again.getCall("acme", "busy")).toBeDefined();
  });

  ledgerCase("an open ledger answers its probe; a closed one refuses everything as unavailable", async ({ ledger }) => {
    await ledger.probe();
    await ledger.close();
    await ledger.close();
    await expect(ledger.commit(insert(sampleCall({ callId: "c1" })))).rejects.toBeInstanceOf(LedgerUnavailable);
    await expect(ledger.probe()).rejects.toBeInstanceOf(LedgerUnavailable);
    await expect(ledger.getCall("acme", "c1")).rejects.toBeInstanceOf(LedgerUnavailable);
  });

  ledgerCase("everything is there after reopening", async ({ ledger, reopen }) => {
    const call = sampleCall({ callId: "c1", idempotencyKey: "k" });
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call));
    const before = await traces(ledger, "acme", "c1");
    const again = await reopen();
    expect(await traces(again, "acme", "c1")).toEqual(before);
    expect(before.call).toEqual(settledCall(call, { eventSeq: 5 }));
    expect(before.audit).toHaveLength(1);
    expect(await again.commit(insert(sampleCall({ callId: "c2", idempotencyKey: "k" })))).toEqual({
      applied: false,
      write: 0,
    });
  });
}
