// Conformance: what hangs on a call: its event stream and outbox, its attempts and leases, its results.
import { expect } from "vitest";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { Ledger } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import {
  admitUnit,
  appendEvents,
  dayStart,
  sampleAttempt,
  sampleCall,
  sampleEvent,
  sampleLateResult,
  settleUnit,
} from "./ledger-rows.ts";

const c1 = { tenant: "acme", callId: "c1" };

async function seqs(ledger: Ledger, callId: string): Promise<number[]> {
  return (await ledger.events("acme", callId, 0, 100)).map((event) => event.seq);
}

/** Over the 256 KiB that a row keeps; two bytes a character, so that a count of characters would be too small. */
const largeOutput = JSON.stringify("é".repeat(140_000));
const large: Partial<Call> = { outputJson: largeOutput, outputHash: "b1".repeat(32), outputBytes: 280_002 };

export function eventCases(ledgerCase: LedgerCase): void {
  ledgerCase("events come back in order, behind a seq, as many as asked for", async ({ ledger }) => {
    await ledger.commit({ writes: appendEvents(c1, 1, "requested", "queued", "dispatched", "started", "succeeded") });
    expect(await ledger.events("acme", "c1", 1, 3)).toEqual([
      sampleEvent(c1, 2, "queued"),
      sampleEvent(c1, 3, "dispatched"),
      sampleEvent(c1, 4, "started"),
    ]);
    expect(await ledger.events("acme", "c1", 5, 3)).toEqual([]);
  });

  ledgerCase("a stream of events starts at 1 and has neither holes nor doubles", async ({ ledger }) => {
    await expect(ledger.commit({ writes: appendEvents(c1, 2, "queued") })).rejects.toThrow();
    await ledger.commit({ writes: appendEvents(c1, 1, "requested", "queued") });
    await expect(ledger.commit({ writes: appendEvents(c1, 4, "started") })).rejects.toThrow();
    await expect(ledger.commit({ writes: appendEvents(c1, 2, "queued") })).rejects.toThrow();
    const hole = [...appendEvents(c1, 3, "dispatched"), ...appendEvents(c1, 5, "succeeded")];
    await expect(ledger.commit({ writes: hole })).rejects.toThrow();
    expect(await seqs(ledger, "c1")).toEqual([1, 2]);
    await ledger.commit({ writes: appendEvents(c1, 3, "dispatched") });
    expect(await seqs(ledger, "c1")).toEqual([1, 2, 3]);
  });

  ledgerCase("a unit with events gets one outbox row that names their range", async ({ ledger }) => {
    const call = sampleCall(c1);
    await ledger.commit(admitUnit(call));
    await ledger.commit({ writes: [{ op: "keep_late_result", row: sampleLateResult(call) }] });
    await ledger.commit(settleUnit(call));
    const rows = await ledger.outbox(0, 100);
    expect(rows.map(({ id: _id, ...row }) => row)).toEqual([
      { ...c1, seqFrom: 1, seqTo: 3 },
      { ...c1, seqFrom: 4, seqTo: 5 },
    ]);
    const [first, second] = rows;
    expect(second?.id).toBeGreaterThan(first?.id ?? Infinity);
    expect(await ledger.outbox(first?.id ?? 0, 100)).toEqual([second]);
    expect(await ledger.outbox(0, 1)).toEqual([first]);
  });

  ledgerCase("a unit with events of two calls gets one outbox row for each", async ({ ledger }) => {
    const c2 = { tenant: "acme", callId: "c2" };
    await ledger.commit({
      writes: [...appendEvents(c1, 1, "requested", "denied"), ...appendEvents(c2, 1, "requested")],
    });
    expect((await ledger.outbox(0, 100)).map(({ id: _id, ...row }) => row)).toEqual([
      { ...c1, seqFrom: 1, seqTo: 2 },
      { ...c2, seqFrom: 1, seqTo: 1 },
    ]);
  });

  ledgerCase("attempts come back by fence, as they were last written", async ({ ledger }) => {
    const call = sampleCall(c1);
    const second = sampleAttempt(call, { fence: 2, workerId: "worker-b" });
    const first = sampleAttempt(call);
    await ledger.commit({
      writes: [
        { op: "insert_attempt", row: second },
        { op: "insert_attempt", row: first },
      ],
    });
    const ended = sampleAttempt(call, {
      attempt: 2,
      acceptedAt: dayStart + 1,
      startedAt: dayStart + 2,
      endedAt: dayStart + 3,
      endReason: "lease_expired",
      error: { code: "lease_expired", message: "silent for 15 s", type: "routing", retryable: true },
      usage: { durationMs: 7 },
    });
    await ledger.commit({ writes: [{ op: "update_attempt", row: ended }] });
    expect(await ledger.attempts("acme", "c1")).toEqual([ended, second]);
  });

  ledgerCase("an attempt is inserted once, and updated only after that", async ({ ledger }) => {
    const row = sampleAttempt(sampleCall(c1));
    await expect(ledger.commit({ writes: [{ op: "update_attempt", row }] })).rejects.toThrow();
    await ledger.commit({ writes: [{ op: "insert_attempt", row }] });
    await expect(ledger.commit({ writes: [{ op: "insert_attempt", row }] })).rejects.toThrow();
    expect(await ledger.attempts("acme", "c1")).toEqual([row]);
  });

  ledgerCase("leases are renewed one by one, and only those that have not moved on", async ({ ledger }) => {
    const calls = [
      sampleCall({ callId: "held", state: "running", fence: 3 }),
      sampleCall({ callId: "offered", state: "dispatched", fence: 1 }),
      sampleCall({ callId: "moved", state: "running", fence: 4 }),
      sampleCall({ callId: "settled", state: "succeeded", fence: 3, leaseExpiresAt: null }),
      sampleCall({ callId: "parked", state: "indeterminate", fence: 3, leaseExpiresAt: null }),
    ];
    for (const row of calls) await ledger.commit({ writes: [{ op: "insert_call", row }] });
    const lease = (callId: string, fence: number) => ({
      tenant: "acme",
      callId,
      fence,
      leaseExpiresAt: dayStart + 30_000,
    });
    const leases = [
      lease("held", 3),
      lease("unknown", 1),
      lease("moved", 3),
      lease("settled", 3),
      lease("parked", 3),
      lease("offered", 1),
    ];
    expect(await ledger.commit({ writes: [{ op: "renew_leases", leases }] })).toEqual({ applied: true });
    const expires = async (callId: string) => (await ledger.getCall("acme", callId))?.leaseExpiresAt;
    expect(await expires("held")).toBe(dayStart + 30_000);
    expect(await expires("offered")).toBe(dayStart + 30_000);
    expect(await expires("moved")).toBe(dayStart + 15_000);
    expect(await expires("settled")).toBeNull();
    expect(await expires("parked")).toBeNull();
  });

  ledgerCase("late results are kept, one per fence, the first one for good", async ({ ledger }) => {
    const call = sampleCall(c1);
    const first = sampleLateResult(call);
    const other = sampleLateResult(call, {
      fence: 2,
      status: "failed",
      outputJson: null,
      errorJson: '{"code":"gone"}',
    });
    for (const row of [other, first, sampleLateResult(call, { outputJson: '{"paid":false}' })]) {
      await ledger.commit({ writes: [{ op: "keep_late_result", row }] });
    }
    expect(await ledger.lateResults("acme", "c1")).toEqual([first, other]);
  });

  ledgerCase("a large result comes back whole from every read but the list", async ({ ledger, reopen }) => {
    const call = sampleCall({ ...c1, idempotencyKey: "k" });
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call, { ...large, state: "indeterminate" }));
    const again = await reopen();
    expect((await again.getCall("acme", "c1"))?.outputJson).toBe(largeOutput);
    expect((await again.getCallByKey("acme", "shop", "k"))?.outputJson).toBe(largeOutput);
    for await (const open of again.openCalls()) expect(open.outputJson).toBe(largeOutput);
    expect((await again.listCalls({ tenant: "acme" }, 10)).items[0]).toMatchObject({
      outputJson: null,
      outputHash: "b1".repeat(32),
      outputBytes: 280_002,
    });
  });

  ledgerCase("equal large results of two calls and of two tenants do not disturb each other", async ({ ledger }) => {
    const calls = [sampleCall(c1), sampleCall({ callId: "c2" }), sampleCall({ callId: "c1", tenant: "globex" })];
    for (const call of calls) {
      await ledger.commit(admitUnit(call));
      expect(await ledger.commit(settleUnit(call, large))).toEqual({ applied: true });
    }
    for (const call of calls) expect((await ledger.getCall(call.tenant, call.callId))?.outputJson).toBe(largeOutput);
  });

  ledgerCase(
    "a call that has only the hash of a large result gets no result from another tenant's",
    async ({ ledger }) => {
      const call = sampleCall({ ...c1, tenant: "globex" });
      await ledger.commit(admitUnit(call));
      await ledger.commit(settleUnit(call, large));
      await ledger.commit({ writes: [{ op: "insert_call", row: sampleCall({ ...c1, outputHash: "b1".repeat(32) }) }] });
      expect((await ledger.getCall("acme", "c1"))?.outputJson).toBeNull();
    },
  );
}
