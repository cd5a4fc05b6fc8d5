// Completion in real shells, with the names that a real runtime knows.
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { delimiter, dirname, join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, deny, workerTool } from "../support/manifests.ts";
import { signalboxBin, startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let env: NodeJS.ProcessEnv;
let running = "";
let ended = "";
let asked = "";
let approval = "";

beforeAll(async () => {
  stack = await startStack();
  for (const name of ["pay.charge", "pay.refund", "mail.send"]) await stack.register(workerTool(name));
  await stack.register(workerTool("pay.charge", "1.1.0"));
  await stack.publish({ name: "mail-is-asked", match: { tools: ["mail.send"] }, then: ask("office") });
  await stack.publish({ name: "no-refunds", match: { tools: ["pay.refund"] }, then: deny("no refunds") });
  await stack.startWorker("w-complete", [{ tool: "pay.charge", handler: gates.hold }]);
  const invoke = async (tool: string, mode: string, input: object) =>
    (await stack.admin.invoke({ tool, input, mode, version: "1.0.0" })).body;
  running = (await invoke("pay.charge", "async", { gate: "open" })).execution_id ?? "";
  ended = (await invoke("pay.refund", "sync", {})).execution_id ?? "";
  const parked = await invoke("mail.send", "async", {});
  [asked, approval] = [parked.execution_id ?? "", parked.approval_id ?? ""];
  const folder = join(stack.folder, "bin");
  mkdirSync(folder);
  symlinkSync(signalboxBin, join(folder, "signalbox"));
  const path = [folder, dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter);
  env = { ...process.env, PATH: path, SIGNALBOX_URL: stack.url(), SIGNALBOX_KEY: stack.adminKey };
  writeFileSync(join(stack.folder, "complete.bash"), (await stack.cli(["completion", "bash"])).out);
});
afterAll(async () => {
  // No call may be left waiting for people who never come.
  await stack.admin.post(`/v1/executions/${asked}/cancel`, {});
  gates.open("open");
  await finish(stack, gates);
});

const run = async (
  shell: string,
  args: readonly string[],
  more: NodeJS.ProcessEnv = {},
): Promise<readonly string[]> => {
  const { stdout, stderr } = await promisify(execFile)(shell, args, { cwd: stack.folder, env: { ...env, ...more } });
  expect(stderr).toBe("");
  return stdout.split("\n").filter((line) => line !== "");
};

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/** What bash offers for the line, cut into words as its readline does it. */
function bash(line: string, more?: NodeJS.ProcessEnv): Promise<readonly string[]> {
  const words = [...line.matchAll(/[:=@]|[^\s:=@]+/g)].map(([word]) => word);
  if (/[\s:=]$/.test(line)) words.push("");
  const script = [
    "source complete.bash",
    `COMP_LINE=${quoted(line)}`,
    "COMP_POINT=${#COMP_LINE}",
    `COMP_WORDS=(${words.map(quoted).join(" ")})`,
    `COMP_CWORD=${words.length - 1}`,
    "_signalbox",
    `printf '%s\\n' "\${COMPREPLY[@]}"`,
  ].join("\n");
  return run("bash", ["--norc", "-c", script], more);
}

describe("bash", () => {
  test("commands, options and choices", async () => {
    expect(await bash("signalbox va")).toEqual(["validate"]);
    expect(await bash("signalbox calls ")).toEqual(["list", "tail", "show", "events", "follow", "cancel", "resolve", "resolve-all", "replay"]);
    expect(await bash("signalbox calls resolve exec_1 --c")).toEqual(["--comment"]);
    expect(await bash("signalbox calls list --status que")).toEqual(["queued"]);
    expect(await bash("signalbox calls list --status=que")).toEqual(["queued"]);
    expect(await bash("signalbox policies explain payments.charge --pr")).toEqual(["--principal", "--project"]);
    expect(await bash("signalbox help calls re")).toEqual(["resolve", "resolve-all", "replay"]);
  });

  test("names of tools and their versions", async () => {
    expect(await bash("signalbox run pay.")).toEqual(["pay.charge", "pay.refund"]);
    expect(await bash("signalbox calls list --tool pay.r")).toEqual(["pay.refund"]);
    expect(await bash("signalbox calls list --tool=pay.r")).toEqual(["pay.refund"]);
    // Bash has cut the word at the @, and adds what it is given to that.
    expect((await bash("signalbox run pay.charge@")).toSorted()).toEqual(["@1.0.0", "@1.1.0"]);
    expect(await bash("signalbox run pay.charge@1.1")).toEqual(["1.1.0"]);
    expect((await bash("signalbox tools activate pay.charge ")).toSorted()).toEqual(["1.0.0", "1.1.0"]);
  });

  test("calls that can still be stopped, any call to look at, what waits for people, and policies", async () => {
    expect(await bash("signalbox calls cancel exec_")).toEqual(expect.arrayContaining([running]) as string[]);
    expect(await bash("signalbox calls cancel exec_")).not.toContain(ended);
    expect(await bash("signalbox calls show exec_")).toEqual(expect.arrayContaining([running, ended]) as string[]);
    expect(await bash("signalbox approvals approve ")).toEqual([approval]);
    expect((await bash("signalbox policies show ")).toSorted()).toEqual(["mail-is-asked", "no-refunds"]);
    expect(await bash("signalbox policies show no-refunds@")).toEqual(["@1.0.0"]);
  });

  test("files and folders of this machine", async () => {
    expect(await bash("signalbox dev --data b")).toEqual(["bin"]);
    expect(await bash("signalbox files put b")).toEqual(["bin"]);
  });

  test("without a runtime, and with a wrong key, commands are still completed, and nothing is said", async () => {
    const gone = { SIGNALBOX_URL: "http://127.0.0.1:9" };
    expect(await bash("signalbox run pay.", gone)).toEqual([]);
    expect(await bash("signalbox ca", gone)).toEqual(["calls"]);
    expect(await bash("signalbox run pay.", { SIGNALBOX_KEY: "wrong" })).toEqual([]);
  });
});

const inPath = (name: string): boolean =>
  (process.env["PATH"] ?? "").split(delimiter).some((folder) => existsSync(join(folder, name)));

describe("zsh", () => {
  test("the script takes the answers apart as zsh wants them", async ({ skip }) => {
    if (!inPath("zsh")) return skip("unavailable: zsh is not installed here");
    const script = [
      `_describe() { print -rl -- "\${(@P)3}"; }`,
      `_files() { print -r -- "files$1"; }`,
      "compdef() { : }",
      "source <(signalbox completion zsh)",
      "try() { words=($@ ''); CURRENT=$#words; _signalbox }",
      "try signalbox calls resolve x",
      "try signalbox approvals approve",
      "try signalbox dev --data",
    ].join("\n");
    expect(await run("zsh", ["-f", "-c", script])).toEqual([
      "confirm:",
      "retry:",
      "fail:",
      `${approval}:mail.send for user:admin, pending`,
      "files-/",
    ]);
  });
});

describe("fish", () => {
  test("commands, options and names with what they are", async ({ skip }) => {
    if (!inPath("fish")) return skip("unavailable: fish is not installed here");
    const complete = (line: string) =>
      run("fish", ["--no-config", "-c", `signalbox completion fish | source; complete -C ${quoted(line)}`], {
        HOME: stack.folder,
      });
    expect(await complete("signalbox completion ")).toEqual(["bash", "fish", "zsh"]);
    expect(await complete("signalbox calls resolve x --out")).toEqual([
      expect.stringMatching(/^--output\twith confirm: /) as string,
    ]);
    expect(await complete("signalbox run pay.")).toEqual([
      "pay.charge\tThe tool pay.charge of a test",
      "pay.refund\tThe tool pay.refund of a test",
    ]);
  });
});
