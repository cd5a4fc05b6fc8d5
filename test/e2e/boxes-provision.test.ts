// Sandbox workers of their own, some of which cannot make a box: another one is tried, and it costs no attempt.
import { join } from "node:path";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { needsBoxes, registerSmall, whyNoBoxes } from "../support/boxed.ts";
import { finish } from "../support/finish.ts";
import type { Child } from "../support/processes.ts";
import { startStack, within, type Stack } from "../support/stack.ts";

let missing: string | undefined;
beforeAll(async () => {
  missing = await whyNoBoxes();
});

/** Resolves once the runtime lists it. @param store of a worker that must fail: one in which no package is */
async function boxWorker(stack: Stack, workerId: string, store?: string): Promise<Child> {
  const more = store === undefined ? [] : ["--store", join(stack.folder, store)];
  const args = ["worker", "--data", stack.dataDir, "--worker-id", workerId, "--backends", "native", "--capacity", "2", "--json", ...more];
  const child = stack.startCli(args);
  const lost = child.ended.then(() => Promise.reject(new Error(`${workerId} ended: ${child.stderr()}`)));
  lost.catch(() => undefined);
  await within(15_000, Promise.race([stack.untilNew(workerId, [], stack.operator), lost]), `${workerId} is ready`);
  return child;
}

async function failures(stack: Stack): Promise<number> {
  const { text } = await stack.operator.get("/metrics");
  return Number(/^sandbox_provision_failures_total(?:\{[^}]*\})? (\d+)/m.exec(text)?.[1] ?? 0);
}

test(
  "WRK-08: what one worker cannot make a box for runs on another, a payment too, in its first attempt; where none can it is a 503",
  { timeout: 60_000 },
  async (context) => {
    needsBoxes(context, missing);
    const stack = await startStack();
    onTestFinished(() => finish(stack));
    await registerSmall(stack, "pay", { sideEffectClass: "non_idempotent_write" });
    const pay = { tool: "pay", input: { command: "echo '{\"paid\":true}' >&3" } };
    // Equal workers are taken in the order of their names.
    await boxWorker(stack, "box-a", "empty");
    const able = await boxWorker(stack, "box-b");
    const paid = (await stack.admin.invoke(pay)).body;
    expect([paid.status, paid.output, await failures(stack)]).toEqual(["succeeded", { paid: true }, 1]);
    const record = await stack.admin.call(paid.execution_id);
    expect(record.execution).toMatchObject({ attempt: 1, worker: "box-b" });
    expect(record.attempts?.map(({ attempt, end_reason }) => [attempt, end_reason])).toEqual([
      [1, "nack:box_not_provisioned"],
      [1, "succeeded"],
    ]);

    able.signal("SIGTERM");
    expect((await able.ended).code).toBe(0);
    await boxWorker(stack, "box-c", "empty-too");
    const { status, body } = await stack.admin.invoke(pay);
    expect([status, body.status, body.error]).toMatchObject([503, "failed", { code: "sandbox_unavailable" }]);
    expect(await failures(stack)).toBe(3);
    const refused = await stack.admin.call(body.execution_id);
    expect(refused.attempts?.map(({ attempt, worker, end_reason }) => [attempt, worker, end_reason])).toEqual([
      [1, "box-a", "nack:box_not_provisioned"],
      [1, "box-c", "nack:box_not_provisioned"],
    ]);
  },
);
