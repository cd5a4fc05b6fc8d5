// The Python client, made from the API's document, against a real runtime: what it says is what was asked for, and what it sends
// again does nothing twice.
import { createServer, type IncomingHttpHeaders, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import type { ToolContext } from "@signalbox/worker";
import { afterAll, beforeAll, describe, expect, onTestFinished, test as plainTest } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates, type GateArgs } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { python, step, whyNoPython } from "../support/python.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const missing = whyNoPython();
/** Skips with the reason where there is no Python, for people who read the report. */
const test = plainTest.extend<{ readonly here: { readonly url: string; readonly key: string } }>({
  here: async ({ task }, use) => {
    if (missing !== undefined) task.context.skip(missing);
    await use({ url: stack.url(), key: stack.adminKey });
  },
});

/** Every step is a process of its own, on a machine with others at work. */
const patient = { timeout: 90_000 };

const gates = createGates();
let stack: Stack;

beforeAll(async () => {
  if (missing !== undefined) return;
  stack = await startStack();
  const unsafe = { side_effect_class: "non_idempotent_write" };
  for (const name of ["talk", "hold", "count", "count.asked", "break", "walked"])
    await stack.register(workerTool(name, "1.0.0", unsafe));
  await stack.publish({ name: "ask", match: { tools: ["count.asked"] }, then: ask("finance") });
  await stack.startWorker("w-python", [
    {
      tool: "talk",
      async handler(args: object, ctx: ToolContext) {
        gates.note(args, ctx);
        ctx.output("stdout", "grüße ");
        await ctx.flushed();
        ctx.output("stdout", "aus dem Werkzeug");
        ctx.output("stderr", "leise");
        return "gesagt";
      },
    },
    {
      tool: "hold",
      handler(args: GateArgs, ctx: ToolContext) {
        ctx.output("stdout", "here");
        return gates.hold(args, ctx);
      },
    },
    { tool: "count", handler: gates.note },
    { tool: "count.asked", handler: gates.note },
    { tool: "walked", handler: () => null },
    {
      tool: "break",
      handler() {
        throw new Error("the bank is closed");
      },
    },
  ]);
});
afterAll(() => (missing === undefined ? finish(stack, gates) : undefined));

/** In front of the runtime: `cutNextAfter` breaks a connection in mid-answer. */
async function proxied(): Promise<{ readonly proxy: TcpProxy; readonly url: string }> {
  const proxy = await startTcpProxy(new URL(stack.url()).host);
  onTestFinished(() => proxy.close());
  return { proxy, url: `http://${proxy.address}` };
}

type Script = (response: ServerResponse) => unknown;

/** A server that answers as it is told (the last answer again and again), and remembers what it was asked. */
async function scripted(answers: readonly Script[]) {
  const asked: string[] = [];
  const bodies: string[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    headers.push(request.headers);
    const answer = answers[Math.min(asked.length, answers.length) - 1];
    void text(request).then((body) => {
      bodies.push(body);
      answer?.(response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  };
  onTestFinished(close);
  return { asked, bodies, headers, close, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

const html =
  (status: number): Script =>
  (response) =>
    response.writeHead(status, { "content-type": "text/html" }).end("<h1>Bad gateway</h1>");

/** A byte every tenth of a second, for ever. */
const trickle: Script = (response) => {
  response.writeHead(200, { "content-type": "application/json" });
  const timer = setInterval(() => response.write(" "), 100);
  response.on("close", () => clearInterval(timer));
};

describe("calls", patient, () => {
  test("whole numbers keep their digits on both ways", async ({ here }) => {
    const input = { order: 9007199254740993n, far: 98765432109876543210n, small: 7, half: 0.5, text: "grüße" };
    expect(await step("invoke", { ...here, tool: "echo", input })).toEqual({
      id: expect.stringMatching(/^exec_/) as string,
      status: "succeeded",
      key: expect.stringMatching(/^py-[0-9a-f-]{36}$/) as string,
      output: input,
      types: { order: "int", far: "int", small: "int", half: "float", text: "str" },
    });
  });

  test("fractions keep theirs, for who asks for it", async ({ here }) => {
    const body = '{"tool":"count.asked","input":{"fraction":0.12345678901234567890123}}';
    const { execution_id: id, approval_id } = (await stack.admin.post("/v1/executions", body)).body;
    expect(await step("fractions", { ...here, approval_id })).toEqual(["Decimal", "0.12345678901234567890123"]);
    await stack.admin.post(`/v1/executions/${id}/cancel`);
  });

  test("and are sent as they came", async () => {
    const { bodies, url } = await scripted([(response) => response.writeHead(200, { "content-type": "application/json" }).end("{}")]);
    await step("fractions_sent", { url, key: "k" });
    expect(bodies[0]).toContain('"input":{"fraction":0.12345678901234567890123,"zeros":1.50,"far":1E+400}');
  });

  test("text that is none is refused before anything is sent", async () => {
    const { asked, url } = await scripted([]);
    expect(await step("surrogates", { url, key: "k" })).toEqual(Array(4).fill(["invalid_input", true, false]));
    expect(asked).toEqual([]);
  });

  test("address and key come from the environment where none is given", async ({ here }) => {
    const env = { SIGNALBOX_URL: here.url, SIGNALBOX_KEY: here.key };
    expect(await step("from_environment", {}, env)).toEqual({ from: "environment" });
  });

  test("a refusal is an exception that carries what the answer says", async ({ here }) => {
    expect(await step("refused", { ...here, tool: "no.such.tool" })).toMatchObject({
      code: "tool_not_found",
      type: "not_found",
      http_status: 404,
      retryable: false,
      execution_id: null,
      status: null,
      request_id: expect.stringMatching(/^req_/) as string,
      text: expect.stringMatching(/no\.such\.tool.*\(tool_not_found\)$/) as string,
    });
    expect(await step("refused", { ...here, key: "sbx_nobody", tool: "echo" })).toMatchObject({
      code: "unauthenticated",
      http_status: 401,
    });
  });

  test("so is the end of a call that did not go well, with its record's id and measures", async ({ here }) => {
    const told = (await step("refused", { ...here, tool: "break" })) as { readonly execution_id: string };
    expect(told).toMatchObject({ code: "tool_error", type: "tool", http_status: 422, status: "failed", attempt: 1 });
    expect((await stack.admin.call(told.execution_id)).status).toBe("failed");
  });

  test("lists are walked page by page, or all at once", async ({ here }) => {
    const made: unknown[] = [];
    for (let count = 0; count < 5; count++)
      made.unshift((await stack.admin.invoke({ tool: "walked", input: {} })).body.execution_id);
    expect(await step("walk", { ...here, tool: "walked" })).toEqual({
      pages: [made.slice(0, 2), made.slice(2, 4), made.slice(4)],
      every: made,
    });
    expect(await step("changes", { ...here, id: made[0] })).toEqual([
      "requested",
      "queued",
      "dispatched",
      "started",
      "succeeded",
    ]);
  });

  test("an async call is stopped", async ({ here }) => {
    const id = await step("start", { ...here, tool: "hold", input: { gate: "stop" } });
    await gates.entered("stop");
    expect(await step("cancel", { ...here, id })).toEqual({
      first: expect.stringMatching(/^(running|cancelled)$/) as string,
      end: "error",
      status: "cancelled",
      again: "cancelled",
    });
  });

  test("people decide, and change the arguments", async ({ here }) => {
    const { id } = await stack.admin.park("count.asked", { n: 1 });
    const fay = await stack.person("fay", "finance");
    expect(await step("decide", { ...here, key: fay.secret })).toEqual([
      [{ n: 1 }, "counted", "approved", { n: 9007199254740993n }],
    ]);
    await stack.admin.until(id, ["succeeded"]);
    expect(gates.entriesOf(id).map(({ args }) => args)).toEqual([{ n: 9007199254740993n }]);
  });
});

describe("the examples", patient, () => {
  const example = (name: string): string =>
    fileURLToPath(new URL(`../../clients/python/examples/${name}`, import.meta.url));

  test("one who decides says yes to small payments and leaves the others", async ({ here }) => {
    const small = await stack.admin.park("count.asked", { amount: 1500 });
    const large = await stack.admin.park("count.asked", { amount: 5000 });
    const fay = await stack.person("fay", "finance");
    const env = { SIGNALBOX_URL: here.url, SIGNALBOX_KEY: fay.secret };
    expect((await python([example("approve.py")], env)).trim().split("\n")).toEqual([
      "user:admin wants count.asked {'amount': 5000}",
      "user:admin wants count.asked {'amount': 1500}",
      "approved",
    ]);
    await stack.admin.until(small.id, ["succeeded"]);
    await stack.admin.post(`/v1/executions/${large.id}/cancel`);
  });
});

describe("the other operations", patient, () => {
  test("nulls that mean something arrive, and what is left out is left out", async ({ here }) => {
    expect(await step("administer", here)).toEqual([["made by Python"], true, "deny", null]);
  });

  test("documents are text or data", async ({ here }) => {
    const yaml = JSON.stringify(workerTool("by.text"));
    expect(await step("documents", { ...here, yaml, json_document: workerTool("by.data") })).toEqual([
      "by.text",
      false,
      ["1.0.0"],
    ]);
  });

  test("bytes go up, text comes down", async ({ here }) => {
    expect(await step("plain", here)).toEqual([256, true, { status: "ok" }, true]);
  });
});

describe("streams", patient, () => {
  const talked = [
    ["start", 1, null],
    ["stdout", 2, "grüße "],
    ["stdout", 3, "aus dem Werkzeug"],
    ["stderr", 4, "leise"],
    ["done", 5, "succeeded"],
  ];

  test("are followed from the call on, or later, or from a number on", async ({ here }) => {
    expect(await step("stream", { ...here, tool: "talk", input: {} })).toEqual(talked);
    const { items = [] } = (await stack.admin.get("/v1/executions?tool=talk&limit=1")).body;
    const id = items[0]?.["execution_id"];
    expect(await step("follow", { ...here, id })).toEqual(talked);
    expect(await step("follow", { ...here, id, after_seq: 2 })).toEqual(talked.slice(2));
    expect(await step("follow", { ...here, id, after_seq: 5 })).toEqual([]);
  });

  // In the head of the answer, right behind it, in the middle of an event, and close to the end.
  test.for([60, 420, 500, 640, 800])(
    "a connection that breaks after %i bytes costs nothing, and nothing comes twice",
    async (bytes, { here }) => {
      const { proxy, url } = await proxied();
      proxy.cutNextAfter(bytes);
      const before = gates.entries.length;
      expect(await step("stream", { ...here, url, tool: "talk", input: {} })).toEqual(talked);
      expect(gates.entries.slice(before)).toHaveLength(1);
    },
  );

  test("a connection that ends without an end is opened again behind the last event; what is told twice is heard once", async () => {
    const line = (seq: number, event: string, data: object): string =>
      `id: ${seq}\nevent: ${event}\ndata: ${JSON.stringify({ seq, ts: "2026-01-02T03:04:05.000Z", data })}\n\n`;
    const told =
      (...lines: readonly string[]): Script =>
      (response) =>
        response
          .writeHead(200, { "content-type": "text/event-stream", location: "/v1/executions/exec_1" })
          .end(lines.join(""));
    const first = line(1, "stdout", { text: "a" });
    const { asked, headers, url } = await scripted([
      told("retry: 1000\n\n", first, line(2, "stdout", { text: "b" })),
      told(": nothing new\n\n", line(2, "stdout", { text: "b" }), 'id: 4\nevent: gap\ndata: {"from":3,"to":4}\n\n'),
      told(line(5, "done", { status: "succeeded" })),
    ]);
    expect(await step("stream", { url, key: "k", tool: "talk", input: {} })).toEqual([
      ["stdout", 1, "a"],
      ["stdout", 2, "b"],
      ["gap", 4, null],
      ["done", 5, "succeeded"],
    ]);
    expect(asked).toEqual(["POST /v1/executions", ...Array<string>(2).fill("GET /v1/executions/exec_1/stream")]);
    expect(headers.map((one) => one["last-event-id"])).toEqual([undefined, "2", "4"]);
  });

  test("refusals are told as they are", async ({ here }) => {
    expect(
      await step("ask", { ...here, method: "invoke_stream", arguments: { tool: "no.such.tool", input: {} } }),
    ).toMatchObject({
      error: { code: "tool_not_found", http_status: 404 },
    });
    const unknown = { id: "exec_00000000000000000000000000" };
    expect(await step("ask", { ...here, method: "stream_execution", arguments: unknown })).toMatchObject({
      error: { code: "execution_not_found" },
    });
  });

  test("who leaves closes the connection, and the call with it where that was asked for", async ({ here }) => {
    expect(await step("leave", { ...here, tool: "hold", input: { gate: "left" } })).toBe("here");
    const { callId } = await gates.entered("left");
    await stack.admin.until(callId, ["cancelled"]);
  });
});

describe("what is sent again", patient, () => {
  const call = { method: "invoke", arguments: { tool: "count", input: {} } };
  const refusal = (code: string, more: object = {}) => ({
    error: { code, message: "no", type: "runtime", retryable: true, details: {}, request_id: "req_1" },
    ...more,
  });
  const json =
    (status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Script =>
    (response) =>
      response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));

  test("a call whose answer was lost: under one key, so that it ran once", async ({ here }) => {
    const { proxy, url } = await proxied();
    proxy.cutNextAfter(20);
    const before = gates.entries.length;
    const told = await step("ask", { ...here, url, ...call });
    expect(told).toMatchObject({ answer: { status: "succeeded" } });
    expect(gates.entries.slice(before)).toHaveLength(1);
  });

  test("a key is not: nobody knows whether it was made, and it was made once", async ({ here }) => {
    const { proxy, url } = await proxied();
    proxy.cutNextAfter(20);
    const wanted = { label: "once", principal: "service:once", scopes: ["tools:invoke"] };
    const told = await step("ask", { ...here, url, method: "create_key", arguments: wanted });
    expect(told).toMatchObject({ error: { code: "unreachable", http_status: 0, retryable: false, request_id: null } });
    const { items = [] } = (await stack.admin.get("/v1/keys?limit=100")).body;
    expect(items.filter(({ label }) => label === "once")).toHaveLength(1);
  });

  test("a refusal that says so, with the same key, and no sooner than it says", async () => {
    const { asked, bodies, url } = await scripted([
      json(503, refusal("draining"), { "retry-after": "1" }),
      json(200, { status: "succeeded" }),
    ]);
    const startedAt = performance.now();
    expect(await step("ask", { url, ...call })).toEqual({ answer: { status: "succeeded" } });
    expect(performance.now() - startedAt).toBeGreaterThan(1_000);
    expect(asked).toEqual(["POST /v1/executions", "POST /v1/executions"]);
    expect(bodies[0]).toMatch(/"idempotency_key":"py-/);
    expect(bodies[1]).toBe(bodies[0]);
  });

  test("also of a request that could have an effect: what was refused had none", async () => {
    const { asked, url } = await scripted([json(429, refusal("rate_limited")), json(201, { key_id: "key_1" })]);
    const wanted = { label: "l", principal: "user:a", scopes: ["*"] };
    expect(await step("ask", { url, method: "create_key", arguments: wanted })).toEqual({
      answer: { key_id: "key_1" },
    });
    expect(asked).toHaveLength(2);
  });

  test.for<[what: string, answers: readonly Script[], times: number, code: string]>([
    ["the end of a call is final", [json(504, refusal("timeout", { execution_id: "exec_1" }))], 1, "timeout"],
    ["half an hour is not waited for", [json(503, refusal("draining"), { "retry-after": "1800" })], 1, "draining"],
    ["a refusal that is none of ours, while something stands in front", [html(502)], 2, "unreadable_answer"],
    ["an answer that is none of ours", [html(404)], 1, "unreadable_answer"],
    [
      "success that cannot be read",
      [(response) => response.writeHead(200, { "content-type": "application/json" }).end("{")],
      1,
      "unreadable_answer",
    ],
    [
      "the key does not go where a redirect points",
      [(response) => response.writeHead(302, { location: "/elsewhere" }).end()],
      1,
      "unreadable_answer",
    ],
    [
      "an answer that breaks off",
      [(response) => response.writeHead(200, { "content-length": "100" }).end("{", () => response.destroy())],
      2,
      "unreachable",
    ],
    ["an answer that does not come", [() => undefined], 2, "unreachable"],
    ["an answer that does not end", [trickle], 2, "unreachable"],
  ])("%s", async ([, answers, times, code]) => {
    const { asked, url } = await scripted(answers);
    const told = await step("ask", {
      url,
      ...call,
      attempts_max: 2,
      timeout_s: 0.5,
      arguments: { ...call.arguments, wait_ms: 0 },
    });
    expect(told).toMatchObject({ error: { code } });
    expect(asked).toEqual(Array(times).fill("POST /v1/executions"));
  });

  test("a call of which nobody knows whether it ran says so, with its key, whatever the last try says", async () => {
    const { bodies, url, close } = await scripted([
      (response) => {
        response.destroy();
        void close();
      },
    ]);
    const told = (await step("ask", { url, ...call, attempts_max: 3 })) as { readonly error: { readonly idempotency_key: string } };
    const sent = JSON.parse(bodies[0] ?? "") as { readonly idempotency_key: string };
    expect(told.error).toMatchObject({
      code: "unreachable",
      retryable: false,
      details: { may_have_executed: true },
      idempotency_key: sent.idempotency_key,
      text: expect.stringContaining(`ask again with idempotency_key="${sent.idempotency_key}"`) as string,
    });
    expect(bodies).toHaveLength(1);
  });

  test("what makes something new is not sent again because a proxy lost its answer", async () => {
    const { asked, url } = await scripted([html(502)]);
    const wanted = { label: "l", principal: "user:a", scopes: ["*"] };
    expect(await step("ask", { url, method: "create_key", arguments: wanted })).toMatchObject({
      error: { code: "unreadable_answer", retryable: false },
    });
    expect(asked).toHaveLength(1);
  });

  test("it goes on for longer than a restart takes, and no longer than it may", async () => {
    const { asked, url } = await scripted([...Array<Script>(5).fill(json(503, refusal("draining"))), json(200, { status: "succeeded" })]);
    expect(await step("ask", { url, ...call })).toEqual({ answer: { status: "succeeded" } });
    expect(asked).toHaveLength(6);
    const away = await scripted([json(503, refusal("draining"))]);
    expect(await step("ask", { url: away.url, ...call, retry_s: 0.05 })).toMatchObject({ error: { code: "draining", retryable: true } });
    expect(away.asked).toHaveLength(1);
  });

  test("where nobody listens, nothing was sent", async () => {
    const { url, close } = await scripted([]);
    await close();
    const wanted = { label: "l", principal: "user:a", scopes: ["*"] };
    expect(await step("ask", { url, method: "create_key", arguments: wanted, attempts_max: 2 })).toMatchObject({
      error: { code: "unreachable", details: { never_sent: true }, http_status: 0 },
    });
  });
});
