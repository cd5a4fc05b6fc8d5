// Built-in tools and boxes through REST and the command line: what runs, what is seen, what is not, and how a breach is told.
import { createClient } from "@signalbox/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { needsBoxes, registerSmall, untilBoxes, whyNoBoxes, withWord } from "../support/boxed.ts";
import { finish } from "../support/finish.ts";
import type { Rest } from "../support/rest.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

let stack: Stack;
let admin: Rest;
let missing: string | undefined;

beforeAll(async () => {
  stack = await startStack({ boxes: 8, args: ["--enable", "code.run,shell.run"] });
  admin = stack.admin;
  missing = await whyNoBoxes();
  if (missing === undefined) await untilBoxes(admin);
  await registerSmall(stack, "small");
  await registerSmall(stack, "brief", { timeout: "500ms" });
});
afterAll(() => finish(stack));

const runCode = (language: string, code: string, more: object = {}, files?: readonly object[]) =>
  admin.invoke({ tool: "code.run", input: { language, code, ...more }, ...(files === undefined ? {} : { files }) });
const shell = (command: string, more: object = {}) => admin.invoke({ tool: "shell.run", input: { command, ...more } });
const small = (command: string) => admin.invoke({ tool: "small", input: { command } });

describe("code.run", () => {
  test("JavaScript, in a guest", async (context) => {
    needsBoxes(context, missing);
    const { status, body } = await runCode("javascript", "console.log('hi'); input.n + 1", { input: { n: 41 } });
    expect([status, body.status, body.output]).toEqual([
      200,
      "succeeded",
      { result: 42, stdout: "hi\n", stderr: "", truncated: [] },
    ]);
    expect(body.execution).toMatchObject({ sandbox: "wasm" });
  });

  test("Python, in a process; digits stay, and the beginning of what was printed comes along", async (context) => {
    needsBoxes(context, missing);
    const code = "import sys\nprint('hi')\nprint('oh', file=sys.stderr)\n{'n': input['n'] + 1}";
    const { body } = await runCode("python", code, { input: { n: 41 } });
    expect([body.status, body.output]).toEqual([
      "succeeded",
      { result: { n: 42 }, stdout: "hi\n", stderr: "oh\n", truncated: [] },
    ]);
    expect(body.execution).toMatchObject({ sandbox: "native" });
    const long = await runCode("python", "print('x' * 40000)\n12345678901234567890");
    expect(long.text).toContain('"result":12345678901234567890');
    expect(long.body.output).toMatchObject({ stdout: "x".repeat(32_768), truncated: ["stdout"] });
  });

  test.for<[string, string, object, unknown]>([
    ["python", "async def main(given):\n  return [given]", { input: 5 }, [5]],
    ["python", "import sys\nsys.exit()", {}, null],
    ["python", "x = 1", {}, null],
    ["javascript", "async function main(given) { return [given] }", { input: 5 }, [5]],
    ["javascript", "return input", {}, null],
  ])("%s: %s", async ([language, code, more, result], context) => {
    needsBoxes(context, missing);
    expect((await runCode(language, code, more)).body.output).toMatchObject({ result });
  });

  test("SBX-08: of five MiB one is passed on, and the record says so; of a little all is", async (context) => {
    needsBoxes(context, missing);
    const flood = await runCode("python", "import os\nfor _ in range(5): os.write(1, b'x' * 1048576)\nos.write(2, b'y')\n7");
    expect(flood.body).toMatchObject({ status: "succeeded", output: { result: 7 } });
    expect(flood.body.execution?.["truncated"]).toEqual({ stdout: true });
    const { body } = await admin.get(`/v1/executions/${flood.body.execution_id}`);
    expect(body.execution?.["truncated"]).toEqual({ stdout: true });
    const quiet = await runCode("python", "print('x')\n7");
    expect(quiet.body.execution).toMatchObject({ truncated: {}, warm: expect.any(Boolean) as boolean });
  });

  test("what is wrong with the code is told, with its place", async (context) => {
    needsBoxes(context, missing);
    const python = await runCode("python", "def f():\n  return 1 / 0\nf()");
    expect(python.body.error).toMatchObject({
      code: "tool_error",
      details: { tool_code: "exited", tool_details: { exit_code: 1 } },
    });
    expect(python.text).toContain('File \\"code.py\\", line 2, in f');
    expect(python.text).not.toContain("main.py");
    const javascript = await runCode("javascript", "const f = () => nope;\nf()");
    expect(javascript.body.error).toMatchObject({ code: "tool_error" });
    expect(javascript.text).toContain("code.js:1");
    expect((await runCode("python", "{1, 2}")).text).toContain("not JSON serializable");
    expect((await runCode("cobol", "1")).status).toBe(400);
  });

  test("input files, for both languages", async (context) => {
    needsBoxes(context, missing);
    const files = [{ path: "in/a.txt", content: "grüße" }];
    expect((await runCode("javascript", "files.read('in/a.txt')", {}, files)).body.output).toMatchObject({
      result: "grüße",
    });
    expect((await runCode("python", "open('in/a.txt').read()", {}, files)).body.output).toMatchObject({
      result: "grüße",
    });
  });

  test("from the command line", async (context) => {
    needsBoxes(context, missing);
    const input = JSON.stringify({ language: "javascript", code: "6 * 7" });
    const { code, out } = await stack.cli(["run", "code.run", "--input", input]);
    expect([code, JSON.parse(out)]).toEqual([0, { result: 42, stdout: "", stderr: "", truncated: [] }]);
  });
});

describe("shell.run", () => {
  test("exit code and both streams; another exit code than 0 is a result", async (context) => {
    needsBoxes(context, missing);
    const { body } = await shell("cat; echo oh >&2; exit 3", { stdin: "in\n" });
    expect([body.status, body.output]).toEqual([
      "succeeded",
      { exit_code: 3, stdout: "in\n", stderr: "oh\n", truncated: [] },
    ]);
  });

  test("a signal counts from 128; the result is not the command's to write; what is left running is not waited for", async (context) => {
    needsBoxes(context, missing);
    expect((await shell("kill -9 $$")).body.output).toMatchObject({ exit_code: 137 });
    expect((await shell("echo forged >&3; true")).body.output).toMatchObject({ exit_code: 0, stdout: "" });
    const startedAt = performance.now();
    expect((await shell("sleep 60 & echo here")).body.output).toMatchObject({ exit_code: 0, stdout: "here\n" });
    expect(performance.now() - startedAt).toBeLessThan(5_000);
  });

  test("a long output is cut and flagged, and control characters fit", async (context) => {
    needsBoxes(context, missing);
    const { body } = await shell("head -c 200000 /dev/zero | tr '\\0' '\\001'; head -c 200000 /dev/zero >&2");
    expect(body.output).toEqual({
      exit_code: 0,
      stdout: "\u0001".repeat(65_536),
      stderr: "\0".repeat(65_536),
      truncated: ["stdout", "stderr"],
    });
  });

  test("its output streams while it runs", async (context) => {
    needsBoxes(context, missing);
    const client = createClient({ url: stack.url(), key: stack.adminKey });
    const { body } = await admin.invoke({
      tool: "shell.run",
      input: { command: "echo one; sleep 0.5; echo two" },
      mode: "async",
    });
    const seen: string[] = [];
    for await (const event of client.follow(body.execution_id ?? "")) {
      if (event.type !== "stdout") continue;
      // That it runs is written down without anybody waiting for it.
      const ended = !["dispatched", "running"].includes((await admin.call(body.execution_id)).status ?? "");
      seen.push(`${event.data.text.trim()}${ended ? ", at its end" : ""}`);
    }
    expect(seen[0]).toBe("one");
    expect(seen[1]).toMatch(/^two/);
  });
});

describe("a breach is told with its cause", () => {
  test.for<[string, string]>([
    [
      "memory",
      `exec python3 -c 'a = []
while True: a.append(bytearray(4 << 20))'`,
    ],
    ["pids", "bomb() { bomb | bomb & }; bomb; sleep 5"],
    ["output", "exec yes"],
    ["disk", "cat /dev/zero > big"],
  ])("%s", async ([resource, command], context) => {
    needsBoxes(context, missing);
    const { status, body } = await small(command);
    expect([status, body.error?.code, body.error?.details["resource"]]).toEqual([422, "resource_exceeded", resource]);
  });

  test("an endless loop is timed_out, and its stop is confirmed", async (context) => {
    needsBoxes(context, missing);
    const { status, body } = await admin.invoke({ tool: "brief", input: { command: "while :; do :; done" } });
    expect([status, body.status, body.error?.code, body.error?.details["stop_confirmed"]]).toEqual([
      504,
      "timed_out",
      "timeout",
      true,
    ]);
  });
});

describe("a call that is cancelled", () => {
  test("has its grace, and nothing of it is left", async (context) => {
    needsBoxes(context, missing);
    const client = createClient({ url: stack.url(), key: stack.adminKey });
    const marker = `6${process.pid}`;
    const command = `trap 'echo tidied; exit 0' TERM; (setsid sleep ${marker} &); echo up; while :; do sleep 0.05; done`;
    const { body } = await admin.invoke({ tool: "small", input: { command }, mode: "async" });
    const id = body.execution_id ?? "";
    let said = "";
    for await (const event of client.follow(id)) {
      if (event.type !== "stdout") continue;
      if (said === "") await admin.post(`/v1/executions/${id}/cancel`, {});
      said += event.data.text;
    }
    expect(said).toBe("up\ntidied\n");
    expect(await admin.call(id)).toMatchObject({ status: "cancelled", error: { details: { stop_confirmed: true } } });
    expect(withWord(marker)).toEqual([]);
  });
});

describe("a box shows nothing of the host", () => {
  test("no accounts, no environment, no network, no key files, and links lead nowhere", async (context) => {
    needsBoxes(context, missing);
    const probe = `
printf '{"accounts":%s,' "$(wc -l < /etc/passwd)"
ln -s ${stack.dataDir}/client.json key; ln -s /etc/shadow shadow
printf '"read":"%s",' "$(cat key shadow ../..${stack.dataDir}/client.json 2>/dev/null)"
printf '"env":"%s",' "$(env | cut -d= -f1 | sort | tr '\\n' ' ')"
python3 -c 'import socket, sys
for place in (("169.254.169.254", 80), ("127.0.0.1", int(sys.argv[1])), ("1.1.1.1", 53)):
  try:
    socket.create_connection(place, 2); print("reached", place)
  except OSError: pass' ${new URL(stack.url()).port} > reached
printf '"reached":"%s"}' "$(cat reached)"`;
    const { body } = await small(`{ ${probe}\n} >&3`);
    expect(body.output).toEqual({
      accounts: expect.any(Number) as number,
      read: "",
      env: "HOME LANG PATH PWD TMPDIR ",
      reached: "",
    });
    expect((body.output as { accounts: number }).accounts).toBeLessThanOrEqual(3);
  });

  test("nor of another tenant: its files cannot be named, and the store is not there", async (context) => {
    needsBoxes(context, missing);
    const put = await stack.operator.ask("PUT", "/v1/files", {
      body: "of the platform",
      headers: { "content-type": "application/octet-stream" },
    });
    const ref = String(put.body["digest"]);
    const files = [{ path: "theirs.txt", ref }];
    const foreign = await admin.invoke({ tool: "small", input: { command: "cat theirs.txt >&3" }, files });
    expect([foreign.status, foreign.body.error?.code]).toEqual([400, "invalid_input"]);
    const { body } = await small(
      `{ printf '"'; ls ${stack.dataDir} 2>/dev/null; find / -name '${ref.slice("sha256:".length)}' 2>/dev/null; printf '"'; } >&3`,
    );
    expect(body.output).toBe("");
  });

  test("and two at once see nothing of one another", async (context) => {
    needsBoxes(context, missing);
    const start = async (name: string, other: string) => {
      // In brackets, so that it does not find itself.
      const seen = `$(ls /workspace /tmp | tr '\\n' ' ')$(cat /proc/[0-9]*/cmdline | tr '\\0' ' ' | grep -c '[${other[0]}]${other.slice(1)}')`;
      const command = `echo > ${name}; i=0; while [ $((i=i+1)) -lt 15 ]; do sleep 0.1; done; printf '"%s"' "${seen}" >&3`;
      return (await admin.invoke({ tool: "small", input: { command }, mode: "async" })).body.execution_id;
    };
    const ids = [await start("amber", "birch"), await start("birch", "amber")];
    await expect
      .poll(async () => Promise.all(ids.map(async (id) => (await admin.call(id)).status)), slowly)
      .toEqual(["running", "running"]);
    const outputs = await Promise.all(ids.map(async (id) => (await admin.until(id, ["succeeded", "failed"])).output));
    expect(outputs).toEqual(["/tmp:  /workspace: amber 0", "/tmp:  /workspace: birch 0"]);
  });
});
