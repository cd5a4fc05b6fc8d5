// What sessions cost that wait for people, and how soon a long one goes on: nothing is kept of them in memory, and no timer rings for them.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, expect, test } from "vitest";
import { ask } from "../../../../../test/support/governed.ts";
import { agentRow, call, Sessions, talker } from "../../../../../test/support/sessions.ts";
import type { GuardedWrite, PlainWrite } from "../../ledger/port.ts";
import { turnFingerprint } from "../../session/turn/snapshot.ts";
import type { HistoryItem, Session } from "../../session/types.ts";
import { keptText } from "./kept.ts";
import { TurnBook } from "./turn-book.ts";

let house: Sessions;
afterEach(() => house.close());

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Bytes that are alive, without what the harness itself notes down. */
async function aliveBytes(): Promise<number> {
  await house.quiet();
  house.figures.length = 0;
  house.requests.length = 0;
  house.logged.length = 0;
  collect();
  await house.settle();
  collect();
  return process.memoryUsage().heapUsed;
}

async function startMany(count: number): Promise<void> {
  for (let at = 0; at < count; at++) await house.service.startSession(talker, { agent: "helper", message: "pay" });
  await house.quiet();
  while (house.runtime.sessions.count > 0) await house.settle();
}

test("sessions that wait for people: no timer of their own, and less than 2 KB each beside the call that people are asked about", async () => {
  house = await Sessions.withScript([{ calls: [call({ amount: 1_500 })] }]);
  await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance") });
  const count = 500;
  await startMany(100);
  const timers = house.clock.timers;
  const before = await aliveBytes();
  for (let at = 0; at < count; at++) await house.parked();
  const called = await aliveBytes();
  await startMany(count);
  const talked = await aliveBytes();
  expect((await house.ledger.listSessions({ tenant: "acme", state: "awaiting_approval" }, 1_000)).items).toHaveLength(count + 100);
  expect(house.runtime.sessions.count).toBe(0);
  expect(house.clock.timers).toBe(timers);
  expect((talked - called - (called - before)) / count).toBeLessThan(2_048);
}, 120_000);

const steps = 2_000;

/** A turn that has come to its 2 001st completion, as its rows say it. */
function longTurn(): { readonly row: Session; readonly writes: readonly (GuardedWrite | PlainWrite)[] } {
  const agent = agentRow();
  const sessionId = "sess_long";
  const history: HistoryItem[] = Array.from({ length: steps }, (_, at): HistoryItem[] => {
    const step = at + 1;
    const callId = `${sessionId}:${agent.versionId}:t1.${step}:0`;
    const [providerId, name] = [`p${step}`, "pay"];
    return [
      { type: "assistant", turn: 1, step, parts: [{ type: "tool_call", providerId, name, argumentsText: `{"amount":${step}}` }], stop: "tool_use", usage: { inputTokens: 1, outputTokens: 1 } },
      { type: "results", turn: 1, step, settled: [0], results: [{ index: 0, callId, providerId, name, told: "row", status: "succeeded", text: `{"paid":${step}}`, isError: false, errorCode: null, editedArgsJson: null, editedBy: null, durationMs: 3 }] },
    ];
  }).flat();
  const config = { sessionId, agentVersionId: agent.versionId, fingerprint: turnFingerprint(agent.versionId), turn: 2, tools: [], limits: agent.spec.limits };
  const book = TurnBook.begin(config, history, [{ by: "user:ann", text: "go on", inboxSeq: 1 }]);
  const items = [...history, ...book.collect().items];
  const row: Session = {
    tenant: "acme", sessionId, project: "shop", agent: agent.agent, agentVersion: agent.version, agentVersionId: agent.versionId, principal: "user:ann", keyId: "key_1",
    parentSessionId: "", parentCallId: "", depth: 0, contextJson: "{}", idempotencyKey: null, createdAt: house.clock.now(), deadlineAt: null,
    state: "running", reason: null, turn: 2, historyLength: items.length, inboxTaken: 0, inboxSeq: 0, eventSeq: 0,
    snapshotJson: keptText({ machine: book.snapshot(), cancelTaken: 0, spentMs: 0 }), approvalId: null,
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: steps, toolCalls: steps }, updatedAt: house.clock.now(), endedAt: null, fence: 0, replica: null, leaseExpiresAt: null,
  };
  const writes = items.map((item, at) => ({ op: "append_history", tenant: "acme", sessionId, at, item }) as const);
  return { row, writes };
}

test("a session of 2 000 steps goes on in less than a second", async () => {
  house = await Sessions.withScript([{ text: "never" }]);
  const { row, writes } = longTurn();
  expect(await house.ledger.commit({ writes: [{ op: "insert_session", row }, ...writes] })).toEqual({ applied: true });
  const began = performance.now();
  house.runtime.sessions.kick("acme", row.sessionId);
  while (house.requests.length === 0) await house.settle();
  expect(performance.now() - began).toBeLessThan(1_000);
  // Its script has one answer, and the history has had 2 000: what counts is that it was shown all of it.
  expect(house.requests).toMatchObject([{ position: 2_000, history_length: 4_001 }]);
});
