// Batches of an agent through the whole product: two real workers overlap, exclusive calls stand alone, and a cancel has one grace for all.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolContext } from "@signalbox/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerTool } from "../support/manifests.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const anything = { input: { type: "object" }, side_effect_class: "read_only" };
const folder = mkdtempSync(join(tmpdir(), "session-batch-"));
let stack: Stack;
const said: string[] = [];
const gates = new Map<string, () => void>();
/** Opened by whoever enters second. */
let meet = Promise.withResolvers<void>();
const inside = new Set<string>();
const aborted: string[] = [];

function agent(name: string, tools: readonly Readonly<Record<string, unknown>>[]): string {
  return JSON.stringify({
    apiVersion: "signalbox.dev/v1",
    kind: "Agent",
    metadata: { name, version: "1.0.0", owner: "team", description: "Calls several tools at once." },
    spec: { model: { provider: "scripted", name }, instructions: "Call them.", tools },
  });
}

const bound = (tool: string, more: Readonly<Record<string, unknown>> = {}) => ({ tool: `${tool}@1.0.0`, as: tool.replace(".", "_"), ...more });

beforeAll(async () => {
  writeFileSync(
    join(folder, "turns.yaml"),
    JSON.stringify({
      scripts: {
        overlap: [
          { calls: [{ tool: "slow_a", input: {} }, { tool: "slow_b", input: {} }, { tool: "slow_last", input: {} }] },
          { text: "all three" },
        ],
        stubborn: [{ calls: ["quick", "heedful", "deaf"].map((tool) => ({ tool: `stop_${tool}`, input: {} })) }, { text: "never" }],
      },
    }),
  );
  writeFileSync(join(folder, "models.yaml"), JSON.stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml" } } }));
  stack = await startStack({ args: ["--models", join(folder, "models.yaml")] });
  for (const tool of ["slow.a", "slow.b", "slow.last", "stop.quick", "stop.heedful", "stop.deaf"]) await stack.register(workerTool(tool, "1.0.0", anything));
  const agents = [
    agent("overlap", [bound("slow.a"), bound("slow.b"), bound("slow.last", { scheduling: "exclusive" })]),
    agent("stubborn", [bound("stop.quick"), bound("stop.heedful"), bound("stop.deaf")]),
  ];
  for (const [index, text] of agents.entries()) {
    const file = join(folder, `agent-${index}.yaml`);
    writeFileSync(file, text);
    const { code, err } = await stack.cli(["agents", "publish", file, "--deploy"]);
    if (code !== 0) throw new Error(err);
  }
  const slow = (name: string) => async () => {
    said.push(`${name} in`);
    inside.add(name);
    if (inside.size === 2) meet.resolve();
    await meet.promise;
    inside.delete(name);
    said.push(`${name} out`);
    return name;
  };
  const last = async () => {
    said.push(`last in, beside ${inside.size}`);
    return "last";
  };
  await stack.startWorker("w-a", [{ tool: "slow.a", handler: slow("a") }, { tool: "slow.last", handler: last }]);
  await stack.startWorker("w-b", [{ tool: "slow.b", handler: slow("b") }]);
  const until = (name: string, heeds: boolean) => async (_args: never, ctx: ToolContext) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gates.set(name, resolve);
    ctx.signal.addEventListener("abort", () => {
      aborted.push(name);
      if (heeds) resolve();
    });
    await promise;
    return name;
  };
  await stack.startWorker("w-stop", [
    { tool: "stop.quick", handler: async () => "quick" },
    { tool: "stop.heedful", handler: until("heedful", true) },
    { tool: "stop.deaf", handler: until("deaf", false) },
  ]);
}, 60_000);

afterAll(async () => {
  for (const open of gates.values()) open();
  await stack.close();
  stack.remove();
  rmSync(folder, { recursive: true, force: true });
});

interface Told {
  readonly session_id: string;
  readonly status: string;
  readonly reply: string | null;
  readonly reason: { readonly code: string } | null;
}

async function begin(name: string): Promise<string> {
  const { status, body } = await stack.admin.post("/v1/sessions", { agent: name, message: "go" });
  if (status >= 300) throw new Error(JSON.stringify(body));
  return (body as unknown as Told).session_id;
}
const look = async (id: string): Promise<Told> => (await stack.admin.get(`/v1/sessions/${id}`)).body as unknown as Told;

test("two calls of one batch run at once in two workers, the exclusive one after both, and the results stand in call order", async () => {
  meet = Promise.withResolvers<void>();
  const id = await begin("overlap");
  await expect.poll(() => look(id), slowly).toMatchObject({ status: "awaiting_input", reply: "all three" });
  // Neither left before both were in: one after the other would never have ended.
  expect(said.slice(0, 2).toSorted()).toEqual(["a in", "b in"]);
  expect(said.at(-1)).toBe("last in, beside 0");
  const { body } = await stack.admin.get(`/v1/sessions/${id}/timeline`);
  const calls = (body as unknown as { readonly calls: readonly { readonly tool: string; readonly output: unknown }[] }).calls;
  expect(calls.map(({ tool }) => tool)).toEqual(["slow.a", "slow.b", "slow.last"]);
});

test("a cancelled batch of three answers within its grace: the real result, the one that stopped, and a synthetic one; the row ends later", async () => {
  const id = await begin("stubborn");
  await expect.poll(() => gates.size, slowly).toBe(2);
  const asked = performance.now();
  await stack.admin.post(`/v1/sessions/${id}/cancel`, { scope: "turn" });
  await expect.poll(() => look(id), slowly).toMatchObject({ status: "awaiting_input", reason: { code: "cancelled" } });
  expect(performance.now() - asked).toBeLessThan(2_000);
  expect(aborted.toSorted()).toEqual(["deaf", "heedful"]);
  const events = (await stack.admin.get(`/v1/sessions/${id}/events`)).body as unknown as { readonly items: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[] };
  const completed = events.items.filter(({ type }) => type === "tool.completed").map(({ data }) => data);
  expect(completed.find(({ name }) => name === "stop_quick")).toMatchObject({ status: "succeeded", told: "row" });
  expect(completed.find(({ name }) => name === "stop_deaf")).toMatchObject({ status: "cancelled", told: "synthetic", text: "[Tool execution cancelled]\ntool call cancelled" });
  const deaf = completed.find(({ name }) => name === "stop_deaf")?.["execution_id"];
  gates.get("deaf")?.();
  await expect.poll(async () => (await stack.admin.get(`/v1/executions/${String(deaf)}`)).body, slowly).toMatchObject({ status: expect.stringMatching(/^(cancelled|succeeded)$/) });
});
