// Following calls against scripted answers: order, coming back, giving up, and leaving.
import { describe, expect, test } from "vitest";
import type { OpenCall, SucceededCall } from "./call-types.ts";
import { createClient } from "./client.ts";
import { SignalboxApiError } from "./errors.ts";
import type { CallStreamEvent } from "./stream-types.ts";
import type { TransportPorts } from "./transport.ts";

interface Seen {
  readonly line: string;
  readonly lastId: string | undefined;
  readonly body: string | undefined;
  readonly signal: AbortSignal | null | undefined;
}

const said = (seq: number, type: string, data: string): string =>
  `id: ${seq}\nevent: ${type}\ndata: {"seq":${seq},"ts":"2026-01-02T03:04:05.000Z","data":${data}}\n\n`;
const text = (seq: number, words: string): string => said(seq, "stdout", JSON.stringify({ text: words }));
const done = (seq: number): string =>
  said(seq, "done", '{"execution_id":"exec_1","status":"succeeded","output":{"n":12345678901234567890}}');

/** An event stream in these pieces, which then ends, breaks, or stays open. */
function streaming(
  pieces: readonly string[],
  then: "ends" | "breaks" | "stays" = "ends",
  headers: Record<string, string> = {},
): Response {
  let at = 0;
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const piece = pieces[at++];
      if (piece !== undefined) controller.enqueue(new TextEncoder().encode(piece));
      else if (then === "ends") controller.close();
      else if (then === "breaks") controller.error(new Error("connection reset"));
      else await new Promise(() => {});
    },
  });
  return new Response(body, { status: 200, headers: { "content-type": "text/event-stream", ...headers } });
}

const refused = (status: number, code: string, retryable: boolean, headers: Record<string, string> = {}): Response =>
  new Response(JSON.stringify({ error: { code, message: code, retryable, details: {} } }), { status, headers });

/** The wait that ends a silent connection; any other takes no time. */
const silentMs = 45_000;

type Scripted = Response | Error | (() => Response);

function scripted(...answers: Scripted[]) {
  return scriptedWith({}, ...answers);
}

function scriptedWith(ports: Partial<TransportPorts>, ...answers: Scripted[]) {
  const seen: Seen[] = [];
  const waits: number[] = [];
  const silences: (() => void)[] = [];
  const client = createClient({
    url: "http://runtime.test",
    key: "sbx_secret",
    fetch: async (input, init) => {
      const headers = init?.headers as Record<string, string>;
      seen.push({
        line: `${init?.method} ${(input as string).slice("http://runtime.test".length)}`,
        lastId: headers["last-event-id"],
        body: init?.body as string | undefined,
        signal: init?.signal,
      });
      const answer = answers.shift() ?? new Error("nothing more is scripted");
      if (answer instanceof Error) throw answer;
      const response = typeof answer === "function" ? answer() : answer;
      // As fetch does: an abort breaks the body off.
      const { body } = response;
      if (body === null || init?.signal === undefined || init.signal === null) return response;
      const { signal } = init;
      const through = new TransformStream<Uint8Array, Uint8Array>();
      body.pipeTo(through.writable, { signal }).catch(() => undefined);
      return new Response(through.readable, { status: response.status, headers: response.headers });
    },
    ports: {
      sleep: (ms, signal) => {
        if (ms !== silentMs) {
          waits.push(ms);
          return Promise.resolve();
        }
        return new Promise((resolve, reject) => {
          silences.push(resolve);
          signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        });
      },
      random: () => 0,
      newKey: () => "key-1",
      timeoutSignal: () => new AbortController().signal,
      ...ports,
    },
  });
  return { client, seen, waits, silences };
}

function words(event: CallStreamEvent): string {
  if (event.type === "gap") return `gap ${event.from}-${event.to}`;
  return `${event.seq} ${event.type}${event.type === "stdout" ? ` ${event.data.text}` : ""}`;
}

async function all(stream: AsyncIterable<CallStreamEvent>): Promise<string[]> {
  const found: string[] = [];
  for await (const event of stream) found.push(words(event));
  return found;
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
}

describe("reading", () => {
  test("events in order, the end last, with every digit of the output", async () => {
    const { client, seen } = scripted(
      streaming([
        "retry: 1000\n\n",
        said(1, "start", '{"sandbox":"application","worker":"w1","attempt":1}'),
        text(2, "hi") + done(3),
      ]),
    );
    const events = [];
    for await (const event of client.follow("exec_1")) events.push(event);
    expect(events.slice(0, 2)).toEqual([
      {
        type: "start",
        seq: 1,
        ts: "2026-01-02T03:04:05.000Z",
        data: { sandbox: "application", worker: "w1", attempt: 1 },
      },
      { type: "stdout", seq: 2, ts: "2026-01-02T03:04:05.000Z", data: { text: "hi" } },
    ]);
    expect(events[2]).toMatchObject({
      type: "done",
      seq: 3,
      data: { status: "succeeded", outputText: '{"n":12345678901234567890}' },
    });
    expect(seen.map(({ line, lastId }) => [line, lastId])).toEqual([["GET /v1/executions/exec_1/stream", undefined]]);
  });

  test("a gap is an event, and what this client does not know is passed over", async () => {
    const gap = 'id: 5\nevent: gap\ndata: {"from":2,"to":5}\n\n';
    const { client } = scripted(
      streaming([
        text(1, "a") + gap + said(6, "sparkle", "{}") + text(7, "b") + said(8, "error", '{"status":"failed"}'),
      ]),
    );
    expect(await all(client.follow("exec_1"))).toEqual(["1 stdout a", "gap 2-5", "7 stdout b", "8 error"]);
  });

  test("from behind a number; who has everything gets nothing", async () => {
    const { client, seen } = scripted(new Response(null, { status: 204 }));
    expect(await all(client.follow("exec_1", { afterSeq: 7 }))).toEqual([]);
    expect(seen[0]?.lastId).toBe("7");
  });

  test("one stream is read once", async () => {
    const { client } = scripted(streaming([done(1)]));
    const stream = client.follow("exec_1");
    await all(stream);
    expect(await failure(all(stream))).toBeInstanceOf(TypeError);
  });
});

describe("coming back", () => {
  test("behind the last event, after a break, an end without an end, and a runtime that is away", async () => {
    const { client, seen, waits } = scripted(
      streaming([text(1, "a"), text(2, "b").slice(0, 20)], "breaks"),
      new Error("ECONNREFUSED"),
      refused(503, "draining", true, { "retry-after": "1" }),
      streaming([text(2, "b"), ": the runtime leaves; come back with the last id\n\n"]),
      streaming([text(3, "c"), done(4)]),
    );
    expect(await all(client.follow("exec_1"))).toEqual(["1 stdout a", "2 stdout b", "3 stdout c", "4 done"]);
    expect(seen.map(({ lastId }) => lastId)).toEqual([undefined, "1", "1", "1", "2"]);
    expect(waits).toEqual([100, 100, 1_000, 100]);
  });

  test("also behind a gap; what comes a second time is dropped", async () => {
    const { client, seen } = scripted(
      streaming(['id: 5\nevent: gap\ndata: {"from":1,"to":5}\n\n'], "breaks"),
      streaming([text(5, "twice"), text(6, "f"), done(7)]),
    );
    expect(await all(client.follow("exec_1"))).toEqual(["gap 1-5", "6 stdout f", "7 done"]);
    expect(seen[1]?.lastId).toBe("5");
  });

  test("ten tries in a row that bring nothing are enough; an event in between makes it patient again", async () => {
    const away = Array.from({ length: 9 }, () => new Error("ECONNREFUSED"));
    const { client, seen } = scripted(
      ...away,
      streaming([text(1, "a")], "breaks"),
      ...away.map(({ message }) => new Error(message)),
      new Error("ECONNREFUSED"),
    );
    const found: string[] = [];
    const error = await failure(
      (async () => {
        for await (const event of client.follow("exec_1")) found.push(words(event));
      })(),
    );
    expect(error).toMatchObject({ code: "unreachable", message: "no answer from http://runtime.test: ECONNREFUSED" });
    expect(found).toEqual(["1 stdout a"]);
    expect(seen).toHaveLength(20);
  });

  test("a connection on which nothing comes any more is closed, and made anew", async () => {
    const { client, silences, seen } = scripted(streaming([text(1, "a")], "stays"), streaming([done(2)]));
    const found = all(client.follow("exec_1"));
    await expect.poll(() => silences.length).toBe(1);
    // The first look has heard the event, the second hears nothing.
    silences[0]?.();
    await expect.poll(() => silences.length).toBe(2);
    silences[1]?.();
    expect(await found).toEqual(["1 stdout a", "2 done"]);
    expect(seen[1]?.lastId).toBe("1");
  });
});

describe("refusals", () => {
  test.each([
    [404, "execution_not_found"],
    [401, "key_revoked"],
    [403, "forbidden"],
  ])("%i is not tried again", async (status, code) => {
    const { client, seen } = scripted(refused(status, code, false));
    const error = await failure(all(client.follow("exec_1")));
    expect(error).toBeInstanceOf(SignalboxApiError);
    expect(error).toMatchObject({ code, httpStatus: status });
    expect(seen).toHaveLength(1);
  });

  test("also in the middle: a key that was revoked meanwhile", async () => {
    const { client } = scripted(streaming([text(1, "a")], "breaks"), refused(401, "key_revoked", false));
    expect(await failure(all(client.follow("exec_1")))).toMatchObject({ code: "key_revoked" });
  });
});

describe("running a tool", () => {
  const location = { location: "/v1/executions/exec_1" };

  test("one request; a break is followed by the call's own address, and nothing runs twice", async () => {
    const { client, seen } = scripted(streaming([text(1, "a")], "breaks", location), streaming([done(2)]));
    expect(await all(client.stream({ tool: "a.b", inputText: '{"big":98765432109876543210}' }))).toEqual([
      "1 stdout a",
      "2 done",
    ]);
    expect(seen.map(({ line }) => line)).toEqual(["POST /v1/executions", "GET /v1/executions/exec_1/stream"]);
    expect(seen[0]?.body).toBe(
      '{"tool":"a.b","idempotency_key":"key-1","stream":true,"input":{"big":98765432109876543210}}',
    );
  });

  test("a break before the first event, too", async () => {
    const { client, seen } = scripted(streaming([], "breaks", location), streaming([done(1)]));
    expect(await all(client.stream({ tool: "a.b" }))).toEqual(["1 done"]);
    expect(seen[1]).toMatchObject({ line: "GET /v1/executions/exec_1/stream", lastId: undefined });
  });

  test("no answer: sent again under the same key, as often as any request", async () => {
    const { client, seen } = scripted(new Error("reset"), streaming([done(1)], "ends", location));
    expect(await all(client.stream("a.b", { n: 1 }, { idempotency_key: "k1" }))).toEqual(["1 done"]);
    expect(new Set(seen.map(({ body }) => body))).toEqual(
      new Set(['{"idempotency_key":"k1","tool":"a.b","input":{"n":1},"stream":true}']),
    );
    const away = scripted(...Array.from({ length: 21 }).map(() => new Error("reset")));
    expect(await failure(all(away.client.stream({ tool: "a.b", idempotency_key: "k" })))).toMatchObject({
      code: "unreachable",
      retryable: false,
      details: { may_have_executed: true },
      idempotencyKey: "k",
    });
    expect(away.seen).toHaveLength(20);
  });

  test("an error that belongs to a stored call is its end", async () => {
    const told = { error: { code: "no_handler", message: "nobody", retryable: true }, execution_id: "exec_7" };
    const { client, seen } = scripted(new Response(JSON.stringify(told), { status: 503 }), streaming([done(1)]));
    expect(await failure(all(client.stream({ tool: "a.b" })))).toMatchObject({ executionId: "exec_7" });
    expect(seen).toHaveLength(1);
  });
});

describe("waiting for the end", () => {
  const open = { execution_id: "exec_1", status: "running" } as OpenCall;

  test("follows the call through breaks, and gives its record", async () => {
    const { client, seen } = scripted(
      streaming([text(1, "a")], "breaks"),
      new Error("ECONNREFUSED"),
      streaming([done(2)]),
    );
    expect(await client.wait(open)).toMatchObject({
      status: "succeeded",
      outputText: '{"n":12345678901234567890}',
    });
    expect(seen.map(({ line, lastId }) => [line, lastId])).toEqual([
      ["GET /v1/executions/exec_1/stream", undefined],
      ["GET /v1/executions/exec_1/stream", "1"],
      ["GET /v1/executions/exec_1/stream", "1"],
    ]);
  });

  test("a call that has ended is its own end; a cancelled one is no error", async () => {
    const { client, seen } = scripted(streaming([said(1, "error", '{"status":"cancelled"}')]));
    const ended = { status: "succeeded", outputText: "1" } as SucceededCall<number>;
    expect(await client.wait(ended)).toBe(ended);
    expect(seen).toHaveLength(0);
    expect(await client.wait("exec_1")).toMatchObject({ status: "cancelled" });
  });

  test("a bad end is thrown as invoke throws it", async () => {
    const record = {
      execution_id: "exec_1",
      status: "failed",
      request_id: "req_1",
      error: { code: "tool_error", message: "declined", type: "tool", retryable: false, details: { tool_code: "x" } },
    };
    const { client } = scripted(streaming([said(1, "error", JSON.stringify(record))]));
    const error = await failure(client.wait(open));
    expect(error).toBeInstanceOf(SignalboxApiError);
    expect(error).toMatchObject({
      code: "tool_error",
      message: "declined",
      executionId: "exec_1",
      requestId: "req_1",
      details: { tool_code: "x" },
      retryable: false,
    });
  });

  test("a time-out ends the wait and says that the call goes on; an abort ends it with its reason", async () => {
    const timeouts: (() => void)[] = [];
    const { client } = scriptedWith(
      {
        timeoutSignal: (ms) => {
          const timeout = new AbortController();
          if (ms === 250) timeouts.push(() => timeout.abort(new Error("time is up")));
          return timeout.signal;
        },
      },
      streaming([text(1, "a")], "stays"),
      streaming([text(1, "a")], "stays"),
    );
    const late = failure(client.wait(open, { timeoutMs: 250 }));
    timeouts[0]?.();
    expect(await late).toMatchObject({
      code: "wait_timeout",
      message: "the call exec_1 has not ended within 0.25 s and goes on; wait for it again, or cancel it",
      executionId: "exec_1",
    });
    const leaving = new AbortController();
    const left = failure(client.wait(open, { timeoutMs: 250, signal: leaving.signal }));
    leaving.abort(new Error("enough"));
    expect(await left).toMatchObject({ message: "enough" });
  });
});

describe("leaving", () => {
  test("breaking off the loop closes the connection", async () => {
    const { client, seen } = scripted(streaming([text(1, "a")], "stays"));
    for await (const event of client.follow("exec_1")) if (event.type === "stdout") break;
    expect(seen[0]?.signal?.aborted).toBe(true);
  });

  test("an abort ends the loop with its reason, and nothing is tried again", async () => {
    const leaving = new AbortController();
    const { client, seen } = scripted(streaming([text(1, "a")], "stays"));
    const found = all(client.follow("exec_1", { signal: leaving.signal }));
    await expect.poll(() => seen.length).toBe(1);
    leaving.abort(new Error("enough"));
    expect(await failure(found)).toMatchObject({ message: "enough" });
    expect(seen).toHaveLength(1);
    const late = client.follow("exec_1", { signal: leaving.signal });
    expect(await failure(all(late))).toMatchObject({ message: "enough" });
    expect(seen).toHaveLength(1);
  });
});
