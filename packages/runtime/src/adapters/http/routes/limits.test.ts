// The routes about limits and usage, and how a limit stands in the headers of calls that pass it and of those that do not.
import { SignalboxError } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { openDoor } from "../../../../../../test/support/http-door.ts";
import { scriptedCall } from "../../../../../../test/support/scripted-call.ts";
import { quotaExceeded, rateLimited } from "../../../corridor/limit-errors.ts";
import type { Limit } from "../../../schedule/types.ts";

const shown = {
  tenant: "acme",
  set_by: "tenant",
  scope: "tool",
  subject: "echo",
  rate: { per_minute: 300, burst: 50 },
  quotas: {},
  time_zone: null,
  changed_at: "2026-01-02T03:04:05.000Z",
  changed_by: "user:alice",
};

describe("limits", () => {
  test("are listed, page by page; for another tenant where one is named", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/limits")).json).toEqual({ items: [shown], next_cursor: null });
    expect((await door.ask("GET", "/v1/limits?tenant=beta&limit=5")).json).toMatchObject({ items: [{ tenant: "beta" }] });
    expect(door.service.reached.filter(({ method }) => method === "listLimits").map(({ args }) => args)).toEqual([[undefined], ["beta"]]);
  });

  test.each<[string, string, object]>([
    [
      "/v1/limits",
      '{"scope":"tool","subject":"echo","rate":{"per_minute":300,"burst":50}}',
      { scope: "tool", subject: "echo", rate: { perMinute: 300, burst: 50 }, quotas: {}, timeZone: null },
    ],
    [
      "/v1/limits?tenant=beta",
      '{"scope":"tenant","quotas":{"executions_per_day":1,"cpu_seconds_per_day":2,"egress_bytes_per_day":3,"concurrent_executions":4,"queue_depth":5},"time_zone":"Europe/Paris"}',
      {
        tenant: "beta",
        scope: "tenant",
        subject: "",
        rate: null,
        quotas: { executionsPerDay: 1, cpuSecondsPerDay: 2, egressBytesPerDay: 3, concurrentExecutions: 4, queueDepth: 5 },
        timeZone: "Europe/Paris",
      },
    ],
  ])("are set by PUT %s %s", async (path, body, wanted) => {
    const door = await openDoor();
    const heard = await door.ask("PUT", path, { body });
    expect(heard.status).toBe(200);
    expect(door.service.reached[1]).toMatchObject({ method: "putLimit", args: [wanted] });
  });

  test("show the quotas that are set, by their names", async () => {
    const quotas: Limit["quotas"] = { executionsPerDay: 7, queueDepth: 9 };
    const door = await openDoor({ listLimits: async () => [{ ...limitOf(), scope: "tenant", subject: "", rate: null, quotas, timeZone: "UTC" }] });
    expect((await door.ask("GET", "/v1/limits")).json).toMatchObject({
      items: [{ rate: null, quotas: { executions_per_day: 7, queue_depth: 9 }, time_zone: "UTC" }],
    });
  });

  test("are removed by scope and subject", async () => {
    const door = await openDoor();
    expect((await door.ask("DELETE", "/v1/limits?scope=tool&subject=echo")).json).toEqual({ removed: true });
    await door.ask("DELETE", "/v1/limits?scope=tenant&tenant=beta");
    const removed = door.service.reached.filter(({ method }) => method === "removeLimit").map(({ args }) => args);
    expect(removed).toEqual([[{ scope: "tool", subject: "echo" }], [{ tenant: "beta", scope: "tenant", subject: "" }]]);
  });

  const rate = (perMinute: unknown, burst: unknown) => ({ rate: { per_minute: perMinute, burst } });
  const quota = (name: string, value: number) => ({ quotas: { [name]: value } });
  test.each<[string, object, object]>([
    ["per_minute", rate(1_000_000, 1), rate(1_000_001, 1)],
    ["per_minute below", rate(1, 1), rate(0, 1)],
    ["burst", rate(1, 1_000_000), rate(1, 1_000_001)],
    ["burst below", rate(1, 1), rate(1, 0)],
    ["a part of a call", rate(1, 1), rate(1.5, 1)],
    ["executions_per_day", quota("executions_per_day", 1_000_000_000), quota("executions_per_day", 1_000_000_001)],
    ["cpu_seconds_per_day", quota("cpu_seconds_per_day", 1_000_000_000), quota("cpu_seconds_per_day", 1_000_000_001)],
    ["egress_bytes_per_day", quota("egress_bytes_per_day", 2 ** 50), quota("egress_bytes_per_day", 2 ** 50 + 1)],
    ["concurrent_executions", quota("concurrent_executions", 1_000_000), quota("concurrent_executions", 1_000_001)],
    ["queue_depth", quota("queue_depth", 1_000_000), quota("queue_depth", 1_000_001)],
    ["none at once", quota("concurrent_executions", 1), quota("concurrent_executions", 0)],
    ["time_zone", { time_zone: "x".repeat(64) }, { time_zone: "x".repeat(65) }],
  ])("each at its bound, and one past it: %s", async (_, at, past) => {
    const door = await openDoor();
    const put = (fields: object) => door.ask("PUT", "/v1/limits", { body: JSON.stringify({ scope: "tenant", ...fields }) });
    expect([(await put(at)).status, (await put(past)).status]).toEqual([200, 400]);
  });

  test.each([
    ["PUT", "/v1/limits", '{"scope":"galaxy","rate":{"per_minute":1,"burst":1}}'],
    ["PUT", "/v1/limits", '{"rate":{"per_minute":1,"burst":1}}'],
    ["PUT", "/v1/limits", '{"scope":"tenant","rate":{"per_minute":1}}'],
    ["PUT", "/v1/limits", '{"scope":"tenant","quotas":{"executions_per_hour":1}}'],
    ["PUT", "/v1/limits?subject=x", '{"scope":"tenant","time_zone":"UTC"}'],
    ["DELETE", "/v1/limits", undefined],
    ["DELETE", "/v1/limits?scope=tool&name=echo", undefined],
  ] as const)("%s %s %s is refused", async (method, path, body) => {
    const door = await openDoor();
    const heard = await door.ask(method, path, body === undefined ? {} : { body });
    expect([heard.status, heard.json]).toMatchObject([400, { error: { code: "invalid_input" } }]);
  });
});

function limitOf(fields: Partial<Limit> = {}): Limit {
  const rate = { perMinute: 300, burst: 50 };
  return { tenant: "acme", setBy: "tenant", scope: "tool", subject: "echo", rate, quotas: {}, timeZone: null, changedAt: 0, changedBy: "", ...fields };
}

describe("usage", () => {
  test("is told by what it was grouped, with its sums; times in ms", async () => {
    const door = await openDoor();
    const heard = await door.ask("GET", "/v1/usage?group_by=project,day&from=2026-01-01&to=2026-01-31&project=default&tool=echo&limit=3");
    expect(heard.json).toEqual({
      items: [
        {
          project: "default",
          day: "2026-01-02",
          executions: 5,
          succeeded: 2,
          failed: 1,
          timed_out: 1,
          cancelled: 1,
          denied: 3,
          cache_hits: 1,
          duration_ms: 12.345,
          cpu_ms: 2,
          peak_memory_bytes: 1_048_576,
          egress_bytes: 0,
          input_bytes: 100,
          output_bytes: 20,
        },
      ],
      next_cursor: "more",
      group_by: ["project", "day"],
      time_zone: "Europe/Paris",
    });
    const question = { project: "default", tool: "echo", from: "2026-01-01", to: "2026-01-31", groupBy: ["project", "day"] };
    expect(door.service.reached[1]).toMatchObject({ method: "usage", args: [question, 3, undefined] });
  });

  test("is grouped by tool where nobody says by what, and by nothing where nothing is said", async () => {
    const door = await openDoor();
    expect((await door.ask("GET", "/v1/usage")).json).toMatchObject({ group_by: ["tool"] });
    expect((await door.ask("GET", "/v1/usage?group_by=&tenant=*")).json).toMatchObject({ group_by: [] });
    expect(door.service.reached.filter(({ method }) => method === "usage").map(({ args }) => args[0])).toEqual([{ groupBy: ["tool"] }, { tenant: "*", groupBy: [] }]);
  });

  test.each(["group_by=hour", "group_by=day,day", "group_by=day,", "from=yesterday", "from=2026-13-01", "to=2026-1-1", "from=2026-01-01T00:00:00Z", "principal=user:ann"])(
    "%s is refused",
    async (query) => {
      const door = await openDoor();
      expect((await door.ask("GET", `/v1/usage?${query}`)).status).toBe(400);
    },
  );
});

describe("the headers", () => {
  const invoke = (replaced: Parameters<typeof openDoor>[0], body: object = {}) =>
    openDoor(replaced).then((door) => door.ask("POST", "/v1/executions", { body: JSON.stringify({ tool: "echo", input: {}, ...body }) }));
  const named = ({ headers }: { readonly headers: Headers }) =>
    ["Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map((name) => headers.get(name) ?? undefined);
  const rate = { limit: 50, remaining: 49, resetS: 1 };

  test.each([
    ["a call that has ended", { mode: "sync" }, scriptedCall(), "settled", 200],
    ["a call that goes on", { mode: "async" }, scriptedCall({ state: "queued", settledAt: null, outputJson: null }), "waiting", 202],
    ["a call that failed", { mode: "sync" }, scriptedCall({ state: "failed", outputJson: null, error: { code: "tool_error", message: "no", type: "tool", retryable: false } }), "settled", 422],
  ] as const)("of %s say how the tightest limit stands", async (_, body, call, progress, status) => {
    const heard = await invoke({ invoke: async () => ({ call, progress, replayed: false, rate }) }, body);
    expect([heard.status, ...named(heard)]).toEqual([status, undefined, "50", "49", "1"]);
  });

  test("are not there where no limit applies", async () => {
    expect(named(await invoke({}))).toEqual([undefined, undefined, undefined, undefined]);
  });

  test("of a call that is one too many say when to come again", async () => {
    const limit = limitOf();
    const met = { limitKey: "", limit, rate: { perMinute: 300, burst: 50 }, subject: "echo", foreign: false };
    const heard = await invoke({ invoke: () => Promise.reject(rateLimited(met, { at: 0, remaining: 0, resetMs: 9_801 }, 150)) });
    expect([heard.status, ...named(heard)]).toEqual([429, "1", "50", "0", "10"]);
    expect(heard.json).toMatchObject({ error: { code: "rate_limited", type: "limit", retryable: true } });
  });

  test("of a quota that is used up say when the day turns", async () => {
    const quota = { limit: limitOf(), scope: "project", subject: "shop", max: 3 } as const;
    const day = { label: "2026-01-31", from: 0, until: 86_400_000 };
    const heard = await invoke({ invoke: () => Promise.reject(quotaExceeded({ name: "executionsPerDay", quota, used: 3 }, day, "UTC", 86_340_500)) });
    expect([heard.status, ...named(heard)]).toEqual([429, "60", "3", "0", "60"]);
    expect(heard.json).toMatchObject({ error: { code: "quota_exceeded", message: "the project shop has used its 3 calls of 2026-01-31 (UTC); the next day begins in 1 min" } });
  });

  test("of a full queue say when to come again, and no more", async () => {
    const full = new SignalboxError("queue_full", "full", { details: { limit: 3, retry_after_s: 1 } });
    expect(named(await invoke({ invoke: () => Promise.reject(full) }))).toEqual(["1", undefined, undefined, undefined]);
  });
});
