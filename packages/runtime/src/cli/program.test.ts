// The command line as a whole: usage, help, completion, and the errors that every command shares.
import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { cli, reaching, startCli } from "../../../../test/support/command-line.ts";
import { scriptedHttp } from "../../../../test/support/scripted-http.ts";

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

test("what the schema of a tool found is told line by line too", async () => {
  const details = { errors: [{ pointer: "/name", keyword: "required", message: "is required" }] };
  const body = { error: { code: "invalid_input", message: "no", retryable: false, details } };
  const { url } = await scriptedHttp({ "POST /v1/executions": [{ status: 400, body }] });
  expect((await cli(["run", "hello.greet"], reaching(url))).err).toContain("\n  /name: is required\n");
});

test("with --json an error is the API's own object on stdout", async () => {
  const body = `{"error":{"code":"forbidden","message":"no","details":{"n":12345678901234567890}}}`;
  const { url } = await scriptedHttp({ "GET /v1/keys": [{ status: 403, body }] });
  const { code, out } = await cli(["keys", "list", "--json"], reaching(url));
  expect(code).toBe(3);
  expect(out.replace(/\s/g, "")).toBe(body);
});

test("the key travels as a bearer token", async () => {
  const { url, seen } = await scriptedHttp({ "GET /v1/workers": [{ body: { items: [], next_cursor: null } }] });
  await cli(["workers", "list", "--url", url, "--key", "sbx_flag"]);
  expect(seen.map(({ authorization }) => authorization)).toEqual(["Bearer sbx_flag"]);
});

test("colours are for terminals, and NO_COLOR turns them off", async () => {
  const { url } = await scriptedHttp({ "GET /v1/workers": [{ body: { items: [], next_cursor: null } }] });
  const reached = reaching(url);
  const bold = "\u001b[1mWORKER";
  expect((await cli(["workers", "list"], { ...reached, isTTY: true })).out).toContain(bold);
  expect((await cli(["workers", "list"], reached)).out).not.toContain("\u001b");
  expect((await cli(["workers", "list"], { env: { ...reached.env, NO_COLOR: "1" }, isTTY: true })).out).not.toContain(
    "\u001b",
  );
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

async function complete(...words: readonly string[]): Promise<readonly string[]> {
  const { out } = await cli(["completion", "bash"]);
  const script = `${out}\nCOMP_WORDS=(signalbox ${words.map((word) => `'${word}'`).join(" ")}); COMP_CWORD=${words.length}; _signalbox; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout } = await promisify(execFile)("bash", ["--norc", "-c", script], { cwd: "/" });
  return stdout.split("\n").filter((line) => line !== "");
}

test("bash completes commands, sub-commands and flags", async () => {
  expect(await complete("va")).toEqual(["validate"]);
  expect(await complete("calls", "")).toEqual(["list", "show", "events", "follow", "cancel", "resolve", "--help"]);
  expect(await complete("calls", "resolve", "exec_1", "--c")).toEqual(["--comment"]);
  expect(await complete("run", "calls", "--idem")).toEqual(["--idempotency-key"]);
  expect(await complete("approvals", "")).toEqual(["list", "show", "approve", "reject", "--help"]);
  expect(await complete("policies", "explain", "payments.charge", "--pr")).toEqual(["--principal", "--project"]);
});

test("zsh and fish get scripts of their own; another shell is refused", async () => {
  expect((await cli(["completion", "zsh"])).out).toMatch(
    /^#compdef signalbox\nautoload -U \+X bashcompinit && bashcompinit\n/,
  );
  const { out } = await cli(["completion", "fish"]);
  expect(out).toContain(
    "complete -c signalbox -n '__fish_use_subcommand' -f -a run -d 'run a tool and print its output'\n",
  );
  expect(out).toContain(
    "complete -c signalbox -n '__fish_seen_subcommand_from calls; and __fish_seen_subcommand_from resolve' -l comment\n",
  );
  expect((await cli(["completion", "tcsh"])).code).toBe(2);
});
