// Conformance: a session's row moves under its fence alone; what is said, told, wished and done stands in order and is never lost.
import { expect } from "vitest";
import type { Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Session } from "../../packages/runtime/src/session/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { dayStart, sampleAttempt, sampleCall } from "./ledger-rows.ts";
import { assistantItem, movedOn, resultsItem, sampleHostEvent, samplePut, sampleSession, sampleTold, userItem } from "./ledger-session-rows.ts";

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const refused = { applied: false, write: 0 };
const held = { applied: true };

async function started(ledger: Ledger, fields: Partial<Session> = {}): Promise<Session> {
  const row = sampleSession(fields);
  expect(await commit(ledger, { op: "insert_session", row })).toEqual(held);
  return row;
}

const item = (at: number, item = userItem(`no. ${at}`), sessionId = "sess_1"): Write => ({ op: "append_history", tenant: "acme", sessionId, at, item });
const told = (seq: number): Write => ({ op: "append_session_event", event: sampleTold(seq) });
const ended = { state: "completed", endedAt: dayStart + 90, reason: { code: "end_turn", message: "Done — fertig" } } as const;

function rowCases(ledgerCase: LedgerCase): void {
  ledgerCase("a session comes back as it was inserted, by id and by key, also after a reopening", async ({ ledger, reopen }) => {
    const row = await started(ledger, { idempotencyKey: "k", deadlineAt: dayStart + 9, snapshotJson: '{"n":9007199254740993.10}', approvalId: "apr_1", reason: { code: "x", message: "y" } });
    const again = await reopen();
    expect(await again.session("acme", "sess_1")).toEqual(row);
    expect(await again.sessionByKey("acme", "shop", "k")).toEqual(row);
    expect(await again.session("acme", "sess_2")).toBeUndefined();
    expect(await again.sessionByKey("acme", "ops", "k")).toBeUndefined();
  });

  ledgerCase("an id and a key are used once; a key counts in its project", async ({ ledger }) => {
    await started(ledger, { idempotencyKey: "k" });
    const insert = (fields: Partial<Session>) => commit(ledger, { op: "insert_session", row: sampleSession(fields) });
    expect(await insert({})).toEqual(refused);
    expect(await insert({ sessionId: "sess_2", idempotencyKey: "k" })).toEqual(refused);
    expect(await insert({ sessionId: "sess_2", idempotencyKey: "k", project: "ops" })).toEqual(held);
    expect(await insert({ sessionId: "sess_3" })).toEqual(held);
    expect(await insert({ sessionId: "sess_4" })).toEqual(held);
  });

  ledgerCase("progress is stored under the fence, and changes neither lease, inbox nor identity", async ({ ledger }) => {
    const row = await started(ledger);
    await commit(ledger, samplePut());
    const progress = {
      state: "awaiting_tool",
      reason: { code: "limit_steps", message: "m" },
      turn: 2,
      inboxTaken: 1,
      snapshotJson: '{"a":1.10}',
      approvalId: "apr_9",
      usage: { inputTokens: 1, outputTokens: 2, modelCalls: 3, toolCalls: 4 },
    } as const;
    const other = { principal: "x", project: "y", createdAt: 1, inboxSeq: 0, replica: "r9", leaseExpiresAt: 1, contextJson: "{}", parentSessionId: "p", depth: 4, fence: 1 };
    expect(await commit(ledger, ...movedOn(row, { ...progress, ...other }))).toEqual(held);
    expect(await ledger.session("acme", "sess_1")).toEqual({ ...row, ...progress, inboxSeq: 1, updatedAt: dayStart + 10 });
  });

  ledgerCase("another fence, an unknown session and one that has ended are refused", async ({ ledger }) => {
    const row = await started(ledger);
    expect(await commit(ledger, ...movedOn({ ...row, fence: 2 }))).toEqual(refused);
    expect(await commit(ledger, ...movedOn({ ...row, fence: 0 }))).toEqual(refused);
    expect(await commit(ledger, ...movedOn({ ...row, sessionId: "sess_2" }))).toEqual(refused);
    expect(await commit(ledger, ...movedOn({ ...row, tenant: "globex" }))).toEqual(refused);
    expect(await ledger.session("acme", "sess_1")).toEqual(row);
    for (const state of ["completed", "failed", "cancelled"] as const) {
      const one = await started(ledger, { sessionId: `sess_${state}` });
      expect(await commit(ledger, ...movedOn(one, { ...ended, state }))).toEqual(held);
      expect(await commit(ledger, ...movedOn(one, { state: "running", endedAt: null }))).toEqual(refused);
      expect(await ledger.session("acme", `sess_${state}`)).toMatchObject({ state, endedAt: dayStart + 90, reason: ended.reason });
    }
  });

  ledgerCase("a word that came in between refuses who expects none", async ({ ledger }) => {
    const row = await started(ledger);
    const sleep = (inboxSeq: number): Write => ({ op: "update_session", expect: { fence: 1, inboxSeq }, release: true, row: { ...row, state: "awaiting_input", inboxTaken: inboxSeq } });
    await commit(ledger, samplePut());
    expect(await commit(ledger, sleep(0))).toEqual(refused);
    expect(await ledger.session("acme", "sess_1")).toMatchObject({ state: "running", replica: "r1" });
    expect(await commit(ledger, sleep(1))).toEqual(held);
    expect(await ledger.session("acme", "sess_1")).toMatchObject({ state: "awaiting_input", replica: null, leaseExpiresAt: null, fence: 1, inboxTaken: 1, inboxSeq: 1 });
  });

  ledgerCase("of two moves under one fence that count from the same place one is refused", async ({ ledger }) => {
    const row = await started(ledger);
    const outcomes = await Promise.all([commit(ledger, ...movedOn(row, {}, [item(0), told(1)])), commit(ledger, ...movedOn(row, {}, [item(0), told(1)]))]);
    expect(outcomes).toEqual([held, refused]);
    expect(await ledger.session("acme", "sess_1")).toMatchObject({ historyLength: 1, eventSeq: 1 });
    expect(await ledger.history("acme", "sess_1", 0, 10)).toHaveLength(1);
  });
}

function orderCases(ledgerCase: LedgerCase): void {
  ledgerCase("history and stream come back in order, from where they are asked for", async ({ ledger, reopen }) => {
    let row = await started(ledger);
    const items = [userItem("Hallo ☂"), assistantItem, resultsItem];
    for (const [at, one] of items.entries()) {
      expect(await commit(ledger, ...movedOn(row, {}, [item(at, one), told(2 * at + 1), told(2 * at + 2)]))).toEqual(held);
      row = { ...row, historyLength: at + 1, eventSeq: 2 * at + 2, updatedAt: row.updatedAt + 10 };
    }
    const again = await reopen();
    expect(await again.history("acme", "sess_1", 0, 10)).toEqual(items);
    expect(await again.history("acme", "sess_1", 1, 1)).toEqual([assistantItem]);
    expect(await again.sessionEvents("acme", "sess_1", 0, 10)).toEqual([1, 2, 3, 4, 5, 6].map((seq) => sampleTold(seq)));
    expect((await again.sessionEvents("acme", "sess_1", 2, 3)).map(({ seq }) => seq)).toEqual([3, 4, 5]);
    expect(await again.session("acme", "sess_1")).toEqual(row);
  });

  ledgerCase("a first unit may bring items and events; a gap, a repeat and a miscount are errors", async ({ ledger }) => {
    const fresh = sampleSession({ historyLength: 2, eventSeq: 1 });
    const insert = (row: Session, ...more: Write[]) => commit(ledger, { op: "insert_session", row }, ...more);
    await expect(insert(fresh, item(0), told(1))).rejects.toThrow("counts");
    await expect(insert(fresh, item(0), item(2), told(1))).rejects.toThrow("item 2");
    await expect(insert({ ...fresh, historyLength: 1, eventSeq: 1 }, item(0), told(2))).rejects.toThrow("event 2");
    await expect(insert({ ...fresh, historyLength: 1 })).rejects.toThrow("counts");
    expect(await insert(fresh, item(0), item(1), told(1))).toEqual(held);
    const row = fresh;
    await expect(commit(ledger, ...movedOn(row, {}, [item(3)]))).rejects.toThrow("item 3");
    await expect(commit(ledger, ...movedOn(row, {}, [item(2), item(2)]))).rejects.toThrow("item 2");
    await expect(commit(ledger, ...movedOn(row, {}, [told(3)]))).rejects.toThrow("event 3");
    await expect(commit(ledger, ...movedOn(row, { eventSeq: 5 }, [told(2)]))).rejects.toThrow("event 2");
    // Counted rightly, but not from what is stored.
    expect(await commit(ledger, ...movedOn({ ...row, historyLength: 3 }, {}, [item(3)]))).toEqual(refused);
    expect(await commit(ledger, ...movedOn({ ...row, eventSeq: 0 }, {}, [told(1)]))).toEqual(refused);
    expect(await commit(ledger, ...movedOn({ ...row, eventSeq: 3 }, {}, []))).toEqual(refused);
    expect(await ledger.session("acme", "sess_1")).toEqual(row);
  });

  ledgerCase("what is not counted in a row of its unit is an error, and so is a session that is written twice", async ({ ledger }) => {
    const row = await started(ledger);
    await expect(commit(ledger, item(0))).rejects.toThrow("does not write the session's row");
    await expect(commit(ledger, told(1))).rejects.toThrow("does not write the session's row");
    await expect(commit(ledger, ...movedOn(row, {}, [item(0, userItem("x"), "sess_2")]))).rejects.toThrow("sess_2");
    await expect(commit(ledger, ...movedOn(row), ...movedOn(row))).rejects.toThrow("twice");
    expect(await ledger.history("acme", "sess_1", 0, 10)).toEqual([]);
  });

  ledgerCase("a refused unit leaves nothing, whichever guard of it refused", async ({ ledger }) => {
    const row = await started(ledger);
    const complete: Write = { op: "complete_effect", tenant: "acme", sessionId: "sess_1", key: "t1.e1", fence: 1, at: 1, outcomeJson: "{}" };
    const [update, ...rest] = movedOn(row, { turn: 7 }, [item(0), told(1)]);
    expect(await commit(ledger, update as Write, samplePut(), complete, ...rest)).toEqual({ applied: false, write: 2 });
    expect(await ledger.session("acme", "sess_1")).toEqual(row);
    expect(await ledger.history("acme", "sess_1", 0, 10)).toEqual([]);
    expect(await ledger.sessionEvents("acme", "sess_1", 0, 10)).toEqual([]);
    expect(await ledger.inbox("acme", "sess_1", 0, 10)).toEqual([]);
  });

  ledgerCase("sessions of one group do not stand in one another's way", async ({ ledger }) => {
    const rows = await Promise.all(Array.from({ length: 20 }, (_, at) => started(ledger, { sessionId: `sess_${at}` })));
    const moves = rows.map((row, at) =>
      commit(ledger, ...movedOn({ ...row, fence: at % 3 === 0 ? 9 : 1 }, {}, [item(0, userItem(`of ${at}`), row.sessionId)])),
    );
    expect((await Promise.all(moves)).map(({ applied }) => applied)).toEqual(rows.map((_, at) => at % 3 !== 0));
    for (const [at, { sessionId }] of rows.entries())
      expect(await ledger.history("acme", sessionId, 0, 10)).toEqual(at % 3 === 0 ? [] : [userItem(`of ${at}`)]);
  });
}

export function sessionFaultCases(ledgerCase: LedgerCase): void {
  ledgerCase("a faulty unit of a group leaves nothing of what it would have said, and harms no other", async ({ ledger }) => {
    const rows = await Promise.all(["a", "b", "c"].map((sessionId) => started(ledger, { sessionId })));
    const end: Write = { op: "end_attempt", row: sampleAttempt(sampleCall({ callId: "c1" }), { fence: 9, endReason: "nack" }) };
    const says = (row: Session): Write[] => [
      ...movedOn(row, {}, [item(0, userItem("x"), row.sessionId), { op: "append_session_event", event: sampleTold(1, { sessionId: row.sessionId }) }]),
      { op: "put_host_event", row: sampleHostEvent(0, { callId: row.sessionId }) },
    ];
    const units = rows.map((row, at) => ledger.commit({ writes: at === 1 ? [...says(row), end, end] : says(row) }));
    expect((await Promise.allSettled(units)).map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
    for (const [at, { sessionId }] of rows.entries()) {
      const kept = at === 1 ? 0 : 1;
      expect((await ledger.session("acme", sessionId))?.eventSeq).toBe(kept);
      expect(await ledger.history("acme", sessionId, 0, 10)).toHaveLength(kept);
      expect(await ledger.sessionEvents("acme", sessionId, 0, 10)).toHaveLength(kept);
      expect(await ledger.hostEvents("acme", [sessionId])).toHaveLength(kept);
    }
  });
}

function inboxCases(ledgerCase: LedgerCase): void {
  ledgerCase("entries are numbered from 1 by the ledger, and come back in order", async ({ ledger, reopen }) => {
    await started(ledger);
    await started(ledger, { sessionId: "sess_2" });
    const wishes = [{ type: "message", text: "eins ☂" }, { type: "cancel", scope: "call", callId: "exec_1", reason: "no" }, { type: "complete" }] as const;
    for (const wish of wishes) expect(await commit(ledger, samplePut({ wish }))).toEqual(held);
    await commit(ledger, samplePut({ sessionId: "sess_2" }));
    const again = await reopen();
    const entry = { tenant: "acme", sessionId: "sess_1", at: dayStart + 1, by: "user:ann", idempotencyKey: null };
    expect(await again.inbox("acme", "sess_1", 0, 10)).toEqual(wishes.map((wish, at) => ({ ...entry, wish, seq: at + 1 })));
    expect((await again.inbox("acme", "sess_1", 1, 1)).map(({ seq }) => seq)).toEqual([2]);
    expect((await again.session("acme", "sess_1"))?.inboxSeq).toBe(3);
    expect((await again.inbox("acme", "sess_2", 0, 10)).map(({ seq }) => seq)).toEqual([1]);
  });

  ledgerCase("a key names one entry; the unknown and the ended take none", async ({ ledger }) => {
    const row = await started(ledger);
    await started(ledger, { sessionId: "sess_2" });
    expect(await commit(ledger, samplePut({ idempotencyKey: "k" }))).toEqual(held);
    expect(await commit(ledger, samplePut({ idempotencyKey: "k", wish: { type: "complete" } }))).toEqual(refused);
    expect(await commit(ledger, samplePut({ idempotencyKey: "k", sessionId: "sess_2" }))).toEqual(held);
    expect(await commit(ledger, samplePut({ idempotencyKey: "l" }))).toEqual(held);
    expect(await ledger.inboxByKey("acme", "sess_1", "k")).toMatchObject({ seq: 1, wish: { type: "message" }, idempotencyKey: "k" });
    expect((await ledger.inboxByKey("acme", "sess_1", "l"))?.seq).toBe(2);
    expect(await ledger.inboxByKey("acme", "sess_2", "l")).toBeUndefined();
    expect(await commit(ledger, samplePut({ sessionId: "sess_9" }))).toEqual(refused);
    await commit(ledger, ...movedOn(row, ended));
    expect(await commit(ledger, samplePut())).toEqual(refused);
    expect(await commit(ledger, samplePut({ wish: { type: "cancel", scope: "session", callId: null, reason: "" } }))).toEqual(refused);
    expect(await ledger.inbox("acme", "sess_1", 0, 10)).toHaveLength(2);
  });

  ledgerCase("many who write at once get each a number, without a gap", async ({ ledger }) => {
    await started(ledger);
    const puts = Array.from({ length: 60 }, (_, at) => commit(ledger, samplePut({ by: `user:${at}`, idempotencyKey: at % 5 === 4 ? "same" : null })));
    const applied = (await Promise.all(puts)).filter((outcome) => outcome.applied).length;
    expect(applied).toBe(49);
    const entries = await ledger.inbox("acme", "sess_1", 0, 100);
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 49 }, (_, at) => at + 1));
    expect(new Set(entries.map(({ by }) => by)).size).toBe(49);
    expect((await ledger.session("acme", "sess_1"))?.inboxSeq).toBe(49);
  });

  ledgerCase("a unit that puts two entries numbers both", async ({ ledger }) => {
    await started(ledger);
    expect(await commit(ledger, samplePut({ by: "a" }), samplePut({ by: "b" }))).toEqual(held);
    expect((await ledger.inbox("acme", "sess_1", 0, 10)).map(({ seq, by }) => [seq, by])).toEqual([[1, "a"], [2, "b"]]);
  });
}

export function sessionCases(ledgerCase: LedgerCase): void {
  rowCases(ledgerCase);
  orderCases(ledgerCase);
  inboxCases(ledgerCase);
}
