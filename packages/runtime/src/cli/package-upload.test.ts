// `files put`, and a tool's folder on its way to the runtime: what is sent, how often, and what keeps it from being sent.
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Command } from "commander";
import { afterEach, beforeEach, expect, test } from "vitest";
import { scriptedHttp, type ScriptedAnswer } from "../../../../test/support/scripted-http.ts";
import { addFiles } from "./commands/files.ts";
import type { Io } from "./io.ts";
import { uploadPackage } from "./package-upload.ts";
import { runsWith, type OnlineSession, type Runs } from "./session.ts";

let at: string;
beforeEach(() => {
  at = mkdtempSync(join(tmpdir(), "upload-"));
});
afterEach(() => rmSync(at, { recursive: true, force: true }));

// From `printf hello | sha256sum` and `printf bye | sha256sum`.
const hello = "sha256:2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
const bye = "sha256:b49f425a7e1f9cff3856329ada223f2f9d368f15a00cf48df16ca95986137fe8";
const packed = `sha256:${"1".repeat(64)}`;

async function run(
  add: (program: Command, runs: Runs) => void,
  url: string,
  args: readonly string[],
): Promise<{ code: number; out: string; err: string }> {
  const text = { out: "", err: "" };
  const io: Io = {
    stdout: { write: (more) => (text.out += more) },
    stderr: { write: (more) => (text.err += more) },
    readStdin: async () => "",
    onStdinEnd: () => undefined,
    openConsole: async () => undefined,
    env: { SIGNALBOX_URL: url, SIGNALBOX_KEY: "sbk_1" },
    cwd: at,
    isTTY: false,
    errIsTTY: false,
    size: () => undefined,
    now: () => 0,
    newId: () => "1",
    onStop: () => () => undefined,
    exitNow: () => undefined,
    delays: { progressAfterMs: 60_000, lookFirstMs: 1, lookMsMax: 1, followMs: 1, completeMsMax: 1 },
    compose: async () => Promise.reject(new Error("nothing is composed")),
    boxes: async () => Promise.reject(new Error("there are no boxes")),
  };
  const result = { exitCode: 0 as const };
  const program = new Command("signalbox").exitOverride();
  add(program, runsWith(io, result));
  await program.parseAsync([...args], { from: "user" });
  return { code: result.exitCode, ...text };
}

const upload = (program: Command, runs: Runs): void =>
  runs.online(program.command("upload").argument("<folder>"), async (session: OnlineSession, [folder = ""]) => {
    session.print(await uploadPackage(session, join(at, folder)), () => "");
  });

const missing = (...refs: readonly string[]): ScriptedAnswer => ({
  status: 400,
  body: {
    error: { code: "invalid_input", message: "some have yet to be put", retryable: false, details: { missing: refs } },
  },
});
const done: ScriptedAnswer = { status: 201, body: { digest: packed, bytes: 13, already_there: false } };

function tool(): void {
  mkdirSync(join(at, "t"));
  writeFileSync(join(at, "t/a.txt"), "hello");
  writeFileSync(join(at, "t/b.txt"), "hello");
  writeFileSync(join(at, "t/run"), "bye", { mode: 0o755 });
  writeFileSync(join(at, "t/.env"), "SECRET=1");
}

test("files put prints the digests", async () => {
  const { url, seen } = await scriptedHttp({
    "PUT /v1/files": [{ body: { digest: hello, bytes: 5 } }, { body: { digest: bye, bytes: 3 } }],
  });
  writeFileSync(join(at, "a"), "hello");
  writeFileSync(join(at, "real"), "bye");
  symlinkSync("real", join(at, "link"));
  const { code, out } = await run(addFiles, url, ["files", "put", "a", "link", "--json"]);
  expect([code, JSON.parse(out)]).toEqual([
    0,
    {
      items: [
        { path: "a", digest: hello, bytes: 5 },
        { path: "link", digest: bye, bytes: 3 },
      ],
    },
  ]);
  expect(seen.map(({ body }) => body)).toEqual(["hello", "bye"]);
  expect((await run(addFiles, url, ["files", "put", "a"])).out).toMatch(/^DIGEST +BYTES +FILE\nsha256:\S+ +\d +a\n$/);
});

test.each(["none", "."])("files put %s says why it cannot be read, and sends nothing", async (path) => {
  const { url, seen } = await scriptedHttp({});
  const { code, err } = await run(addFiles, url, ["files", "put", path]);
  expect([code, err]).toEqual([
    2,
    expect.stringMatching(new RegExp(`^error: ${path.replace(".", "\\.")} cannot be read: `)),
  ]);
  expect(seen).toEqual([]);
});

test("a folder that the runtime has already is one request", async () => {
  const { url, seen } = await scriptedHttp({ "PUT /v1/packages": [done] });
  tool();
  const { out, err } = await run(upload, url, ["upload", "t"]);
  expect([out, err]).toEqual(["", "left out: .env\n"]);
  expect(seen.map(({ line }) => line)).toEqual(["PUT /v1/packages"]);
  expect(JSON.parse(seen[0]?.body ?? "")).toEqual({
    files: [
      { path: "a.txt", mode: "0644", ref: hello },
      { path: "b.txt", mode: "0644", ref: hello },
      { path: "run", mode: "0755", ref: bye },
    ],
  });
});

test("what it lacks is sent once, and then the list again", async () => {
  const { url, seen } = await scriptedHttp({
    "PUT /v1/packages": [missing(hello, bye), done],
    "PUT /v1/files": [{ body: { digest: hello, bytes: 5 } }, { body: { digest: bye, bytes: 3 } }],
  });
  tool();
  const { code, out } = await run(upload, url, ["upload", "t", "--json"]);
  expect([code, JSON.parse(out)]).toEqual([0, done.body]);
  expect(seen.map(({ line, body }) => (line.endsWith("files") ? body : line))).toEqual([
    "PUT /v1/packages",
    "hello",
    "bye",
    "PUT /v1/packages",
  ]);
});

test("a runtime that goes on missing the same is not asked for ever", async () => {
  const { url, seen } = await scriptedHttp({
    "PUT /v1/packages": [missing(bye)],
    "PUT /v1/files": [{ body: { digest: bye, bytes: 3 } }],
  });
  tool();
  const { code, err } = await run(upload, url, ["upload", "t"]);
  expect(code).not.toBe(0);
  expect(err).toContain("some have yet to be put (invalid_input)");
  expect(seen.filter(({ line }) => line === "PUT /v1/packages")).toHaveLength(3);
});

test("a file that changes meanwhile", async () => {
  const { url } = await scriptedHttp({
    "PUT /v1/packages": [missing(hello)],
    "PUT /v1/files": [{ body: { digest: bye, bytes: 3 } }],
  });
  tool();
  const { code, err } = await run(upload, url, ["upload", "t"]);
  expect([code, err]).toEqual([
    2,
    "left out: .env\nerror: a.txt changed while it was being sent\nnext:  run the same command again\n",
  ]);
});

test("a folder that cannot be packed is told with every reason, and nothing is sent", async () => {
  const { url, seen } = await scriptedHttp({});
  tool();
  symlinkSync("/etc/passwd", join(at, "t/x"));
  symlinkSync("/etc", join(at, "t/y"));
  const { code, err } = await run(upload, url, ["upload", "t"]);
  expect(code).toBe(2);
  expect(err).toContain(
    'cannot be packed:\n"x" is a link; put a copy of what it leads to in its place\n"y" is a link;',
  );
  expect(seen).toEqual([]);
});
