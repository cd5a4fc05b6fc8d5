// Conformance of a shared ledger: replicas that want the same session, its inbox or its effects at once.
import { expect } from "vitest";
import type { SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import type { Write } from "../../packages/runtime/src/ledger/port.ts";
import { dayStart } from "./ledger-rows.ts";
import { movedOn, sampleEffect, samplePut, sampleSession, sampleTold, userItem } from "./ledger-session-rows.ts";
import type { SharedCase, SharedStore } from "./shared-ledger-case.ts";

const commit = (ledger: SharedLedger, ...writes: Write[]) => ledger.commit({ writes });
const free = { replica: null, leaseExpiresAt: null, fence: 0 } as const;
const leaseMs = 15_000;

async function three(store: SharedStore) {
  const ledgers = [await store.open("r1"), await store.open("r2"), await store.open("r3")] as const;
  return { ledgers, of: (at: number) => ledgers[at % 3] as SharedLedger };
}

export function sharedSessionCases(sharedCase: SharedCase): void {
  sharedCase("of replicas that claim one session at once one has it, and writes alone", async (store) => {
    const { ledgers, of } = await three(store);
    await commit(ledgers[0], { op: "insert_session", row: sampleSession(free) });
    const claims = await Promise.all(ledgers.map((ledger, at) => ledger.claimSession({ tenant: "acme", sessionId: "sess_1", replica: `r${at + 1}`, now: dayStart, leaseMs })));
    const winner = claims.findIndex((row) => row !== undefined);
    expect(claims.filter((row) => row !== undefined)).toHaveLength(1);
    expect(await ledgers[0].session("acme", "sess_1")).toEqual(claims[winner]);
    const later = await of(winner + 1).claimSession({ tenant: "acme", sessionId: "sess_1", replica: "other", now: dayStart + leaseMs, leaseMs });
    expect(later?.fence).toBe(2);
    expect(await commit(of(winner), ...movedOn(sampleSession({ fence: 1 })))).toEqual({ applied: false, write: 0 });
    expect(await of(winner).renewSessions(`r${winner + 1}`, [{ tenant: "acme", sessionId: "sess_1", fence: 1 }], dayStart + 99_000)).toEqual([]);
    expect(await commit(of(winner + 1), ...movedOn(sampleSession({ fence: 2 })))).toEqual({ applied: true });
  });

  sharedCase("words from all replicas at once are numbered without a gap, also while the row is written", async (store) => {
    const { ledgers, of } = await three(store);
    let row = sampleSession();
    await commit(ledgers[0], { op: "insert_session", row });
    const puts = Array.from({ length: 90 }, (_, at) => commit(of(at), samplePut({ by: `user:${at}`, idempotencyKey: at % 9 === 8 ? `k${at % 2}` : null })));
    for (let turn = 1; turn <= 10; turn += 1) {
      const more: Write[] = [
        { op: "append_history", tenant: "acme", sessionId: "sess_1", at: turn - 1, item: userItem(`no. ${turn}`, turn) },
        { op: "append_session_event", event: sampleTold(turn) },
      ];
      expect(await commit(ledgers[0], ...movedOn(row, { turn }, more))).toEqual({ applied: true });
      row = { ...row, historyLength: turn, eventSeq: turn, updatedAt: row.updatedAt + 10 };
    }
    // Of ten words under two keys two are kept.
    expect((await Promise.all(puts)).filter(({ applied }) => applied)).toHaveLength(82);
    const entries = await ledgers[1].inbox("acme", "sess_1", 0, 200);
    expect(entries.map(({ seq }) => seq)).toEqual(Array.from({ length: 82 }, (_, at) => at + 1));
    expect(await ledgers[2].session("acme", "sess_1")).toMatchObject({ inboxSeq: 82, turn: 10, historyLength: 10, eventSeq: 10 });
  });

  sharedCase("who goes to sleep does so on the last word, or not at all", async (store) => {
    const { ledgers } = await three(store);
    for (let round = 0; round < 12; round += 1) {
      const row = sampleSession({ sessionId: `sess_${round}` });
      await commit(ledgers[0], { op: "insert_session", row });
      const sleep: Write = { op: "update_session", expect: { fence: 1, inboxSeq: 0 }, release: true, row: { ...row, state: "awaiting_input" } };
      const [slept, put] = await Promise.all([commit(ledgers[0], sleep), commit(ledgers[1], samplePut({ sessionId: row.sessionId }))]);
      expect(put).toEqual({ applied: true });
      const stored = await ledgers[2].session("acme", row.sessionId);
      expect(stored).toMatchObject(slept.applied ? { state: "awaiting_input", replica: null, inboxSeq: 1 } : { state: "running", replica: "r1", inboxSeq: 1 });
      // In either case somebody will find it.
      const found = await ledgers[2].idleSessions(dayStart + 99_000, 100);
      expect(found).toContainEqual({ tenant: "acme", sessionId: row.sessionId });
    }
  });

  sharedCase("a message and an end at once: the word is kept before it, or refused", async (store) => {
    const { ledgers } = await three(store);
    for (let round = 0; round < 8; round += 1) {
      const row = sampleSession({ sessionId: `sess_${round}` });
      await commit(ledgers[0], { op: "insert_session", row });
      const [, put] = await Promise.all([
        commit(ledgers[0], ...movedOn(row, { state: "cancelled", endedAt: dayStart })),
        commit(ledgers[1], samplePut({ sessionId: row.sessionId })),
      ]);
      expect(await ledgers[2].session("acme", row.sessionId)).toMatchObject({ state: "cancelled", inboxSeq: put.applied ? 1 : 0 });
      expect(await ledgers[2].inbox("acme", row.sessionId, 0, 10)).toHaveLength(put.applied ? 1 : 0);
    }
  });

  sharedCase("an effect is claimed by one replica of many, whatever order their units stand in", async (store) => {
    const { ledgers, of } = await three(store);
    const ids = ["a", "b", "c", "d"];
    for (const sessionId of ids) await commit(ledgers[0], { op: "insert_session", row: sampleSession({ sessionId }) });
    // Units over two sessions each, in opposite orders: they wait for one another, and none is lost.
    const claims = Array.from({ length: 24 }, (_, at) => {
      const pair = at % 2 === 0 ? ids : ids.toReversed();
      return commit(of(at), ...pair.map((sessionId): Write => ({ op: "claim_effect", row: sampleEffect({ sessionId, claimedAt: at }), now: dayStart })));
    });
    const outcomes = await Promise.all(claims);
    const winners = outcomes.flatMap(({ applied }, at) => (applied ? [at] : []));
    expect(winners).toHaveLength(1);
    for (const sessionId of ids) expect((await ledgers[1].effect("acme", sessionId, "t1.e1"))?.claimedAt).toBe(winners[0]);
  });

  sharedCase("renewals, words and moves over many sessions hold nobody up", async (store) => {
    const { ledgers, of } = await three(store);
    const rows = Array.from({ length: 20 }, (_, at) => sampleSession({ sessionId: `sess_${at}` }));
    await Promise.all(rows.map((row, at) => commit(of(at), { op: "insert_session", row })));
    const held = rows.map(({ tenant, sessionId, fence }) => ({ tenant, sessionId, fence }));
    const renewals = Array.from({ length: 10 }, (_, at) => of(at).renewSessions("r1", at % 2 === 0 ? held : held.toReversed(), dayStart + 20_000 + at));
    const moves = rows.map((row, at) => commit(of(at), ...movedOn(row), samplePut({ sessionId: rows[(at + 7) % 20]?.sessionId ?? "" })));
    expect((await Promise.all(renewals)).map((renewed) => renewed.length)).toEqual(Array.from({ length: 10 }, () => 20));
    expect((await Promise.all(moves)).every(({ applied }) => applied)).toBe(true);
    for (const { sessionId } of rows) expect(await ledgers[0].session("acme", sessionId)).toMatchObject({ inboxSeq: 1, fence: 1, replica: "r1" });
  });

  sharedCase("a word about a session wakes the other replicas", async (store) => {
    const { ledgers } = await three(store);
    const heard = new Promise((resolve) => ledgers[1].onWake((wake) => void (wake.type === "session" && resolve(wake))));
    const wake = { type: "session", tenant: "acme", sessionId: "sess_1" } as const;
    // The other one may not listen yet.
    const timer = setInterval(() => ledgers[0].wake([wake]), 50);
    expect(await heard).toEqual(wake);
    clearInterval(timer);
  });
}
