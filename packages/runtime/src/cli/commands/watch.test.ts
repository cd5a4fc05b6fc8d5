// `--watch` of lists: lines of news in a pipe, JSON lines for programs, one picture on a terminal, and Ctrl-C.
import { expect, test } from "vitest";
import { reaching, startCli, type Surroundings } from "../../../../../test/support/command-line.ts";
import { scriptedHttp, type ScriptedAnswer } from "../../../../../test/support/scripted-http.ts";

const call = (id: string, status: string, more: object = {}) => ({
  execution_id: id,
  tool: "pay",
  version: "1.0.0",
  status,
  principal: "user:ann",
  created_at: "2026-01-31T11:59:58.000Z",
  settled_at: null,
  ...more,
});
const page = (...items: readonly object[]): ScriptedAnswer => ({ body: { items, next_cursor: null } });
const away: ScriptedAnswer = {
  status: 503,
  body: { error: { code: "draining", message: "stopping", retryable: true } },
};

/** Runs a watch until its output (or stderr) holds `text`, then presses Ctrl-C. */
async function watched(
  place: string,
  answers: readonly ScriptedAnswer[],
  args: readonly string[],
  until: string,
  around: Surroundings = {},
) {
  const { url, seen } = await scriptedHttp({ [place]: answers });
  let done = (): void => {};
  const told = new Promise<void>((resolve) => (done = resolve));
  const look = (text: string): void => {
    if (text.includes(until)) done();
  };
  const run = startCli(args, { env: { ...reaching(url).env, NO_COLOR: "1" }, onOut: look, onErr: look, ...around });
  await told;
  run.signal("SIGINT");
  return { code: await run.ended, out: run.out(), err: run.err(), seen };
}

const changing = [
  page(call("exec_1", "running")),
  page(call("exec_2", "queued"), call("exec_1", "running")),
  page(call("exec_2", "queued"), call("exec_1", "succeeded", { settled_at: "2026-01-31T11:59:59.500Z" })),
];
const lines = [
  "exec_1  running            pay@1.0.0  user:ann",
  "exec_2  queued             pay@1.0.0  user:ann",
  "exec_1  succeeded          pay@1.0.0  user:ann  1.5 s",
];

test("calls list --watch in a pipe: a line for each call that comes or changes, whole", async () => {
  const end = await watched("GET /v1/executions", changing, ["calls", "list", "--watch", "--tool", "pay"], "succeeded");
  expect(end).toMatchObject({ code: 0, out: `${lines.join("\n")}\n`, err: "" });
  expect(new Set(end.seen.map(({ line }) => line))).toEqual(new Set(["GET /v1/executions?tool=pay"]));
});

test("with --json each is the API's object on one line", async () => {
  const { code, out } = await watched(
    "GET /v1/executions",
    changing,
    ["calls", "list", "--watch", "--json"],
    "succeeded",
  );
  const objects = out
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { execution_id: string; status: string });
  expect(code).toBe(0);
  expect(objects.map(({ execution_id: id, status }) => [id, status])).toEqual([
    ["exec_1", "running"],
    ["exec_2", "queued"],
    ["exec_1", "succeeded"],
  ]);
  expect(objects[0]).toEqual(call("exec_1", "running"));
});

test("on a terminal the table stands still and stays true; a runtime that is away is named below it", async () => {
  const { code, out, err } = await watched(
    "GET /v1/executions",
    [page(call("exec_1", "running")), away, away, away, page(call("exec_1", "failed"))],
    ["calls", "list", "--watch"],
    "failed",
    { isTTY: true, columns: 80 },
  );
  const [first, second, third] = out.split("\u001b[?7h");
  const title = "EXECUTION  TOOL       STATUS   PRINCIPAL  CREATED  TOOK\u001b[K\n";
  expect(first).toBe(`\u001b[?7l${title}exec_1     pay@1.0.0  running  user:ann   2 s ago\u001b[K\n\u001b[J`);
  expect(second).toBe(
    `\u001b[?7l\u001b[2A${title}exec_1     pay@1.0.0  running  user:ann   2 s ago\u001b[K\nwarning: stopping; trying again\u001b[K\n\u001b[J`,
  );
  expect(third).toBe(
    `\u001b[?7l\u001b[3A${title}exec_1     pay@1.0.0  failed  user:ann   2 s ago\u001b[K\n\u001b[J`.replace(
      "STATUS   ",
      "STATUS  ",
    ),
  );
  expect([code, err]).toEqual([0, ""]);
});

test("a pipe hears once that the runtime is away, programs as JSON", async () => {
  const answers = [page(), away, away, away, away, away, away, page(call("exec_1", "running"))];
  const plain = await watched("GET /v1/executions", answers, ["calls", "list", "--watch"], "exec_1");
  expect(plain.err).toBe("warning: stopping; trying again\n");
  const json = await watched("GET /v1/executions", answers, ["calls", "list", "--watch", "--json"], "exec_1");
  expect(json.err).toBe('{"warning":{"code":"draining","message":"stopping; trying again"}}\n');
});

test("status --watch tells what changed", async () => {
  const status = (more: object) => ({
    body: {
      version: "1",
      replica: "r",
      started_at: "2026-01-31T11:00:00Z",
      ready: true,
      draining: false,
      reasons: [],
      calls: {},
      workers: 1,
      ...more,
    },
  });
  const answers = [
    status({}),
    status({}),
    status({ calls: { running: 2, queued: 0 } }),
    status({ ready: false, draining: true }),
  ];
  const { code, out } = await watched("GET /v1/status", answers, ["status", "--watch"], "draining");
  expect([code, out]).toEqual([
    0,
    "ready: yes; open calls: none; workers: 1\n" +
      "ready: yes; open calls: 2 running; workers: 1\n" +
      "ready: no, draining; open calls: none; workers: 1\n",
  ]);
});

test("workers list --watch tells who comes, changes and goes; load alone is no news in a pipe", async () => {
  const worker = (id: string, more: object = {}) => ({
    worker_id: id,
    incarnation: "i1",
    state: "ready",
    capacity: 4,
    holding: 0,
    handlers: [{ tool: "pay", version: "1.0.0", max_concurrency: 4 }],
    boxes: [],
    connected_at: "2026-01-31T11:00:00Z",
    last_heard_at: "2026-01-31T11:59:59Z",
    ...more,
  });
  const answers = [
    page(worker("w1")),
    page(worker("w1", { holding: 3 }), worker("w2")),
    page(worker("w1", { state: "draining" })),
  ];
  const { code, out } = await watched("GET /v1/workers", answers, ["workers", "list", "--watch"], "gone");
  expect([code, out]).toEqual([
    0,
    "w1  ready     0/4  pay@1.0.0\n" +
      "w2  ready     0/4  pay@1.0.0\n" +
      "w1  draining  0/4  pay@1.0.0\n" +
      "w2  gone      0/4  pay@1.0.0\n",
  ]);
});

test.each([
  [["calls", "list", "--interval", "5s"], "--interval goes with --watch"],
  [["status", "--interval", "5s"], "--interval goes with --watch"],
  [["calls", "list", "--watch", "--cursor", "c"], "--watch shows the newest calls, so it takes no --cursor"],
  [
    ["workers", "list", "--watch", "--limit", "5"],
    "--watch follows the whole list, so it takes neither --limit nor --cursor",
  ],
  [["calls", "tail", "--lines", "101"], '--lines takes a whole number from 0 to 100, not "101"'],
  [["calls", "tail", "--interval", "1ms"], '--interval takes a duration of at least 100ms, like 5s, not "1ms"'],
])("%j is a wrong line", async (args, message) => {
  const run = startCli(args, reaching("http://127.0.0.1:9"));
  expect(await run.ended).toBe(2);
  expect(run.err()).toContain(`error: ${message}\n`);
});
