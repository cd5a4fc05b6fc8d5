// Workers that die, freeze or fall silent, at the real lease time: the side-effect class decides, and late words are evidence.
//
// Every case waits for real time, most of them for the lease of 15 s, so they run side by side: at most five at once, the
// longest first.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest, Told } from "../support/rest.ts";
import { startScriptedWorker } from "../support/scripted-worker.ts";
import { startStack, type ChildWorker, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack;
let admin: Rest;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
});
afterAll(() => finish(stack, gates));

const caseMs = 75_000;
const safe = { side_effect_class: "idempotent_write" };
const unsafe = { side_effect_class: "non_idempotent_write" };

async function queued(tool: string, gate: string): Promise<string> {
  return (await admin.invoke({ tool, input: { gate }, mode: "async" })).body.execution_id ?? "";
}

/** Entered by this worker. */
function entry(worker: ChildWorker, gate: string): Promise<{ readonly fence: number; readonly attempt: number }> {
  return worker.said((message) => message.said === "entered" && message.gate === gate) as Promise<never>;
}

function resolve(
  id: string,
  body: Readonly<Record<string, unknown>>,
): Promise<{ readonly status: number; readonly body: Told }> {
  return admin.post(`/v1/executions/${id}/resolve`, body);
}

describe.concurrent("at the real lease time", () => {
  test(
    "worst thing 2: a tool that runs for longer than calls may be queued succeeds",
    async ({ expect: check }) => {
      await stack.register(workerTool("long", "1.0.0", { ...unsafe, timeout: "2m" }));
      await stack.startWorker("w-long", [{ tool: "long", handler: gates.hold }]);
      const waiting = admin.invoke({ tool: "long", input: { gate: "long" }, wait_ms: 60_000 });
      await gates.entered("long");
      await new Promise((resolved) => setTimeout(resolved, 31_000));
      gates.open("long", { patient: true });
      const { status, body } = await waiting;
      check([status, body.status, body.output]).toEqual([200, "succeeded", { patient: true }]);
      check((await admin.call(body.execution_id)).attempts).toHaveLength(1);
    },
    caseMs,
  );

  test(
    "a queue that nobody serves and one whose workers stay busy have different names, and nothing was sent",
    async ({ expect: check }) => {
      await stack.register(workerTool("served.by.nobody", "1.0.0", unsafe));
      await stack.register(workerTool("always.busy", "1.0.0", { ...unsafe, timeout: "2m" }));
      await stack.startWorker("w-busy", [{ tool: "always.busy", handler: gates.hold, maxConcurrency: 1 }]);
      const holder = await queued("always.busy", "busy");
      await gates.entered("busy");
      const ask = (tool: string) => admin.invoke({ tool, input: { gate: "never" }, wait_ms: 60_000 });
      const [nobody, busy] = await Promise.all([ask("served.by.nobody"), ask("always.busy")]);
      gates.open("busy");
      check([nobody.status, nobody.body.error?.code, nobody.body.error?.retryable]).toEqual([503, "no_handler", true]);
      check([busy.status, busy.body.error?.code, busy.body.error?.retryable]).toEqual([
        503,
        "capacity_exhausted",
        true,
      ]);
      for (const { body } of [nobody, busy]) {
        check(body.error?.details["may_have_executed"]).toBeUndefined();
        check((await admin.call(body.execution_id)).attempts).toEqual([]);
      }
      await admin.until(holder, ["succeeded"]);
    },
    caseMs,
  );

  test(
    "WRK-05, report 054: the worker of an unsafe call is killed; a person says that it did not happen, and it runs again",
    async ({ expect: check }) => {
      await stack.register(workerTool("killed.unsafe", "1.0.0", unsafe));
      const worker = await stack.startChildWorker({ workerId: "w-ku", tools: [{ tool: "killed.unsafe" }] });
      worker.open("ended");
      const ended = await admin.invoke({ tool: "killed.unsafe", input: { gate: "ended" } });
      const before = await admin.call(ended.body.execution_id);
      const id = await queued("killed.unsafe", "ku");
      await entry(worker, "ku");
      await worker.child.kill();
      const parked = await admin.until(id, ["indeterminate"], 30_000);
      check(parked.error).toMatchObject({
        code: "indeterminate",
        retryable: false,
        details: { may_have_executed: true, resolve: ["confirm", "retry", "fail"] },
      });
      check(parked.execution).toMatchObject({ routing_outcome: "indeterminate" });
      check(parked.attempts?.map(({ end_reason }) => end_reason)).toEqual(["indeterminate"]);
      // What had ended before stays as it ended.
      check([before.status, await admin.call(ended.body.execution_id)]).toEqual(["succeeded", before]);

      // Nothing happens to it by itself: a new worker gets it by a person's word only.
      const other = await stack.startChildWorker({ workerId: "w-ku-2", tools: [{ tool: "killed.unsafe" }] });
      check((await admin.call(id)).status).toBe("indeterminate");
      check((await admin.post(`/v1/executions/${id}/cancel`)).status).toBe(409);
      check((await resolve(id, { verdict: "retry", comment: "the bank says no" })).status).toBe(200);
      check(await entry(other, "ku")).toMatchObject({ attempt: 2, fence: 2 });
      other.open("ku");
      check(await admin.until(id, ["succeeded"])).toMatchObject({ output: { worker: "w-ku-2", attempt: 2 } });
      check((await resolve(id, { verdict: "fail" })).status).toBe(409);
    },
    caseMs,
  );

  test(
    "WRK-05: the worker of a safe call is killed; another one gets it by itself, and the sync caller its result",
    async ({ expect: check }) => {
      await stack.register(workerTool("killed.safe", "1.0.0", safe));
      const worker = await stack.startChildWorker({ workerId: "w-ks", tools: [{ tool: "killed.safe" }] });
      const waiting = admin.invoke({ tool: "killed.safe", input: { gate: "ks" }, wait_ms: 60_000 });
      await entry(worker, "ks");
      const other = await stack.startChildWorker({ workerId: "w-ks-2", tools: [{ tool: "killed.safe" }] });
      await worker.child.kill();
      check(await entry(other, "ks")).toMatchObject({ attempt: 2, fence: 2 });
      other.open("ks");
      const { status, body } = await waiting;
      check([status, body.status, body.output]).toMatchObject([200, "succeeded", { worker: "w-ks-2" }]);
      const record = await admin.call(body.execution_id);
      check(record.attempts?.map(({ end_reason }) => end_reason)).toEqual(["indeterminate", "succeeded"]);
    },
    caseMs,
  );

  test(
    "worst thing 3, report 045, WRK-06: a worker stopped past its lease comes back beside its own successor of the same name",
    async ({ expect: check }) => {
      await stack.register(workerTool("frozen.safe", "1.0.0", safe));
      // Its handler blocks the process, so that after SIGCONT its result comes before it hears that its lease is gone.
      const config = { workerId: "w-same-name", tools: [{ tool: "frozen.safe" }] };
      const old = await stack.startChildWorker({ ...config, blocking: true });
      const id = await queued("frozen.safe", "fs");
      check(await entry(old, "fs")).toMatchObject({ fence: 1 });
      old.child.signal("SIGSTOP");
      const next = await stack.startChildWorker(config);
      check(await entry(next, "fs")).toMatchObject({ attempt: 2, fence: 2 });
      writeFileSync(join(stack.folder, "open-fs"), "");
      old.child.signal("SIGCONT");
      await check
        .poll(async () => (await admin.call(id)).late_results, { timeout: 20_000 })
        .toMatchObject([{ fence: 1, status: "succeeded", output: { pid: old.child.pid } }]);
      // The live attempt is unharmed, and the only one that counts.
      check(["dispatched", "running"]).toContain((await admin.call(id)).status);
      next.open("fs");
      const end = await admin.until(id, ["succeeded"]);
      check(end.output).toMatchObject({ pid: next.child.pid, fence: 2 });
      check(end.attempts?.map(({ end_reason }) => end_reason)).toEqual(["lease_expired", "succeeded"]);
    },
    caseMs,
  );

  test(
    "worst thing 3, WRK-05, WRK-06: a stopped worker gets no new work after 10 s, its unsafe call parks after 15, its late result is evidence",
    async ({ expect: check }) => {
      await stack.register(workerTool("frozen.unsafe", "1.0.0", unsafe));
      const worker = await stack.startChildWorker({
        workerId: "w-fu",
        tools: [{ tool: "frozen.unsafe" }],
        blocking: true,
      });
      const id = await queued("frozen.unsafe", "fu");
      await entry(worker, "fu");
      worker.child.signal("SIGSTOP");
      await check.poll(() => stack.ready("w-fu"), { timeout: 20_000 }).toEqual([]);
      const second = await queued("frozen.unsafe", "fu-2");
      check((await admin.call(second)).status).toBe("queued");

      const parked = await admin.until(id, ["indeterminate"], 30_000);
      check(parked.execution).toMatchObject({ routing_outcome: "lease_expired" });
      writeFileSync(join(stack.folder, "open-fu"), "");
      writeFileSync(join(stack.folder, "open-fu-2"), "");
      worker.child.signal("SIGCONT");
      await check
        .poll(async () => (await admin.call(id)).late_results, { timeout: 20_000 })
        .toMatchObject([{ fence: 1, status: "succeeded", output: { worker: "w-fu" } }]);
      check((await admin.call(id)).status).toBe("indeterminate");
      // The late result is what the person is offered.
      const confirmed = await resolve(id, { verdict: "confirm" });
      check([confirmed.status, confirmed.body.status, confirmed.body.output]).toMatchObject([
        200,
        "succeeded",
        { worker: "w-fu", attempt: 1 },
      ]);
      // And the worker is one like any other again.
      check(await admin.until(second, ["succeeded"], 30_000)).toMatchObject({ output: { attempt: 1 } });
    },
    caseMs,
  );

  test(
    "report 055: a host that vanishes without a FIN is found within lease and sweep; the class decides",
    async ({ expect: check }) => {
      await stack.register(workerTool("gone.safe", "1.0.0", safe));
      await stack.register(workerTool("gone.unsafe", "1.0.0", { ...unsafe, on_indeterminate: "fail" }));
      const proxy = await stack.startProxy();
      const tools = [{ tool: "gone.safe" }, { tool: "gone.unsafe" }];
      const worker = await stack.startChildWorker({ workerId: "w-gone", tools, address: proxy.address });
      const [safeId, unsafeId] = [await queued("gone.safe", "gs"), await queued("gone.unsafe", "gu")];
      await entry(worker, "gs");
      await entry(worker, "gu");
      const other = await stack.startChildWorker({ workerId: "w-gone-2", tools });
      const frozenAt = performance.now();
      proxy.freeze();
      const end = await admin.until(unsafeId, ["failed"], 30_000);
      // Last heard of up to a heartbeat (5 s) before; then the lease (15 s) and the sweep (1 s), and slack for a slow machine.
      check(performance.now() - frozenAt).toBeLessThan(25_000);
      check(end.error).toMatchObject({ code: "indeterminate", retryable: false, details: { may_have_executed: true } });
      check(await entry(other, "gs")).toMatchObject({ attempt: 2 });
      other.open("gs");
      check(await admin.until(safeId, ["succeeded"])).toMatchObject({ output: { worker: "w-gone-2" } });
    },
    caseMs,
  );

  test(
    "reports 056 and 020, WRK-05: an offer that nobody accepts goes back in seconds, for every class, and was no attempt",
    async ({ expect: check }) => {
      const tools = ["to.silence", "to.oblivion", "to.nowhere"];
      for (const tool of tools) await stack.register(workerTool(tool, "1.0.0", unsafe));
      const options = { address: stack.grpc(), key: stack.adminKey };
      // One says nothing more, one goes on living without the call, one is gone. Their names come first in every choice.
      const silent = await startScriptedWorker({ ...options, workerId: "a-silent", tools: ["to.silence"] });
      const forgetful = await startScriptedWorker({ ...options, workerId: "a-forgetful", tools: ["to.oblivion"] });
      const gone = await startScriptedWorker({ ...options, workerId: "a-gone", tools: ["to.nowhere"] });
      const ids = await Promise.all(tools.map((tool) => queued(tool, tool)));
      for (const worker of [silent, forgetful, gone]) await worker.next("invoke");
      gone.hangUp();
      await stack.startWorker(
        "w-listens",
        tools.map((tool) => ({ tool, handler: gates.hold })),
      );
      const beats = setInterval(() => forgetful.send({ type: "heartbeat", load: 0, inFlight: [] }), 1_000);
      for (const tool of tools) gates.open(tool);
      try {
        for (const id of ids) {
          const record = await admin.until(id, ["succeeded", "failed", "indeterminate"], 30_000);
          check([record.tool, record.status, record.execution?.attempt]).toEqual([record.tool, "succeeded", 1]);
          check([record.tool, gates.entriesOf(id)]).toMatchObject([record.tool, [{ fence: 2, attempt: 1 }]]);
        }
      } finally {
        clearInterval(beats);
        silent.hangUp();
        forgetful.hangUp();
      }
    },
    caseMs,
  );
});

test("the four routing outcomes are counted apart", async () => {
  const { text } = await admin.get("/metrics");
  const counted = [...text.matchAll(/^routing_outcome_total\{outcome="(\w+)"\} [1-9]/gm)].map(([, outcome]) => outcome);
  expect(counted.toSorted()).toEqual(["capacity_exhausted", "indeterminate", "lease_expired", "no_handler"]);
});
