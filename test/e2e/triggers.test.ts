// Calls that nobody could take, or whose end nobody knows, where a rule wants people to be asked; at the real times, side by side.
import { afterAll, beforeAll, describe, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, type ChildWorker, type MadeKey, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;
let olga: MadeKey;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  olga = await stack.person("olga", "ops");
  const rule = (name: string, tools: string, triggers: readonly string[]) =>
    stack.publish({ name, match: { tools: [tools], triggers }, then: ask("ops") });
  await rule("nobody-there", "unserved.*", ["dispatch.no_handler"]);
  await rule("nobody-free", "crowded.*", ["dispatch.capacity_exhausted"]);
  await rule("lost", "lost.*", ["dispatch.lease_expired", "dispatch.indeterminate"]);
});
afterAll(() => finish(stack, gates));

const caseMs = 75_000;
/** The queue's wait, and slack for a slow machine. */
const queueMsMax = 45_000;

async function queued(tool: string, gate: string): Promise<string> {
  return (await admin.invoke({ tool, input: { gate }, mode: "async" })).body.execution_id ?? "";
}

function entry(worker: ChildWorker, gate: string): Promise<{ readonly fence: number; readonly attempt: number }> {
  return worker.said((message) => message.said === "entered" && message.gate === gate) as Promise<never>;
}

/** A worker that takes the call and dies with it. */
async function loseWith(tool: string, side_effect_class: string): Promise<string> {
  await stack.register(workerTool(tool, "1.0.0", { side_effect_class }));
  const worker = await stack.startChildWorker({ workerId: `w-${tool}`, tools: [{ tool }] });
  const id = await queued(tool, tool);
  await entry(worker, tool);
  await worker.child.kill();
  return id;
}

describe.concurrent("people are asked", () => {
  test(
    "F2: nobody serves the tool: within the queue's wait a person is asked; a yes queues it again, and it runs when somebody comes",
    async ({ expect: check }) => {
      await stack.register(workerTool("unserved.a"));
      const id = await queued("unserved.a", "f2");
      const parked = await admin.until(id, ["awaiting_approval", "failed"], queueMsMax);
      check(parked).toMatchObject({
        status: "awaiting_approval",
        attempts: [],
        execution: { routing_outcome: "no_handler" },
      });
      const approval = await admin.approval(parked.approval_id);
      check(approval).toMatchObject({
        status: "pending",
        kind: "call",
        execution_id: id,
        routes: [{ route: "ops", quorum: 1 }],
      });
      await stack.startWorker("w-unserved.a", [{ tool: "unserved.a", handler: gates.note }]);
      check((await admin.call(id)).status).toBe("awaiting_approval");
      check((await olga.rest.decide(String(approval.approval_id), "approve")).status).toBe(200);
      check((await admin.until(id, ["succeeded"])).attempts).toHaveLength(1);
    },
    caseMs,
  );

  test(
    "F2: … and a no ends it; who waited for it was told in the meantime that it waits for people",
    async ({ expect: check }) => {
      await stack.register(workerTool("unserved.b"));
      const waited = await admin.invoke({ tool: "unserved.b", input: { gate: "never" }, wait_ms: 60_000 });
      check([waited.status, waited.body.status]).toEqual([202, "awaiting_approval"]);
      await olga.rest.decide(String(waited.body.approval_id), "reject", { comment: "leave it" });
      check(await admin.call(waited.body.execution_id)).toMatchObject({
        status: "denied",
        error: { code: "approval_denied", details: { comment: "leave it" } },
      });
    },
    caseMs,
  );

  test(
    "F3: a version that nobody serves: the call of it fails, and the worker of the other version is never called",
    async ({ expect: check }) => {
      await stack.register(workerTool("versioned"));
      await stack.register(workerTool("versioned", "2.0.0"), "?activate=true");
      await stack.startWorker("w-versioned", [{ tool: "versioned", handler: gates.note }]);
      const unknown = await admin.invoke({ tool: "versioned", version: "9.9.9", input: {} });
      check([unknown.status, unknown.body.error?.code]).toEqual([404, "tool_not_found"]);
      const { status, body } = await admin.invoke({ tool: "versioned", input: {}, wait_ms: 60_000 });
      // No rule names this outcome for this tool, so nobody is asked.
      check([status, body.error?.code, body.approval_id]).toEqual([503, "no_handler", undefined]);
      check(gates.entries.filter(({ tool }) => tool === "versioned")).toEqual([]);
    },
    caseMs,
  );

  test(
    "the only slot stays taken: the outcome is another, and so is the rule that asks",
    async ({ expect: check }) => {
      await stack.register(workerTool("crowded.a", "1.0.0", { timeout: "2m" }));
      await stack.startWorker("w-crowded", [{ tool: "crowded.a", handler: gates.hold, maxConcurrency: 1 }]);
      const holder = await queued("crowded.a", "crowd");
      await gates.entered("crowd");
      const id = await queued("crowded.a", "next");
      const parked = await admin.until(id, ["awaiting_approval", "failed"], queueMsMax);
      check(parked).toMatchObject({
        status: "awaiting_approval",
        execution: { routing_outcome: "capacity_exhausted" },
      });
      gates.open("crowd");
      gates.open("next");
      await admin.until(holder, ["succeeded"]);
      await olga.rest.decide(String(parked.approval_id), "approve");
      check((await admin.until(id, ["succeeded"])).attempts).toHaveLength(1);
    },
    caseMs,
  );

  test(
    "F7: the worker of an unsafe call dies with it: a person is asked how it ended; nothing happens by itself",
    async ({ expect: check }) => {
      const classes = ["non_idempotent_write", "irreversible_action"];
      const all = await Promise.all(
        classes.flatMap((sideEffects) =>
          ["yes", "no", "out"].map((what) => loseWith(`lost.${sideEffects}.${what}`, sideEffects)),
        ),
      );
      const approvalOf = new Map<string, string>();
      for (const id of all) {
        const record = await admin.until(id, ["indeterminate"], queueMsMax);
        check(record.error?.details).toMatchObject({ may_have_executed: true });
        await check.poll(async () => (await admin.call(id)).approval_id, { timeout: 10_000 }).not.toBeNull();
        const { approval_id: approvalId } = await admin.call(id);
        check(await admin.approval(approvalId)).toMatchObject({ status: "pending", kind: "resolve", execution_id: id });
        approvalOf.set(id, String(approvalId));
      }
      for (const [at, sideEffects] of classes.entries()) {
        const [again = "", never = "", outside = ""] = all.slice(3 * at, 3 * at + 3);
        const tool = `lost.${sideEffects}.yes`;
        const next = await stack.startChildWorker({ workerId: `w-next-${sideEffects}`, tools: [{ tool }] });
        check((await admin.call(again)).status).toBe("indeterminate");
        // Yes: it did not happen, so it may run again. No: it is given up.
        check((await olga.rest.decide(approvalOf.get(again) ?? "", "approve")).status).toBe(200);
        check(await entry(next, tool)).toMatchObject({ attempt: 2, fence: 2 });
        next.open(tool);
        await admin.until(again, ["succeeded"]);
        check((await olga.rest.decide(approvalOf.get(never) ?? "", "reject")).status).toBe(200);
        check(await admin.call(never)).toMatchObject({ status: "failed", error: { code: "indeterminate" } });
        // An operator's own word ends the question too.
        const resolved = await admin.post(`/v1/executions/${outside}/resolve`, {
          verdict: "confirm",
          output: { found: "in the books" },
        });
        check([resolved.status, resolved.body.status]).toEqual([200, "succeeded"]);
        check(await admin.approval(approvalOf.get(outside))).toMatchObject({
          status: "cancelled",
          closed_by: "user:admin",
        });
      }
    },
    caseMs,
  );

  test(
    "F6: the worker of a safe call dies with it: nobody is asked, it runs again",
    async ({ expect: check }) => {
      const classes = ["read_only", "idempotent_write"];
      const ids = await Promise.all(classes.map((sideEffects) => loseWith(`lost.${sideEffects}`, sideEffects)));
      for (const [at, id] of ids.entries()) {
        const tool = `lost.${classes[at] ?? ""}`;
        const next = await stack.startChildWorker({ workerId: `w-next-${tool}`, tools: [{ tool }] });
        await entry(next, tool);
        next.open(tool);
        const record = await admin.until(id, ["succeeded"]);
        check(record.attempts?.map(({ end_reason }) => end_reason)).toEqual(["indeterminate", "succeeded"]);
        check((await admin.get(`/v1/approvals?execution_id=${id}`)).body.items).toEqual([]);
      }
    },
    caseMs,
  );
});
