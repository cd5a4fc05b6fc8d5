// `signalbox calls`: the list, one call's story, and what a person can do about it.
import { expect, test } from "vitest";
import { cli, reaching } from "../../../../../test/support/command-line.ts";
import { eventData } from "../story.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const lost = {
  execution_id: "exec_1",
  tool: "payments.charge",
  version: "1.2.0",
  status: "indeterminate",
  project: "default",
  principal: "service:checkout",
  side_effect_class: "non_idempotent_write",
  idempotency_key: "order-17",
  created_at: "2026-01-31T11:55:00.000Z",
  settled_at: null,
  cancel_requested_at: null,
  approval_id: null,
  input_hash: "ab12",
  output_hash: null,
  request_id: "req_1",
  error: {
    code: "indeterminate",
    message: "the worker went away",
    type: "routing",
    retryable: false,
    details: { may_have_executed: true },
  },
  execution: {
    sandbox: "application",
    worker: "wrk_1",
    attempt: 1,
    queued_ms: 3,
    start_ms: 8,
    duration_ms: null,
    resources: {},
    decision_id: "dec_1",
    limits: {},
    routing_outcome: "lease_expired",
  },
};

const attempt = {
  attempt: 1,
  fence: 1,
  worker: "wrk_1",
  dispatched_at: "2026-01-31T11:55:00.003Z",
  accepted_at: "2026-01-31T11:55:00.005Z",
  started_at: "2026-01-31T11:55:00.011Z",
  ended_at: "2026-01-31T11:55:15.003Z",
  end_reason: "lease_expired",
  error: null,
  duration_ms: null,
};

const late = {
  fence: 1,
  at: "2026-01-31T11:56:00.000Z",
  worker: "wrk_1",
  status: "succeeded",
  output: { charged: 12 },
  error: null,
};

const events = [
  {
    seq: 1,
    ts: "2026-01-31T11:55:00.000Z",
    type: "requested",
    data: { tool: "payments.charge", version: "1.2.0", input_hash: "ab12", decision: "allow", request_id: "req_1" },
  },
  { seq: 2, ts: "2026-01-31T11:55:00.003Z", type: "dispatched", data: { worker: "wrk_1", attempt: 1, fence: 1 } },
  { seq: 3, ts: "2026-01-31T11:55:15.003Z", type: "indeterminate", data: { outcome: "lease_expired", attempt: 1 } },
];

const story = `exec_1  payments.charge@1.2.0  indeterminate

principal        service:checkout
project          default
class            non_idempotent_write
created          2026-01-31T11:55:00.000Z (5 min ago)
took             queued 3 ms, start 8 ms
worker           wrk_1
attempt          1
routing          lease_expired
idempotency key  order-17
input            sha256 ab12
request          req_1

decision  allow (dec_1)

timeline
  AFTER  EVENT
  +0 ms  requested      decision allow
  +3 ms  dispatched     worker wrk_1, attempt 1, fence 1
  +15 s  indeterminate  outcome lease_expired, attempt 1

attempts
  ATTEMPT  FENCE  WORKER  LEASED                    LASTED  ENDED
        1      1  wrk_1   2026-01-31T11:55:00.003Z    15 s  lease_expired

late results
  succeeded under fence 1 from wrk_1, 2026-01-31T11:56:00.000Z (4 min ago)
  {
    "charged": 12
  }

error
  the worker went away (indeterminate)
  {
    "may_have_executed": true
  }

next
  it happened         signalbox calls resolve exec_1 confirm   (with the late result; or --output '<json>')
  it did not: run it  signalbox calls resolve exec_1 retry
  give it up          signalbox calls resolve exec_1 fail
`;

test("show tells the whole story of a lost call, and what can be done", async () => {
  const { url, seen } = await scriptedHttp({
    "GET /v1/executions/exec_1": [{ body: { ...lost, attempts: [attempt], late_results: [late] } }],
    "GET /v1/executions/exec_1/events": [
      { body: { items: events.slice(0, 2), next_after_seq: 2 } },
      { body: { items: events.slice(2), next_after_seq: null } },
    ],
  });
  expect(await cli(["calls", "show", "exec_1"], reaching(url))).toEqual({ code: 0, out: story, err: "" });
  expect(seen.map(({ line }) => line)).toEqual([
    "GET /v1/executions/exec_1",
    "GET /v1/executions/exec_1/events?after_seq=0&limit=100",
    "GET /v1/executions/exec_1/events?after_seq=2&limit=100",
  ]);
});

test("show of a call that succeeded ends with its output; rules of its decision stand in a table", async () => {
  const output = `{"n":12345678901234567890}`;
  const rule = { policy: "amounts", version: "3", level: "tenant", outcome: "allow", reason: "under 500" };
  const decision = { id: "dec_1", outcome: "allow", reason: "granted", rules: [rule] };
  const { error: _, ...good } = {
    ...lost,
    status: "succeeded",
    settled_at: "2026-01-31T11:55:01.000Z",
    decision,
    attempts: [],
    late_results: [],
  };
  const body = `${JSON.stringify(good).slice(0, -1)},"output":${output}}`;
  const { url } = await scriptedHttp({
    "GET /v1/executions/exec_1": [{ body }],
    "GET /v1/executions/exec_1/events": [{ body: { items: [], next_after_seq: null } }],
  });
  const { out } = await cli(["calls", "show", "exec_1"], reaching(url));
  expect(out).toContain(
    "decision  allow: granted (dec_1)\n  POLICY     LEVEL   SAYS   BECAUSE\n  amounts@3  tenant  allow  under 500\n",
  );
  expect(out.endsWith('\noutput\n  {\n    "n": 12345678901234567890\n  }\n')).toBe(true);
  const json = await cli(["calls", "show", "exec_1", "--json"], reaching(url));
  expect(json.out.replace(/\s/g, "")).toBe(body.replace(/\s/g, ""));
});

const noEvents = { "GET /v1/executions/exec_1/events": [{ body: { items: [], next_after_seq: null } }] };

test("show of a call that waits for people names the approval and how to look at it", async () => {
  const { error: _, ...call } = { ...lost, status: "awaiting_approval", approval_id: "apr_1" };
  const { url } = await scriptedHttp({
    "GET /v1/executions/exec_1": [{ body: { ...call, attempts: [], late_results: [] } }],
    ...noEvents,
  });
  const { out } = await cli(["calls", "show", "exec_1"], reaching(url));
  expect(out).toContain("\napproval         apr_1\n");
  expect(out.endsWith("\nnext\n  signalbox approvals show apr_1\n")).toBe(true);
});

test("show of a call whose arguments a person changed says who, and what counts now", async () => {
  const edited = `{"by":"user:bob","args":{"amount":12345678901234567890},"note":"A person changed the arguments"}`;
  const { error: _, ...call } = { ...lost, status: "queued", attempts: [], late_results: [] };
  const { url } = await scriptedHttp({
    "GET /v1/executions/exec_1": [{ body: `${JSON.stringify(call).slice(0, -1)},"edited":${edited}}` }],
    ...noEvents,
  });
  const { out } = await cli(["calls", "show", "exec_1"], reaching(url));
  expect(out).toContain(
    '\nedited\n  user:bob changed the arguments to\n  {\n    "amount": 12345678901234567890\n  }\n',
  );
});

test("show of a call that a rule denied names the rule, and how to look at it", async () => {
  const rules = [
    { policy: "look-only", version: "2.0.0", level: "tenant", outcome: "deny", reason: "tried out", observed: true },
    {
      policy: "no-nights",
      version: "1.0.0",
      level: "platform",
      outcome: "deny",
      reason: "Nobody is up",
      observed: false,
    },
  ];
  const policy = { decision: "deny", reason: "Nobody is up", rules };
  const error = { ...lost.error, code: "forbidden", message: "Nobody is up", details: {} };
  const { url } = await scriptedHttp({
    "GET /v1/executions/exec_1": [
      { body: { ...lost, status: "denied", error, policy, attempts: [], late_results: [] } },
    ],
    ...noEvents,
  });
  const { out } = await cli(["calls", "show", "exec_1"], reaching(url));
  expect(out).toContain(
    "decision  deny: Nobody is up (dec_1)\n" +
      "  POLICY           LEVEL     SAYS                  BECAUSE\n" +
      "  look-only@2.0.0  tenant    deny (observed only)  tried out\n" +
      "  no-nights@1.0.0  platform  deny                  Nobody is up\n",
  );
  expect(out.endsWith("\nnext\n  signalbox policies show no-nights@1.0.0 --platform\n")).toBe(true);
});

test("list asks with every filter and prints one line a call", async () => {
  const page = { items: [lost], next_cursor: "c2" };
  const { url, seen } = await scriptedHttp({ "GET /v1/executions": [{ body: page }] });
  const filters = [
    "--tool",
    "payments.charge",
    "--status",
    "indeterminate",
    "--principal",
    "service:checkout",
    "--project",
    "default",
  ];
  const more = ["--since", "1h", "--limit", "5", "--cursor", "c1"];
  expect(await cli(["calls", "list", ...filters, ...more], reaching(url))).toEqual({
    code: 0,
    out:
      "EXECUTION  TOOL                   STATUS         PRINCIPAL         CREATED    TOOK\n" +
      "exec_1     payments.charge@1.2.0  indeterminate  service:checkout  5 min ago\n",
    err: "more:  add --cursor c2\n",
  });
  expect(seen.map(({ line }) => line)).toEqual([
    "GET /v1/executions?tool=payments.charge&status=indeterminate&principal=service%3Acheckout&project=default&cursor=c1&from=2026-01-31T11%3A00%3A00.000Z&limit=5",
  ]);
  const json = await cli(["calls", "list", "--json"], reaching(url));
  expect(json).toEqual({ code: 0, out: `${JSON.stringify(page, null, 2)}\n`, err: "" });
});

test("events are printed in their order", async () => {
  const { url } = await scriptedHttp({
    "GET /v1/executions/exec_1/events": [{ body: { items: events.slice(1), next_after_seq: null } }],
  });
  expect((await cli(["calls", "events", "exec_1"], reaching(url))).out).toBe(
    "SEQ  TIME                      EVENT          DATA\n" +
      "  2  2026-01-31T11:55:00.003Z  dispatched     worker wrk_1, attempt 1, fence 1\n" +
      "  3  2026-01-31T11:55:15.003Z  indeterminate  outcome lease_expired, attempt 1\n",
  );
  const json = await cli(["calls", "events", "exec_1", "--json"], reaching(url));
  expect(JSON.parse(json.out)).toEqual({ items: events.slice(1), next_after_seq: null });
});

test("events show hashes short and times rounded", () => {
  const data = {
    output_hash: "d121d6b32bf2b4f68772f82f35bbfce93cd8ca82",
    duration_ms: 2.771656,
    code: null,
    by: "user:a",
    n: [1],
  };
  expect(eventData({ seq: 1, ts: "", type: "succeeded", data })).toBe(
    "output_hash d121d6b32bf2…, duration_ms 2.8, by user:a, n [1]",
  );
});

test("events name who is asked, until when, and who decided", () => {
  const asked = {
    routes: [
      { route: "finance", quorum: 2 },
      { route: "", quorum: 1 },
    ],
    expires_at: 1_769_860_800_000,
  };
  expect(eventData({ seq: 1, ts: "", type: "approval_requested", data: asked })).toBe(
    "routes 2 of finance + 1 of anybody, expires_at 2026-01-31T12:00:00.000Z",
  );
  expect(eventData({ seq: 2, ts: "", type: "approved", data: { by: ["user:a", "user:b"] } })).toBe(
    "by user:a + user:b",
  );
});

test("cancel says when the worker has yet to confirm", async () => {
  const { url } = await scriptedHttp({
    "POST /v1/executions/exec_1/cancel": [
      { status: 202, body: { ...lost, status: "running" } },
      { body: { ...lost, status: "cancelled", settled_at: "2026-01-31T12:00:00Z" } },
    ],
  });
  const asked = await cli(["calls", "cancel", "exec_1"], reaching(url));
  expect([asked.code, asked.out]).toEqual([0, "exec_1 is running\n"]);
  expect(asked.err).toBe("the worker has yet to confirm that it stopped\nnext:  signalbox calls show exec_1\n");
  expect(await cli(["calls", "cancel", "exec_1"], reaching(url))).toEqual({
    code: 0,
    out: "exec_1 is cancelled\n",
    err: "",
  });
});

test("resolve sends the verdict with the output as it was written", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/executions/exec_1/resolve": [{ body: { ...lost, status: "succeeded" } }],
  });
  const args = [
    "calls",
    "resolve",
    "exec_1",
    "confirm",
    "--output",
    `{"n":12345678901234567890}`,
    "--comment",
    "seen in the ledger",
  ];
  expect(await cli(args, reaching(url))).toEqual({ code: 0, out: "exec_1 is succeeded\n", err: "" });
  expect(seen[0]?.body).toBe(
    `{"verdict":"confirm","comment":"seen in the ledger","output":{"n":12345678901234567890}}`,
  );
});

test("resolve refuses an output that nobody would look at, and a verdict that is none", async () => {
  const reached = reaching("http://127.0.0.1:9");
  expect(await cli(["calls", "resolve", "exec_1", "retry", "--output", "1"], reached)).toMatchObject({ code: 2 });
  expect(await cli(["calls", "resolve", "exec_1", "maybe"], reached)).toMatchObject({ code: 2 });
});

test("an unknown call exits with 4", async () => {
  const body = {
    error: { code: "execution_not_found", message: "There is no such execution here.", retryable: false },
  };
  const { url } = await scriptedHttp({ "GET /v1/executions/exec_9": [{ status: 404, body }] });
  const { code, err } = await cli(["calls", "show", "exec_9"], reaching(url));
  expect(code).toBe(4);
  expect(err).toContain("next:  signalbox calls list\n");
});
