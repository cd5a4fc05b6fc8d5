// Events of a tool through the whole product: a worker emits and dies, another one does the call again, and the session is told of each event once.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ToolContext } from "@signalbox/worker";
import { afterAll, beforeAll, expect, test } from "vitest";
import { workerTool } from "../support/manifests.ts";
import { startStack, type Stack } from "../support/stack.ts";

const folder = mkdtempSync(join(tmpdir(), "host-events-"));
let stack: Stack;

const agent = {
  apiVersion: "signalbox.dev/v1",
  kind: "Agent",
  metadata: { name: "emitter", version: "1.0.0", owner: "team", description: "Calls a tool that emits." },
  spec: { model: { provider: "scripted", name: "emitter" }, instructions: "Call it.", tools: [{ tool: "emits@1.0.0", as: "emits" }, { tool: "looks@1.0.0", as: "looks" }] },
};
const script = [{ calls: [{ tool: "emits", input: { gate: "first", emit: ["step.done", "never.declared"] } }] }, { calls: [{ tool: "looks", input: {} }] }, { text: "done" }];

beforeAll(async () => {
  writeFileSync(join(folder, "turns.yaml"), JSON.stringify({ scripts: { emitter: script } }));
  writeFileSync(join(folder, "models.yaml"), JSON.stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml" } } }));
  writeFileSync(join(folder, "agent.yaml"), JSON.stringify(agent));
  stack = await startStack({ args: ["--models", join(folder, "models.yaml")] });
  const anything = { input: { type: "object" }, side_effect_class: "read_only" };
  await stack.register(workerTool("emits", "1.0.0", { ...anything, events: ["step.done"] }));
  await stack.register(workerTool("looks", "1.0.0", { ...anything, context: ["projection"] }));
  const { code, err } = await stack.cli(["agents", "publish", join(folder, "agent.yaml"), "--deploy"]);
  if (code !== 0) throw new Error(err);
}, 60_000);

afterAll(async () => {
  await stack.close();
  stack.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** Until the runtime has heard what the call says. */
async function heard(callId: string, word: string): Promise<string> {
  const response = await fetch(`${stack.url()}/v1/executions/${encodeURIComponent(callId)}/stream`, { headers: { authorization: `Bearer ${stack.adminKey}` } });
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of response.body ?? []) {
    text += decoder.decode(chunk as Uint8Array, { stream: true });
    if (text.includes(word)) return text;
  }
  throw new Error(`the stream ended without ${word}: ${text}`);
}

test("a worker emits an event and dies; the attempt that is made again emits two, and the session hears of two", async () => {
  const dying = await stack.startChildWorker({ workerId: "w-dies", tools: [{ tool: "emits" }] });
  const { body } = await stack.admin.post("/v1/sessions", { agent: "emitter", message: "go" });
  const { session_id: id } = body as unknown as { readonly session_id: string };
  const entered = await dying.said(({ said }) => said === "entered");
  const said = await heard(entered.callId, "was dropped");
  expect(said).toContain('"data":{"type":"step.done","payload":{"attempt":1}}');
  expect(said).toContain(`an event of type \\"never.declared\\" was dropped: the tool's manifest does not declare it under spec.events`);

  let context = "";
  await stack.startWorker("w-lives", [
    {
      tool: "emits",
      handler: async (_args: never, ctx: ToolContext) => {
        ctx.emit("step.done", { attempt: ctx.attempt });
        ctx.emit("step.done", { second: ctx.attempt });
        return "emitted";
      },
    },
    {
      tool: "looks",
      handler: async (_args: never, ctx: ToolContext) => {
        context = ctx.invoke.contextJson;
        return "looked";
      },
    },
  ]);
  await dying.child.kill();
  // The lease of a worker that is gone runs out after 15 s.
  await expect.poll(async () => (await stack.admin.get(`/v1/sessions/${id}`)).body.status, { timeout: 45_000, interval: 200 }).toBe("awaiting_input");

  const { body: told } = await stack.admin.get(`/v1/sessions/${id}/events`);
  const { items } = told as unknown as { readonly items: readonly { readonly type: string; readonly data: Readonly<Record<string, unknown>> }[] };
  const hosted = items.filter(({ type }) => type === "host.event").map(({ data }) => data);
  expect(hosted).toEqual([
    { index: 0, execution_id: entered.callId, type: "step.done", ordinal: 1, payload: { attempt: 1 } },
    { index: 0, execution_id: entered.callId, type: "step.done", ordinal: 2, payload: { second: 2 } },
  ]);
  const { projection } = JSON.parse(context) as { readonly projection: { readonly cut: boolean; readonly items: readonly Readonly<Record<string, unknown>>[] } };
  expect(projection.cut).toBe(false);
  expect(projection.items.map(({ index, type, payload }) => [index, type, payload])).toEqual([
    [0, "user", undefined],
    [1, "assistant", undefined],
    [2, "event", { attempt: 1 }],
    [3, "event", { second: 2 }],
    [4, "result", undefined],
    [5, "assistant", undefined],
  ]);
}, 90_000);
