// The client against scripted answers: what is repeated, what never is, and what callers get to see.
import { expect, test } from "vitest";
import { createClient } from "./client.ts";
import { SignalboxApiError } from "./errors.ts";
import { backoffMs } from "./transport.ts";

interface Seen {
  readonly method: string;
  readonly url: string;
  readonly body: string | undefined;
  readonly headers: Record<string, string>;
}

type Scripted = Response | Error;

/** A client whose fetch gives these answers in turn and whose waits take no time. */
function scripted(...answers: Scripted[]) {
  const seen: Seen[] = [];
  const waits: number[] = [];
  const client = createClient({
    url: "http://runtime.test/",
    key: "sbx_secret",
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
      },
      random: () => 0,
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
      body: `{"tool":"a.b","input":{"big":98765432109876543210}}`,
      headers: { accept: "application/json", authorization: "Bearer sbx_secret", "content-type": "application/json" },
    },
  ]);
});

test("without an idempotency key a call is sent once", async () => {
  for (const answer of [busy(), new TypeError("fetch failed")]) {
    const { client, seen } = scripted(answer, done());
    await failure(client.invoke({ tool: "a.b", input: {} }));
    expect(seen).toHaveLength(1);
  }
});

test("with an idempotency key it is repeated after what may pass, with longer and longer waits", async () => {
  const { client, seen, waits } = scripted(busy(), new TypeError("fetch failed"), busy(), done());
  const record = await client.invoke({ tool: "a.b", input: {}, idempotency_key: "k" });
  expect(record.execution_id).toBe("exec_1");
  expect(seen).toHaveLength(4);
  expect(waits).toEqual([100, 200, 400]);
});

test("it gives up after four times in all", async () => {
  const { client, seen } = scripted(busy(), busy(), busy(), busy(), done());
  expect((await failure(client.status())).code).toBe("draining");
  expect(seen).toHaveLength(4);
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

test("Retry-After is waited for, but not for ever", async () => {
  const soon = scripted(busy({ "retry-after": "3" }), done());
  await soon.client.list();
  expect(soon.waits).toEqual([3_000]);
  const late = scripted(busy({ "retry-after": "31" }), done());
  await failure(late.client.list());
  expect(late.seen).toHaveLength(1);
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
  const refused = new TypeError("fetch failed", { cause: new Error("connect ECONNREFUSED 127.0.0.1:1") });
  const error = await failure(scripted(refused).client.keys.create({ label: "", principal: "", scopes: [] }));
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

test("waits double up to their bound, half of it by chance", () => {
  expect([1, 2, 3, 10].map((count) => backoffMs(count, 0))).toEqual([100, 200, 400, 2_500]);
  expect([1, 10].map((count) => backoffMs(count, 0.5))).toEqual([150, 3_750]);
});
