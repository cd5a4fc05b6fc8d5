// Events of tools in a session: told in the order of settlement, kept in the journal by reference, and never shown to the model.
import { afterEach, describe, expect, test } from "vitest";
import type { HandStream } from "../../../../../test/support/hand-stream.ts";
import { binding, call, Sessions } from "../../../../../test/support/sessions.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { EffectFailure } from "../../session/effects/failure.ts";
import type { ToldResult } from "../../session/types.ts";
import { drainHostEvents } from "./host-events.ts";

let house: Sessions | undefined;
afterEach(async () => {
  await house?.close();
  house = undefined;
});

/** An agent with `note`, which may emit `noted`, and whose calls may be made again. */
async function noting(completions: readonly unknown[]): Promise<Sessions> {
  house = await Sessions.withScript(completions, { tools: [binding("note")] });
  await house.tool({ name: "note", spec: { events: ["noted"], side_effect_class: "read_only" } });
  return house;
}

interface Given {
  readonly callId: string;
  readonly fence: number;
  say(ordinal: number, payloadJson: string, eventType?: string): void;
  end(): Promise<void>;
}

/** The calls that a worker was given, by index. */
async function given(open: Sessions, worker: HandStream): Promise<readonly Given[]> {
  await open.quiet();
  const invokes = worker.sent.filter((message) => message.type === "invoke");
  return invokes.map(({ callId, fence }) => {
    for (const type of ["accepted", "started"] as const) worker.say({ type, callId, fence });
    return {
      callId,
      fence,
      say: (ordinal, payloadJson, eventType = "noted") => worker.say({ type: "emit", callId, fence, ordinal, eventType, payloadJson }),
      end: async () => {
        worker.say({ type: "result", callId, fence, status: "succeeded", outputJson: "1", usage: { durationMs: 1 } });
        await open.quiet();
      },
    };
  });
}

const eventsOf = async (open: Sessions, sessionId: string): Promise<readonly unknown[]> =>
  (await open.told(sessionId)).flatMap(({ type, dataJson }) => (type === "host.event" ? [JSON.parse(dataJson) as unknown] : []));

describe("events that tools emit", () => {
  test("E13: are told when the batch is over, in the order of settlement, and are in the journal and not in the history", async () => {
    const open = await noting([{ calls: [call({ amount: 1 }, "note"), call({ amount: 2 }, "note")] }, { text: "Noted." }]);
    const w1 = open.worker("w1", { tools: { note: 10 } });
    const { session } = await open.start("note it");
    const [first, second] = await given(open, w1);
    if (first === undefined || second === undefined) throw new Error("two calls were to be given");
    first.say(1, '{"at":"first"}');
    second.say(1, '{"n":98765432109876543210}');
    second.say(2, "null");
    second.say(3, "1", "undeclared");
    await second.end();
    expect(await eventsOf(open, session.sessionId)).toEqual([]);
    await first.end();
    expect(await open.toldWords(session.sessionId)).toEqual([
      "session.started",
      "turn.started",
      "message",
      "assistant",
      "tool.started",
      "tool.started",
      "tool.completed",
      "tool.completed",
      "host.event",
      "host.event",
      "host.event",
      "assistant",
      "turn.ended",
    ]);
    const told = (await open.told(session.sessionId)).filter(({ type }) => type === "host.event");
    expect(told.map(({ dataJson, turn, step }) => [turn, step, dataJson])).toEqual([
      [1, 1, `{"index":1,"execution_id":"${second.callId}","type":"noted","ordinal":1,"payload":{"n":98765432109876543210}}`],
      [1, 1, `{"index":1,"execution_id":"${second.callId}","type":"noted","ordinal":2,"payload":null}`],
      [1, 1, `{"index":0,"execution_id":"${first.callId}","type":"noted","ordinal":1,"payload":{"at":"first"}}`],
    ]);
    const ran = (await open.ledger.journal("acme", session.sessionId)).find(({ kind }) => kind === "RunTools");
    expect(JSON.parse(ran?.outcomeJson ?? "{}")).toMatchObject({
      value: {
        settled: [1, 0],
        hostEvents: [
          { index: 1, callId: second.callId, type: "noted", ordinal: 1 },
          { index: 1, callId: second.callId, type: "noted", ordinal: 2 },
          { index: 0, callId: first.callId, type: "noted", ordinal: 1 },
        ],
      },
    });
    expect(JSON.stringify(await open.history(session.sessionId))).not.toContain("noted");
    expect(JSON.stringify(open.requests)).not.toContain("9876543210987");
  });

  test("are told once when the process dies before the batch is over, and the attempt is made again", async () => {
    const open = await noting([{ calls: [call({ amount: 1 }, "note")] }, { text: "Noted." }]);
    const w1 = open.worker("w1", { tools: { note: 10 } });
    const { session } = await open.start("note it");
    const [first] = await given(open, w1);
    first?.say(1, '"once"');
    // Long enough for what is written lazily, and too short for anything else.
    await open.pass(200);
    await open.kill();
    const again = await Sessions.withScript([{ calls: [call({ amount: 1 }, "note")] }, { text: "Noted." }], {}, open);
    house = again;
    await again.pass(40_000);
    const w2 = again.worker("w2", { tools: { note: 10 } });
    const [repeated] = await given(again, w2);
    repeated?.say(1, '"again"');
    repeated?.say(2, '"twice"');
    await repeated?.end();
    expect(await eventsOf(again, session.sessionId)).toMatchObject([
      { ordinal: 1, payload: "once" },
      { ordinal: 2, payload: "twice" },
    ]);
    expect((await again.session(session.sessionId)).state).toBe("awaiting_input");
  });
});

describe("reading them", () => {
  const result: ToldResult = { index: 0, callId: "c1", providerId: "p", name: "note", told: "row", status: "succeeded", text: "1", isError: false, errorCode: null, editedArgsJson: null, editedBy: null, durationMs: 1 };
  const event = (ordinal: number, payloadJson: string) => ({ tenant: "acme", callId: "c1", ordinal, type: "noted", payloadJson, at: 1 });
  const logged: object[] = [];
  const note = (fields: object): void => void logged.push(fields);
  const log = { info: note, warn: note, error: note };
  const drain = (hostEvents: () => Promise<ReturnType<typeof event>[]>, more: Partial<ToldResult> = {}) =>
    drainHostEvents({ ledger: { hostEvents }, log }, { tenant: "acme", turn: 1 }, { step: 1, key: "t1.e2" }, { results: [{ ...result, ...more } as ToldResult], settled: [0] });

  test("from a store that is away is tried again, under the machinery's code", async () => {
    await expect(drain(() => Promise.reject(new LedgerUnavailable("away")))).rejects.toMatchObject({ code: "ledger_unavailable" });
    expect(logged).toEqual([expect.objectContaining({ code: "tool_host_event_outcome_drain" })]);
  });

  test("where what is stored is broken, the machinery fails", async () => {
    const failed = drain(async () => [event(1, "{")]);
    await expect(failed).rejects.toBeInstanceOf(EffectFailure);
    await expect(failed).rejects.toMatchObject({ code: "tool_host_event_outcome_drain", key: "t1.e2" });
  });

  test("of a call that the model was told about sooner than it ended is left out", async () => {
    expect(await drain(async () => [event(1, "1")], { told: "synthetic" })).toEqual({ refs: [], events: [] });
  });

  test("toldBytesPerBatchMax: payloads beyond 4 MiB are left out, and that is said", async () => {
    const json = (bytes: number): string => `"${"x".repeat(bytes - 2)}"`;
    const { refs, events } = await drain(async () => [event(1, json(4_194_303)), event(2, "1"), event(3, "1")]);
    expect(refs.map(({ ordinal }) => ordinal)).toEqual([1, 2, 3]);
    expect(events.slice(1).map(({ data }) => data)).toEqual([
      { index: 0, execution_id: "c1", type: "noted", ordinal: 2, payload: 1 },
      { index: 0, execution_id: "c1", type: "noted", ordinal: 3, payload: null, cut: true },
    ]);
  });
});
