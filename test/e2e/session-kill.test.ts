// kill -9 of a runtime that drives a session, wherever the session stands: it goes on with the next start, and nothing is asked or run twice.
import { afterEach, expect, test } from "vitest";
import { deployAgent, scriptedProvider, sessionIn, startSession, wordsOf, type ScriptedProvider } from "../support/agent-run.ts";
import { finish } from "../support/finish.ts";
import { createGates, type Gates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

let folder: string;
let stack: Stack;
let gates: Gates;
let model: ScriptedProvider;
afterEach(async () => {
  await finish(stack);
  rmSync(folder, { recursive: true, force: true });
});

async function open(completions: readonly unknown[]): Promise<void> {
  folder = mkdtempSync(join(tmpdir(), "signalbox-kill-"));
  model = scriptedProvider(folder, completions);
  gates = createGates();
  stack = await startStack({ args: ["--models", model.file] });
  for (const tool of ["pay", "charge"]) await stack.register(workerTool(tool, "1.0.0", { side_effect_class: "irreversible_action", timeout: "2m" }));
  await stack.publish({ name: "charge", match: { tools: ["charge"] }, then: ask("finance") });
  await deployAgent(stack.admin, "teller", ["pay", "charge"]);
  const proxy = await stack.startProxy();
  const handlers = ["pay", "charge"].map((tool) => ({ tool, handler: gates.hold }));
  await stack.startWorker("w-till", handlers as never, { address: proxy.address, capacity: 16 });
}

async function restart(): Promise<void> {
  await stack.kill();
  await stack.start();
}

const at = (tool: string, gate: string, more = {}) => ({ tool, input: { gate, ...more } });

test("while the model answers, while a batch runs, while people are asked", async () => {
  await open([
    { calls: [at("pay", "one"), at("pay", "two")] },
    { text: "One more.", calls: [at("charge", "three")], delay_ms: 2_000 },
    { text: "Paid." },
  ]);
  const id = await startSession(stack.admin, "teller", "pay");
  await gates.entered("one");
  await gates.entered("two");
  await restart();
  gates.open("two", 2);
  gates.open("one", 1);
  // The model is asked for the second completion and takes its time: what it was about to say is lost.
  await expect.poll(() => model.asked(), slowly).toEqual([0, 1]);
  await restart();
  await sessionIn(stack.admin, id, "awaiting_approval", 30_000);
  expect(model.asked()).toEqual([0, 1, 1]);
  await restart();
  const fay = await stack.person("fay", "finance");
  const [approval] = (await stack.admin.get("/v1/approvals?status=pending")).body.items ?? [];
  expect((await fay.rest.decide(String(approval?.["approval_id"]), "approve")).status).toBe(200);
  await gates.entered("three");
  await restart();
  gates.open("three", 3);
  const ended = await sessionIn(stack.admin, id, "awaiting_input", 30_000);
  expect(ended).toMatchObject({ reply: "Paid.", turn: 1 });
  expect(model.asked()).toEqual([0, 1, 1, 2]);
  expect(gates.entries.map(({ args }) => (args as { readonly gate: string }).gate).toSorted()).toEqual(["one", "three", "two"]);
  const words = await wordsOf(stack.admin, id);
  expect(words.filter((word) => word.startsWith("tool."))).toEqual(["tool.started", "tool.started", "tool.completed", "tool.completed", "tool.started", "tool.completed"]);
  expect(words.filter((word) => word.endsWith("out of order"))).toEqual([]);
}, 90_000);

test("right after a cancel of the turn: the model is told of it, the turn ends, and what ran comes to its own end", async () => {
  await open([{ calls: [at("pay", "slow", { stubborn: true })] }, { text: "Next." }]);
  const id = await startSession(stack.admin, "teller", "pay");
  const { callId } = await gates.entered("slow");
  const cancelled = stack.admin.post(`/v1/sessions/${id}/cancel`, { scope: "turn", reason: "wrong" });
  expect((await cancelled).status).toBeLessThan(300);
  await restart();
  const ended = await sessionIn(stack.admin, id, "awaiting_input", 30_000);
  expect(ended).toMatchObject({ reason: { code: "cancelled" } });
  gates.open("slow", "paid all the same");
  expect((await stack.admin.until(callId, ["succeeded", "cancelled"], 30_000)).status).toBeDefined();
  expect((await stack.admin.post(`/v1/sessions/${id}/messages`, { text: "and now?", wait_ms: 10_000 })).body).toMatchObject({ status: "awaiting_input", reply: "Next." });
  expect(model.asked()).toEqual([0, 1]);
  expect(gates.entriesOf(callId)).toHaveLength(1);
  const words = await wordsOf(stack.admin, id);
  expect(words.filter((word) => word.startsWith("tool."))).toEqual(["tool.started", "tool.completed"]);
}, 60_000);

test("SIGTERM in the middle of the model's answer and of a batch: the next start goes on", async () => {
  await open([{ calls: [at("pay", "one")], delay_ms: 1_500 }, { text: "Paid." }]);
  const id = await startSession(stack.admin, "teller", "pay");
  await expect.poll(() => model.asked(), slowly).toEqual([0]);
  await stack.stop("SIGTERM");
  await stack.start();
  await gates.entered("one");
  const stopped = stack.stop("SIGTERM");
  gates.open("one", 1);
  await stopped;
  await stack.start();
  expect(await sessionIn(stack.admin, id, "awaiting_input", 30_000)).toMatchObject({ reply: "Paid." });
  expect(model.asked()).toEqual([0, 0, 1]);
  expect(gates.entries).toHaveLength(1);
}, 60_000);
