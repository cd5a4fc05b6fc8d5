// The command line as a whole: usage, help, completion, and the errors that every command shares.
import { expect, test } from "vitest";
import { cli, reaching, startCli } from "../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../test/support/scripted-http.ts";
import { examples } from "./examples.ts";

test.each([
  [["frob"], "error: unknown command 'frob'\nusage: signalbox [options] [command]\nnext:  signalbox --help\n"],
  [
    ["run", "a", "--nope"],
    "error: unknown option '--nope'\nusage: signalbox run [options] <tool>\nnext:  signalbox run --help\n",
  ],
  [
    ["calls", "show"],
    "error: missing required argument 'execution-id'\nusage: signalbox calls show [options] <execution-id>\nnext:  signalbox calls show --help\n",
  ],
  [
    ["status", "extra"],
    "error: too many arguments for 'status'. Expected 0 arguments but got 1: extra.\nusage: signalbox status [options]\nnext:  signalbox status --help\n",
  ],
])("%j is a wrong line", async (args, err) => {
  expect(await cli(args)).toEqual({ code: 2, out: "", err });
});

test("a group alone shows its commands", async () => {
  const { code, err } = await cli(["calls"]);
  expect(code).toBe(2);
  expect(err).toContain("signalbox calls [options] [command]");
});

test("help names every command and the exit codes, and goes to stdout", async () => {
  const { code, out, err } = await cli(["--help"]);
  expect([code, err]).toEqual([0, ""]);
  for (const name of [
    "dev",
    "init",
    "validate",
    "status",
    "tools",
    "run",
    "calls",
    "keys",
    "approvals",
    "policies",
    "freeze",
    "unfreeze",
    "projects",
    "grants",
    "webhooks",
    "audit",
    "workers",
    "completion",
  ]) {
    expect(out).toMatch(new RegExp(`^  ${name} `, "m"));
  }
  expect(out).toContain("  6    no end yet: the call is parked, indeterminate, or still going\n");
  expect(out).toContain("  130  interrupted\n");
});

test("without a runtime the error says how to start one", async () => {
  const { code, out, err } = await cli(["tools", "list"]);
  expect([code, out]).toEqual([5, ""]);
  expect(err).toMatch(/^error: no runtime is known here: .* \(no_runtime\)\nnext: {2}start one with: signalbox dev\n$/);
});

test("an error is told with its code, the next step, its faults and the request id", async () => {
  const error = {
    code: "invalid_input",
    message: "The input does not fit.",
    type: "invalid_request",
    retryable: false,
    details: {
      fields: [
        { pointer: "/name", message: "is required" },
        { pointer: "", message: "is \u001b[31mred" },
      ],
    },
    request_id: "req_7",
  };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 400, body: { error } }] });
  expect(await cli(["run", "hello.greet"], reaching(url))).toEqual({
    code: 1,
    out: "",
    err: [
      "error: The input does not fit. (invalid_input)",
      "next:  compare with the schema: signalbox tools show hello.greet --json",
      "  /name: is required",
      "  (whole): is \\u001b[31mred",
      "request: req_7",
      "",
    ].join("\n"),
  });
});

test("what the door refused and what the schema found are both told", async () => {
  const details = {
    fields: [{ pointer: "/args", keyword: "format", message: "must match" }],
    errors: [{ pointer: "/amount", keyword: "type", message: "must be a number" }],
  };
  const body = { error: { code: "invalid_input", message: "no", retryable: false, details } };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 400, body }] });
  expect((await cli(["run", "hello.greet"], reaching(url))).err).toContain(
    "\n  /args: must match\n  /amount: must be a number\n",
  );
});

test("what the schema of a tool found is told line by line too", async () => {
  const details = { errors: [{ pointer: "/name", keyword: "required", message: "is required" }] };
  const body = { error: { code: "invalid_input", message: "no", retryable: false, details } };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 400, body }] });
  expect((await cli(["run", "hello.greet"], reaching(url))).err).toContain("\n  /name: is required\n");
});

test("with --json an error is the API's own object and the next step, on one line of stderr", async () => {
  const body = `{"error":{"code":"forbidden","message":"no","details":{"n":12345678901234567890}}}`;
  const { url } = await scriptedHttp({ "GET /v1/keys": [{ status: 403, body }] });
  expect(await cli(["keys", "list", "--json"], reaching(url))).toEqual({
    code: 3,
    out: "",
    err: `${body.slice(0, -1)},"next":"ask an administrator for the permission named above: signalbox grants create"}\n`,
  });
});

test.each([
  [["frob", "--json"], 2, "usage", "unknown command 'frob'", "signalbox --help"],
  [["calls", "show", "--json"], 2, "usage", "missing required argument 'execution-id'", "signalbox calls show --help"],
  [
    ["calls", "list", "--limit", "x", "--json", "--url", "http://127.0.0.1:9", "--key", "k"],
    2,
    "usage",
    undefined,
    undefined,
  ],
  [["status", "--json"], 5, "no_runtime", undefined, "start one with: signalbox dev"],
  [
    ["status", "--json", "--url", "http://127.0.0.1:9", "--key", "k"],
    5,
    "unreachable",
    undefined,
    "is it running? start one with: signalbox dev",
  ],
])("with --json %j fails in the same shape", async (args, exitCode, errorCode, message, next) => {
  const { code, out, err } = await cli(args);
  expect([code, out, err.split("\n").length]).toEqual([exitCode, "", 2]);
  const told = JSON.parse(err) as { error: { code: string; message: string }; next?: string };
  expect([told.error.code, told.next]).toEqual([errorCode, next]);
  expect(told).toMatchObject({ error: { type: "client", details: {} } });
  if (message !== undefined) expect(told.error.message).toBe(message);
});

test("the key travels as a bearer token", async () => {
  const { url, seen } = await scriptedHttp({ "GET /v1/workers": [{ body: { items: [], next_cursor: null } }] });
  await cli(["workers", "list", "--url", url, "--key", "sbx_flag"]);
  expect(seen.map(({ authorization }) => authorization)).toEqual(["Bearer sbx_flag"]);
});

test("Ctrl-C ends a command with 130, the second one at once", async () => {
  let arrived = (): void => {};
  const asked = new Promise<void>((resolve) => (arrived = resolve));
  const { url } = await scriptedHttp({
    "GET /v1/status": [
      {
        body: {},
        after: () => {
          arrived();
          return new Promise<void>(() => {});
        },
      },
    ],
  });
  const run = startCli(["status"], reaching(url));
  await asked;
  run.signal("SIGINT");
  run.signal("SIGINT");
  expect(await run.ended).toBe(130);
  expect(run.exits).toEqual([130]);
  expect(run.err()).toBe("interrupted\n");
});

test("long work says so on a terminal, and wipes it off again", async () => {
  let shown = (): void => {};
  const seenProgress = new Promise<void>((resolve) => (shown = resolve));
  const verdict = { ok: true, records: 1, lanes: 1, problems: [] };
  const { url } = await scriptedHttp({ "POST /v1/audit:verify": [{ body: verdict, after: () => seenProgress }] });
  const onErr = (text: string): void => {
    if (text.includes("walking the audit chain … ")) shown();
  };
  const { err } = await cli(["audit", "verify"], { ...reaching(url), errIsTTY: true, progressAfterMs: 0, onErr });
  expect(err.startsWith("\r\u001b[2Kwalking the audit chain … 0 ms")).toBe(true);
  expect(err.endsWith("\r\u001b[2K")).toBe(true);
});

test.each([
  [["rnu"], "(Did you mean run?)", "signalbox --help"],
  [["calls", "lst"], "(Did you mean list?)", "signalbox calls --help"],
  [["run", "a", "--inptu", "{}"], "(Did you mean --input?)", "signalbox run --help"],
  [["cancel", "exec_1"], "(Did you mean one of signalbox calls cancel, signalbox sessions cancel?)", "signalbox --help"],
  [
    ["--url", "http://127.0.0.1:8080", "status"],
    "(Options of a command stand behind it: signalbox … --url)",
    "signalbox --help",
  ],
])("%j: what may have been meant", async (args, meant, next) => {
  const { code, err } = await cli(args);
  expect(code).toBe(2);
  expect(err).toContain(`${meant}\nusage: `);
  expect(err.endsWith(`next:  ${next}\n`)).toBe(true);
});

test("help shows what --help shows, for commands of any depth, and knows no other", async () => {
  for (const words of [[], ["run"], ["calls", "list"]]) {
    const help = await cli(["help", ...words]);
    expect(help).toEqual({ ...(await cli([...words, "--help"])), err: "" });
    expect(help.code).toBe(0);
  }
  expect(await cli(["help", "calls", "frob"])).toEqual({
    code: 2,
    out: "",
    err: 'error: "signalbox calls" has no command "frob"\nnext:  signalbox calls --help\n',
  });
});

/** The words of a line as a shell would hand them over. */
function wordsOf(line: string): readonly string[] {
  return [...line.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, plain]) => quoted ?? plain ?? "");
}

test("every example is of a command that there is, with options that it takes", async () => {
  const { out } = await cli(["__complete", "--", ""]);
  expect(out).toContain("run\t");
  for (const [path, lines] of Object.entries(examples)) {
    const { code, out: help } = await cli([...path.split(" "), "--help"]);
    expect([path, code]).toEqual([path, 0]);
    for (const line of lines) {
      expect(help).toContain(`\n  ${line}\n`);
      const [first, ...words] = wordsOf(line.replace(/^source <\(|\)$| > .*$/g, ""));
      expect(first).toBe("signalbox");
      // Reads the line and stops at its end: `--help` is the last thing that commander looks at.
      const read = await cli([...words, "--help"]);
      expect([line, read.code, read.err]).toEqual([line, 0, ""]);
      for (const flag of words.filter((word) => word.startsWith("--"))) expect(read.out).toContain(flag);
    }
  }
});

test.each([
  [{ isTTY: true }, [], true],
  [{ isTTY: true }, ["--no-color"], false],
  [{ isTTY: true, env: { TERM: "dumb" } }, [], false],
  [{ isTTY: true, env: { NO_COLOR: "1" } }, [], false],
  [{ isTTY: true, env: { NO_COLOR: "" } }, [], true],
  [{ isTTY: true, env: { FORCE_COLOR: "0" } }, [], false],
  [{ isTTY: false }, [], false],
  [{ isTTY: false, env: { FORCE_COLOR: "1" } }, [], true],
  [{ isTTY: false, env: { FORCE_COLOR: "1", NO_COLOR: "1" } }, [], true],
  [{ isTTY: false, env: { FORCE_COLOR: "1" } }, ["--no-color"], false],
])("%j %j: colours are on: %s", async (around: { isTTY: boolean; env?: Record<string, string> }, flags, on) => {
  const { url } = await scriptedHttp({ "GET /v1/workers": [{ body: { items: [], next_cursor: null } }] });
  const env = { ...reaching(url).env, ...around.env };
  const { out } = await cli(["workers", "list", ...flags], { ...around, env });
  expect(out.includes("\u001b[1mWORKER")).toBe(on);
});

test("each shell gets a script of its own; another shell is refused", async () => {
  for (const [shell, first] of [
    ["bash", "# signalbox completion for bash"],
    ["zsh", "#compdef signalbox"],
    ["fish", "# signalbox completion for fish"],
  ] as const) {
    const { code, out } = await cli(["completion", shell]);
    expect([code, out.startsWith(first)]).toEqual([0, true]);
    expect(out).toContain(" __complete -- ");
  }
  expect((await cli(["completion", "tcsh"])).code).toBe(2);
});
