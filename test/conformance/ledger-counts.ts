// Conformance: calls that were admitted are counted by turn, session and time, and a commit can be bound to such a count.
import { expect } from "vitest";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { CallCount, Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { samplePolicy } from "./ledger-governance-rows.ts";
import { dayStart, sampleCall } from "./ledger-rows.ts";

const applied = { applied: true };
const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const insert = (row: Call): Write => ({ op: "insert_call", row });

const who = { tenant: "acme", tool: "orders.find", principal: "service:storefront" };
const turn = (sessionId: string, of: number): CallCount => ({ ...who, within: { kind: "turn", sessionId, turn: of } });
const session = (sessionId: string): CallCount => ({ ...who, within: { kind: "session", sessionId } });
const since = (from: number): CallCount => ({ ...who, within: { kind: "window", from } });

/** Counting has to give the same before and after there is a policy that counts. */
const countingPolicy = samplePolicy({ name: "not-too-often", when: 'calls.window("10m") >= 3', decision: "deny" });

async function fill(ledger: Ledger): Promise<void> {
  const inTurn = (callId: string, of: number, fields: Partial<Call> = {}) =>
    sampleCall({ callId, sessionId: "ses_1", turn: of, admittedAt: dayStart + of, ...fields });
  const denied = { state: "denied", settledAt: dayStart } as const;
  const rows = [
    inTurn("c1", 1),
    inTurn("c2", 1, { state: "succeeded" }),
    inTurn("c3", 2, { state: "failed" }),
    // Denied by a person, so it was admitted before.
    inTurn("c4", 2, denied),
    // Denied at the door.
    inTurn("c5", 2, { ...denied, inputJson: null }),
    inTurn("c6", 2, { tool: "orders.cancel" }),
    inTurn("c7", 2, { principal: "user:ada" }),
    inTurn("c8", 2, { tenant: "globex" }),
    inTurn("c9", 1, { sessionId: "ses_2", admittedAt: dayStart + 50 }),
    sampleCall({ callId: "c10", admittedAt: dayStart + 60 }),
  ];
  for (const row of rows) expect(await commit(ledger, insert(row))).toEqual(applied);
}

async function counted(ledger: Ledger, ...of: CallCount[]): Promise<number[]> {
  return Promise.all(of.map((one) => ledger.countCalls(one)));
}

export function countCases(ledgerCase: LedgerCase): void {
  for (const ofPolicy of [false, true]) {
    const with_ = ofPolicy ? "with" : "without";
    ledgerCase(
      `admitted calls are counted where and when they were made, ${with_} a policy that counts`,
      async (opened) => {
        const { ledger } = opened;
        await fill(ledger);
        if (ofPolicy) await commit(ledger, { op: "insert_policy", row: countingPolicy });
        const all: CallCount[] = [
          turn("ses_1", 1),
          turn("ses_1", 2),
          turn("ses_1", 3),
          turn("ses_2", 1),
          session("ses_1"),
          session("ses_2"),
          session("ses_3"),
          since(dayStart),
          since(dayStart + 2),
          since(dayStart + 3),
          since(dayStart + 60),
          since(dayStart + 61),
          { ...since(0), tool: "orders.cancel" },
          { ...since(0), principal: "user:ada" },
          { ...since(0), tenant: "globex" },
          { ...session("ses_1"), tenant: "initech" },
        ];
        const expected = [2, 2, 0, 1, 4, 1, 0, 6, 4, 2, 1, 0, 1, 1, 1, 0];
        expect(await counted(ledger, ...all)).toEqual(expected);
        expect(await counted(await opened.reopen(), ...all)).toEqual(expected);
      },
    );

    ledgerCase(`a count that is another one refuses the unit, ${with_} a policy that counts`, async ({ ledger }) => {
      if (ofPolicy) await commit(ledger, { op: "insert_policy", row: countingPolicy });
      await fill(ledger);
      const expectCount = (of: CallCount, calls: number): Write => ({ op: "expect_count", of, calls });
      const next = sampleCall({ callId: "next", sessionId: "ses_1", turn: 2, admittedAt: dayStart + 70 });
      for (const wrong of [1, 3]) {
        const outcome = await commit(ledger, expectCount(turn("ses_1", 2), wrong), insert(next));
        expect(outcome).toEqual({ applied: false, write: 0 });
      }
      expect(await commit(ledger, insert(next), expectCount(session("ses_1"), 5))).toEqual({
        applied: false,
        write: 1,
      });
      expect(await commit(ledger, expectCount(session("ses_1"), 4), expectCount(since(0), 7), insert(next))).toEqual({
        applied: false,
        write: 1,
      });
      expect(await ledger.getCall("acme", "next")).toBeUndefined();
      expect(await commit(ledger, expectCount(session("ses_1"), 4), expectCount(since(0), 6), insert(next))).toEqual(
        applied,
      );
      expect(await counted(ledger, session("ses_1"), since(0))).toEqual([5, 7]);
    });
  }

  ledgerCase("the calls of the unit itself are not counted, before or behind the guard", async ({ ledger }) => {
    const row = (callId: string): Call => sampleCall({ callId, sessionId: "ses_1", turn: 1 });
    const none: Write = { op: "expect_count", of: session("ses_1"), calls: 0 };
    const two: Write = { op: "expect_count", of: session("ses_1"), calls: 2 };
    expect(await commit(ledger, insert(row("c1")), none, insert(row("c2")), none)).toEqual(applied);
    expect(await commit(ledger, two, insert(row("c3")))).toEqual(applied);
    // A call of the same name in another tenant is another call.
    const foreign = sampleCall({ callId: "c1", tenant: "globex" });
    expect(await commit(ledger, insert(foreign), { ...two, calls: 3 })).toEqual(applied);
  });

  ledgerCase("of commits that wait together each sees the calls of those before it", async ({ ledger }) => {
    const outcomes = await Promise.all(
      [0, 0, 1, 1].map((calls, at) =>
        commit(ledger, insert(sampleCall({ callId: `c${at}`, sessionId: "ses_1" })), {
          op: "expect_count",
          of: session("ses_1"),
          calls,
        }),
      ),
    );
    const refused = { applied: false, write: 1 };
    expect(outcomes).toEqual([applied, refused, applied, refused]);
    expect(await ledger.countCalls(session("ses_1"))).toBe(2);
  });

  ledgerCase("a call that is there already is told before the count that it has changed", async ({ ledger }) => {
    const row = sampleCall({ callId: "c1", sessionId: "ses_1", idempotencyKey: "k" });
    await commit(ledger, insert(row));
    const again = { ...row, callId: "c2" };
    const outcome = await commit(ledger, insert(again), { op: "expect_count", of: session("ses_1"), calls: 0 });
    expect(outcome).toEqual({ applied: false, write: 0 });
  });

  ledgerCase("calls outside of any session are in no session", async ({ ledger }) => {
    await commit(ledger, insert(sampleCall({ callId: "c1" })), insert(sampleCall({ callId: "c2" })));
    expect(await counted(ledger, session(""), turn("", 0), since(0))).toEqual([0, 0, 2]);
  });
}
