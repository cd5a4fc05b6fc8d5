// The demo as a person starts it: through the launcher, with the real runtime; its good end, its failures, and what it leaves behind.
import { spawn, type ChildProcess } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, expect, test } from "vitest";
import { demo } from "../../examples/demo/main.ts";
import type { Stage } from "../../examples/demo/stage.ts";

const repo = fileURLToPath(new URL("../..", import.meta.url));
/** On a quiet machine the whole story takes some 40 s, 15 s of them the lease of the lost workers. */
const wholeStoryMs = 180_000;
const shortStoryMs = 60_000;

let temp = "";
let running: ChildProcess[] = [];

beforeEach(() => {
  temp = mkdtempSync(join(tmpdir(), "demo-test-"));
  running = [];
});
afterEach(() => {
  for (const { pid, exitCode, signalCode } of running)
    if (pid !== undefined && exitCode === null && signalCode === null) process.kill(-pid, "SIGKILL");
  rmSync(temp, { recursive: true, force: true });
});

interface Played {
  readonly pid: number;
  readonly ended: Promise<{ readonly code: number | null; readonly out: string }>;
  /** Resolves once the demo has said this. */
  readonly said: (pattern: RegExp) => Promise<RegExpExecArray>;
}

/** `npm run demo -- …`, on the machine's own Node where the tests run on a brought one. */
function play(...args: string[]): Played {
  const launcher = join(repo, "packages/runtime/launch/launch.js");
  const node = process.env["SIGNALBOX_HOST_NODE"] ?? process.execPath;
  const child = spawn(node, [launcher, "node", "scripts/demo.js", ...args], {
    cwd: repo,
    env: { ...process.env, TMPDIR: temp, SIGNALBOX_URL: "http://127.0.0.1:9", SIGNALBOX_KEY: "someone-elses" },
    stdio: ["ignore", "pipe", "pipe"],
    detached: true, // a process group of its own, as under a terminal
  });
  running.push(child);
  let out = "";
  let onText = (): void => {};
  const collect = (text: string): void => {
    out += text;
    onText();
  };
  child.stdout.setEncoding("utf8").on("data", collect);
  child.stderr.setEncoding("utf8").on("data", collect);
  const ended = new Promise<{ code: number | null; out: string }>((resolve) =>
    child.once("close", (code) => resolve({ code, out })),
  );
  const said = (pattern: RegExp): Promise<RegExpExecArray> =>
    new Promise((resolve, reject) => {
      onText = () => {
        const found = pattern.exec(out);
        if (found !== null) resolve(found);
      };
      onText();
      void ended.then(() => reject(new Error(`the demo ended and never said ${pattern}:\n${out}`)));
    });
  return { pid: child.pid ?? 0, ended, said };
}

/** True while a process listens there. */
async function answers(url: string): Promise<boolean> {
  return fetch(`${url}/healthz`).then(
    () => true,
    () => false,
  );
}

test("the whole story holds, tells what happened, and leaves nothing behind", { timeout: wholeStoryMs }, async () => {
  const { code, out } = await play().ended;
  expect({ code, out }).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^The demo held: \d+ checks in [\d.]+ s\.$/m),
  });
  const inOrder = [
    '"ready":true',
    "files.summarize@1.0.0 is registered, active",
    "demo-worker-1 ready",
    '"rows": 200',
    "(tool_not_found)",
    "(invalid_input)",
    "(forbidden)",
    "is cancelled",
    "kill -KILL",
    "reports.build@1.0.0 succeeded",
    "payments.charge@1.0.0 indeterminate",
    "is succeeded",
    "12 passed",
    "payments-need-a-person@1.0.0 is published",
    "The call would be denied: Payments are made in euros only",
    "denied by payments-in-euros-only@1.0.0",
    "waits for people",
    '"amount": 1500',
    "approved with other arguments",
    "user:fay changed the arguments",
    "approved: 1 of 2",
    "One no is enough.",
    "this expired at",
    "dispatch of payments.charge is frozen",
    "dispatch of payments.charge goes on",
    "the chain holds",
    '"first_start":false',
    "the chain does not hold",
  ];
  // How wide a column is hangs on who else is in the list.
  const told = out.replaceAll(/ +/g, " ");
  let at = 0;
  for (const words of inOrder) {
    const found = told.indexOf(words, at);
    expect(found, `"${words}" after what stands before it in the list`).toBeGreaterThan(-1);
    at = found;
  }
  expect(out).not.toMatch(/sbk_/); // no secret is told
  expect(readdirSync(temp)).toEqual([]);
});

test(
  "--story plays one, --check tells it in a line per chapter, --keep leaves the folder",
  { timeout: shortStoryMs },
  async () => {
    const { code, out } = await play("--story", "call", "--check", "--keep").ended;
    expect(out).toMatch(/^ok {2}A call runs through \(\d+ checks, [\d.]+ s\)\nok {2}The same key again runs nothing /m);
    expect(out).not.toContain("$ signalbox");
    expect(code).toBe(0);
    const kept = /^kept: (.*)$/m.exec(out)?.[1] ?? "";
    expect(existsSync(join(kept, ".signalbox/ledger.db"))).toBe(true);
    expect(readFileSync(join(kept, "receipts.jsonl"), "utf8").trim().split("\n")).toHaveLength(2);
  },
);

test(
  "the story about rules and people holds, and a question outlives the runtime",
  { timeout: shortStoryMs },
  async () => {
    const { code, out } = await play("--story", "governed", "--check").ended;
    expect({ code, out }).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^ok {2}A question outlives the runtime \(4 checks, [\d.]+ s\)$/m),
    });
  },
);

test.each([
  ["SIGTERM", 143],
  ["SIGINT", 130],
] as const)(
  "%s in the middle ends the runtime and the worker and takes the folder away",
  { timeout: shortStoryMs },
  async (signal, exitCode) => {
    const { pid, said, ended } = play("--story", "cancel");
    const url = (await said(/"url":"(http:[^"]+)"/))[1] ?? "";
    await said(/the handler is at work/);
    expect(await answers(url)).toBe(true);
    // A service manager tells the launcher; a terminal tells every process of the group.
    process.kill(signal === "SIGTERM" ? pid : -pid, signal);
    const { code, out } = await ended;
    expect(out).toContain("interrupted; cleaning up");
    expect(code).toBe(exitCode);
    expect(await answers(url)).toBe(false);
    expect(readdirSync(temp)).toEqual([]);
  },
);

test(
  "a story that goes wrong ends with 1, says what was expected, and shows the runtime's log",
  { timeout: shortStoryMs },
  async () => {
    let told = "";
    let folder = "";
    const chapter = {
      title: "A wrong guess",
      play: async (stage: Stage) => {
        folder = stage.folder;
        const { status } = await stage.ask("GET", "/v1/executions/exec_00000000000000000000000000");
        stage.telling.check("such a call exists", status, 200);
      },
    };
    const story = { about: "a test", chapters: [chapter] };
    const write = (text: string): void => void (told += text);
    const options = { build: false, keep: false, terse: true, live: false, colours: false, write };
    expect(await demo({ ...options, story })).toBe(1);
    expect(told).toContain("✗ A wrong guess: not so: such a call exists\n  expected: 200\n  found:    404");
    expect(told).toMatch(/--- the end of runtime's log\n[^]*"code":"execution_not_found"/);
    expect(existsSync(folder)).toBe(false);
  },
);

test(
  "an unknown story and an unknown flag end with 2 and name the stories and the flags",
  { timeout: shortStoryMs },
  async () => {
    const unknown = await play("--story", "nope").ended;
    expect(unknown).toMatchObject({ code: 2, out: expect.stringMatching(/there is no story "nope"\nspine +one call/) });
    expect(await play("--nope").ended).toMatchObject({ code: 2, out: expect.stringContaining("--no-build") });
    const list = await play("--list").ended;
    expect(list.code).toBe(0);
    expect(list.out.split("\n").map((line) => line.split(" ")[0])).toEqual([
      "spine",
      "call",
      "refusals",
      "governed",
      "boxed",
      "agent",
      "cancel",
      "lost-worker",
      "restart",
      "audit",
      "",
    ]);
  },
);
