// `signalbox run`: what is sent, what is printed, how it waits, and with which code it ends.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { cli, reaching, startCli } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

/** A record as the API writes it, so that numbers in it are text of our choosing. */
function record(status: string, more = ""): string {
  return `{"execution_id":"exec_1","tool":"hello.greet","version":"1.0.0","status":"${status}","execution":{"duration_ms":12}${more}}`;
}

const succeeded = record("succeeded", `,"output":{"n":12345678901234567890,"x":1.0}`);

test("the output goes to stdout, digit for digit; what is said about it to stderr", async () => {
  const { url, seen } = await scriptedHttp({ "POST /v1/executions": [{ body: succeeded }] });
  expect(await cli(["run", "hello.greet", "--input", `{"id":98765432109876543210}`], reaching(url))).toEqual({
    code: 0,
    out: '{\n  "n": 12345678901234567890,\n  "x": 1.0\n}\n',
    err: "succeeded in 12 ms · hello.greet 1.0.0 · exec_1\n",
  });
  expect(seen.map(({ body }) => body)).toEqual([
    `{"tool":"hello.greet","idempotency_key":"cli-0123","mode":"sync","wait_ms":30000,"input":{"id":98765432109876543210}}`,
  ]);
});

test("--json prints the record and nothing else", async () => {
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ body: succeeded }] });
  const { code, out, err } = await cli(["run", "hello.greet", "--json"], reaching(url));
  expect([code, err]).toEqual([0, ""]);
  expect(out.replace(/\s/g, "")).toBe(succeeded);
});

test("every flag reaches the request", async () => {
  const { url, seen } = await scriptedHttp({ "POST /v1/executions": [{ status: 202, body: record("queued") }] });
  const flags = ["--project", "shop", "--idempotency-key", "order-1", "--async", "--timeout", "5s", "--input", "-"];
  const { code, out, err } = await cli(["run", "hello.greet@1.0.0", ...flags], {
    ...reaching(url),
    stdin: `{"a":1}\n`,
  });
  expect([code, out, err]).toEqual([0, "exec_1\n", "the call is queued\nnext:  signalbox calls show exec_1\n"]);
  expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
    tool: "hello.greet",
    version: "1.0.0",
    project: "shop",
    input: { a: 1 },
    mode: "async",
    limits: { timeout_ms: 5_000 },
    idempotency_key: "order-1",
  });
});

test("files are put first, then named: under their own names or under given ones", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-run-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "orders.csv"), "id\n1\n");
  const stored = { status: 201, body: `{"digest":"sha256:aa","bytes":5}` };
  const { url, seen } = await scriptedHttp({
    "PUT /v1/files": [stored, stored],
    "POST /v1/executions": [{ body: succeeded }],
  });
  const path = join(folder, "orders.csv");
  const { code } = await cli(["run", "code.run", "--file", path, `in/x.csv=${path}`], reaching(url));
  expect([code, seen.map(({ body }) => body).slice(0, 2)]).toEqual([0, ["id\n1\n", "id\n1\n"]]);
  expect(JSON.parse(seen[2]?.body ?? "")).toMatchObject({
    files: [
      { path: "orders.csv", ref: "sha256:aa" },
      { path: "in/x.csv", ref: "sha256:aa" },
    ],
  });
});

test("what a tool in a box said last stands below its error", async () => {
  const details = { tool_code: "exited", tool_details: { exit_code: 1, stderr: "Traceback:\n\u001b[31mOSError: no\u001b[0m\n" } };
  const error = { code: "tool_error", message: "the tool ended with exit code 1", retryable: false, details };
  const { url } = await scriptedHttp({
    "POST /v1/executions": [{ status: 502, body: JSON.stringify({ error, execution_id: "exec_1", status: "failed" }) }],
  });
  const { code, err } = await cli(["run", "code.run"], reaching(url));
  expect([code, err.split("\n").slice(2, 4)]).toEqual([1, ["  Traceback:", "  \\u001b[31mOSError: no\\u001b[0m"]]);
});

test("a call that outlives the first wait is looked at until it ends", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/executions": [{ status: 202, body: record("running") }],
    "GET /v1/executions/exec_1": [{ body: record("running") }, { body: succeeded }],
  });
  const { code, out } = await cli(["run", "hello.greet"], reaching(url));
  expect([code, out]).toEqual([0, '{\n  "n": 12345678901234567890,\n  "x": 1.0\n}\n']);
  expect(seen).toHaveLength(3);
});

test("a call that ends badly while it is looked at fails like one that was waited for", async () => {
  const error = `,"error":{"code":"tool_error","message":"card declined","retryable":false,"details":{}},"request_id":"req_1"`;
  const { url } = await scriptedHttp({
    "POST /v1/executions": [{ status: 202, body: record("running") }],
    "GET /v1/executions/exec_1": [{ body: record("failed", error) }],
  });
  expect(await cli(["run", "hello.greet"], reaching(url))).toEqual({
    code: 1,
    out: "",
    err: "error: card declined (tool_error)\nnext:  signalbox calls show exec_1\ncall: exec_1\nrequest: req_1\n",
  });
  const json = await cli(["run", "hello.greet", "--json"], reaching(url));
  expect([json.code, json.out]).toEqual([1, ""]);
  expect(json.err).toBe(`${record("failed", error).slice(0, -1)},"next":"signalbox calls show exec_1"}\n`);
});

test("a call that waits for a person, or has no end in time, exits with 6", async () => {
  const { url } = await scriptedHttp({
    "POST /v1/executions": [
      { status: 202, body: record("indeterminate") },
      { status: 202, body: record("running") },
    ],
  });
  const parked = await cli(["run", "hello.greet"], reaching(url));
  expect([parked.code, parked.out]).toEqual([6, "exec_1\n"]);
  expect(parked.err).toBe("the call is indeterminate\nnext:  signalbox calls show exec_1\n");
  const slow = await cli(["run", "hello.greet", "--wait", "0s"], reaching(url));
  expect([slow.code, slow.out]).toEqual([6, "exec_1\n"]);
});

test("a call that waits for people says which approval it is", async () => {
  const waiting = record("awaiting_approval", `,"approval_id":"apr_1"`);
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 202, body: waiting }] });
  expect(await cli(["run", "hello.greet"], reaching(url))).toEqual({
    code: 6,
    out: "exec_1\n",
    err: "the call waits for people: approval apr_1\nnext:  signalbox approvals show apr_1\n",
  });
});

test("a result of arguments that a person changed says so", async () => {
  const edited = `,"edited":{"by":"user:bob","args":{"id":12345678901234567890},"note":"…"},"output":1`;
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ body: record("succeeded", edited) }] });
  const { out, err } = await cli(["run", "hello.greet"], reaching(url));
  expect(out).toBe("1\n");
  expect(err).toBe(
    'user:bob changed the arguments; it ran with\n{\n  "id": 12345678901234567890\n}\n' +
      "succeeded in 12 ms · hello.greet 1.0.0 · exec_1\n",
  );
});

const deniedBy =
  `,"policy":{"decision":"deny","reason":"Nobody is up","rules":[` +
  `{"policy":"no-nights","version":"1.0.0","level":"tenant","outcome":"deny","reason":"Nobody is up","observed":false}]}`;

test("a call that a rule denied names the rule, and how to look at it", async () => {
  const details = { decision_id: "dec_1", policy: "no-nights@1.0.0", level: "platform" };
  const error = { code: "forbidden", message: "Nobody is up", retryable: false, details };
  const { url, seen } = await scriptedHttp({
    "POST /v1/executions": [{ status: 403, body: { error, execution_id: "exec_1" } }],
  });
  const { code, err } = await cli(["run", "hello.greet"], reaching(url));
  expect(code).toBe(3);
  expect(err).toBe(
    "denied by no-nights@1.0.0 (platform)\nerror: Nobody is up (forbidden)\n" +
      "next:  signalbox policies show no-nights@1.0.0 --platform\ncall: exec_1\nrequest: req_scripted\n",
  );
  // Nothing more is asked: a key that may not read calls would leave a refusal on record.
  expect(seen).toHaveLength(1);
});

test("a denial that came while it was looked at names its rules from its record", async () => {
  const error = `,"error":{"code":"forbidden","message":"Nobody is up","retryable":false,"details":{}}`;
  const looked = await scriptedHttp({
    "POST /v1/executions": [{ status: 202, body: record("queued") }],
    "GET /v1/executions/exec_1": [{ body: record("denied", error + deniedBy) }],
  });
  const late = await cli(["run", "hello.greet"], reaching(looked.url));
  expect(late.err).toContain("denied by no-nights@1.0.0 (tenant): Nobody is up\nerror: Nobody is up (forbidden)\n");
});

test.each([
  [503, "no_handler", 5, "start a worker that offers hello.greet, then try again: signalbox workers list"],
  [403, "forbidden", 3, "ask an administrator for the permission named above: signalbox grants create"],
  [404, "tool_not_found", 4, "signalbox tools list"],
  [504, "timeout", 1, "try again with a longer --timeout, if the tool allows it"],
])("HTTP %i %s exits with %i", async (status, code, exitCode, next) => {
  const body = { error: { code, message: "because", retryable: false }, execution_id: "exec_1" };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status, body }] });
  const ended = await cli(["run", "hello.greet"], reaching(url));
  expect(ended.code).toBe(exitCode);
  expect(ended.err).toContain(`error: because (${code})\nnext:  ${next}\ncall: exec_1\n`);
});

test.each([
  ["forbidden", { decision_id: "dec_1" }, "see what the rules say of it: signalbox policies explain hello.greet"],
  ["forbidden", { reason: "tool_disabled", project: "default" }, "signalbox tools enable hello.greet"],
  ["integrity_violation", { tool: "hello.greet", version: "1.0.0" }, "signalbox tools show hello.greet"],
  ["tool_not_found", { did_you_mean: ["hello.great", "hello.green"] }, "did you mean hello.great or hello.green?"],
  ["tool_not_found", { version: "^5", versions: ["1.0.0"] }, "signalbox tools show hello.greet"],
])("%s with %j has a step of its own", async (code, details, next) => {
  const error = { code, message: "because", retryable: false, details };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 403, body: { error } }] });
  expect((await cli(["run", "hello.greet"], reaching(url))).err).toContain(`\nnext:  ${next}\n`);
});

test("Ctrl-C leaves the call alone and says where it is", async () => {
  let looked = (): void => {};
  const looking = new Promise<void>((resolve) => (looked = resolve));
  const { url } = await scriptedHttp({
    "POST /v1/executions": [{ status: 202, body: record("running") }],
    "GET /v1/executions/exec_1": [
      {
        body: "",
        after: () => {
          looked();
          return new Promise<void>(() => {});
        },
      },
    ],
  });
  const run = startCli(["run", "hello.greet"], reaching(url));
  await looking;
  run.signal("SIGINT");
  expect(await run.ended).toBe(130);
  expect(run.err()).toBe("interrupted; the call is not cancelled by that\nnext:  signalbox calls show exec_1\n");
});

test("input can come from a file; what is no JSON never leaves the machine", async () => {
  const folder = await mkdtemp(join(tmpdir(), "signalbox-run-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "in.json"), `{"name":"Ada"}`);
  const { url, seen } = await scriptedHttp({ "POST /v1/executions": [{ body: succeeded }] });
  const around = { ...reaching(url), cwd: folder };
  expect((await cli(["run", "hello.greet", "--input", "@in.json"], around)).code).toBe(0);
  expect(seen[0]?.body).toContain(`"input":{"name":"Ada"}`);
  const broken = await cli(["run", "hello.greet", "--input", "{name:Ada}"], around);
  expect(broken.code).toBe(2);
  expect(broken.err).toContain(
    `next:  quote it for the shell: --input '{"name":"Ada"}'; a file is --input @file.json\n`,
  );
  expect((await cli(["run", "hello.greet", "--input", "@none.json"], around)).code).toBe(2);
  expect(seen).toHaveLength(1);
});

test.each([
  [["run", "a@1.0.0", "--version", "2.0.0"], "two versions are given: 1.0.0 and 2.0.0"],
  [["run", "a@"], `"a@" is not tool@version`],
  [["run", "a", "--timeout", "5"], `--timeout takes a duration like 500ms, 30s or 5m, not "5"`],
])("%j is a wrong line", async (args, message) => {
  const { code, err } = await cli(args, reaching("http://127.0.0.1:9"));
  expect(code).toBe(2);
  expect(err).toContain(`error: ${message}\n`);
});

test("a call whose answer was lost is asked for again under the same key, and the error says how", async () => {
  const url = await breaking();
  const people = await cli(["run", "hello.greet"], reaching(url));
  expect([people.code, people.out]).toEqual([5, ""]);
  expect(people.err).toContain(
    "next:  the call may have been made; ask again under the same key, and it runs once: signalbox run hello.greet … --idempotency-key cli-0123\n",
  );
  const own = await cli(["run", "hello.greet", "--idempotency-key", "it's 1"], reaching(url));
  expect(own.err).toContain("--idempotency-key 'it'\\''s 1'\n");
  expect(JSON.parse((await cli(["run", "hello.greet", "--json"], reaching(url))).err)).toMatchObject({
    error: { code: "unreachable", retryable: false, details: { may_have_executed: true } },
    idempotency_key: "cli-0123",
    next: expect.stringContaining("--idempotency-key cli-0123") as string,
  });
});

/** A server that takes requests and closes the connection. */
async function breaking(): Promise<string> {
  const server = createServer((request) => request.socket.destroy());
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}
