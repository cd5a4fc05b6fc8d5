// The client against scripted answers: what is repeated, what never is, and what callers get to see.
import { parseWithBigInts, stringifyWithBigInts } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import { SignalboxApiError } from "./errors.ts";
import type { RetryOptions } from "./retry.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
  readonly headers: Record<string, string>;
}

type Scripted = Response | Error;

/** A client whose fetch gives these answers in turn; waits take no time but on its own clock, and keys are counted. */
function scripted(...answers: Scripted[]) {
  return scriptedWith({}, ...answers);
}

function scriptedWith(retry: RetryOptions, ...answers: Scripted[]) {
  let nowMs = 0;
  let keys = 0;
  const seen: Seen[] = [];
  const waits: number[] = [];
  const client = createClient({
    url: "http://runtime.test/",
    key: "sbx_secret",
    retry,
    fetch: async (input, init) => {
      seen.push({
        method: init?.method ?? "",
        url: input as string,
        body: init?.body as string | undefined,
        headers: init?.headers as Record<string, string>,
      });
      const answer = answers.shift();
      if (answer === undefined) throw new Error("nothing more is scripted");
      if (answer instanceof Error) throw answer;
      return answer;
    },
    ports: {
      sleep: async (ms) => {
        waits.push(ms);
        nowMs += ms;
      },
      random: () => 0,
      monotonicMs: () => nowMs,
      wallMs: () => Date.UTC(2026, 0, 31, 12),
      newKey: () => `key-${++keys}`,
      timeoutSignal: () => new AbortController().signal,
    },
  });
  return { client, seen, waits };
}

const json = (status: number, text: string, headers: Record<string, string> = {}) =>
  new Response(text, { status, headers });

const busy = (headers: Record<string, string> = {}) =>
  json(
    503,
    `{"error":{"code":"draining","message":"stopping","type":"runtime","retryable":true,"details":{},"request_id":"req_1"}}`,
    headers,
  );

const done = () => json(200, `{"execution_id":"exec_1","status":"succeeded","output":{"n":12345678901234567890}}`);

async function failure(work: Promise<unknown>): Promise<SignalboxApiError> {
  const error: unknown = await work.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof SignalboxApiError)) throw new Error(`expected a SignalboxApiError, got ${String(error)}`);
  return error;
}

test("invoke sends the request and keeps every digit of the output", async () => {
  const { client, seen } = scripted(done());
  const record = await client.invoke({ tool: "a.b", inputText: `{"big":98765432109876543210}` });
  expect(record.status).toBe("succeeded");
  expect(record.outputText).toBe(`{"n":12345678901234567890}`);
  expect(seen).toEqual([
    {
      method: "POST",
      url: "http://runtime.test/v1/executions",
      body: `{"tool":"a.b","idempotency_key":"key-1","input":{"big":98765432109876543210}}`,
      headers: { accept: "application/json", authorization: "Bearer sbx_secret", "content-type": "application/json" },
    },
  ]);
});

const bodies = (seen: readonly Seen[]): unknown[] => seen.map(({ body }) => JSON.parse(body ?? "null") as unknown);

test("a call is sent again after what may pass, with longer and longer waits, always under one key", async () => {
  const { client, seen, waits } = scripted(busy(), new TypeError("fetch failed"), busy(), done(), done());
  const record = await client.invoke({ tool: "a.b", input: {} });
  expect(record.execution_id).toBe("exec_1");
  const body = { tool: "a.b", input: {}, idempotency_key: "key-1" };
  expect(bodies(seen)).toEqual([body, body, body, body]);
  expect(waits).toEqual([100, 200, 400]);
  // The next call is another one.
  await client.invoke("a.b", {});
  expect(bodies(seen).at(-1)).toEqual({ ...body, idempotency_key: "key-2" });
});

test("the caller's own key is the one that is sent, each time", async () => {
  const { client, seen } = scripted(busy(), done());
  await client.invoke("a.b", { n: 1 }, { idempotency_key: "order-7", wait_ms: 5, retry: { attemptsMax: 2 } });
  const body = { tool: "a.b", input: { n: 1 }, idempotency_key: "order-7", wait_ms: 5 };
  expect(bodies(seen)).toEqual([body, body]);
});

test("a connection that breaks within the answer is a lost answer", async () => {
  const broken = new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"execution_id":"ex'));
        controller.error(new TypeError("terminated"));
      },
    }),
  );
  const { client, seen } = scripted(broken, done());
  expect((await client.invoke("a.b", {})).status).toBe("succeeded");
  expect(bodies(seen)[1]).toEqual(bodies(seen)[0]);
});

test("what may have run is not repeated, whatever else its answer says", async () => {
  const text = `{"error":{"code":"timeout","message":"late","retryable":true,"details":{"may_have_executed":true}}}`;
  const { client, seen } = scripted(json(504, text), done());
  expect((await failure(client.invoke("a.b", {}))).code).toBe("timeout");
  expect(seen).toHaveLength(1);
});

test("retries are bounded by number, by time, and by the request's own options", async () => {
  const never = scriptedWith({ attemptsMax: 1 }, busy(), done());
  await failure(never.client.invoke("a.b", {}));
  expect(never.seen).toHaveLength(1);

  // 100 and 200 ms of waiting fit into 350 ms, 400 more do not.
  const short = scriptedWith({ attemptsMax: 10, deadlineMs: 350 }, busy(), busy(), busy(), busy());
  await failure(short.client.status());
  expect([short.seen.length, short.waits]).toEqual([3, [100, 200]]);

  const flat = scriptedWith({ initialDelayMs: 10, maxDelayMs: 15 }, busy(), busy(), busy(), done());
  await flat.client.status();
  expect(flat.waits).toEqual([5, 8, 8]);

  const once = scripted(busy(), done());
  await failure(once.client.status({ retry: { attemptsMax: 1 } }));
  expect(once.seen).toHaveLength(1);
});

test.each([
  [{ attemptsMax: 0 }, "retry.attemptsMax must be a number of at least 1, not 0"],
  [{ deadlineMs: -1 }, "retry.deadlineMs must be a number of at least 0, not -1"],
  [{ initialDelayMs: Number.NaN }, "retry.initialDelayMs must be a number of at least 0, not NaN"],
])("%j is refused", (retry, message) => {
  expect(() => createClient({ url: "http://runtime.test", retry })).toThrow(new TypeError(message));
});

test("it outlasts a runtime that starts again, and gives up after half a minute of waiting", async () => {
  const restarted = scripted(...Array.from({ length: 9 }, () => busy()), done());
  await restarted.client.invoke("a.b", {});
  expect(restarted.waits).toEqual([100, 200, 400, 800, 1_600, 2_500, 2_500, 2_500, 2_500]);

  // 3.1 s of waiting until the sixth try, then 2.5 s each: the next one would begin after 30.6 s.
  const away = scripted(...Array.from({ length: 30 }, () => busy()));
  expect((await failure(away.client.status())).code).toBe("draining");
  expect([away.seen.length, away.waits.reduce((sum, ms) => sum + ms, 0)]).toEqual([16, 28_100]);
});

test("it gives up after twenty times in all", async () => {
  const { client, seen } = scriptedWith({ deadlineMs: 600_000 }, ...Array.from({ length: 21 }, () => busy()));
  expect((await failure(client.status())).code).toBe("draining");
  expect(seen).toHaveLength(20);
});

const refusedConnection = (): Error =>
  new TypeError("fetch failed", {
    cause: Object.assign(new Error("connect ECONNREFUSED 127.0.0.1:1"), { code: "ECONNREFUSED" }),
  });

test("a call of which nobody knows whether it ran says so, with its key, and is not called worth repeating", async () => {
  const { client } = scriptedWith({ attemptsMax: 2 }, new TypeError("terminated"), refusedConnection());
  const error = await failure(client.invoke("a.b", {}));
  expect(error).toMatchObject({ code: "unreachable", retryable: false, idempotencyKey: "key-1" });
  expect(error.details).toEqual({ may_have_executed: true });
  expect(error.message).toBe(
    `no answer from http://runtime.test/: connect ECONNREFUSED 127.0.0.1:1; it may have run: ask again with the same idempotency_key, "key-1", and it runs once`,
  );
});

test("nor is a refusal that comes after a lost answer, or what a proxy says in the runtime's place", async () => {
  for (const answers of [[new TypeError("terminated"), busy()], [json(504, "<html>"), json(504, "<html>")]]) {
    const error = await failure(scriptedWith({ attemptsMax: 2 }, ...answers).client.invoke("a.b", {}));
    expect([error.retryable, error.details["may_have_executed"], error.idempotencyKey]).toEqual([false, true, "key-1"]);
  }
});

test("what was never sent, or was refused by the runtime, may be asked anew", async () => {
  const away = scriptedWith({ attemptsMax: 2 }, refusedConnection(), refusedConnection());
  const error = await failure(away.client.invoke("a.b", {}));
  expect([error.retryable, error.details, error.idempotencyKey]).toEqual([true, { never_sent: true }, "key-1"]);
  const refused = await failure(scriptedWith({ attemptsMax: 1 }, busy()).client.invoke("a.b", {}));
  expect([refused.retryable, refused.details, refused.idempotencyKey]).toEqual([true, {}, "key-1"]);
});

test("a lost answer about what may be asked twice leaves it worth repeating; about what makes something new it does not", async () => {
  const lost = () => scriptedWith({ attemptsMax: 1 }, new TypeError("terminated")).client;
  expect(await failure(lost().status())).toMatchObject({ retryable: true, idempotencyKey: undefined, details: {} });
  const made = await failure(lost().keys.create({ label: "", principal: "", scopes: [] }));
  expect(made).toMatchObject({ retryable: false, details: { may_have_executed: true } });
  expect(made.message).toMatch(/; it may have been done: look before you ask again$/);
});

test("a certificate that nobody vouches for is not tried again", async () => {
  const cause = Object.assign(new Error("self-signed certificate"), { code: "DEPTH_ZERO_SELF_SIGNED_CERT" });
  const { client, seen } = scripted(new TypeError("fetch failed", { cause }));
  const error = await failure(client.invoke("a.b", {}));
  expect([error.retryable, error.details, seen.length]).toEqual([
    false,
    { never_sent: true, reason: "certificate_not_trusted" },
    1,
  ]);
});

test("an error that belongs to a stored call is not repeated: the key would replay it", async () => {
  const text = `{"error":{"code":"no_handler","message":"nobody","retryable":true},"execution_id":"exec_7"}`;
  const { client, seen } = scripted(json(503, text), done());
  const error = await failure(client.invoke({ tool: "a.b", input: {}, idempotency_key: "k" }));
  expect([error.code, error.executionId]).toEqual(["no_handler", "exec_7"]);
  expect(seen).toHaveLength(1);
});

test("an error that repeating cannot help is not repeated", async () => {
  const { client, seen } = scripted(
    json(400, `{"error":{"code":"invalid_input","message":"no","retryable":false}}`),
    done(),
  );
  await failure(client.list());
  expect(seen).toHaveLength(1);
});

test("what makes something new is never repeated; what can be said twice is", async () => {
  const created = scripted(busy(), done());
  await failure(created.client.keys.create({ label: "ci", principal: "service:ci", scopes: ["tools:invoke"] }));
  await failure(scripted(busy(), done()).client.grants.create({ subject: "user:a", permissions: ["*"] }));
  await failure(scripted(busy(), done()).client.resolve("exec_1", { verdict: "retry" }));
  expect(created.seen).toHaveLength(1);
  for (const ask of ["cancel", "get"] as const) {
    const { client, seen } = scripted(busy(), done());
    await client[ask]("exec_1");
    expect(seen).toHaveLength(2);
  }
});

test("Retry-After is waited for, in seconds or until a date, but not beyond the deadline", async () => {
  const soon = scripted(busy({ "retry-after": "3" }), done());
  await soon.client.list();
  expect(soon.waits).toEqual([3_000]);
  const late = scripted(busy({ "retry-after": "61" }), done());
  await failure(late.client.list());
  expect(late.seen).toHaveLength(1);
  // By our clock it is 12:00:00; by the server's, if it tells, two minutes later.
  const byOurs = scripted(busy({ "retry-after": "Sat, 31 Jan 2026 12:00:07 GMT" }), done());
  await byOurs.client.list();
  expect(byOurs.waits).toEqual([7_000]);
  const date = "Sat, 31 Jan 2026 12:02:00 GMT";
  const byTheirs = scripted(busy({ "retry-after": "Sat, 31 Jan 2026 12:02:09 GMT", date }), done());
  await byTheirs.client.list();
  expect(byTheirs.waits).toEqual([9_000]);
  for (const nonsense of ["soon", "-5", "1e3", "2026-01-31T12:00:07Z", "Sat, 31 Jan 2026 11:00:00 GMT"]) {
    const passed = scripted(busy({ "retry-after": nonsense }), done());
    await passed.client.list();
    expect(passed.waits).toEqual([100]);
  }
});

test("an error carries what the answer says", async () => {
  const text = `{"error":{"code":"timeout","message":"too slow","type":"tool","retryable":false,"details":{"may_have_executed":true},"request_id":"req_9"},"execution_id":"exec_9"}`;
  const error = await failure(scripted(json(504, text)).client.invoke({ tool: "a.b", input: {} }));
  expect(error).toMatchObject({
    name: "SignalboxApiError",
    code: "timeout",
    message: "too slow",
    type: "tool",
    httpStatus: 504,
    retryable: false,
    details: { may_have_executed: true },
    requestId: "req_9",
    executionId: "exec_9",
    bodyText: text,
  });
});

test.each([
  [json(404, "<html>not here</html>", { "x-request-id": "req_2" }), 404, "req_2"],
  [json(200, "<html>welcome</html>"), 200, undefined],
  [json(500, `{"error":"no"}`), 500, undefined],
])("an answer of something else is named as such", async (answer, httpStatus, requestId) => {
  const error = await failure(scripted(answer).client.status());
  expect([error.code, error.httpStatus, error.retryable, error.requestId]).toEqual([
    "unreadable_answer",
    httpStatus,
    false,
    requestId,
  ]);
});

test("no answer says where and why", async () => {
  const error = await failure(scripted(refusedConnection()).client.keys.create({ label: "", principal: "", scopes: [] }));
  expect([error.code, error.httpStatus]).toEqual(["unreachable", 0]);
  expect(error.message).toBe("no answer from http://runtime.test/: connect ECONNREFUSED 127.0.0.1:1");
});

test("an answer without end is cut off", async () => {
  let chunks = 0;
  const endless = new ReadableStream({
    pull(controller) {
      chunks += 1;
      controller.enqueue(new Uint8Array(16 * 1024 * 1024));
    },
  });
  const error = await failure(
    scripted(new Response(endless)).client.keys.create({ label: "", principal: "", scopes: [] }),
  );
  expect(error.message).toContain("the answer is larger than 67108864 bytes");
  expect(chunks).toBeLessThan(8);
});

test("an aborted request rejects with the caller's reason, before it is sent or while it waits to be repeated", async () => {
  const aborted = scripted(done());
  await expect(aborted.client.list({}, { signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
  expect(aborted.seen).toHaveLength(0);

  const controller = new AbortController();
  const client = createClient({
    url: "http://runtime.test",
    fetch: async () => {
      queueMicrotask(() => controller.abort(new Error("enough")));
      return busy({ "retry-after": "29" });
    },
  });
  await expect(client.list({}, { signal: controller.signal })).rejects.toThrow("enough");
});

test("ids and queries are encoded", async () => {
  const page = () => json(200, `{"items":[],"next_cursor":null}`);
  const { client, seen } = scripted(page(), page());
  await client.list({ tool: "a b", limit: 2 });
  await client.events("s:v:t1.1:0/../keys", { after_seq: 5 });
  expect(seen.map(({ url }) => url)).toEqual([
    "http://runtime.test/v1/executions?tool=a+b&limit=2",
    "http://runtime.test/v1/executions/s%3Av%3At1.1%3A0%2F..%2Fkeys/events?after_seq=5",
  ]);
});

test("a manifest goes out as YAML text or as JSON", async () => {
  const { client, seen } = scripted(done(), done());
  await client.tools.register("kind: Tool\n", { activate: false });
  await client.tools.register({ kind: "Tool" });
  expect(seen.map(({ url, body, headers }) => [url, body, headers["content-type"]])).toEqual([
    ["http://runtime.test/v1/tools?activate=false", "kind: Tool\n", "application/yaml"],
    ["http://runtime.test/v1/tools", `{"kind":"Tool"}`, "application/json"],
  ]);
});

test.each(["ftp://runtime.test", "not a url"])("%s is no URL for a client", (url) => {
  expect(() => createClient({ url })).toThrow(TypeError);
});

test("bigints go out as digits where the caller brings what writes them; else the error says so", async () => {
  const { client } = scripted(done());
  await expect(client.invoke("a.b", { n: 1n })).rejects.toThrow("give createClient a stringify that does");
  const seen: string[] = [];
  const exact = createClient({
    url: "http://runtime.test",
    stringify: stringifyWithBigInts,
    parse: parseWithBigInts,
    fetch: async (_input, init) => {
      seen.push(init?.body as string);
      return done();
    },
  });
  const { output } = await exact.invoke("a.b", { n: 98765432109876543210n }, { idempotency_key: "k" });
  expect(seen).toEqual([`{"idempotency_key":"k","tool":"a.b","input":{"n":98765432109876543210}}`]);
  expect(output).toEqual({ n: 12345678901234567890n });
});

test("keys that the client makes are long, differ, and are what the runtime takes", async () => {
  const keys: string[] = [];
  const client = createClient({
    url: "http://runtime.test",
    fetch: async (_input, init) => {
      keys.push((JSON.parse(init?.body as string) as { idempotency_key: string }).idempotency_key);
      return done();
    },
  });
  for (let count = 0; count < 100; count++) await client.invoke("a.b", {});
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) expect(key).toMatch(/^auto-[0-9a-f]{32}$/);
});
