// The rows about how a call ended that a worker had: by the tool's own word, by its limits, or without a word.
import { ToolError } from "@signalbox/worker";
import { startScriptedWorker, type ScriptedWorker } from "../../support/scripted-worker.ts";
import type { ErrorCase, World } from "./case.ts";

const tool = { type: "tool", retryable: false, recorded: true } as const;
const routing = { type: "routing", recorded: true } as const;
const unsafe = { side_effect_class: "non_idempotent_write" };
const MiB = 1024 * 1024;

export const endCases: readonly ErrorCase[] = [
  {
    code: "timeout",
    when: "a tool runs longer than it may",
    ...tool,
    http: 504,
    grpc: 4,
    retryable: true,
    details: { stop_confirmed: true },
    async reach(world) {
      const name = await world.tool("slow", {}, world.gates.hold);
      return world.admin.invoke({ tool: name, input: { gate: name }, limits: { timeout_ms: 200 } });
    },
  },
  {
    code: "timeout",
    when: "a tool with effects runs longer than it may, and so must not be repeated",
    ...tool,
    http: 504,
    grpc: 4,
    details: { stop_confirmed: true, may_have_executed: true },
    async reach(world) {
      const name = await world.tool("slow.pay", unsafe, world.gates.hold);
      return world.admin.invoke({ tool: name, input: { gate: name }, limits: { timeout_ms: 200 } });
    },
  },
  {
    code: "resource_exceeded",
    when: "a result is one byte over 1 MiB",
    ...tool,
    http: 422,
    grpc: 8,
    details: { resource: "output", limit: 1_048_576 },
    async reach(world) {
      const name = await world.tool("talkative", {}, () => "x".repeat(MiB - 1));
      return world.admin.invoke({ tool: name, input: {} });
    },
  },
  {
    code: "tool_error",
    when: "the tool says no",
    ...tool,
    http: 422,
    grpc: 10,
    details: { tool_code: "out_of_stock" },
    async reach(world) {
      const name = await world.tool("shop", {}, () => {
        throw new ToolError("out_of_stock", "there are none left");
      });
      return world.admin.invoke({ tool: name, input: {} });
    },
  },
  {
    code: "invalid_output",
    when: "a result breaks the tool's own output schema",
    ...tool,
    http: 502,
    grpc: 13,
    details: { errors: [{ pointer: "/answer", keyword: "required" }] },
    async reach(world) {
      const spec = { output: { type: "object", required: ["answer"] } };
      const name = await world.tool("vague", spec, () => ({ maybe: true }));
      return world.admin.invoke({ tool: name, input: {} });
    },
  },
  {
    code: "worker_rejected",
    when: "a worker refuses the call",
    ...routing,
    http: 502,
    grpc: 2,
    retryable: false,
    details: { worker_code: "no_account" },
    async reach(world) {
      const name = await world.tool("picky");
      const worker = await scripted(world, name);
      const waiting = world.admin.invoke({ tool: name, input: {} });
      const { callId, fence } = await worker.next("invoke");
      worker.send({ type: "nack", callId, fence, reason: "reject", code: "no_account", message: "no such account" });
      const answer = await waiting;
      worker.hangUp();
      return answer;
    },
  },
  {
    code: "lease_expired",
    when: "a call that may be repeated is forgotten three times",
    ...routing,
    http: 502,
    grpc: 2,
    retryable: true,
    details: {},
    async reach(world) {
      const name = await world.tool("forgotten");
      const waiting = world.admin.invoke({ tool: name, input: {} });
      const worker = await scripted(world, name);
      for (let time = 0; time < 3; time++) await forget(worker);
      const answer = await waiting;
      worker.hangUp();
      return answer;
    },
  },
  {
    code: "indeterminate",
    when: "a worker forgets a call with effects, and nobody is to be asked about it",
    ...routing,
    http: 502,
    grpc: 2,
    retryable: false,
    details: { may_have_executed: true },
    async reach(world) {
      const name = await world.tool("forgotten.pay", { ...unsafe, on_indeterminate: "fail" });
      const waiting = world.admin.invoke({ tool: name, input: {} });
      const worker = await scripted(world, name);
      await forget(worker);
      const answer = await waiting;
      worker.hangUp();
      return answer;
    },
  },
];

function scripted({ stack }: World, tool: string): Promise<ScriptedWorker> {
  const { adminKey: key } = stack;
  return startScriptedWorker({ address: stack.grpc(), key, workerId: `w-${tool}`, tools: [tool] });
}

/** It begins the call, and then lives on without naming it: two heartbeats decide. */
async function forget(worker: ScriptedWorker): Promise<void> {
  const { callId, fence, needsGo } = await worker.next("invoke");
  worker.send({ type: "accepted", callId, fence });
  if (needsGo) await worker.next("go");
  worker.send({ type: "started", callId, fence });
  for (let beat = 0; beat < 2; beat++) {
    worker.send({ type: "heartbeat", load: 0, inFlight: [] });
    await worker.next("heartbeat_ack");
  }
}
