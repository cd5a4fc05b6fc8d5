// The routes about calls that exist: records, lists, events, cancelling and resolving.
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import type { Heard, OpenDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedCall, scriptedCallId, scriptedDetail } from "../../../../../../test/support/scripted-service.ts";

type Fields = { pointer: string; keyword: string; message: string }[];
const errorOf = (heard: Heard) =>
  (heard.json as { error: { code: string; message: string; details: { fields?: Fields; [key: string]: unknown } } })
    .error;

describe("one record", () => {
  test("has its decision, its attempts, and what came too late, digit for digit", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", `/v1/executions/${scriptedCallId}`);
    expect(heard.status).toBe(200);
    expect(heard.json).toMatchObject({
      execution_id: scriptedCallId,
      output: { message: "hi" },
      decision: { id: "dec_1", outcome: "allow", reason: "granted", rules: [] },
      attempts: [
        {
          attempt: 1,
          fence: 1,
          worker: "wrk_1",
          dispatched_at: "2026-01-02T03:04:05.002Z",
          accepted_at: "2026-01-02T03:04:05.004Z",
          ended_at: "2026-01-02T03:04:05.030Z",
          end_reason: "succeeded",
          error: null,
          duration_ms: 25,
        },
      ],
      late_results: [{ fence: 0, worker: "wrk_0", status: "succeeded", error: null }],
    });
    expect(heard.text).toContain('"output":{"n":9007199254740993},"error":null}');
  });

  test("tells what the policies said, and their obligations where there are any", async () => {
    const rule = {
      policy: "watch",
      version: "1.0.0",
      level: "tenant",
      outcome: "deny",
      reason: "too large",
      observed: true,
    } as const;
    const decision = { id: "dec_2", outcome: "allow", reason: "granted", rules: [rule], spentMicros: 9 } as const;
    const door = await openDoor({
      getExecution: async () => ({ ...scriptedDetail, call: scriptedCall({ decision }) }),
    });
    const told = (await door.ask("GET", `/v1/executions/${scriptedCallId}`)).json as Record<string, unknown>;
    expect(told["policy"]).toEqual({ decision: "allow", reason: "granted", rules: [rule] });
    expect(told).not.toHaveProperty("edited");

    const obligations = { limits: { timeoutMs: 5_000, outputBytes: 10 }, sandbox: "gvisor", egress: [] };
    const obliged = await openDoor({
      getExecution: async () => ({ ...scriptedDetail, call: scriptedCall({ decision: { ...decision, obligations } }) }),
    });
    expect((await obliged.ask("GET", `/v1/executions/${scriptedCallId}`)).json).toMatchObject({
      policy: { obligations: { limits: { timeout_ms: 5_000, output_bytes: 10 }, sandbox: "gvisor", egress: [] } },
    });
  });

  test("tells that a person changed the arguments, and what ran, digit for digit", async () => {
    const call = scriptedCall({ argsEditedBy: "user:fred", effectiveArgsJson: '{"amount":9007199254740993}' });
    const door = await openDoor({
      getExecution: async () => ({ ...scriptedDetail, call }),
      listExecutions: async () => ({ items: [{ ...call, effectiveArgsJson: null }], next: undefined }),
    });
    const heard = await door.ask("GET", `/v1/executions/${scriptedCallId}`);
    expect(heard.text).toContain('"edited":{"by":"user:fred","args":{"amount":9007199254740993},"original_args":{"message":"hi"},"note":');
    const note =
      "A person changed the arguments of this call of echo before it ran. " +
      'It ran once, with these arguments: {"amount":9007199254740993} ' +
      "The arguments that you gave were not used; do not make the call again in order to use them.";
    expect(heard.json).toMatchObject({ edited: { by: "user:fred", note }, output: { message: "hi" } });
    // Rows of a list come without their arguments.
    const listed = (await door.ask("GET", "/v1/executions")).json as { items: { edited: unknown }[] };
    expect(listed.items[0]?.edited).toEqual({ by: "user:fred" });
  });

  test.each([
    ["GET", ""],
    ["GET", "/events"],
    ["POST", "/cancel"],
    ["POST", "/resolve"],
  ])("%s …%s: a foreign id, an unknown one and a malformed one get the same bytes", async (method, path) => {
    const door = await openDoor();
    const body = path === "/resolve" ? { body: '{"verdict":"fail"}' } : {};
    const headers = { "x-request-id": "same" };
    const unknown = "exec_01KDY7MFG80000000000000009";
    const long = "x".repeat(3_000);
    const answers = await Promise.all([
      door.ask(method, `/v1/executions/${scriptedCallId}${path}`, { token: "bob-token", headers, ...body }),
      ...[unknown, "%00", "a%20b", "..%2F..", "%F0%9F%98%80", long].map((id) =>
        door.ask(method, `/v1/executions/${id}${path}`, { headers, ...body }),
      ),
    ]);
    const asked = door.service.reached.filter(({ method: name }) => name !== "authenticate").map(({ args }) => args[0]);
    expect(new Set(asked)).toEqual(new Set([scriptedCallId, unknown]));
    expect(asked).toHaveLength(2);
    const bytes = new Set(
      answers.map(({ status, text, headers: got }) => `${status} ${got.get("content-length")} ${text}`),
    );
    expect([...bytes]).toEqual([
      '404 210 {"error":{"code":"execution_not_found","message":"there is no such execution; GET /v1/executions lists those that this credential may see","type":"not_found","retryable":false,"details":{},"request_id":"same"}}',
    ]);
  });
});

describe("lists", () => {
  const limitOf = (door: OpenDoor): unknown => {
    const query = door.service.reached.find(({ method }) => method === "listExecutions")?.args[0];
    return (query as { limit: number } | undefined)?.limit;
  };

  test.each([
    ["", 25],
    ["?limit=1", 1],
    ["?limit=100", 100],
    ["?limit=101", 100],
    ["?limit=99999999999999999999999", 100],
    ["?limit=007", 7],
  ])("%s asks for %i", async (query, limit) => {
    const door = await openDoor();
    expect((await door.ask("GET", `/v1/executions${query}`)).status).toBe(200);
    expect(limitOf(door)).toBe(limit);
  });

  test.each(["0", "-1", "", "ten", "1.5", "1e3", "+5", "0x10", "%205", "NaN", "5&limit=6"])(
    "limit=%s is refused",
    async (limit) => {
      const door = await openDoor();
      const heard = await door.ask("GET", `/v1/executions?limit=${limit}`);
      expect(heard.status).toBe(400);
      expect(errorOf(heard).details.fields?.[0]?.pointer).toBe("/limit");
      expect(limitOf(door)).toBeUndefined();
    },
  );

  test("filters reach the runtime, instants as milliseconds", async () => {
    const door = await openDoor();
    const query =
      "project=web&tool=echo&status=failed&principal=user:alice&from=2026-01-02T03:04:05Z&to=2026-01-02T04:04:05%2B01:00&cursor=abc";
    await door.ask("GET", `/v1/executions?${query}`);
    expect(door.service.reached[1]?.args).toEqual([
      {
        project: "web",
        tool: "echo",
        status: "failed",
        principal: "user:alice",
        from: 1_767_323_045_000,
        to: 1_767_323_045_000,
        limit: 25,
        cursor: "abc",
      },
    ]);
  });

  test.each([
    ["status=done", "/status"],
    ["from=yesterday", "/from"],
    ["from=2026-01-02", "/from"],
    ["to=1767323045000", "/to"],
    ["state=failed", "/state"],
    ["cursor=", "/cursor"],
    [`cursor=${"c".repeat(1_025)}`, "/cursor"],
    ["tool=a&tool=b", "/tool"],
    ["__proto__=1", "/__proto__"],
  ])("%s is refused at %s", async (query, pointer) => {
    const door = await openDoor();
    const heard = await door.ask("GET", `/v1/executions?${query}`);
    expect([heard.status, errorOf(heard).details.fields?.[0]?.pointer]).toEqual([400, pointer]);
  });

  test("a page has its items and the cursor of the next one", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/executions");
    expect(heard.json).toMatchObject({
      items: [{ execution_id: scriptedCallId, status: "succeeded" }],
      next_cursor: "more",
    });
  });

  test("the last page says that it is", async () => {
    const door = await openDoor({ listExecutions: async () => ({ items: [], next: undefined }) });
    expect((await door.ask("GET", "/v1/executions")).text).toBe('{"items":[],"next_cursor":null}');
  });
});

describe("events", () => {
  const path = `/v1/executions/${scriptedCallId}/events`;

  test("come in order, with their data", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", path)).json).toEqual({
      items: [
        { seq: 1, ts: "2026-01-02T03:04:05.001Z", type: "queued", data: {} },
        { seq: 2, ts: "2026-01-02T03:04:05.002Z", type: "dispatched", data: { fence: 1 } },
        { seq: 3, ts: "2026-01-02T03:04:05.003Z", type: "succeeded", data: { output_hash: "out1" } },
      ],
      next_after_seq: null,
    });
  });

  test("are paged by seq", async () => {
    const door = await openDoor();
    const first = await door.ask("GET", `${path}?limit=2`);
    expect(first.json).toMatchObject({ items: [{ seq: 1 }, { seq: 2 }], next_after_seq: 2 });
    const second = await door.ask("GET", `${path}?limit=2&after_seq=2`);
    expect(second.json).toMatchObject({ items: [{ seq: 3 }], next_after_seq: null });
    const third = await door.ask("GET", `${path}?after_seq=3`);
    expect(third.json).toEqual({ items: [], next_after_seq: null });
  });

  test.each(["after_seq=-1", "after_seq=x", "after_seq=1e2", "after_seq=9999999999999999", "limit=0", "seq=1"])(
    "%s is refused",
    async (query) => {
      const door = await openDoor();
      expect((await door.ask("GET", `${path}?${query}`)).status).toBe(400);
    },
  );
});

describe("cancel and resolve", () => {
  test.each([
    [true, 202],
    [false, 200],
  ])("cancel while stopping is %s: %i", async (stopping, status) => {
    const call = scriptedCall({ state: stopping ? "running" : "cancelled", outputJson: null });
    const door = await openDoor({ cancel: async () => ({ call, stopping }) });
    const heard = await door.ask("POST", `/v1/executions/${scriptedCallId}/cancel`);
    expect([heard.status, heard.json]).toMatchObject([status, { execution_id: scriptedCallId, status: call.state }]);
  });

  test("an answer to an indeterminate call keeps the digits of its result", async () => {
    const door = await openDoor();
    const body = '{"verdict":"confirm","output":{"charged":9007199254740993},"comment":"seen in the bank"}';
    const heard = await door.ask("POST", `/v1/executions/${scriptedCallId}/resolve`, { body });
    expect(heard.status).toBe(200);
    expect(door.service.reached[1]?.args).toEqual([
      scriptedCallId,
      { verdict: "confirm", outputJson: '{"charged":9007199254740993}', comment: "seen in the bank" },
    ]);
  });

  test("confirm without a result leaves the choice to the runtime; null is a result", async () => {
    const door = await openDoor();
    await door.ask("POST", `/v1/executions/${scriptedCallId}/resolve`, { body: '{"verdict":"confirm"}' });
    await door.ask("POST", `/v1/executions/${scriptedCallId}/resolve`, { body: '{"verdict":"confirm","output":null}' });
    const answers = door.service.reached.filter(({ method }) => method === "resolve").map(({ args }) => args[1]);
    expect(answers).toEqual([{ verdict: "confirm" }, { verdict: "confirm", outputJson: "null" }]);
  });

  test.each([
    "{}",
    '{"verdict":"maybe"}',
    '{"verdict":"fail","output":1}',
    '{"verdict":"retry","extra":1}',
    '{"verdict":"fail","comment":7}',
  ])("%s is refused", async (body) => {
    const door = await openDoor();
    const heard = await door.ask("POST", `/v1/executions/${scriptedCallId}/resolve`, { body });
    expect([heard.status, errorOf(heard).code]).toEqual([400, "invalid_input"]);
  });

  test("an id may hold what a session puts into it", async () => {
    const door = await openDoor({ getExecution: async () => scriptedDetail });
    await door.ask("GET", "/v1/executions/s1:v1:t1.2:0");
    await door.ask("GET", "/v1/executions/s1%3Av1%3At1.2%3A0");
    expect(door.service.reached.filter(({ method }) => method === "getExecution").map(({ args }) => args[0])).toEqual([
      "s1:v1:t1.2:0",
      "s1:v1:t1.2:0",
    ]);
  });
});
