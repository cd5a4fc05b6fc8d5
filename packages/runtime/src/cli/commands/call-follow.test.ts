// `run --follow` and `calls follow`: what goes where, what a terminal is kept from, and how they end.
import { expect, test } from "vitest";
import { cli, reaching, startCli } from "../../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../../test/support/scripted-http.ts";

const ts = "2026-01-31T12:00:00.000Z";
const said = (seq: number, type: string, data: string): string =>
  `id: ${seq}\nevent: ${type}\ndata: {"seq":${seq},"ts":"${ts}","data":${data}}\n\n`;
const text = (seq: number, type: string, words: string): string => said(seq, type, JSON.stringify({ text: words }));
const record = (status: string, more = ""): string =>
  `{"execution_id":"exec_1","tool":"hello.greet","version":"1.0.0","status":"${status}","execution":{"duration_ms":12}${more}}`;
const start = said(1, "start", '{"sandbox":"application","worker":"w1","attempt":1}');
const done = (seq: number): string => said(seq, "done", record("succeeded", ',"output":{"n":12345678901234567890}'));
const failed = (seq: number): string =>
  said(
    seq,
    "error",
    record(
      "failed",
      ',"error":{"code":"tool_error","message":"no such order","type":"tool","retryable":false,"details":{}}',
    ),
  );

const following = (...bodies: string[]) =>
  scriptedHttp({ "GET /v1/executions/exec_1/stream": bodies.map((body) => ({ body })) });

const everything =
  start +
  text(2, "stdout", "one\n") +
  text(3, "stderr", "careful\n") +
  said(4, "progress", '{"percent":40,"message":"on the way"}') +
  text(5, "log", "a line\n") +
  text(6, "partial", "so far") +
  said(7, "emit", '{"type":"charged","payload":{"n":98765432109876543210}}') +
  said(8, "approval", '{"approval_id":"apr_1","status":"awaiting_approval"}') +
  'id: 20\nevent: gap\ndata: {"from":9,"to":20}\n\n' +
  said(21, "stdout", '{"text":"two","missed_chunks":3}') +
  done(22);

test("the tool's output goes to stdout and stderr as it is, the rest to stderr, the result last", async () => {
  const { url } = await following(everything);
  expect(await cli(["calls", "follow", "exec_1"], reaching(url))).toEqual({
    code: 0,
    out: 'one\ntwo\n{\n  "n": 12345678901234567890\n}\n',
    err: [
      "attempt 1 on w1",
      "careful",
      "40% on the way",
      "log: a line",
      "partial: so far",
      'event charged: {"n":98765432109876543210}',
      "it waits for people: signalbox approvals show apr_1",
      "events 9 to 20 are not kept any more",
      "3 chunks of output were lost on the way",
      "succeeded in 12 ms · hello.greet 1.0.0 · exec_1",
      "",
    ].join("\n"),
  });
});

test("--json is one event a line, and nothing else", async () => {
  const { url } = await following(everything);
  const { code, out, err } = await cli(["calls", "follow", "exec_1", "--json"], reaching(url));
  expect([code, err]).toEqual([0, ""]);
  const lines = out.split("\n");
  expect(lines).toHaveLength(12);
  expect(lines[0]).toBe(
    `{"type":"start","seq":1,"ts":"${ts}","data":{"sandbox":"application","worker":"w1","attempt":1}}`,
  );
  expect(lines[6]).toBe(
    `{"type":"emit","seq":7,"ts":"${ts}","data":{"type":"charged","payload":{"n":98765432109876543210}}}`,
  );
  expect(lines[8]).toBe('{"type":"gap","from":9,"to":20}');
  expect(lines[10]).toBe(
    `{"type":"done","seq":22,"ts":"${ts}","data":${record("succeeded", ',"output":{"n":12345678901234567890}')}}`,
  );
});

test("a terminal obeys nothing that a tool writes; a program gets the very bytes", async () => {
  const escape = text(1, "stdout", "\u001b[2J\u009bred\n") + text(2, "log", "\u001b]0;title\u0007") + done(3);
  const { url } = await following(escape);
  expect((await cli(["calls", "follow", "exec_1"], reaching(url))).out).toContain("\u001b[2J\u009bred\n");
  const seen = await cli(["calls", "follow", "exec_1"], {
    ...reaching(url),
    isTTY: true,
    errIsTTY: true,
    env: { ...reaching(url).env, NO_COLOR: "1" },
  });
  expect(seen.out).toContain("\\u001b[2J\\u009bred\n");
  // oxlint-disable-next-line no-control-regex -- the character that commands a terminal
  expect(seen.err + seen.out).not.toMatch(/\u001b\]|\u0007/);
});

test("on a terminal a remark starts on a line of its own", async () => {
  const { url } = await following(
    text(1, "stdout", "half") + said(2, "progress", '{"percent":50,"message":""}') + done(3),
  );
  const { out, err } = await cli(["calls", "follow", "exec_1"], { ...reaching(url), isTTY: true });
  expect(out.startsWith("half\n")).toBe(true);
  expect(err.startsWith("50%\n")).toBe(true);
});

test("a call that fails ends as one that was waited for", async () => {
  const { url } = await following(text(1, "stdout", "trying\n") + failed(2));
  const { code, out, err } = await cli(["calls", "follow", "exec_1"], reaching(url));
  expect([code, out]).toEqual([1, "trying\n"]);
  expect(err).toContain("error: no such order (tool_error)\n");
  const json = await cli(["calls", "follow", "exec_1", "--json"], reaching(url));
  expect([json.code, json.out.split("\n")]).toMatchObject([
    1,
    [expect.stringContaining('"stdout"'), expect.stringContaining('"error"'), ""],
  ]);
});

test("what a program reads ends as the tool ended it, where no result follows", async () => {
  const { url } = await following(text(1, "stdout", "no line feed") + said(2, "done", record("succeeded")));
  expect((await cli(["calls", "follow", "exec_1"], reaching(url))).out).toBe("no line feed");
});

test("--after goes on behind an event; where nothing follows it says so", async () => {
  const { url } = await scriptedHttp({ "GET /v1/executions/exec_1/stream": [{ status: 204, body: "" }] });
  expect(await cli(["calls", "follow", "exec_1", "--after", "22"], reaching(url))).toEqual({
    code: 0,
    out: "",
    err: "there is nothing behind event 22\nnext:  signalbox calls show exec_1\n",
  });
  expect((await cli(["calls", "follow", "exec_1", "--after", "last"], reaching(url))).code).toBe(2);
});

test("a broken connection is taken up again where it broke", async () => {
  const { url } = await following(start + text(2, "stdout", "a"), text(3, "stdout", "b") + done(4));
  expect((await cli(["calls", "follow", "exec_1"], reaching(url))).out).toBe('ab\n{\n  "n": 12345678901234567890\n}\n');
});

test("Ctrl-C leaves the call alone, and says how to go on", async () => {
  const never = new Promise<void>(() => {});
  const { url } = await scriptedHttp({
    "GET /v1/executions/exec_1/stream": [{ body: text(1, "stdout", "a") }, { body: "", after: () => never }],
  });
  const running = startCli(["calls", "follow", "exec_1"], reaching(url));
  await expect.poll(() => running.out()).toBe("a");
  running.signal("SIGINT");
  expect(await running.ended).toBe(130);
  expect(running.err()).toBe("interrupted; the call goes on\nnext:  signalbox calls follow exec_1 --after 1\n");
});

test("run --follow sends one request, prints as it comes, and ends with the result", async () => {
  const { url, seen } = await scriptedHttp({
    "POST /v1/executions": [{ body: start + text(2, "stdout", "hi\n") + done(3) }],
  });
  const { code, out } = await cli(
    ["run", "hello.greet", "--follow", "--input", '{"id":98765432109876543210}'],
    reaching(url),
  );
  expect([code, out]).toEqual([0, 'hi\n{\n  "n": 12345678901234567890\n}\n']);
  expect(seen.map(({ body }) => body)).toEqual([
    '{"tool":"hello.greet","idempotency_key":"cli-0123","stream":true,"input":{"id":98765432109876543210}}',
  ]);
});

test("run --follow: a refusal is an error like any other", async () => {
  const error = { code: "forbidden", message: "user:ann has no grant", type: "policy", retryable: false, details: {} };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 403, body: { error } }] });
  const { code, out, err } = await cli(["run", "hello.greet", "--follow"], reaching(url));
  expect([code, out]).toEqual([3, ""]);
  expect(err).toContain("error: user:ann has no grant (forbidden)\n");
});

test.each([["--async"], ["--wait", "5s"]])("run --follow does not go with %s", async (...flags) => {
  expect((await cli(["run", "hello.greet", "--follow", ...flags], reaching("http://127.0.0.1:9"))).code).toBe(2);
});
