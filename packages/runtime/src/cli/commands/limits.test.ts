// `signalbox limits` and `signalbox usage`: what is asked, with whose key, and what is printed.
import { expect, test } from "vitest";
import { cli } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const tool = {
  tenant: "acme",
  set_by: "tenant",
  scope: "tool",
  subject: "payments.charge",
  rate: { per_minute: 300, burst: 50 },
  quotas: {},
  time_zone: null,
  changed_at: "2026-01-31T11:00:00.000Z",
  changed_by: "user:ann",
};
const tenant = {
  ...tool,
  set_by: "operator",
  scope: "tenant",
  subject: "",
  rate: null,
  quotas: { executions_per_day: 1000, concurrent_executions: 20 },
  time_zone: "Europe/Paris",
  changed_by: "user:operator",
};
const each = { ...tool, scope: "principal", subject: "*", rate: { per_minute: 60, burst: 10 } };

const reaching = (url: string) => ({
  env: { SIGNALBOX_URL: url, SIGNALBOX_KEY: "sbx_own", SIGNALBOX_PLATFORM_KEY: "sbx_operator" },
});

test("are listed with what they allow and who set them", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/limits": [{ body: { items: [tenant, each, tool], next_cursor: null } }, { body: { items: [], next_cursor: null } }],
  });
  expect(await cli(["limits", "list"], reaching(url))).toEqual({
    code: 0,
    out:
      "SCOPE      SUBJECT          RATE                 QUOTAS                                            SET BY\n" +
      "tenant     acme                                  1000 calls/day, 20 at work, days of Europe/Paris  the operator\n" +
      "principal  each             60/min, 10 at once                                                     user:ann\n" +
      "tool       payments.charge  300/min, 50 at once                                                    user:ann\n",
    err: "",
  });
  expect((await cli(["limits", "list", "--tenant", "acme", "--platform"], reaching(url))).err).toBe(
    "there are no limits here\nnext:  signalbox limits set --help\n",
  );
  expect(seen.map(({ line, authorization }) => [line, authorization])).toEqual([
    ["GET /v1/limits", "Bearer sbx_own"],
    ["GET /v1/limits?tenant=acme", "Bearer sbx_operator"],
  ]);
});

test.each<[readonly string[], object, string, string]>([
  [
    ["tool", "payments.charge", "--per-minute", "300", "--burst", "50"],
    tool,
    `PUT /v1/limits {"scope":"tool","subject":"payments.charge","rate":{"per_minute":300,"burst":50}}`,
    "tool payments.charge: 300 calls a minute, 50 at once\n",
  ],
  [
    ["tenant", "--executions-per-day", "1000", "--concurrent", "20", "--time-zone", "Europe/Paris", "--tenant", "acme", "--platform"],
    tenant,
    `PUT /v1/limits?tenant=acme {"scope":"tenant","time_zone":"Europe/Paris","quotas":{"executions_per_day":1000,"concurrent_executions":20}}`,
    "tenant acme: 1000 calls/day, 20 at work, days of Europe/Paris\n",
  ],
  [
    ["project", "*", "--cpu-seconds-per-day", "60", "--egress-bytes-per-day", "1", "--queue-depth", "5"],
    { ...tool, scope: "project", subject: "*", rate: null, quotas: { cpu_seconds_per_day: 60, egress_bytes_per_day: 1, queue_depth: 5 } },
    `PUT /v1/limits {"scope":"project","subject":"*","quotas":{"cpu_seconds_per_day":60,"egress_bytes_per_day":1,"queue_depth":5}}`,
    "project each: 60 CPU s/day, 1 egress bytes/day, 5 queued\n",
  ],
])("set %j", async (words, answer, line, out) => {
  const { url, seen } = await scriptedHttp({ "PUT /v1/limits": [{ body: answer }] });
  expect(await cli(["limits", "set", ...words], reaching(url))).toEqual({ code: 0, out, err: "" });
  expect(seen.map(({ line: asked, body }) => `${asked} ${body}`)).toEqual([line]);
});

test.each<[readonly string[], string]>([
  [["tool", "pay", "--per-minute", "300"], "--per-minute and --burst go together"],
  [["tool", "pay", "--per-minute", "0", "--burst", "1"], '--per-minute takes a whole number of at least 1, not "0"'],
  [["tenant", "--concurrent", "many"], '--concurrent takes a whole number of at least 1, not "many"'],
])("set %j asks nobody", async (words, told) => {
  const { url, seen } = await scriptedHttp({});
  const run = await cli(["limits", "set", ...words], reaching(url));
  expect([run.code, run.out, seen]).toEqual([2, "", []]);
  expect(run.err).toContain(told);
});

test("a scope that there is not is told with those there are", async () => {
  const run = await cli(["limits", "set", "galaxy"]);
  expect([run.code, run.err]).toEqual([2, expect.stringContaining("platform, tenant, project, principal, agent, tool")]);
});

test("what the operator does not allow is told with the next step", async () => {
  const error = {
    code: "forbidden",
    message: "the platform's operator allows this tenant less: burst at most 10",
    type: "permission",
    retryable: false,
    details: { reason: "over_operator_limit", fields: [{ pointer: "/rate/burst", keyword: "maximum", message: "must be at most 10", max: 10 }] },
  };
  const { url } = await scriptedHttp({ "PUT /v1/limits": [{ status: 403, body: { error } }] });
  const run = await cli(["limits", "set", "tenant", "--per-minute", "60", "--burst", "11"], reaching(url));
  expect(run.err).toContain("burst at most 10");
  expect(run.err).toContain("next:  see what the operator has set: signalbox limits list");
});

test("are removed, and it is told when there was none", async () => {
  const { url, seen } = await scriptedHttp({ "DELETE /v1/limits": [{ body: { removed: true } }, { body: { removed: false } }] });
  expect(await cli(["limits", "remove", "principal", "*"], reaching(url))).toEqual({ code: 0, out: "principal each is not limited here any more\n", err: "" });
  expect(await cli(["limits", "remove", "tenant", "--tenant", "acme", "--platform"], reaching(url))).toEqual({
    code: 0,
    out: "tenant: there was no limit\n",
    err: "see what there is: signalbox limits list\n",
  });
  expect(seen.map(({ line }) => line)).toEqual(["DELETE /v1/limits?scope=principal&subject=*", "DELETE /v1/limits?scope=tenant&tenant=acme"]);
});

const used = {
  executions: 1_204,
  succeeded: 1_190,
  failed: 10,
  timed_out: 2,
  cancelled: 2,
  denied: 3,
  cache_hits: 40,
  duration_ms: 51_234.5,
  cpu_ms: 999.4,
  peak_memory_bytes: 52_428_800,
  egress_bytes: 0,
  input_bytes: 2_048,
  output_bytes: 100,
};

test("usage is told by what was asked for", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/usage": [
      { body: { items: [{ tool: "payments.charge", ...used }], next_cursor: null, group_by: ["tool"], time_zone: "UTC" } },
      { body: { items: [{ project: "shop", day: "2026-01-30", ...used }], next_cursor: "more", group_by: ["project", "day"], time_zone: "Europe/Paris" } },
      { body: { items: [used], next_cursor: null, group_by: [], time_zone: null } },
    ],
  });
  expect(await cli(["usage"], reaching(url))).toEqual({
    code: 0,
    out:
      "TOOL             CALLS  FAILED  CANCELLED  DENIED  CACHED    TIME     CPU      PEAK       IN    OUT\n" +
      "payments.charge   1204      12          2       3      40  51.2 s  999 ms  50.0 MiB  2.0 KiB  100 B\n",
    err: "",
  });
  const byDay = await cli(["usage", "--by", "project,day", "--from", "2026-01-01", "--to", "2026-01-31", "--tool", "pay", "--limit", "1"], reaching(url));
  expect(byDay.out.split("\n")[1]).toMatch(/^shop {5}2026-01-30 {3}1204 /);
  expect(byDay.err).toBe("days of Europe/Paris\nmore:  add --cursor more\n");
  expect((await cli(["usage", "--by", "none", "--tenant", "*", "--platform"], reaching(url))).out).toMatch(/^CALLS /);
  expect(seen.map(({ line }) => line)).toEqual([
    "GET /v1/usage",
    "GET /v1/usage?limit=1&from=2026-01-01&to=2026-01-31&tool=pay&group_by=project%2Cday",
    "GET /v1/usage?tenant=*&group_by=",
  ]);
});

test("usage by something else is no question", async () => {
  const { url, seen } = await scriptedHttp({});
  const run = await cli(["usage", "--by", "day,hour"], reaching(url));
  expect([run.code, seen]).toEqual([2, []]);
  expect(run.err).toContain('--by knows tenant, project, tool, day and none, not "hour"');
});
