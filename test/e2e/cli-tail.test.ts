// `signalbox calls tail` beside a real runtime: every end once, over a restart, and Ctrl-C leaves at once.
import type { ToolContext } from "@signalbox/worker";
import { ToolError } from "@signalbox/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { slowly, startStack, within, type Stack } from "../support/stack.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;
/** Where the command line finds the runtime, whichever runs. */
let proxy: TcpProxy;

beforeAll(async () => {
  stack = await startStack();
  for (const name of ["hold", "fast", "fails"]) await stack.register(workerTool(name));
  await connectWorker("w-tail-1");
  proxy = await startTcpProxy(new URL(stack.url()).host);
});
afterAll(async () => {
  await proxy.close();
  await finish(stack, gates);
});

async function connectWorker(workerId: string): Promise<void> {
  await stack.startWorker(workerId, [
    { tool: "hold", handler: gates.hold, maxConcurrency: 20 },
    { tool: "fast", handler: (args: unknown, ctx: ToolContext) => gates.note(args, ctx) },
    {
      tool: "fails",
      handler() {
        throw new ToolError("no_money", "the account is empty");
      },
    },
  ]);
}

interface Told {
  readonly execution_id: string;
  readonly status: string;
}

function startTail(...args: readonly string[]) {
  const where = { SIGNALBOX_URL: `http://${proxy.address}`, SIGNALBOX_KEY: stack.adminKey };
  const child = stack.startCli(["calls", "tail", "--interval", "100ms", ...args], where);
  const lines = (): readonly string[] => child.stdout().split("\n").slice(0, -1);
  return { child, lines, told: () => lines().map((line) => JSON.parse(line) as Told) };
}

test("every call and every end, once, while the runtime is killed and started again", async () => {
  const before = await stack.admin.invoke({ tool: "fast", input: {} });
  const tail = startTail("--json");
  await expect.poll(() => tail.told().map(({ execution_id: id }) => id), slowly).toEqual([before.body.execution_id]);

  const held = await Promise.all(
    [1, 2, 3].map(() => stack.admin.invoke({ tool: "hold", input: { gate: "tail" }, mode: "async" })),
  );
  const quick = await Promise.all(
    Array.from({ length: 40 }, (_, n) => stack.admin.invoke({ tool: n % 4 === 0 ? "fails" : "fast", input: { n } })),
  );
  const statusesOf = (id: string | undefined): readonly string[] =>
    tail.told().flatMap(({ execution_id: one, status }) => (one === id ? [status] : []));
  for (const { body } of held) await expect.poll(() => statusesOf(body.execution_id).length, slowly).toBe(1);

  await stack.kill();
  await expect.poll(() => tail.child.stderr(), slowly).toContain("trying again");
  await stack.start();
  proxy.aimAt(new URL(stack.url()).host);
  await connectWorker("w-tail-2");
  gates.open("tail");
  const later = await stack.admin.invoke({ tool: "fast", input: {} });
  for (const { body } of held)
    await expect.poll(() => statusesOf(body.execution_id).at(-1), { timeout: 60_000 }).toBe("succeeded");
  await expect.poll(() => statusesOf(later.body.execution_id), slowly).toEqual(["succeeded"]);

  const ended = ["succeeded", "failed"];
  for (const { body } of [...quick, ...held]) {
    const statuses = statusesOf(body.execution_id);
    expect(statuses.filter((status) => ended.includes(status))).toHaveLength(1);
    expect(ended).toContain(statuses.at(-1));
  }
  expect(statusesOf(before.body.execution_id)).toEqual(["succeeded"]);
  expect(tail.child.stderr().split("\n")).toHaveLength(2);
  expect(JSON.parse(tail.child.stderr())).toMatchObject({ warning: { code: "unreachable" } });
  tail.child.signal("SIGINT");
  expect((await within(5_000, tail.child.ended, "tail leaves at Ctrl-C")).code).toBe(0);
}, 90_000);

test("for people: a line for each, those asked for only", async () => {
  const tail = startTail("--lines", "0", "--status", "failed");
  // Nothing tells that it has begun but its first line.
  const failed: string[] = [];
  while (tail.lines().length === 0) {
    const { body } = await stack.admin.invoke({ tool: "fails", input: {} });
    await stack.admin.invoke({ tool: "fast", input: {} });
    failed.push(body.execution_id ?? "");
  }
  const [line = ""] = tail.lines();
  expect(failed.some((id) => line.includes(id))).toBe(true);
  expect(line).toMatch(
    /^\d{4}-[\dT:.-]+Z  failed {13}exec_\w{26}  fails@1\.0\.0  user:admin  \d+ ms  tool_error: the account is empty$/,
  );
  expect(tail.child.stdout()).not.toContain("\u001b");
  tail.child.signal("SIGINT");
  expect((await tail.child.ended).code).toBe(0);
  for (const one of tail.lines()) expect(one).toContain("failed");
});
