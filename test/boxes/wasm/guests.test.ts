// The wasm backend end to end, without a box around its guests: what they do by themselves. In boxes the kit asks it of them.
import { execFile, spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import type { Readable, Writable } from "node:stream";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeGuestFolder, nodeArgs } from "../../../packages/runtime/src/sandbox/backends/wasm/guest-folder.ts";
import { orderText, orderVariable, type GuestOrder } from "../../../packages/runtime/src/sandbox/guest/order.ts";
import { moduleCases, scriptCases, type GuestCase } from "./cases.ts";
import { Guests } from "./guests.ts";
import { plainSubject, type WasmSubject } from "./subject.ts";

const run = promisify(execFile);

const all: readonly GuestCase[] = [...moduleCases, ...scriptCases];

describe("without a box", () => {
  let subject: WasmSubject;
  let guests: Guests;
  beforeAll(() => {
    subject = plainSubject();
    guests = new Guests(subject.backend);
  });
  afterAll(async () => {
    await subject.close();
    guests.remove();
  });

  test("is of a lower rank, and says what is missing", async () => {
    expect(await subject.backend.probe()).toMatchObject({
      ok: true,
      rank: 20,
      limitsBy: expect.stringContaining("not held"),
    });
  });
  test.each(all.map((each) => [each.name, each] as const))("%s", async (_, each) => each.run(guests));
});

test("without a box and without a word of the operator's, nothing runs", async () => {
  const subject = plainSubject(false);
  const guests = new Guests(subject.backend);
  try {
    expect(await subject.backend.probe()).toEqual({
      ok: false,
      reason: "no native box can stand around a guest here: this host has no native boxes",
      remedy: null,
    });
    await expect(guests.code("1")).rejects.toThrow("this host has no native boxes");
  } finally {
    await subject.close();
    guests.remove();
  }
});

test("a process that serves one tool several times has a fresh instance each time, and ends with the first failure", async () => {
  const folder = makeGuestFolder();
  try {
    const order: GuestOrder = {
      guest: "js",
      entry: "code",
      packageRoot: null,
      workspaceRoot: folder.path,
      nonce: "n",
      env: {},
      memoryBytes: 16_777_216,
      timeoutMs: 5_000,
      resultBytes: 1_024,
      runs: 10,
    };
    const codes = [
      "globalThis.left = 1; Object.prototype.left = 2; 'a'",
      "typeof left",
      "throw new Error('no')",
      "'never'",
    ];
    const requests = codes.map((code) => `${JSON.stringify({ args: { code } })}\n`).join("");
    const child = spawn(process.execPath, [...nodeArgs([folder.path]), join(folder.path, folder.entry)], {
      env: { [orderVariable]: orderText(order) },
      stdio: ["pipe", "ignore", "ignore", "pipe", "pipe", "ignore", "ignore", "ignore", "pipe"],
    });
    const pipes: readonly unknown[] = child.stdio;
    const [input, answers, go] = [pipes[0] as Writable, pipes[3] as Readable, pipes[8] as Writable];
    const gone = new Promise((resolve) => child.once("exit", resolve));
    for (const pipe of child.stdio) pipe?.on("error", () => undefined);
    (pipes[4] as Readable).resume();
    go.end("\n");
    input.end(requests);
    expect(await text(answers)).toMatch(
      /^\{"reason":"done","resultText":"\\"a\\""\}\n\{"reason":"done","resultText":"\\"undefined\\""\}\n\{"reason":"failed","message":"Error: no.*\}\n$/,
    );
    expect(await gone).toBe(1);
  } finally {
    folder.remove();
  }
});

test("folders of guest programs whose workers are gone are removed", () => {
  const parent = mkdtempSync(join(tmpdir(), "signalbox-sweep-"));
  try {
    // No process has a number above the kernel's largest.
    for (const owner of [String(process.pid), "4194305"]) mkdirSync(join(parent, `signalbox-guest-${owner}-abcdef`));
    const folder = makeGuestFolder(parent);
    expect(readdirSync(parent).toSorted()).toEqual(
      [`signalbox-guest-${process.pid}-abcdef`, basename(folder.path)].toSorted((a, b) => (a < b ? -1 : 1)),
    );
    folder.remove();
    expect(readdirSync(parent)).toEqual([`signalbox-guest-${process.pid}-abcdef`]);
  } finally {
    rmSync(parent, { recursive: true, force: true });
  }
});

test("code that stood in the guest program's own realm would find its doors shut", async () => {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-doors-"));
  try {
    const doors = {
      eval: `eval("1")`,
      function: `new Function("return 1")()`,
      process: `(await import("node:child_process")).execFileSync("/bin/true")`,
      thread: `new (await import("node:worker_threads")).Worker("0", { eval: true })`,
      read: `(await import("node:fs")).readFileSync("/etc/hostname")`,
      write: `(await import("node:fs")).writeFileSync(${JSON.stringify(join(folder, "x"))}, "x")`,
    };
    const tries = Object.entries(doors).map(([name, code]) => `try { ${code}; open.push("${name}") } catch { }`);
    writeFileSync(join(folder, "doors.mjs"), `const open = []; ${tries.join("\n")}\nconsole.log(JSON.stringify(open))`);
    const { stdout } = await run(process.execPath, [...nodeArgs([folder]), join(folder, "doors.mjs")], { env: {} });
    expect(stdout).toBe("[]\n");
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
