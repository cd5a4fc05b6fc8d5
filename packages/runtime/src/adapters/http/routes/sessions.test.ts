// The routes about sessions over a scripted service: statuses, what reaches the runtime, what is refused, and the stream's form.
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedSession, scriptedSessions } from "../../../../../../test/support/scripted-sessions.ts";

const path = `/v1/sessions/${scriptedSession.sessionId}`;
const view = async () => ({ session: scriptedSession, reply: "Hello.", approvalIds: [], replayed: false });
const works = { ...scriptedSession, state: "running" } as const;

test("a start says by its status whether it waited for the end, and whether it was there before", async () => {
  const start = { agent: "support", message: "hi", deadline_ms: 5, wait_ms: 7, context: { n: 1 } };
  const fresh = await openDoor();
  const heard = await fresh.ask("POST", "/v1/sessions", { body: JSON.stringify(start), headers: { "idempotency-key": "k" } });
  expect([heard.status, heard.headers.get("location")]).toEqual([201, path]);
  expect(fresh.service.reached[1]?.args).toEqual([{ agent: "support", message: "hi", context: { n: 1 }, deadlineMs: 5, idempotencyKey: "k", waitMs: 7 }]);
  const busy = await openDoor({ startSession: async () => ({ ...(await view()), session: works }) });
  expect((await busy.ask("POST", "/v1/sessions", { body: '{"agent":"support"}' })).status).toBe(202);
  const known = await openDoor({ startSession: async () => ({ ...(await view()), session: works, replayed: true }) });
  const again = await known.ask("POST", "/v1/sessions", { body: '{"agent":"support"}' });
  expect([again.status, again.headers.get("idempotency-replayed")]).toEqual([200, "true"]);
});

test.each([
  ["POST", "/messages", "{}"],
  ["POST", "/cancel", '{"scope":"call"}'],
  ["POST", "/cancel", '{"scope":"turn","execution_id":"e"}'],
  ["POST", "/cancel", `{"reason":"${"x".repeat(1_001)}"}`],
  ["POST", "/complete", '{"why":"x"}'],
  ["GET", "/events?after_seq=-1", undefined],
])("%s %s %s is refused before the runtime is asked", async (method, verb, body) => {
  const door = await openDoor();
  const heard = await door.ask(method, path + verb, body === undefined ? {} : { body });
  expect([heard.status, door.service.reached.map((one) => one.method)]).toEqual([400, ["authenticate"]]);
});

test("an id that no session can have costs the runtime nothing", async () => {
  const door = await openDoor();
  const heard = await door.ask("GET", "/v1/sessions/a%00b");
  expect([heard.status, door.service.reached.map((one) => one.method)]).toEqual([404, ["authenticate"]]);
});

describe("a stream", () => {
  test("has ids for events alone; pieces and gaps have none", async () => {
    let over = false;
    const door = await openDoor({
      followSession: async () => ({
        get over() {
          return over;
        },
        async next() {
          over = true;
          const [event] = await scriptedSessions.listSessionEvents({} as never, "", 1, 1);
          if (event === undefined) throw new Error("no event");
          return [
            { kind: "delta", delta: { turn: 1, step: 1, type: "text", text: "Hel\nlo" } },
            { kind: "gap", dropped: 3 },
            { kind: "event", event },
          ] as const;
        },
        close: () => undefined,
      }),
    });
    const heard = await door.ask("GET", `${path}/stream`);
    expect(heard.text.split("\n\n")).toEqual([
      "retry: 1000",
      'event: delta\ndata: {"turn":1,"step":1,"type":"text","text":"Hel\\nlo"}',
      'event: gap\ndata: {"dropped":3}',
      'id: 2\nevent: assistant\ndata: {"seq":2,"ts":"2026-01-02T03:04:05.900Z","type":"assistant","turn":1,"step":1,"data":{"text":"Hello.","calls":[],"stop":"end_turn","input_tokens":12,"output_tokens":5}}',
      ": the runtime leaves; come back with the last id",
      "",
    ]);
  });
});
