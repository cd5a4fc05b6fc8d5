// Conformance: lists of sessions, what their calls and approvals are, what tools emitted, what retention leaves, and that tenants see their own.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Session } from "../../packages/runtime/src/session/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { sampleApproval, sampleVote } from "./ledger-governance-rows.ts";
import { admitUnit, dayStart, sampleCall, settledCall, settleUnit } from "./ledger-rows.ts";
import { movedOn, sampleEffect, sampleHostEvent, samplePut, sampleSession, sampleTold, userItem } from "./ledger-session-rows.ts";

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const insert = (ledger: Ledger, fields: Partial<Session>) => commit(ledger, { op: "insert_session", row: sampleSession(fields) });
const ids = (page: { readonly items: readonly Session[] }): string[] => page.items.map(({ sessionId }) => sessionId);

function listCases(ledgerCase: LedgerCase): void {
  ledgerCase("sessions are listed newest first without their snapshot, page by page, stable under inserts", async ({ ledger }) => {
    for (const [sessionId, at] of [["b", 2], ["a", 2], ["d", 4], ["c", 3], ["z", 1]] as const)
      await insert(ledger, { sessionId, createdAt: dayStart + at, snapshotJson: '{"long":1}' });
    const first = await ledger.listSessions({ tenant: "acme" }, 2);
    expect(ids(first)).toEqual(["d", "c"]);
    expect(first.items[0]).toEqual(sampleSession({ sessionId: "d", createdAt: dayStart + 4 }));
    await insert(ledger, { sessionId: "new", createdAt: dayStart + 9 });
    await insert(ledger, { sessionId: "bb", createdAt: dayStart + 2 });
    const second = await ledger.listSessions({ tenant: "acme" }, 2, first.next);
    expect(ids(second)).toEqual(["bb", "b"]);
    const third = await ledger.listSessions({ tenant: "acme" }, 2, second.next);
    expect([ids(third), third.next]).toEqual([["a", "z"], undefined]);
    await expect(ledger.listSessions({ tenant: "acme" }, 2, "nonsense")).rejects.toThrow("cursor");
    await expect(ledger.listSessions({ tenant: "acme" }, 0)).rejects.toThrow("limit");
  });

  ledgerCase("each filter narrows by itself, and all of them together", async ({ ledger }) => {
    await insert(ledger, { sessionId: "all", project: "ops", agent: "other", state: "failed", parentSessionId: "root", principal: "user:bo" });
    await insert(ledger, { sessionId: "one", project: "ops" });
    await insert(ledger, { sessionId: "two", agent: "other" });
    await insert(ledger, { sessionId: "three", state: "failed" });
    await insert(ledger, { sessionId: "four", parentSessionId: "root" });
    await insert(ledger, { sessionId: "five", principal: "user:bo" });
    const listed = async (filter: object) => ids(await ledger.listSessions({ tenant: "acme", ...filter }, 10)).toSorted();
    expect(await listed({ project: "ops" })).toEqual(["all", "one"]);
    expect(await listed({ agent: "other" })).toEqual(["all", "two"]);
    expect(await listed({ state: "failed" })).toEqual(["all", "three"]);
    expect(await listed({ parentSessionId: "root" })).toEqual(["all", "four"]);
    expect(await listed({ parentSessionId: "" })).toEqual(["five", "one", "three", "two"]);
    expect(await listed({ principal: "user:bo" })).toEqual(["all", "five"]);
    expect(await listed({ project: "ops", agent: "other", state: "failed", parentSessionId: "root", principal: "user:bo" })).toEqual(["all"]);
    expect(await listed({ project: "ops", state: "completed" })).toEqual([]);
  });
}

function callCases(ledgerCase: LedgerCase): void {
  ledgerCase("a session's calls come whole, by turn, step and index, in whatever order they came", async ({ ledger }) => {
    const call = (callId: string, turn: number, step: number, index: number) => sampleCall({ callId, sessionId: "sess_1", turn, step, index, idempotencyKey: null });
    const large = { outputJson: JSON.stringify("ä".repeat(200_000)), outputBytes: 400_002, outputHash: "cd".repeat(32) };
    for (const [callId, turn, step, index] of [["c4", 2, 1, 0], ["c2", 1, 1, 1], ["c3", 1, 2, 0], ["c1", 1, 1, 0], ["c5", 10, 1, 0]] as const)
      await ledger.commit(admitUnit(call(callId, turn, step, index)));
    await ledger.commit(settleUnit(call("c2", 1, 1, 1), large));
    await ledger.commit(admitUnit(sampleCall({ callId: "other", sessionId: "sess_2", idempotencyKey: null })));
    await ledger.commit(admitUnit(sampleCall({ callId: "none", sessionId: "", idempotencyKey: null })));
    const found = await ledger.sessionCalls("acme", "sess_1");
    expect(found.map(({ callId }) => callId)).toEqual(["c1", "c2", "c3", "c4", "c5"]);
    expect(found[1]).toEqual({ ...settledCall(call("c2", 1, 1, 1), large), eventSeq: 5 });
    expect(found[0]).toEqual({ ...call("c1", 1, 1, 0), eventSeq: 3 });
    expect(await ledger.sessionCalls("acme", "")).toEqual([]);
  });

  ledgerCase("a session's approvals are those of its calls and limits, oldest first, without arguments", async ({ ledger }) => {
    const calls = sampleApproval({ approvalId: "apr_b", openedAt: dayStart + 2, subject: { kind: "call", callId: "c1", sessionId: "sess_1" } });
    const limits = sampleApproval({ approvalId: "apr_a", openedAt: dayStart + 2, subject: { kind: "limit", callId: null, sessionId: "sess_1" } });
    const unknown = sampleApproval({ approvalId: "apr_z", openedAt: dayStart + 1, subject: { kind: "resolve", callId: "c2", sessionId: "sess_1" } });
    const others = [sampleApproval({ approvalId: "apr_y", subject: { kind: "call", callId: "c3", sessionId: null } }), sampleApproval({ approvalId: "apr_x", subject: { kind: "call", callId: "c3", sessionId: "sess_2" } })];
    for (const row of [calls, limits, unknown, ...others]) await commit(ledger, { op: "insert_approval", row });
    expect(await ledger.sessionApprovals("acme", "sess_1")).toEqual([unknown, limits, calls].map((row) => ({ ...row, argsJson: "" })));
  });

  ledgerCase("what a tool emitted is kept once for each call, type and ordinal", async ({ ledger, reopen }) => {
    const put = (row: ReturnType<typeof sampleHostEvent>): Write => ({ op: "put_host_event", row });
    const rows = [sampleHostEvent(1), sampleHostEvent(0), sampleHostEvent(1, { type: "badge" }), sampleHostEvent(0, { callId: "exec_0" }), sampleHostEvent(0, { callId: "exec_2" })];
    expect(await commit(ledger, ...rows.map(put))).toEqual({ applied: true });
    expect(await commit(ledger, put(sampleHostEvent(1, { payloadJson: '"again"' })), put(sampleHostEvent(2)))).toEqual({ applied: true });
    expect(await commit(ledger, put(sampleHostEvent(3)), put(sampleHostEvent(3, { payloadJson: '"twice"' })))).toEqual({ applied: true });
    const again = await reopen();
    const kept = await again.hostEvents("acme", ["exec_1", "exec_0", "exec_9"]);
    expect(kept).toEqual([sampleHostEvent(0, { callId: "exec_0" }), sampleHostEvent(0), sampleHostEvent(1, { type: "badge" }), sampleHostEvent(1), sampleHostEvent(2), sampleHostEvent(3)]);
    expect(await again.hostEvents("acme", [])).toEqual([]);
  });

  ledgerCase("what a tool emitted is written in the unit that settles its call", async ({ ledger }) => {
    const call = sampleCall({ callId: "exec_1", sessionId: "sess_1" });
    await ledger.commit(admitUnit(call));
    const unit = settleUnit(call);
    const settles = () => ledger.commit({ writes: [...unit.writes, { op: "put_host_event", row: sampleHostEvent(0) }] });
    expect((await Promise.all([settles(), settles()])).map(({ applied }) => applied)).toEqual([true, false]);
    expect(await ledger.hostEvents("acme", ["exec_1"])).toEqual([sampleHostEvent(0)]);
  });
}

async function talked(ledger: Ledger, sessionId: string, fields: Partial<Session> = {}): Promise<void> {
  const row = sampleSession({ sessionId, ...fields });
  await commit(ledger, { op: "insert_session", row });
  await commit(ledger, samplePut({ sessionId, idempotencyKey: "k" }));
  await commit(ledger, { op: "claim_effect", row: sampleEffect({ sessionId }), now: dayStart });
  await commit(ledger, ...movedOn(row, {}, [{ op: "append_history", tenant: "acme", sessionId, at: 0, item: userItem("x") }, { op: "append_session_event", event: sampleTold(1, { sessionId }) }]));
}

async function ends(ledger: Ledger, sessionId: string, endedAt: number): Promise<void> {
  const stored = await ledger.session("acme", sessionId);
  if (stored !== undefined) expect(await commit(ledger, ...movedOn(stored, { state: "completed", endedAt }))).toEqual({ applied: true });
}

/** Made by a session, ended long ago, with a question about it. */
async function oldCall(ledger: Ledger, callId: string, sessionId: string, settledAt = dayStart + 100): Promise<void> {
  const call = sampleCall({ callId, sessionId, idempotencyKey: null, admittedAt: dayStart });
  await ledger.commit(admitUnit(call));
  await ledger.commit(settleUnit(call, { settledAt }));
  const row = sampleApproval({ approvalId: `apr_${callId}`, subject: { kind: "call", callId, sessionId } });
  await commit(ledger, { op: "insert_approval", row }, { op: "put_host_event", row: sampleHostEvent(0, { callId }) });
}

async function leftOf(ledger: Ledger, sessionId: string, callId: string) {
  return {
    session: (await ledger.session("acme", sessionId)) !== undefined,
    parts: [
      (await ledger.history("acme", sessionId, 0, 10)).length,
      (await ledger.inbox("acme", sessionId, 0, 10)).length,
      (await ledger.sessionEvents("acme", sessionId, 0, 10)).length,
      (await ledger.journal("acme", sessionId)).length,
    ],
    calls: (await ledger.sessionCalls("acme", sessionId)).length,
    approvals: (await ledger.sessionApprovals("acme", sessionId)).length,
    hostEvents: (await ledger.hostEvents("acme", [callId])).length,
  };
}
const all = { session: true, parts: [1, 1, 1, 1], calls: 1, approvals: 1, hostEvents: 1 };
const nothing = { session: false, parts: [0, 0, 0, 0], calls: 0, approvals: 0, hostEvents: 0 };

const left = async (ledger: Ledger): Promise<string[]> => (await ledger.listCalls({ tenant: "acme" }, 100)).items.map(({ callId }) => callId);

function retentionCases(ledgerCase: LedgerCase): void {
  ledgerCase("of a session that has not ended nothing goes, however old its calls", async ({ ledger }) => {
    await talked(ledger, "sess_1");
    await oldCall(ledger, "c1", "sess_1");
    await oldCall(ledger, "c2", "of nobody");
    expect(await ledger.trim("acme", dayStart + 9_000, 10)).toEqual({ calls: 1, sessions: 0, deliveries: 0, more: false });
    expect(await leftOf(ledger, "sess_1", "c1")).toEqual(all);
    expect(await ledger.getCall("acme", "c2")).toBeUndefined();
    // Nor of one that ended after the instant.
    await ends(ledger, "sess_1", dayStart + 9_000);
    expect(await ledger.trim("acme", dayStart + 9_000, 10)).toEqual({ calls: 0, sessions: 0, deliveries: 0, more: false });
    expect(await leftOf(ledger, "sess_1", "c1")).toEqual(all);
  });

  ledgerCase("a session that ended before the instant goes with all that belongs to it, and another tenant's stays", async ({ ledger, reopen }) => {
    await talked(ledger, "sess_1", { idempotencyKey: "k" });
    await talked(ledger, "sess_2");
    await insert(ledger, { tenant: "globex", state: "completed", endedAt: dayStart + 1 });
    for (const [callId, sessionId] of [["c1", "sess_1"], ["c2", "sess_2"]] as const) {
      await oldCall(ledger, callId, sessionId);
      await commit(ledger, { op: "insert_approval", row: sampleApproval({ approvalId: `limit_${sessionId}`, subject: { kind: "limit", callId: null, sessionId } }) });
      await commit(ledger, { op: "store_vote", row: sampleVote({ approvalId: `limit_${sessionId}`, voter: "user:fay", late: true }) });
    }
    await ends(ledger, "sess_1", dayStart + 500);
    expect(await ledger.trim("acme", dayStart + 9_000, 10)).toEqual({ calls: 1, sessions: 1, deliveries: 0, more: false });
    const again = await reopen();
    expect(await leftOf(again, "sess_1", "c1")).toEqual(nothing);
    expect(await again.approval("acme", "limit_sess_1")).toBeUndefined();
    expect(await leftOf(again, "sess_2", "c2")).toEqual({ ...all, approvals: 2 });
    expect((await again.approval("acme", "limit_sess_2"))?.votes).toHaveLength(1);
    expect(await again.session("globex", "sess_1")).toBeDefined();
    expect(await again.verifyAudit()).toMatchObject({ ok: true });
    expect(await commit(again, { op: "insert_session", row: sampleSession({ idempotencyKey: "k" }) })).toEqual({ applied: true });
  });

  ledgerCase("a tree goes at once, when all of its sessions and calls have ended", async ({ ledger }) => {
    await talked(ledger, "root");
    await talked(ledger, "child", { parentSessionId: "root", depth: 1 });
    await talked(ledger, "leaf", { parentSessionId: "child", depth: 2 });
    await oldCall(ledger, "c1", "leaf", dayStart + 700);
    await ends(ledger, "root", dayStart + 500);
    await ends(ledger, "child", dayStart + 500);
    const trims = (before: number) => ledger.trim("acme", dayStart + before, 10);
    expect((await trims(9_000)).sessions).toBe(0);
    await ends(ledger, "leaf", dayStart + 600);
    expect((await trims(600)).sessions).toBe(0);
    expect((await trims(700)).sessions).toBe(0);
    expect((await leftOf(ledger, "leaf", "c1")).calls).toBe(1);
    expect(await trims(701)).toEqual({ calls: 1, sessions: 3, deliveries: 0, more: false });
    for (const sessionId of ["root", "child", "leaf"]) expect(await leftOf(ledger, sessionId, "c1")).toEqual(nothing);
  });

  ledgerCase("a session whose call is open stays until that has ended too", async ({ ledger }) => {
    await talked(ledger, "sess_1");
    const call = sampleCall({ callId: "c1", sessionId: "sess_1", idempotencyKey: null });
    await ledger.commit(admitUnit(call));
    await ends(ledger, "sess_1", dayStart + 500);
    expect((await ledger.trim("acme", dayStart + 9_000, 10)).sessions).toBe(0);
    await ledger.commit(settleUnit(call, { settledAt: dayStart + 600 }));
    expect((await ledger.trim("acme", dayStart + 9_000, 10)).sessions).toBe(1);
  });

  ledgerCase("no more goes at once than was asked for, oldest first, and the rest is told", async ({ ledger }) => {
    for (const [sessionId, at] of [["b", 2], ["c", 3], ["a", 1]] as const) {
      await insert(ledger, { sessionId, createdAt: dayStart + at, state: "failed", endedAt: dayStart + 50 });
    }
    expect(await ledger.trim("acme", dayStart + 9_000, 2)).toEqual({ calls: 0, sessions: 2, deliveries: 0, more: true });
    expect(ids(await ledger.listSessions({ tenant: "acme" }, 10))).toEqual(["c"]);
    expect(await ledger.trim("acme", dayStart + 9_000, 2)).toEqual({ calls: 0, sessions: 1, deliveries: 0, more: false });
  });

  ledgerCase("calls that go with their sessions count: a session more is left for the next time", async ({ ledger }) => {
    for (const sessionId of ["a", "b"]) {
      await insert(ledger, { sessionId, createdAt: dayStart, state: "failed", endedAt: dayStart + 50 });
      for (const at of [1, 2]) await oldCall(ledger, `${sessionId}${at}`, sessionId);
    }
    expect(await ledger.trim("acme", dayStart + 9_000, 2)).toEqual({ calls: 2, sessions: 1, deliveries: 0, more: true });
    expect((await ledger.sessionCalls("acme", "b")).map(({ callId }) => callId)).toEqual(["b1", "b2"]);
    expect((await ledger.trim("acme", dayStart + 9_000, 2)).sessions).toBe(1);
    expect(await left(ledger)).toEqual([]);
  });
}

function tenantCases(ledgerCase: LedgerCase): void {
  ledgerCase("another tenant sees nothing of a session, by any question", async ({ ledger }) => {
    await talked(ledger, "sess_1", { idempotencyKey: "k" });
    await oldCall(ledger, "exec_1", "sess_1");
    const seen = async (tenant: string) => [
      await ledger.session(tenant, "sess_1"),
      await ledger.sessionByKey(tenant, "shop", "k"),
      (await ledger.listSessions({ tenant }, 10)).items,
      await ledger.history(tenant, "sess_1", 0, 10),
      await ledger.inbox(tenant, "sess_1", 0, 10),
      await ledger.inboxByKey(tenant, "sess_1", "k"),
      await ledger.sessionEvents(tenant, "sess_1", 0, 10),
      await ledger.effect(tenant, "sess_1", "t1.e1"),
      await ledger.journal(tenant, "sess_1"),
      await ledger.hostEvents(tenant, ["exec_1"]),
      await ledger.sessionCalls(tenant, "sess_1"),
      await ledger.sessionApprovals(tenant, "sess_1"),
    ];
    expect(await seen("globex")).toEqual([undefined, undefined, [], [], [], undefined, [], undefined, [], [], [], []]);
    // And the questions have answers.
    expect((await seen("acme")).every((answer) => (Array.isArray(answer) ? answer.length === 1 : answer !== undefined))).toBe(true);
    for (const write of [samplePut({ tenant: "globex" }), { op: "claim_effect", row: sampleEffect({ tenant: "globex", key: "t1.e2" }), now: 0 } as const])
      expect(await commit(ledger, write)).toEqual({ applied: false, write: 0 });
  });

  ledgerCase("two tenants have sessions of one name, and each its own", async ({ ledger }) => {
    await talked(ledger, "sess_1");
    await insert(ledger, { tenant: "globex", agent: "theirs", idempotencyKey: "k" });
    expect(await commit(ledger, samplePut({ tenant: "globex", by: "user:eve", idempotencyKey: "k" }))).toEqual({ applied: true });
    expect((await ledger.inbox("globex", "sess_1", 0, 10)).map(({ seq, by }) => [seq, by])).toEqual([[1, "user:eve"]]);
    expect((await ledger.inbox("acme", "sess_1", 0, 10)).map(({ by }) => by)).toEqual(["user:ann"]);
    expect((await ledger.session("globex", "sess_1"))?.agent).toBe("theirs");
    const claimed = await ledger.claimSession({ tenant: "globex", sessionId: "sess_1", replica: "r1", now: dayStart, leaseMs: 5 });
    expect(claimed).toMatchObject({ tenant: "globex", fence: 2 });
    expect((await ledger.session("acme", "sess_1"))?.fence).toBe(1);
  });
}

export function sessionReadCases(ledgerCase: LedgerCase): void {
  listCases(ledgerCase);
  callCases(ledgerCase);
  tenantCases(ledgerCase);
}

export function sessionRetentionCases(ledgerCase: LedgerCase): void {
  retentionCases(ledgerCase);
}
