// Sessions through both doors of the real runtime: started, talked to while they work, followed by several readers, cancelled, completed.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { create, fromBinary, toBinary } from "@bufbuild/protobuf";
import { createClient, type Client, type SessionEvent, type SessionTold } from "@signalbox/client";
import { AttachRequestSchema, AttachResponseSchema, SessionSchema, SessionTimelineSchema, StartSessionRequestSchema } from "@signalbox/protocol/v1/sessions";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createGates } from "../support/gates.ts";
import { finish } from "../support/finish.ts";
import { callerAt } from "../support/grpc-rest.ts";
import { agentDocument, ask, workerTool } from "../support/manifests.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const anything = { input: { type: "object" }, side_effect_class: "read_only" };
const folder = mkdtempSync(join(tmpdir(), "sessions-"));
const gates = createGates();
let stack: Stack;
let client: Client;

beforeAll(async () => {
  const scripts = {
    greeter: { loop: true, completions: [{ text: "Hello. You said: {{last_user}}" }] },
    worker: [{ text: "I look.", calls: [{ tool: "hold", input: { gate: "{{last_user}}" } }] }, { text: "Heard: {{last_user}}" }],
    payer: [{ calls: [{ tool: "pay", input: {} }] }, { text: "It was {{last_result.paid}}." }],
  };
  writeFileSync(join(folder, "turns.yaml"), JSON.stringify({ scripts }));
  writeFileSync(join(folder, "models.yaml"), JSON.stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml" } } }));
  stack = await startStack({ args: ["--models", join(folder, "models.yaml")] });
  client = createClient({ url: stack.url(), key: stack.adminKey });
  for (const tool of ["hold", "pay"]) await stack.register(workerTool(tool, "1.0.0", anything));
  await stack.publish({ name: "asks", match: { tools: ["pay"] }, then: ask("finance") });
  for (const [name, tools] of [["greeter", []], ["worker", [{ tool: "hold@1.0.0" }]], ["payer", [{ tool: "pay@1.0.0" }]]] as const) {
    await client.agents.publish(agentDocument(name, "1.0.0", { model: { provider: "scripted", name }, tools }));
    await client.agents.deploy(name, "1.0.0");
  }
  await stack.startWorker("w-sessions", [
    { tool: "hold", handler: (args: { gate: string }, ctx) => gates.hold(args, ctx) },
    { tool: "pay", handler: async () => ({ paid: 7 }) },
  ]);
}, 60_000);

afterAll(async () => {
  await finish(stack, gates);
  rmSync(folder, { recursive: true, force: true });
});

/** Until an event fits. */
async function listen(stream: AsyncIterable<SessionTold>, until: (event: SessionEvent) => boolean): Promise<SessionTold[]> {
  const told: SessionTold[] = [];
  for await (const one of stream) {
    told.push(one);
    if (one.kind === "event" && until(one.event)) break;
  }
  return told;
}

const eventsIn = (told: readonly SessionTold[]): SessionEvent[] => told.flatMap((one) => (one.kind === "event" ? [one.event] : []));
const seqsIn = (told: readonly SessionTold[]): number[] => eventsIn(told).map(({ seq }) => seq);
const upTo = (last: number): number[] => Array.from({ length: last }, (_, at) => at + 1);
const ended = ({ type }: SessionEvent): boolean => type === "session.ended";

describe("one session", () => {
  test("is started, waits for its turn's end, and answers with what was said", async () => {
    const { status, body, headers } = await stack.admin.post("/v1/sessions", { agent: "greeter", message: "hi", wait_ms: 30_000, context: { ticket: 7 } });
    expect([status, headers["location"]]).toEqual([201, `/v1/sessions/${String(body["session_id"])}`]);
    expect(body).toMatchObject({
      agent: "greeter",
      version: "1.0.0",
      status: "awaiting_input",
      reason: { code: "end_turn" },
      turn: 1,
      reply: "Hello. You said: hi",
      context: { ticket: 7 },
      waiting: { messages: 0, approval_ids: [] },
      parent_session_id: null,
      ended_at: null,
    });
    const again = await stack.admin.post(`/v1/sessions/${String(body["session_id"])}/messages`, { text: "and again", wait_ms: 30_000 });
    expect([again.status, again.body["reply"], again.body["turn"], again.body["message_seq"]]).toEqual([200, "Hello. You said: and again", 2, 2]);
  });

  test("is one, however often its key is sent, and so is a message", async () => {
    const first = await stack.admin.post("/v1/sessions", { agent: "greeter", message: "hi", wait_ms: 30_000 }, { "idempotency-key": "s-1" });
    const second = await stack.admin.post("/v1/sessions", { agent: "greeter", message: "hi", wait_ms: 30_000, idempotency_key: "s-1" });
    expect([first.status, second.status, second.headers["idempotency-replayed"]]).toEqual([201, 200, "true"]);
    const id = String(first.body["session_id"]);
    expect(second.body["session_id"]).toBe(id);
    const other = await stack.admin.post("/v1/sessions", { agent: "greeter", message: "something else", idempotency_key: "s-1" });
    expect([other.status, other.body.error?.code]).toEqual([409, "idempotency_conflict"]);
    for (const replayed of [undefined, "true"]) {
      const sent = await stack.admin.post(`/v1/sessions/${id}/messages`, { text: "once", wait_ms: 30_000, idempotency_key: "m-1" });
      expect([sent.body["message_seq"], sent.body["turn"], sent.headers["idempotency-replayed"]]).toEqual([2, 2, replayed]);
    }
  });

  test("hears a message that comes while it works, before its model is asked again", async () => {
    const started = await client.sessions.start({ agent: "worker", message: "gate-1" });
    await gates.entered("gate-1");
    expect(await client.sessions.get(started.session_id)).toMatchObject({ status: "awaiting_tool", turn: 1 });
    const sent = await client.sessions.send(started.session_id, "and this");
    expect(sent).toMatchObject({ status: "awaiting_tool", message_seq: 2, waiting: { messages: 1 } });
    const told = listen(client.sessions.follow(started.session_id), ({ type }) => type === "turn.ended");
    gates.open("gate-1");
    expect(eventsIn(await told).map(({ type }) => type)).toEqual([
      "session.started",
      "turn.started",
      "message",
      "assistant",
      "tool.started",
      "tool.completed",
      "message",
      "assistant",
      "turn.ended",
    ]);
    expect(await client.sessions.get(started.session_id)).toMatchObject({ turn: 1, reply: "Heard: and this" });
  });

  test("names the questions that people have to answer, and goes on when they have", async () => {
    const started = await client.sessions.start({ agent: "payer", message: "pay", wait_ms: 30_000 });
    expect(started).toMatchObject({ status: "awaiting_approval", reply: "" });
    const [approvalId = ""] = started.waiting.approval_ids;
    expect(started.waiting.approval_ids).toHaveLength(1);
    const person = await stack.person("fay", "finance");
    const told = listen(client.sessions.follow(started.session_id, { afterSeq: started.event_seq }), ({ type }) => type === "turn.ended");
    await person.rest.decide(approvalId, "approve");
    await told;
    await expect.poll(() => client.sessions.get(started.session_id), slowly).toMatchObject({ status: "awaiting_input", reply: "It was 7.", waiting: { approval_ids: [] } });
    const timeline = await client.sessions.timeline(started.session_id);
    expect(timeline.history.map(({ type }) => type)).toEqual(["user", "assistant", "results", "assistant"]);
    expect(timeline.calls).toMatchObject([{ tool: "pay", status: "succeeded", turn: 1, step: 1, index: 0, approval_id: approvalId }]);
    expect(timeline.calls[0]?.duration_ms).toBeGreaterThanOrEqual(0);
    expect(timeline.approvals).toMatchObject([{ approval_id: approvalId, status: "approved", outcome: "approved", kind: "call" }]);
    expect(timeline.events.map(({ seq }) => seq)).toEqual(upTo(timeline.session.event_seq));
    expect([timeline.cut, timeline.children]).toEqual([false, []]);
  });

  test("is cancelled for good while it works, and completed when it waits", async () => {
    const started = await client.sessions.start({ agent: "worker", message: "gate-2" });
    await gates.entered("gate-2");
    const told = listen(client.sessions.follow(started.session_id), ended);
    await client.sessions.cancel(started.session_id, { scope: "session", reason: "wrong order" });
    expect(eventsIn(await told).at(-1)).toMatchObject({ type: "session.ended", data: { status: "cancelled" } });
    const over = await client.sessions.get(started.session_id);
    expect(over).toMatchObject({ status: "cancelled", reason: { code: "cancelled" } });
    expect(over.reason?.message).toMatch(/wrong order/);
    expect(over.ended_at).not.toBeNull();
    // It stays as it ended, and takes no more.
    expect(await client.sessions.cancel(started.session_id)).toMatchObject({ status: "cancelled" });
    await expect(client.sessions.send(started.session_id, "hello?")).rejects.toMatchObject({ code: "conflict" });
    const waits = await client.sessions.start({ agent: "greeter" });
    expect(waits).toMatchObject({ status: "awaiting_input", turn: 0, reply: null });
    expect(await client.sessions.complete(waits.session_id)).toMatchObject({ status: "completed" });
    expect(await client.sessions.complete(waits.session_id)).toMatchObject({ status: "completed" });
  });

  test("stands in the list under everything that it is looked for by", async () => {
    const { session_id: id } = await client.sessions.start({ agent: "greeter", message: "hi", wait_ms: 30_000 });
    const found = await client.sessions.list({ agent: "greeter", status: "awaiting_input", project: "default", limit: 1 });
    expect(found.items).toMatchObject([{ session_id: id, agent: "greeter", status: "awaiting_input" }]);
    expect((await client.sessions.list({ parent: id })).items).toEqual([]);
    expect((await client.sessions.list({ principal: "user:nobody" })).items).toEqual([]);
  });
});

describe("its stream", () => {
  test("is the same for every reader, and who comes back behind any event gets the rest: nothing twice, nothing left out", async () => {
    const { session_id: id } = await client.sessions.start({ agent: "greeter" });
    const [one, other] = [listen(client.sessions.follow(id), ended), listen(client.sessions.follow(id), ended)];
    for (const text of ["a", "b"]) await client.sessions.send(id, text, { wait_ms: 30_000 });
    const { event_seq: last } = await client.sessions.complete(id);
    const [first, second] = [await one, await other];
    expect(eventsIn(first)).toEqual(eventsIn(second));
    expect(seqsIn(first)).toEqual(upTo(last));
    const said = first.flatMap((told) => (told.kind === "delta" ? [told.delta.text] : [])).join("");
    expect(said).toBe("Hello. You said: aHello. You said: b");
    for (const after of [1, 3, last - 1]) expect(seqsIn(await listen(client.sessions.follow(id, { afterSeq: after }), ended))).toEqual(upTo(last).slice(after));
    expect(await listen(client.sessions.follow(id, { afterSeq: last }), ended)).toEqual([]);
    const pages: SessionEvent[] = [];
    for await (const event of client.sessions.events(id, { limit: 2 })) pages.push(event);
    expect(pages).toEqual(eventsIn(first));
  });

  test("of a session that has ended is its whole story, as Server-Sent Events with ids, and then nothing", async () => {
    const { session_id: id } = await client.sessions.start({ agent: "greeter", message: "hi", wait_ms: 30_000 });
    await client.sessions.complete(id);
    const { status, text } = await stack.admin.get(`/v1/sessions/${id}/stream`);
    expect(status).toBe(200);
    const names = [...text.matchAll(/^id: (\d+)\nevent: (.+)$/gm)].map(([, seq, type]) => `${seq} ${type}`);
    expect(names).toEqual(["1 session.started", "2 turn.started", "3 message", "4 assistant", "5 turn.ended", "6 session.ended"]);
    expect((await stack.admin.ask("GET", `/v1/sessions/${id}/stream`, { headers: { "last-event-id": "6" } })).status).toBe(204);
  });
});

describe("over gRPC", () => {
  const attach = (fields: Parameters<typeof create<typeof AttachRequestSchema>>[1]): Uint8Array => toBinary(AttachRequestSchema, create(AttachRequestSchema, fields));
  const toldIn = (bytes: Uint8Array): string => {
    const { told, ref } = fromBinary(AttachResponseSchema, bytes);
    if (told.case === "event") return told.value.type;
    if (told.case === "delta") return `“${told.value.text}”`;
    return `${ref}: ${told.case === "session" ? told.value.status : (told.case ?? "nothing")}`;
  };
  const bearer = () => ({ metadata: { authorization: `Bearer ${stack.adminKey}` } });

  test("a session is started and its timeline read with the same words", async () => {
    const request = toBinary(StartSessionRequestSchema, create(StartSessionRequestSchema, { agent: "greeter", message: "hi", waitMs: 30_000n, context: Buffer.from('{"n":9007199254740993}') }));
    const { messages, status } = await callerAt(stack.grpc()).ask("/signalbox.v1.Sessions/Start", [request], bearer());
    expect(status.code).toBe(0);
    const session = fromBinary(SessionSchema, messages[0] ?? new Uint8Array());
    expect([session.status, session.reply, Buffer.from(session.context).toString()]).toEqual(["awaiting_input", "Hello. You said: hi", '{"n":9007199254740993}']);
    const timeline = await callerAt(stack.grpc()).ask("/signalbox.v1.Sessions/Timeline", [Buffer.concat([Buffer.from([10, session.sessionId.length]), Buffer.from(session.sessionId)])], bearer());
    const { history } = fromBinary(SessionTimelineSchema, timeline.messages[0] ?? new Uint8Array());
    expect(history.map(({ type, user, assistant }) => [type, user?.text ?? assistant?.text])).toEqual([["user", "hi"], ["assistant", "Hello. You said: hi"]]);
  });

  test("one stream starts a session, talks to it, and ends with it", async () => {
    const requests = [
      attach({ ref: "a", wish: { case: "start", value: { agent: "greeter", message: "hi" } } }),
      attach({ ref: "b", wish: { case: "attach", value: { sessionId: "sess_other" } } }),
      attach({ ref: "c", wish: { case: "complete", value: {} } }),
    ];
    const { messages, status } = await callerAt(stack.grpc()).ask("/signalbox.v1.Sessions/Attach", requests, bearer());
    expect(status.code).toBe(0);
    const told = messages.map(toldIn);
    expect(told[0]).toMatch(/^a: (running|awaiting_input)$/);
    expect(told).toContain("b: error");
    expect(told.filter((line) => /^[a-z.]+$/.test(line))).toEqual(["session.started", "turn.started", "message", "assistant", "turn.ended", "session.ended"]);
  });

  test("attaching to a session that has ended replays its tools' story and ends", async () => {
    const started = await client.sessions.start({ agent: "worker", message: "gate-3" });
    await gates.entered("gate-3");
    gates.open("gate-3");
    await listen(client.sessions.follow(started.session_id), ({ type }) => type === "turn.ended");
    await client.sessions.complete(started.session_id);
    const { messages, status } = await callerAt(stack.grpc()).ask("/signalbox.v1.Sessions/Attach", [attach({ wish: { case: "attach", value: { sessionId: started.session_id, afterSeq: 3n } } })], bearer());
    expect([status.code, messages.map(toldIn)]).toEqual([
      0,
      [": completed", "assistant", "tool.started", "tool.completed", "assistant", "turn.ended", "session.ended"],
    ]);
  });
});
