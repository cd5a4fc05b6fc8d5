// A tool that asks for it is given the session's projection in its context; others are not.
import { afterEach, describe, expect, test } from "vitest";
import { binding, call, Sessions } from "../../../../../test/support/sessions.ts";
import type { Projected } from "../../session/projection.ts";
import { contextWith } from "./projecting.ts";

let house: Sessions | undefined;
afterEach(() => house?.close());

describe("the context of a call in a session", () => {
  test("holds the projection where the manifest asks for it: what was said, and what was emitted", async () => {
    const script = [{ calls: [call({ amount: 1 }, "book")] }, { calls: [call({ amount: 2 }, "book"), call({ amount: 3 }, "look")] }, { text: "Done." }];
    house = await Sessions.withScript(script, { tools: [binding("book"), binding("look")] });
    await house.tool({ name: "book", spec: { events: ["booked"], side_effect_class: "read_only" } });
    await house.tool({ name: "look", spec: { context: ["projection"], side_effect_class: "read_only" } });
    const w1 = house.worker("w1", { tools: { book: 10 } });
    const { session } = await house.start("book, then look");
    await house.quiet();
    const first = w1.last("invoke");
    if (first === undefined) throw new Error("nothing was invoked");
    expect(JSON.parse(first.contextJson)).toEqual({ agent: "helper", agent_version: "1.0.0", session_id: session.sessionId });
    const { callId, fence } = first;
    for (const type of ["accepted", "started"] as const) w1.say({ type, callId, fence });
    w1.say({ type: "emit", callId, fence, ordinal: 1, eventType: "booked", payloadJson: "98765432109876543210" });
    w1.say({ type: "result", callId, fence, status: "succeeded", outputJson: "7", usage: { durationMs: 1 } });
    await house.quiet();
    const look = (await house.rows()).find(({ tool }) => tool === "look");
    expect(look?.contextJson).toBe(
      `{"agent":"helper","agent_version":"1.0.0","session_id":"${session.sessionId}","projection":{"items":[${[
        '{"index":0,"type":"user","turn":1,"by":"user:ann","text":"book, then look"}',
        '{"index":1,"type":"assistant","turn":1,"step":1,"text":"","calls":[{"name":"book","arguments":"{\\"amount\\":1}"}]}',
        `{"index":2,"type":"event","turn":1,"step":1,"execution_id":"${callId}","event":"booked","ordinal":1,"payload":98765432109876543210}`,
        `{"index":3,"type":"result","turn":1,"step":1,"execution_id":"${callId}","name":"book","status":"succeeded","text":"7"}`,
        '{"index":4,"type":"assistant","turn":1,"step":2,"text":"","calls":[{"name":"book","arguments":"{\\"amount\\":2}"},{"name":"look","arguments":"{\\"amount\\":3}"}]}',
      ].join(",")}],"cut":false}}`,
    );
  });

  test("projectionBytesMax: has 12 KiB of it at most, and less where the rest leaves less", () => {
    const items = Array.from({ length: 20 }, (_, index): Projected => ({ index, turn: 1, type: "user", by: "user:ann", text: "x".repeat(938) }));
    // Each has 1 000 bytes with its comma from the tenth on, and one less before.
    expect(contextWith({}, items).projection).toMatchObject({ cut: true });
    expect(contextWith({}, items).projection.items.map(({ index }) => index)).toEqual([8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19]);
    expect(contextWith({ a: "x".repeat(14_000) }, items).projection.items.map(({ index }) => index)).toEqual([18, 19]);
    expect(contextWith({ a: "x".repeat(16_384) }, items).projection).toEqual({ items: [], cut: true });
  });
});
