// Server-Sent Events as bytes: what a reader sees, and that no payload can break out of its field.
import { expect, test } from "vitest";
import { scriptedCall } from "../../../../test/support/scripted-call.ts";
import { sseBatch, sseEvent } from "./sse.ts";

const at = Date.UTC(2026, 0, 2, 3, 4, 5, 6);
const empty = { gap: null, events: [], end: null, leaving: false };
const record = (): string => '{"status":"succeeded","output":12345678901234567890}';

test("an event has its number as id, its type as name, and seq, ts and data", () => {
  expect(sseEvent({ seq: 7, at, type: "stdout", dataJson: '{"text":"a\\n"}' })).toBe(
    'id: 7\nevent: stdout\ndata: {"seq":7,"ts":"2026-01-02T03:04:05.006Z","data":{"text":"a\\n"}}\n\n',
  );
});

test("the gap comes first and has the last missing number; the end comes last", () => {
  const events = [{ seq: 5, at, type: "progress", dataJson: '{"percent":50,"message":""}' }] as const;
  const end = { seq: 6, at, call: scriptedCall() };
  expect(sseBatch({ gap: { from: 2, to: 4 }, events, end, leaving: false }, record)).toBe(
    'id: 4\nevent: gap\ndata: {"from":2,"to":4}\n\n' +
      'id: 5\nevent: progress\ndata: {"seq":5,"ts":"2026-01-02T03:04:05.006Z","data":{"percent":50,"message":""}}\n\n' +
      'id: 6\nevent: done\ndata: {"seq":6,"ts":"2026-01-02T03:04:05.006Z","data":{"status":"succeeded","output":12345678901234567890}}\n\n',
  );
});

test.each(["failed", "timed_out", "cancelled", "denied"] as const)("%s is an error", (state) => {
  const end = { seq: 1, at, call: scriptedCall({ state }) };
  expect(sseBatch({ ...empty, end }, () => "{}")).toMatch(/^id: 1\nevent: error\ndata: /);
});

test("JSON over several lines stays one line, and one event", () => {
  const text = sseEvent({
    seq: 1,
    at,
    type: "emit",
    dataJson: '{"type":"a","payload":{\r\n\r\n"n":\r1,\n"t":"b\\nc"}}',
  });
  expect(text).toBe(
    'id: 1\nevent: emit\ndata: {"seq":1,"ts":"2026-01-02T03:04:05.006Z","data":{"type":"a","payload":{ "n": 1, "t":"b\\nc"}}}\n\n',
  );
});

test("a runtime that leaves says so in a comment, which is no event", () => {
  expect(sseBatch({ ...empty, leaving: true }, record)).toMatch(/^: [^\n]+\n\n$/);
  expect(sseBatch(empty, record)).toBe("");
});
