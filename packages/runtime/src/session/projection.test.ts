// The projection of a session: its order, its numbers, what stays out of it, and its bounds.
import { describe, expect, test } from "vitest";
import { newestOf, projectionOf, type EmittedByCall } from "./projection.ts";
import type { HistoryItem, ToldResult } from "./types.ts";

const result = (index: number, more: Partial<ToldResult> = {}): ToldResult => ({
  index,
  callId: `c${index}`,
  providerId: `p${index}`,
  name: "pay",
  told: "row",
  status: "succeeded",
  text: `"paid ${index}"`,
  isError: false,
  errorCode: null,
  editedArgsJson: null,
  editedBy: null,
  durationMs: 1,
  ...more,
});

const asked: readonly HistoryItem[] = [
  { type: "user", turn: 1, by: "user:ann", text: "pay both", inboxSeq: 1 },
  {
    type: "assistant",
    turn: 1,
    step: 1,
    parts: [
      { type: "thought", text: "hm" },
      { type: "text", text: "I " },
      { type: "text", text: "pay." },
      { type: "tool_call", providerId: "p0", name: "pay", argumentsText: '{"amount":1}' },
      { type: "tool_call", providerId: "p1", name: "pay", argumentsText: "" },
    ],
    stop: "tool_use",
    usage: { inputTokens: 1, outputTokens: 1 },
  },
];
const paid: HistoryItem = { type: "results", turn: 1, step: 1, results: [result(0), result(1)], settled: [1, 0] };
const done: HistoryItem = { type: "assistant", turn: 1, step: 2, parts: [{ type: "text", text: "Done." }], stop: "end_turn", usage: { inputTokens: 1, outputTokens: 1 } };

const emitted: EmittedByCall = new Map([
  ["c0", [{ ordinal: 1, type: "paid", payloadJson: "98765432109876543210" }]],
  [
    "c1",
    [
      { ordinal: 1, type: "asked", payloadJson: "null" },
      { ordinal: 2, type: "paid", payloadJson: '{"n":2}' },
    ],
  ],
  ["of another session", [{ ordinal: 1, type: "paid", payloadJson: "3" }]],
]);

describe("the projection", () => {
  test("has messages as they were said, and results in the order of settlement behind what their calls emitted", () => {
    expect(JSON.stringify(projectionOf([...asked, paid, done], emitted))).toBe(
      `[${[
        '{"index":0,"type":"user","turn":1,"by":"user:ann","text":"pay both"}',
        '{"index":1,"type":"assistant","turn":1,"step":1,"text":"I pay.","calls":[{"name":"pay","arguments":"{\\"amount\\":1}"},{"name":"pay","arguments":""}]}',
        '{"index":2,"type":"event","turn":1,"step":1,"execution_id":"c1","event":"asked","ordinal":1,"payload":null}',
        '{"index":3,"type":"event","turn":1,"step":1,"execution_id":"c1","event":"paid","ordinal":2,"payload":{"n":2}}',
        '{"index":4,"type":"result","turn":1,"step":1,"execution_id":"c1","name":"pay","status":"succeeded","text":"\\"paid 1\\""}',
        '{"index":5,"type":"event","turn":1,"step":1,"execution_id":"c0","event":"paid","ordinal":1,"payload":98765432109876543210}',
        '{"index":6,"type":"result","turn":1,"step":1,"execution_id":"c0","name":"pay","status":"succeeded","text":"\\"paid 0\\""}',
        '{"index":7,"type":"assistant","turn":1,"step":2,"text":"Done.","calls":[]}',
      ].join(",")}]`,
    );
  });

  test("keeps its numbers: of a longer history the beginning is the projection of the shorter one", () => {
    const whole = projectionOf([...asked, paid, done], emitted);
    expect(projectionOf(asked, emitted)).toEqual(whole.slice(0, 2));
    expect(projectionOf([...asked, paid], emitted)).toEqual(whole.slice(0, 7));
  });

  test("does not change when a call ends that the model was told about before: its events stay out", () => {
    const told: HistoryItem = { ...paid, results: [result(0), result(1, { told: "synthetic", status: "cancelled", text: "[cancelled]" })] };
    const before = projectionOf([...asked, told], new Map([["c0", emitted.get("c0") ?? []]]));
    expect(before.map(({ type }) => type)).toEqual(["user", "assistant", "result", "event", "result"]);
    expect(projectionOf([...asked, told], emitted)).toEqual(before);
  });

  test("textCharsMax and payloadBytesMax: 2 000 characters and 2 KiB are told, one more is cut", () => {
    const of = (chars: number, bytes: number) =>
      projectionOf(
        [{ ...paid, settled: [0], results: [result(0, { text: "t".repeat(chars) })] }],
        new Map([["c0", [{ ordinal: 1, type: "paid", payloadJson: `"${"p".repeat(bytes - 2)}"` }]]]),
      );
    expect(of(2_000, 2_048)).toMatchObject([{ payload: "p".repeat(2_046) }, { text: "t".repeat(2_000) }]);
    expect(of(2_001, 2_049)).toMatchObject([{ payload: null, cut: true }, { text: `${"t".repeat(1_999)}…` }]);
    expect(projectionOf([{ ...paid, settled: [0] }], new Map([["c0", [{ ordinal: 1, type: "paid", payloadJson: "{" }]]]))[0]).toMatchObject({ payload: null, cut: true });
  });
});

describe("the newest of it", () => {
  const whole = projectionOf([...asked, paid, done], emitted);

  test("is all of it where it fits, and the end of it with its own numbers where it does not", () => {
    // 74 bytes of the last item, and a comma.
    expect(newestOf(whole, 75)).toEqual({ items: [whole[7]], cut: true });
    expect(newestOf(whole, 74)).toEqual({ items: [], cut: true });
    expect(newestOf(whole, 10_000)).toEqual({ items: whole, cut: false });
    expect(newestOf([], 0)).toEqual({ items: [], cut: false });
  });
});
