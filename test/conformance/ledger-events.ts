// Conformance: what hangs on a call: its event stream and outbox, its attempts and leases, its results.
import { expect } from "vitest";
import type { ErrorBody } from "@signalbox/protocol";
import type { Attempt, Call } from "../../packages/runtime/src/call/types.ts";
import type { CommitOutcome, Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import {
  admitUnit,
  appendEvents,
  dayStart,
  sampleAttempt,
  sampleCall,
  sampleEvent,
  sampleLateResult,
  settledCall,
  settleUnit,
} from "./ledger-rows.ts";

const c1 = { tenant: "acme", callId: "c1" };

async function seqs(ledger: Ledger, callId: string): Promise<number[]> {
  return (await ledger.events("acme", callId, 0, 100)).map((event) => event.seq);
}

async function insert(ledger: Ledger, ...calls: readonly { readonly callId: string }[]): Promise<void> {
  for (const call of calls) await ledger.commit({ writes: [{ op: "insert_call", row: sampleCall(call) }] });
}

/** Over the 256 KiB that a row keeps; two bytes a character, so that a count of characters would be too small. */
const largeOutput = JSON.stringify("é".repeat(140_000));
const large: Partial<Call> = { outputJson: largeOutput, outputHash: "b1".repeat(32), outputBytes: 280_002 };

export function eventCases(ledgerCase: LedgerCase): void {
  ledgerCase("events come back in order, behind a seq, as many as asked for", async ({ ledger }) => {
    await insert(ledger, c1);
    await ledger.commit({ writes: appendEvents(c1, 1, "requested", "queued") });
    await ledger.commit({ writes: appendEvents(c1, 3, "dispatched", "started", "succeeded") });
    expect(await seqs(ledger, "c1")).toEqual([1, 2, 3, 4, 5]);
    expect(await ledger.events("acme", "c1", 1, 3)).toEqual([
      sampleEvent(c1, 2, "queued"),
      sampleEvent(c1, 3, "dispatched"),
      sampleEvent(c1, 4, "started"),
    ]);
    expect(await ledger.events("acme", "c1", 5, 3)).toEqual([]);
  });

  ledgerCase("a stream of events starts at 1 and has neither holes nor doubles", async ({ ledger }) => {
    await insert(ledger, c1);
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

  ledgerCase("the outbox goes on behind its last row after reopening", async ({ ledger, reopen }) => {
    const calls = [sampleCall(c1), sampleCall({ callId: "c2" })];
    for (const call of calls) await ledger.commit(admitUnit(call));
    const again = await reopen();
    for (const call of calls) expect(await again.commit(settleUnit(call))).toEqual({ applied: true });
    const rows = await again.outbox(0, 10);
    expect(rows.map(({ callId, seqFrom }) => [callId, seqFrom])).toEqual([
      ["c1", 1],
      ["c2", 1],
      ["c1", 4],
      ["c2", 4],
    ]);
  });

  ledgerCase("a unit with events of two calls gets one outbox row for each", async ({ ledger }) => {
    const c2 = { tenant: "acme", callId: "c2" };
    await insert(ledger, c1, c2);
    await ledger.commit({
      writes: [...appendEvents(c1, 1, "requested", "denied"), ...appendEvents(c2, 1, "requested")],
    });
    expect((await ledger.outbox(0, 100)).map(({ id: _id, ...row }) => row)).toEqual([
      { ...c1, seqFrom: 1, seqTo: 2 },
      { ...c2, seqFrom: 1, seqTo: 1 },
    ]);
  });

  ledgerCase("what a call's row counts is what its stream holds", async ({ ledger }) => {
    const call = sampleCall(c1);
    const fresh = (eventSeq: number) => ({ op: "insert_call", row: { ...call, eventSeq } }) as const;
    await expect(ledger.commit({ writes: [fresh(0), ...appendEvents(c1, 1, "requested")] })).rejects.toThrow();
    await expect(ledger.commit({ writes: [fresh(2), ...appendEvents(c1, 2, "queued")] })).rejects.toThrow();
    await expect(ledger.commit({ writes: [fresh(1)] })).rejects.toThrow();
    await ledger.commit(admitUnit(call));
    const moved = (eventSeq: number) =>
      ({
        op: "update_call",
        expect: { state: "dispatched", fence: 1 },
        row: { ...call, state: "running", eventSeq },
      }) as const;
    await expect(ledger.commit({ writes: [moved(3), ...appendEvents(c1, 4, "started")] })).rejects.toThrow();
    const refused = { applied: false, write: 0 };
    expect(await ledger.commit({ writes: [moved(5), ...appendEvents(c1, 5, "started")] })).toEqual(refused);
    expect(await ledger.commit({ writes: [moved(3), ...appendEvents(c1, 3, "started")] })).toEqual(refused);
    expect(await ledger.commit({ writes: [moved(4)] })).toEqual(refused);
    expect(await ledger.getCall("acme", "c1")).toEqual({ ...call, eventSeq: 3 });
    expect(await seqs(ledger, "c1")).toEqual([1, 2, 3]);
    expect(await ledger.commit({ writes: [moved(4), ...appendEvents(c1, 4, "started")] })).toEqual({ applied: true });
    expect(await seqs(ledger, "c1")).toEqual([1, 2, 3, 4]);
  });

  ledgerCase("a call that moved on refuses a unit, also when the unit's events do not follow", async ({ ledger }) => {
    const call = sampleCall(c1);
    await ledger.commit(admitUnit(call));
    await ledger.commit(settleUnit(call));
    expect(await ledger.commit(settleUnit(call))).toEqual({ applied: false, write: 0 });
    expect(await seqs(ledger, "c1")).toEqual([1, 2, 3, 4, 5]);
  });

  ledgerCase("a unit that follows other events than those that are stored is refused, and leaves its neighbours alone", async ({ ledger }) => {
    const [behind, steady] = [sampleCall(c1), sampleCall({ callId: "c2" })];
    for (const call of [behind, steady]) await ledger.commit(admitUnit(call));
    await ledger.commit({ writes: appendEvents(c1, 4, "progress") });
    const outcomes = await Promise.all([ledger.commit(settleUnit(behind)), ledger.commit(settleUnit(steady))]);
    expect(outcomes).toEqual([{ applied: false, write: 0 }, { applied: true }]);
    expect((await ledger.getCall("acme", "c1"))?.state).toBe("dispatched");
    expect([await seqs(ledger, "c1"), await ledger.attempts("acme", "c1")]).toEqual([[1, 2, 3, 4], [sampleAttempt(behind)]]);
    expect((await ledger.listAudit({ tenant: "acme", executionId: "c1" }, 10)).items).toEqual([]);
  });

  ledgerCase("an update that expects its replica is refused when the call is with another, or with nobody", async ({ ledger }) => {
    const held = sampleCall({ callId: "held", state: "queued", replica: "r1" });
    const free = sampleCall({ callId: "free", state: "queued", replica: null });
    await insert(ledger, held, free);
    const move = (row: Call, replica: string | null): Promise<CommitOutcome> =>
      ledger.commit({ writes: [{ op: "update_call", expect: { state: "queued", fence: 1, replica }, row: { ...row, placements: row.placements + 1 } }] });
    const refused = { applied: false, write: 0 };
    for (const [row, replica] of [[held, "r2"], [held, null], [free, "r1"]] as const) expect(await move(row, replica)).toEqual(refused);
    expect(await move(held, "r1")).toEqual({ applied: true });
    expect(await move(free, null)).toEqual({ applied: true });
    const placements = await Promise.all(["held", "free"].map(async (callId) => (await ledger.getCall("acme", callId))?.placements));
    expect(placements).toEqual([1, 1]);
  });

  ledgerCase("events need a call", async ({ ledger }) => {
    await expect(ledger.commit({ writes: appendEvents(c1, 1, "requested") })).rejects.toThrow();
    expect(await ledger.events("acme", "c1", 0, 10)).toEqual([]);
    expect(await ledger.outbox(0, 10)).toEqual([]);
  });

  ledgerCase("events that come without their call's row are counted there all the same", async ({ ledger }) => {
    const call = sampleCall(c1);
    await ledger.commit(admitUnit(call));
    await ledger.commit({ writes: appendEvents(c1, 4, "progress") });
    expect((await ledger.getCall("acme", "c1"))?.eventSeq).toBe(4);
    await expect(ledger.commit({ writes: appendEvents(c1, 6, "progress") })).rejects.toThrow();
    expect(await seqs(ledger, "c1")).toEqual([1, 2, 3, 4]);
  });

  ledgerCase("a long stream is read from any seq", async ({ ledger }) => {
    await insert(ledger, c1);
    for (let seq = 1; seq <= 60; seq += 1) await ledger.commit({ writes: appendEvents(c1, seq, "progress") });
    for (let seq = 61; seq <= 300; seq += 3) {
      await ledger.commit({ writes: appendEvents(c1, seq, "progress", "progress", "progress") });
    }
    for (const [after, limit, from, to] of [
      [0, 300, 1, 300],
      [0, 1, 1, 1],
      [2, 5, 3, 7],
      [150, 4, 151, 154],
      [298, 100, 299, 300],
    ] as const) {
      const found = (await ledger.events("acme", "c1", after, limit)).map(({ seq }) => seq);
      expect([after, found[0], found.at(-1), found.length]).toEqual([after, from, to, to - from + 1]);
    }
  });

  ledgerCase("the data of an event comes back as the text that it was", async ({ ledger }) => {
    const texts = ['{ "b": 1.0,\n "a": 12345678901234567890 }', "", '"\\ud800 \u{1f600} \\u0000"'];
    const writes = texts.map((dataJson, at) => ({
      op: "append_event" as const,
      event: { ...sampleEvent(c1, at + 1, "progress"), dataJson },
    }));
    await insert(ledger, c1);
    await ledger.commit({ writes });
    expect((await ledger.events("acme", "c1", 0, 10)).map(({ dataJson }) => dataJson)).toEqual(texts);
    expect((await ledger.events("acme", "c1", 1, 1)).map(({ dataJson }) => dataJson)).toEqual([texts[1]]);
  });

  ledgerCase(
    "attempts come back by fence: those that ended, then the one that the call's row tells of",
    async ({ ledger }) => {
      const call = sampleCall({ ...c1, state: "running", fence: 3, attempt: 2, startedAt: dayStart + 9 });
      const first = sampleAttempt(call, { fence: 1, attempt: 1, endedAt: dayStart + 1, endReason: "nack" });
      const second = sampleAttempt(call, {
        fence: 2,
        attempt: 1,
        workerId: "worker-b",
        acceptedAt: dayStart + 1,
        startedAt: dayStart + 2,
        endedAt: dayStart + 3,
        endReason: "lease_expired",
        error: { code: "lease_expired", message: "silent for 15 s", type: "routing", retryable: true },
        usage: { durationMs: 7 },
      });
      await ledger.commit({ writes: [{ op: "insert_call", row: call }] });
      for (const row of [second, first]) await ledger.commit({ writes: [{ op: "end_attempt", row }] });
      const running = sampleAttempt(call, { startedAt: dayStart + 9 });
      expect(await ledger.attempts("acme", "c1")).toEqual([first, second, running]);
    },
  );

  ledgerCase("nobody holds a call that is queued, parked or settled", async ({ ledger }) => {
    for (const state of ["queued", "indeterminate", "failed"] as const) {
      await ledger.commit({ writes: [{ op: "insert_call", row: sampleCall({ callId: state, state }) }] });
      expect([state, await ledger.attempts("acme", state)]).toEqual([state, []]);
    }
  });

  ledgerCase("the attempt that settles its call comes back with all that it said", async ({ ledger }) => {
    const call = sampleCall(c1);
    await ledger.commit(admitUnit(call));
    const error: ErrorBody = { code: "tool_error", message: "no", type: "tool", retryable: false, details: { a: 1 } };
    const end = { startedAt: dayStart + 1, error, usage: { durationMs: 2.5 } };
    const ended = sampleAttempt(call, { ...end, acceptedAt: dayStart + 1, endedAt: dayStart + 3, endReason: "failed" });
    await ledger.commit({
      writes: [
        {
          op: "update_call",
          expect: { state: "dispatched", fence: 1 },
          row: settledCall(call, { ...end, state: "failed", eventSeq: 4 }),
        },
        { op: "end_attempt", row: ended },
        ...appendEvents(call, 4, "failed"),
      ],
    });
    expect(await ledger.attempts("acme", "c1")).toEqual([ended]);
  });

  ledgerCase("a unit that settles one call and moves another tells only the one's attempt", async ({ ledger }) => {
    const [settled, moved] = [sampleCall(c1), sampleCall({ callId: "c2" })];
    for (const call of [settled, moved]) await ledger.commit(admitUnit(call));
    const [update, ...rest] = settleUnit(settled).writes;
    const row: Call = { ...moved, state: "failed", eventSeq: 3 };
    const other = { op: "update_call", expect: { state: "dispatched", fence: 1 }, row } as const;
    expect(await ledger.commit({ writes: [update as Write, other, ...rest] })).toEqual({ applied: true });
    expect((await ledger.attempts("acme", "c1")).map(({ endReason }) => endReason)).toEqual(["succeeded"]);
    expect(await ledger.attempts("acme", "c2")).toEqual([]);
  });

  ledgerCase("an attempt that says other than the row that it settles keeps its own words", async ({ ledger }) => {
    const ends: Partial<Attempt>[] = [
      { fence: 2 },
      { attempt: 2 },
      { workerId: "worker-b" },
      { incarnation: "inc_2" },
      { replica: "replica-2" },
      { dispatchedAt: dayStart + 1 },
      { startedAt: null },
      { endedAt: dayStart + 4 },
      { error: { code: "tool_error", message: "no", type: "routing", retryable: true } },
      { usage: null },
      { endReason: null },
    ];
    for (const [at, fields] of ends.entries()) {
      const call = sampleCall({ callId: `c${at}` });
      await ledger.commit(admitUnit(call));
      const { writes } = settleUnit(call);
      const said = writes.map((write) =>
        write.op === "end_attempt" ? { ...write, row: { ...write.row, ...fields } } : write,
      );
      expect(await ledger.commit({ writes: said })).toEqual({ applied: true });
      const [row] = said.flatMap((write) => (write.op === "end_attempt" ? [write.row] : []));
      expect(await ledger.attempts("acme", call.callId)).toEqual([row]);
    }
  });

  ledgerCase("a lease ends once", async ({ ledger }) => {
    const call = sampleCall(c1);
    const nacked = sampleAttempt(call, { endedAt: dayStart + 1, endReason: "nack" });
    await ledger.commit({ writes: [{ op: "end_attempt", row: nacked }] });
    const again = sampleAttempt(call, { endedAt: dayStart + 2, endReason: "lease_expired" });
    await expect(ledger.commit({ writes: [{ op: "end_attempt", row: again }] })).rejects.toThrow();
    expect(await ledger.attempts("acme", "c1")).toEqual([nacked]);

    const settled = sampleCall({ callId: "c2" });
    await ledger.commit(admitUnit(settled));
    await ledger.commit(settleUnit(settled));
    const before = await ledger.attempts("acme", "c2");
    expect(before.map(({ fence, endReason }) => [fence, endReason])).toEqual([[1, "succeeded"]]);
    const row = sampleAttempt(settled, { endedAt: dayStart + 9, endReason: "lease_expired" });
    await expect(ledger.commit({ writes: [{ op: "end_attempt", row }] })).rejects.toThrow();
    expect(await ledger.attempts("acme", "c2")).toEqual(before);
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
