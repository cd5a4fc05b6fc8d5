// An agent that asks another one, through the whole product: people approve below, and a runtime that is killed in between goes on with the very same session.
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ask } from "../support/governed.ts";
import { workerTool } from "../support/manifests.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";

const folder = mkdtempSync(join(tmpdir(), "child-sessions-"));
let stack: Stack;
const paid: number[] = [];

const scripts = {
  desk: [{ calls: [{ tool: "ask_specialist", input: { message: "Pay 1500 to Bob." } }] }, { text: "The specialist says: {{last_result}}" }],
  specialist: [{ calls: [{ tool: "pay", input: { amount: 1_500 } }] }, { text: "Paid, {{last_result}}" }],
  adviser: [{ calls: [{ tool: "ask_talker", input: { message: "What do you think?" } }] }, { text: "So be it." }],
  talker: [{ text: "I think nothing." }],
};

function agentOf(name: string, tools: readonly string[]): string {
  return JSON.stringify({
    apiVersion: "signalbox.dev/v1",
    kind: "Agent",
    metadata: { name, version: "1.0.0", owner: "team", description: `Is the ${name}.` },
    spec: { model: { provider: "scripted", name }, instructions: "Do it.", tools: tools.map((tool) => ({ tool: `${tool}@1.0.0`, as: tool.replace("-", "_") })) },
  });
}

const askTool = (agent: string) => ({
  apiVersion: "signalbox.dev/v1",
  kind: "Tool",
  metadata: { name: `ask-${agent}`, version: "1.0.0", owner: "team", description: `Asks the ${agent}.` },
  spec: { executor: { type: "agent", agent }, input: { type: "object", properties: { message: { type: "string" } }, required: ["message"], additionalProperties: false } },
});

async function publish(name: string, tools: readonly string[]): Promise<void> {
  const file = join(folder, `${name}.agent.yaml`);
  writeFileSync(file, agentOf(name, tools));
  const { code, err } = await stack.cli(["agents", "publish", file, "--deploy"]);
  if (code !== 0) throw new Error(err);
}

beforeAll(async () => {
  writeFileSync(join(folder, "turns.yaml"), JSON.stringify({ scripts }));
  writeFileSync(join(folder, "models.yaml"), JSON.stringify({ providers: { scripted: { type: "scripted", file: "turns.yaml" } } }));
  stack = await startStack({ args: ["--models", join(folder, "models.yaml")] });
  await stack.register(workerTool("pay", "1.0.0", { input: { type: "object" } }));
  await stack.publish({ name: "large", match: { tools: ["pay"] }, when: "args.amount > 1000.0", missing: "deny", then: ask("finance") });
  await publish("specialist", ["pay"]);
  await publish("talker", []);
  for (const agent of ["specialist", "talker"]) await stack.register(askTool(agent));
  await publish("desk", ["ask-specialist"]);
  await publish("adviser", ["ask-talker"]);
}, 60_000);

afterAll(async () => {
  await stack.close();
  stack.remove();
  rmSync(folder, { recursive: true, force: true });
});

interface Told {
  readonly session_id: string;
  readonly status: string;
  readonly reply: string | null;
  readonly parent_execution_id: string | null;
}

const look = async (id: string): Promise<Told> => (await stack.admin.get(`/v1/sessions/${id}`)).body as unknown as Told;
const listed = async (agent: string): Promise<readonly Told[]> => ((await stack.admin.get(`/v1/sessions?agent=${agent}`)).body as unknown as { readonly items: readonly Told[] }).items;
async function begin(agent: string): Promise<string> {
  const { status, body } = await stack.admin.post("/v1/sessions", { agent, message: "go" });
  if (status >= 300) throw new Error(JSON.stringify(body));
  return (body as unknown as Told).session_id;
}

test("J5: the agent below only talks, and its word is what its caller is told", async () => {
  const id = await begin("adviser");
  await expect.poll(() => look(id), slowly).toMatchObject({ status: "awaiting_input", reply: "So be it." });
  const [child, ...more] = await listed("talker");
  expect(more).toEqual([]);
  expect(await look(child?.session_id ?? "")).toMatchObject({ status: "completed", reply: "I think nothing.", parent_session_id: id });
});

test("J4: the payment below waits for a person; the runtime is killed meanwhile; approved, it is paid once, in the same session", async () => {
  const id = await begin("desk");
  await expect.poll(() => listed("specialist"), slowly).toMatchObject([{ status: "awaiting_approval" }]);
  const [child] = await listed("specialist");
  expect((await look(id)).status).toBe("awaiting_tool");
  await stack.kill();
  await stack.start();
  await stack.startWorker("w-pay", [
    {
      tool: "pay",
      handler: async ({ amount }: { readonly amount: number }) => {
        paid.push(amount);
        return { receipt: "r-1" };
      },
    },
  ]);
  const fay = await stack.person("fay", "finance");
  const { body } = await stack.admin.get("/v1/approvals?status=pending");
  const [approval] = (body as unknown as { readonly items: readonly { readonly approval_id: string }[] }).items;
  expect((await fay.rest.decide(approval?.approval_id ?? "", "approve")).status).toBe(200);
  await expect.poll(() => look(id), slowly).toMatchObject({ status: "awaiting_input", reply: expect.stringContaining("r-1") });
  expect(paid).toEqual([1_500]);
  expect((await listed("specialist")).map(({ session_id }) => session_id)).toEqual([child?.session_id]);
  const ended = await look(child?.session_id ?? "");
  expect(ended).toMatchObject({ status: "completed", reply: expect.stringContaining("r-1"), parent_session_id: id });
  const call = (await stack.admin.get(`/v1/executions/${encodeURIComponent(ended.parent_execution_id ?? "")}`)).body;
  expect(call).toMatchObject({ status: "succeeded", output: { session_id: child?.session_id, status: "completed" } });
}, 60_000);
