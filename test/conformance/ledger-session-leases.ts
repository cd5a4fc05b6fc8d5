// Conformance: who has a session, which sessions nobody looks after, and that an effect is done under one fence.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { JournalRow, Session } from "../../packages/runtime/src/session/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { approved, sampleApproval } from "./ledger-governance-rows.ts";
import { dayStart, sampleCall } from "./ledger-rows.ts";
import { movedOn, sampleEffect, samplePut, sampleSession } from "./ledger-session-rows.ts";

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const refused = { applied: false, write: 0 };
const held = { applied: true };
const free = { replica: null, leaseExpiresAt: null, fence: 0 } as const;
const leaseMs = 15_000;

const insert = (ledger: Ledger, fields: Partial<Session> = {}) => commit(ledger, { op: "insert_session", row: sampleSession(fields) });
const claim = (ledger: Ledger, replica: string, now: number, fields: { tenant?: string; sessionId?: string } = {}) =>
  ledger.claimSession({ tenant: "acme", sessionId: "sess_1", replica, now, leaseMs, ...fields });

function claimCases(ledgerCase: LedgerCase): void {
  ledgerCase("a free session goes to who asks, under the next fence, and to nobody else while its lease runs", async ({ ledger, reopen }) => {
    await insert(ledger, { ...free, snapshotJson: '{"a":1.10}' });
    const expected = sampleSession({ fence: 1, replica: "r1", leaseExpiresAt: dayStart + 15_000, snapshotJson: '{"a":1.10}' });
    expect(await claim(ledger, "r1", dayStart)).toEqual(expected);
    expect(await claim(ledger, "r2", dayStart + 14_999)).toBeUndefined();
    expect(await (await reopen()).session("acme", "sess_1")).toEqual(expected);
  });

  ledgerCase("two who claim at once: one has it", async ({ ledger }) => {
    await insert(ledger, free);
    const claims = await Promise.all(["r1", "r2", "r3", "r4"].map((replica) => claim(ledger, replica, dayStart)));
    expect(claims.filter((row) => row !== undefined)).toHaveLength(1);
    expect((await ledger.session("acme", "sess_1"))?.fence).toBe(1);
  });

  ledgerCase("a lease that is over is taken over, and its fence writes no more", async ({ ledger }) => {
    await insert(ledger, { fence: 4, replica: "r1", leaseExpiresAt: dayStart + 100 });
    expect(await claim(ledger, "r2", dayStart + 99)).toBeUndefined();
    expect(await claim(ledger, "r2", dayStart + 100)).toMatchObject({ fence: 5, replica: "r2", leaseExpiresAt: dayStart + 15_100 });
    expect(await commit(ledger, ...movedOn(sampleSession({ fence: 4 })))).toEqual(refused);
    expect(await commit(ledger, ...movedOn(sampleSession({ fence: 5 })))).toEqual(held);
  });

  ledgerCase("who has it may claim it again, under a new fence", async ({ ledger }) => {
    await insert(ledger);
    expect(await claim(ledger, "r1", dayStart + 1)).toMatchObject({ fence: 2, replica: "r1", leaseExpiresAt: dayStart + 15_001 });
  });

  ledgerCase("a session that was let go is free at once; one that has ended, or is unknown, is nobody's", async ({ ledger }) => {
    await insert(ledger);
    const [update] = movedOn(sampleSession(), { state: "awaiting_input" });
    await commit(ledger, { ...(update as Extract<Write, { op: "update_session" }>), release: true });
    expect(await claim(ledger, "r2", dayStart + 1)).toMatchObject({ fence: 2, replica: "r2" });
    for (const state of ["completed", "failed", "cancelled"] as const) {
      await insert(ledger, { sessionId: state, state, ...free });
      expect(await claim(ledger, "r2", dayStart + 99_000, { sessionId: state })).toBeUndefined();
    }
    expect(await claim(ledger, "r2", dayStart, { sessionId: "sess_9" })).toBeUndefined();
    expect(await claim(ledger, "r2", dayStart + 99_000, { tenant: "globex" })).toBeUndefined();
  });

  ledgerCase("a lease is renewed by its replica under its fence alone", async ({ ledger }) => {
    await insert(ledger);
    await insert(ledger, { sessionId: "sess_2", fence: 7 });
    await insert(ledger, { sessionId: "sess_3", replica: "r2" });
    await insert(ledger, { sessionId: "sess_4", state: "completed" });
    await insert(ledger, { sessionId: "sess_5", tenant: "globex" });
    const asked = [
      { tenant: "acme", sessionId: "sess_1", fence: 1 },
      { tenant: "acme", sessionId: "sess_2", fence: 6 },
      { tenant: "acme", sessionId: "sess_3", fence: 1 },
      { tenant: "acme", sessionId: "sess_4", fence: 1 },
      { tenant: "acme", sessionId: "sess_5", fence: 1 },
      { tenant: "acme", sessionId: "sess_9", fence: 1 },
      { tenant: "globex", sessionId: "sess_5", fence: 1 },
    ];
    const renewed = await ledger.renewSessions("r1", asked, dayStart + 70_000);
    expect(renewed.toSorted((a, b) => (a.tenant < b.tenant ? -1 : 1))).toEqual([
      { tenant: "acme", sessionId: "sess_1" },
      { tenant: "globex", sessionId: "sess_5" },
    ]);
    const until = async (sessionId: string) => (await ledger.session("acme", sessionId))?.leaseExpiresAt;
    expect(await until("sess_1")).toBe(dayStart + 70_000);
    for (const sessionId of ["sess_2", "sess_3", "sess_4"]) expect(await until(sessionId)).toBe(dayStart + 15_000);
    expect(await ledger.session("acme", "sess_1")).toEqual(sampleSession({ leaseExpiresAt: dayStart + 70_000 }));
    expect(await ledger.renewSessions("r1", [], dayStart)).toEqual([]);
    // Over, but nobody took it: it is still the replica's.
    expect(await ledger.renewSessions("r1", [{ tenant: "acme", sessionId: "sess_2", fence: 7 }], dayStart + 1)).toHaveLength(1);
  });
}

async function idle(ledger: Ledger, now = dayStart + 1, limit = 100): Promise<string[]> {
  return (await ledger.idleSessions(now, limit)).map(({ sessionId }) => sessionId);
}

function idleCases(ledgerCase: LedgerCase): void {
  ledgerCase("what runs or awaits a tool is looked for when no lease runs", async ({ ledger }) => {
    await insert(ledger, { sessionId: "a", ...free });
    await insert(ledger, { sessionId: "b", ...free, state: "awaiting_tool", updatedAt: dayStart - 5 });
    await insert(ledger, { sessionId: "c", leaseExpiresAt: dayStart + 50 });
    await insert(ledger, { sessionId: "d", state: "awaiting_tool", leaseExpiresAt: dayStart + 500 });
    expect(await idle(ledger, dayStart + 49)).toEqual(["b", "a"]);
    expect(await idle(ledger, dayStart + 50)).toEqual(["b", "a", "c"]);
    expect(await idle(ledger, dayStart + 50, 2)).toEqual(["b", "a"]);
    await claim(ledger, "r9", dayStart + 50, { sessionId: "b" });
    expect(await idle(ledger, dayStart + 50)).toEqual(["a", "c"]);
  });

  ledgerCase("what awaits input is looked for when a word waits, and what has ended never", async ({ ledger }) => {
    await insert(ledger, { ...free, state: "awaiting_input" });
    expect(await idle(ledger)).toEqual([]);
    await commit(ledger, samplePut());
    expect(await ledger.idleSessions(dayStart + 1, 10)).toEqual([{ tenant: "acme", sessionId: "sess_1" }]);
    await commit(ledger, ...movedOn(sampleSession({ fence: 0 }), { state: "awaiting_input", inboxTaken: 1 }));
    expect(await idle(ledger)).toEqual([]);
    await commit(ledger, samplePut());
    await commit(ledger, ...movedOn(sampleSession({ fence: 0 }), { state: "completed", endedAt: dayStart, inboxTaken: 1 }));
    expect(await idle(ledger)).toEqual([]);
    for (const state of ["failed", "cancelled"] as const) await insert(ledger, { sessionId: state, state, ...free });
    expect(await idle(ledger)).toEqual([]);
  });

  ledgerCase("what awaits people is looked for when none of its calls is parked and no limit is asked about", async ({ ledger }) => {
    await insert(ledger, { ...free, state: "awaiting_approval" });
    await insert(ledger, { sessionId: "sess_2", ...free, state: "awaiting_approval", updatedAt: dayStart + 1 });
    expect(await idle(ledger)).toEqual(["sess_1", "sess_2"]);
    const parked = (callId: string, state: "awaiting_approval" | "indeterminate") => sampleCall({ callId, sessionId: "sess_1", state, replica: null, idempotencyKey: null });
    await commit(ledger, { op: "insert_call", row: parked("c1", "awaiting_approval") });
    expect(await idle(ledger)).toEqual(["sess_2"]);
    await commit(ledger, { op: "update_call", expect: { state: "awaiting_approval", fence: 1 }, row: { ...parked("c1", "indeterminate") } });
    expect(await idle(ledger)).toEqual(["sess_2"]);
    await commit(ledger, { op: "update_call", expect: { state: "indeterminate", fence: 1 }, row: { ...parked("c1", "indeterminate"), state: "running" } });
    expect(await idle(ledger)).toEqual(["sess_1", "sess_2"]);
    const asked = sampleApproval({ approvalId: "apr_1", subject: { kind: "limit", callId: null, sessionId: "sess_2" } });
    await commit(ledger, { op: "insert_approval", row: asked });
    // About a call, and of another tenant's session of that name: neither holds it back.
    await commit(ledger, { op: "insert_approval", row: sampleApproval({ approvalId: "apr_2", subject: { kind: "call", callId: "c1", sessionId: "sess_1" } }) });
    await commit(ledger, { op: "insert_approval", row: sampleApproval({ approvalId: "apr_3", tenant: "globex", subject: { kind: "limit", callId: null, sessionId: "sess_1" } }) });
    await commit(ledger, { op: "insert_call", row: { ...parked("c1", "awaiting_approval"), tenant: "globex" } });
    expect(await idle(ledger)).toEqual(["sess_1"]);
    await commit(ledger, { op: "update_approval", expect: { revision: 0 }, row: approved(asked) });
    expect(await idle(ledger)).toEqual(["sess_1", "sess_2"]);
  });

  ledgerCase("while people are asked a cancel that waits is looked for, and nothing else that does", async ({ ledger }) => {
    await insert(ledger, { ...free, state: "awaiting_approval" });
    await commit(ledger, { op: "insert_approval", row: sampleApproval({ approvalId: "apr_1", subject: { kind: "limit", callId: null, sessionId: "sess_1" } }) });
    expect(await idle(ledger)).toEqual([]);
    await commit(ledger, samplePut({ idempotencyKey: "m1", wish: { type: "message", text: '{"type":"cancel"}' } }));
    expect(await idle(ledger)).toEqual([]);
    await commit(ledger, samplePut({ idempotencyKey: "c1", wish: { type: "cancel", scope: "turn", callId: null, reason: "" } }));
    expect(await idle(ledger)).toEqual(["sess_1"]);
    await commit(ledger, ...movedOn(sampleSession({ fence: 0 }), { state: "awaiting_approval", inboxTaken: 2 }));
    expect(await idle(ledger)).toEqual([]);
  });

  ledgerCase("a replica that starts gives up what an earlier process of its name held, and nobody else's", async ({ ledger }) => {
    await insert(ledger, { sessionId: "mine", leaseExpiresAt: dayStart + 5_000 });
    await insert(ledger, { sessionId: "another", replica: "r2", leaseExpiresAt: dayStart + 5_000 });
    await insert(ledger, { sessionId: "over", state: "completed" });
    expect(await idle(ledger)).toEqual([]);
    expect(await ledger.freeSessions("r1")).toBe(1);
    expect(await idle(ledger)).toEqual(["mine"]);
    // The fence stays: whoever had it writes on until it is claimed, and not beyond.
    expect(await claim(ledger, "r3", dayStart, { sessionId: "mine" })).toMatchObject({ fence: 2, replica: "r3" });
    expect(await ledger.freeSessions("r1")).toBe(0);
  });
}

const claimEffect = (row: JournalRow, now = dayStart): Write => ({ op: "claim_effect", row, now });
const complete = (fields: Partial<Extract<Write, { op: "complete_effect" }>> = {}): Write => ({
  op: "complete_effect",
  tenant: "acme",
  sessionId: "sess_1",
  key: "t1.e1",
  fence: 1,
  at: dayStart + 7,
  outcomeJson: '{"ok":9007199254740993.10}',
  ...fields,
});
const completed = (row: JournalRow): JournalRow => ({ ...row, state: "completed", completedAt: dayStart + 7, outcomeJson: '{"ok":9007199254740993.10}' });

function effectCases(ledgerCase: LedgerCase): void {
  ledgerCase("an effect is claimed and completed under the session's fence, and comes back as it was", async ({ ledger, reopen }) => {
    await insert(ledger);
    const row = sampleEffect();
    expect(await ledger.effect("acme", "sess_1", "t1.e1")).toBeUndefined();
    expect(await commit(ledger, claimEffect({ ...row, fence: 2 }))).toEqual(refused);
    expect(await commit(ledger, claimEffect({ ...row, fence: 0 }))).toEqual(refused);
    expect(await commit(ledger, claimEffect({ ...row, sessionId: "sess_9" }))).toEqual(refused);
    expect(await commit(ledger, claimEffect(row))).toEqual(held);
    expect(await ledger.effect("acme", "sess_1", "t1.e1")).toEqual(row);
    expect(await commit(ledger, complete({ fence: 2 }))).toEqual(refused);
    expect(await commit(ledger, complete({ key: "t1.e2" }))).toEqual(refused);
    expect(await commit(ledger, complete({ tenant: "globex" }))).toEqual(refused);
    expect(await commit(ledger, complete())).toEqual(held);
    expect(await commit(ledger, complete({ outcomeJson: "{}" }))).toEqual(refused);
    expect(await (await reopen()).effect("acme", "sess_1", "t1.e1")).toEqual(completed(row));
  });

  ledgerCase("a claim that runs under the same fence keeps others out until it expires", async ({ ledger }) => {
    await insert(ledger);
    const row = sampleEffect({ claimExpiresAt: dayStart + 100 });
    await commit(ledger, claimEffect(row));
    const again = sampleEffect({ claimedAt: dayStart + 90, claimExpiresAt: dayStart + 900, hash: "h2".repeat(32), envelopeJson: "{}", kind: "run_tools" });
    expect(await commit(ledger, claimEffect(again, dayStart + 99))).toEqual(refused);
    expect(await ledger.effect("acme", "sess_1", "t1.e1")).toEqual(row);
    expect(await commit(ledger, claimEffect(again, dayStart + 100))).toEqual(held);
    expect(await ledger.effect("acme", "sess_1", "t1.e1")).toEqual(again);
  });

  ledgerCase("a later fence takes over what an older one left behind, and the older one completes nothing", async ({ ledger }) => {
    await insert(ledger, { leaseExpiresAt: dayStart + 100 });
    await commit(ledger, claimEffect(sampleEffect()));
    await claim(ledger, "r2", dayStart + 100);
    expect(await commit(ledger, complete())).toEqual(refused);
    expect(await commit(ledger, complete({ fence: 2 }))).toEqual(refused);
    expect(await commit(ledger, claimEffect(sampleEffect(), dayStart + 99_000))).toEqual(refused);
    const mine = sampleEffect({ fence: 2 });
    expect(await commit(ledger, claimEffect(mine, dayStart + 100))).toEqual(held);
    expect(await commit(ledger, complete({ fence: 2 }))).toEqual(held);
    expect(await ledger.effect("acme", "sess_1", "t1.e1")).toEqual(completed(mine));
  });

  ledgerCase("what is completed is never claimed again, whatever the fence and the time", async ({ ledger }) => {
    await insert(ledger, { leaseExpiresAt: dayStart + 100 });
    await commit(ledger, claimEffect(sampleEffect()), complete());
    expect(await commit(ledger, claimEffect(sampleEffect(), dayStart + 99_000))).toEqual(refused);
    await claim(ledger, "r2", dayStart + 100);
    expect(await commit(ledger, claimEffect(sampleEffect({ fence: 2 }), dayStart + 99_000))).toEqual(refused);
    expect(await ledger.effect("acme", "sess_1", "t1.e1")).toEqual(completed(sampleEffect()));
  });

  ledgerCase("of many who claim an effect at once one has it", async ({ ledger }) => {
    await insert(ledger);
    const claims = await Promise.all(Array.from({ length: 12 }, (_, at) => commit(ledger, claimEffect(sampleEffect({ claimedAt: dayStart + at })))));
    expect(claims.filter(({ applied }) => applied)).toHaveLength(1);
  });

  ledgerCase("a completion, the row, its history and its stream are one commit", async ({ ledger }) => {
    await insert(ledger);
    await commit(ledger, claimEffect(sampleEffect()));
    const [update] = movedOn(sampleSession(), { state: "completed", endedAt: dayStart + 9, turn: 1 });
    // The row first, or the effect first: both end the session and its last effect together.
    expect(await commit(ledger, update as Write, complete())).toEqual(held);
    expect(await ledger.session("acme", "sess_1")).toMatchObject({ state: "completed", turn: 1 });
    expect((await ledger.effect("acme", "sess_1", "t1.e1"))?.state).toBe("completed");
  });

  ledgerCase("a journal is read by turn and number", async ({ ledger }) => {
    await insert(ledger);
    await insert(ledger, { sessionId: "sess_2" });
    for (const key of ["t2.e1", "t1.e10", "t1.e9", "t10.e1", "t1.e1"]) await commit(ledger, claimEffect(sampleEffect({ key })));
    await commit(ledger, claimEffect(sampleEffect({ sessionId: "sess_2", key: "t1.e2" })));
    expect((await ledger.journal("acme", "sess_1")).map(({ key }) => key)).toEqual(["t1.e1", "t1.e9", "t1.e10", "t2.e1", "t10.e1"]);
    expect(await ledger.journal("acme", "sess_2")).toEqual([sampleEffect({ sessionId: "sess_2", key: "t1.e2" })]);
  });
}

export function sessionLeaseCases(ledgerCase: LedgerCase): void {
  claimCases(ledgerCase);
  idleCases(ledgerCase);
  effectCases(ledgerCase);
}
