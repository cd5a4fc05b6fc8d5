// Sessions through the client against scripted answers: what is sent, when it is sent again, and a stream that breaks.
import { describe, expect, test } from "vitest";
import { createClient } from "./client.ts";
import type { SessionTold } from "./session-types.ts";

interface Seen {
  readonly line: string;
  readonly lastId: string | null;
  readonly body: unknown;
}

const event = (seq: number, type: string): string => `id: ${seq}\nevent: ${type}\ndata: {"seq":${seq},"ts":"2026-01-02T03:04:05.000Z","type":"${type}","turn":1,"step":1,"data":{"n":${seq}}}\n\n`;
const delta = (text: string): string => `event: delta\ndata: {"turn":1,"step":1,"type":"text","text":${JSON.stringify(text)}}\n\n`;
const streamed = (...pieces: string[]): Response => new Response(["retry: 1000\n\n", ...pieces].join(""), { headers: { "content-type": "text/event-stream" } });
const found = (body: unknown, status = 200): Response => new Response(JSON.stringify(body), { status });

function scripted(...answers: (Response | Error)[]) {
  const seen: Seen[] = [];
  const client = createClient({
    url: "http://runtime.test",
    key: "sbx_secret",
    ports: { sleep: async () => undefined },
    fetch: async (input, init) => {
      const { pathname, search } = new URL(input as string);
      const { method = "GET", body } = init ?? {};
      seen.push({ line: `${method} ${pathname}${search}`, lastId: new Headers(init?.headers).get("last-event-id"), body: typeof body === "string" ? JSON.parse(body) : undefined });
      const answer = answers.shift();
      if (answer instanceof Response) return answer;
      throw answer ?? new Error("nothing more was scripted");
    },
  });
  return { sessions: client.sessions, seen };
}

describe("asking", () => {
  test("each method has its route", async () => {
    const { sessions, seen } = scripted(...Array.from({ length: 8 }, () => found({ session_id: "sess_1", items: [], next_cursor: null, next_after_seq: null })));
    await sessions.start({ agent: "support", message: "hello", context: { ticket: 7 }, wait_ms: 5 });
    await sessions.get("sess_1");
    await sessions.list({ agent: "support", status: "awaiting_input", limit: 2 });
    await sessions.send("sess_1", "and now?", { idempotency_key: "m1" });
    await sessions.cancel("sess_1", { scope: "call", execution_id: "e1", reason: "wrong" });
    await sessions.complete("sess_1");
    await sessions.events("sess_1", { after_seq: 3 });
    await sessions.timeline("sess/1");
    expect(seen.map(({ line, body }) => [line, body])).toEqual([
      ["POST /v1/sessions", { agent: "support", message: "hello", context: { ticket: 7 }, wait_ms: 5 }],
      ["GET /v1/sessions/sess_1", undefined],
      ["GET /v1/sessions?agent=support&status=awaiting_input&limit=2", undefined],
      ["POST /v1/sessions/sess_1/messages", { text: "and now?", idempotency_key: "m1" }],
      ["POST /v1/sessions/sess_1/cancel", { scope: "call", execution_id: "e1", reason: "wrong" }],
      ["POST /v1/sessions/sess_1/complete", {}],
      ["GET /v1/sessions/sess_1/events?after_seq=3", undefined],
      ["GET /v1/sessions/sess%2F1/timeline", undefined],
    ]);
  });

  test("a message that is lost is sent again with a key, and only with one", async () => {
    const keyed = scripted(new Error("reset"), found({ session_id: "sess_1" }));
    expect(await keyed.sessions.send("sess_1", "hello", { idempotency_key: "m1" })).toEqual({ session_id: "sess_1" });
    expect(keyed.seen).toHaveLength(2);
    const bare = scripted(new Error("reset"), found({ session_id: "sess_1" }));
    await expect(bare.sessions.send("sess_1", "hello")).rejects.toMatchObject({ code: "unreachable", details: { may_have_executed: true } });
    expect(bare.seen).toHaveLength(1);
  });

  test("in a loop the events are those of all pages", async () => {
    const first = { items: [{ seq: 1 }, { seq: 2 }], next_after_seq: 2 };
    const { sessions, seen } = scripted(found(first), found({ items: [{ seq: 3 }], next_after_seq: null }));
    const seqs: number[] = [];
    for await (const { seq } of sessions.events("sess_1", { limit: 2 })) seqs.push(seq);
    expect(seqs).toEqual([1, 2, 3]);
    expect(seen.map(({ line }) => line)).toEqual(["GET /v1/sessions/sess_1/events?limit=2", "GET /v1/sessions/sess_1/events?limit=2&after_seq=2"]);
  });
});

async function all(stream: AsyncIterable<SessionTold>): Promise<(string | number)[]> {
  const told: (string | number)[] = [];
  for await (const one of stream) told.push(one.kind === "event" ? one.event.seq : one.kind === "delta" ? one.delta.text : `${one.dropped} dropped`);
  return told;
}

describe("following", () => {
  test("a stream that breaks is followed on behind its last event, and nothing is told twice", async () => {
    const { sessions, seen } = scripted(
      streamed(event(1, "session.started"), event(2, "turn.started"), delta("Hel")),
      new Error("reset"),
      streamed(event(2, "turn.started"), event(3, "assistant"), event(4, "session.ended"), event(5, "never.told")),
    );
    expect(await all(sessions.follow("sess_1"))).toEqual([1, 2, "Hel", 3, 4]);
    expect(seen.map(({ line, lastId }) => [line, lastId])).toEqual([
      ["GET /v1/sessions/sess_1/stream", null],
      ["GET /v1/sessions/sess_1/stream", "2"],
      ["GET /v1/sessions/sess_1/stream", "2"],
    ]);
  });

  test("pieces that were dropped are told, and kinds of events that are new are too", async () => {
    const { sessions } = scripted(streamed('event: gap\ndata: {"dropped":9}\n\n', event(8, "something.new"), event(9, "session.ended")));
    expect(await all(sessions.follow("sess_1", { afterSeq: 7 }))).toEqual(["9 dropped", 8, 9]);
  });

  test("of a session whose end the reader has there is nothing", async () => {
    const { sessions, seen } = scripted(new Response(null, { status: 204 }));
    expect(await all(sessions.follow("sess_1", { afterSeq: 9 }))).toEqual([]);
    expect(seen[0]?.lastId).toBe("9");
  });

  test("a refusal is the reader's, at once", async () => {
    const { sessions, seen } = scripted(found({ error: { code: "session_not_found", message: "there is no such session", retryable: false, details: {} } }, 404));
    await expect(all(sessions.follow("sess_1"))).rejects.toMatchObject({ code: "session_not_found" });
    expect(seen).toHaveLength(1);
  });

  test("who leaves the loop closes the connection", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new TextEncoder().encode(event(1, "session.started"))),
      cancel: () => void (cancelled = true),
    });
    const { sessions } = scripted(new Response(body, { status: 200 }));
    for await (const told of sessions.follow("sess_1")) {
      expect(told).toMatchObject({ kind: "event", event: { seq: 1, data: { n: 1 } } });
      break;
    }
    expect(cancelled).toBe(true);
  });
});
