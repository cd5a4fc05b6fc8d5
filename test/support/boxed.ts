// Boxes for end-to-end tests: whether this host has them, a tool that runs any command in a small one, and the worker's process.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import type { TestContext } from "vitest";
import type { Probe } from "../../packages/runtime/src/sandbox/types.ts";
import { startNode } from "./processes.ts";
import type { Rest } from "./rest.ts";
import { signalboxBin, type Stack } from "./stack.ts";

/** In CI as root boxes must work; elsewhere a host that lacks something says so, and fails nothing. */
const mustWork = process.getuid?.() === 0 && process.env["CI"] !== undefined;
const readyMsMax = 15_000;

/** @returns why this host has no boxes of both kinds; undefined = it has */
export async function whyNoBoxes(): Promise<string | undefined> {
  const doctor = startNode([signalboxBin, "doctor", "--json"]);
  await doctor.ended;
  const { boxes } = JSON.parse(doctor.stdout()) as { readonly boxes: Readonly<Record<string, Probe>> };
  const reasons = Object.entries(boxes).flatMap(([name, probe]) => (probe.ok ? [] : [`${name}: ${probe.reason}`]));
  if (reasons.length === 0) return undefined;
  if (mustWork) throw new Error(`boxes must work here: ${reasons.join("; ")}`);
  return reasons.join("; ");
}

/** Skips with the reason, for people who read the report. */
export function needsBoxes(context: TestContext, reason: string | undefined): void {
  if (reason !== undefined) context.skip(`unavailable: ${reason}`);
}

async function boxesAreHere(rest: Rest): Promise<boolean> {
  const { status } = await rest.invoke({ tool: "code.run", input: { language: "javascript", code: "1" } });
  return status !== 503;
}

/** Until the sandbox worker is there (again). */
export async function untilBoxes(rest: Rest): Promise<void> {
  const giveUpAt = performance.now() + readyMsMax;
  while (!(await boxesAreHere(rest))) {
    if (performance.now() > giveUpAt) throw new Error(`no boxes within ${readyMsMax} ms`);
    await after(50);
  }
}

const program = `import json, os, sys
args = json.load(sys.stdin)["args"]
os.execv("/bin/sh", ["sh", "-c", args["command"]])
`;

export interface SmallTool {
  readonly sideEffectClass?: string;
  readonly timeout?: string;
  readonly limits?: Readonly<Record<string, string | number>>;
}

/** A tool whose command is its input; it writes its own result to file descriptor 3. Registered through the command line. */
export async function registerSmall(stack: Stack, name: string, more: SmallTool = {}): Promise<void> {
  const folder = join(stack.folder, name);
  mkdirSync(folder);
  writeFileSync(join(folder, "main.py"), program);
  const limits = {
    memory_bytes: "48Mi",
    disk_bytes: "4Mi",
    pids: 16,
    cpu_seconds: 10,
    output_bytes: "64Ki",
    ...more.limits,
  };
  const document = {
    apiVersion: "signalbox.dev/v1",
    kind: "Tool",
    metadata: { name, version: "1.0.0", owner: "tests", description: "runs a command" },
    spec: {
      executor: { type: "sandbox", runtime: "python", entry: "main.py" },
      side_effect_class: more.sideEffectClass ?? "read_only",
      timeout: more.timeout ?? "10s",
      grace: "1s",
      limits,
      input: { type: "object", required: ["command"], properties: { command: { type: "string" } } },
    },
  };
  writeFileSync(join(folder, "tool.yaml"), JSON.stringify(document));
  const { code, out, err } = await stack.cli(["tools", "register", folder]);
  if (code !== 0) throw new Error(`${name} was not registered: ${out}${err}`);
}

/** The sandbox worker that a dev runtime has started; undefined while there is none. */
export function workerOf(stack: Stack): number | undefined {
  return processes().find(({ parent, args }) => parent === stack.runtime.pid && args.includes("worker"))?.pid;
}

/** Processes of this host with that word among their arguments. */
export function withWord(word: string): readonly number[] {
  return processes().flatMap(({ pid, args }) => (args.includes(word) ? [pid] : []));
}

interface Running {
  readonly pid: number;
  readonly parent: number;
  readonly args: readonly string[];
}

function processes(): readonly Running[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "latin1");
      const parent = Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
      return [{ pid: Number(name), parent, args: readFileSync(`/proc/${name}/cmdline`, "latin1").split("\0") }];
    } catch {
      return [];
    }
  });
}
