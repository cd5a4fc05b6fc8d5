// kill -9 of the runtime right before and right after every commit of a call's life, then a restart: each call ends as its class
// prescribes, is entered as often as it may be, and is one call for whoever asks again.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from "vitest";
import type { Death } from "../support/die-at-commit.ts";
import { finish } from "../support/finish.ts";
import { createGates, type GateArgs } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import type { Reply, Rest, Told } from "../support/rest.ts";
import { startScriptedWorker, type ScriptedWorker } from "../support/scripted-worker.ts";
import { startStack, within, type LocalWorker, type MadeKey, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const preload = fileURLToPath(new URL("../support/die-at-commit.ts", import.meta.url));
const deathMsMax = 15_000;
const settledMsMax = 20_000;
const moments = ["before", "after"] as const;
const classes = { safe: "idempotent_write", unsafe: "non_idempotent_write" } as const;
type Class = keyof typeof classes;
type When = Death["when"];

const gates = createGates();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;
let proxy: TcpProxy;
let deathFile = "";
/** Of the test at hand. */
let serving: LocalWorker[] = [];
vi.setConfig({ testTimeout: 60_000 });

beforeAll(async () => {
  const env: Record<string, string> = {};
  stack = await startStack({ nodeArgs: ["--import", preload], args: ["--queue-wait", "5m"], env });
  deathFile = join(stack.folder, "death.json");
  // It is read when the runtime starts anew.
  env["DIE_AT"] = deathFile;
  await stack.stop();
  await stack.start();
  admin = stack.admin;
  proxy = await stack.startProxy();
  fay = await stack.person("fay", "finance");
}, 60_000);
afterAll(() => finish(stack, { entries: gates.entries }));

afterEach(async () => {
  await Promise.all(serving.map((worker) => worker.close()));
  serving = [];
});

let count = 0;

/** A tool of its own for each case, so that nothing of one is met in another. */
async function newTool(of: Class, spec: Readonly<Record<string, unknown>> = {}): Promise<string> {
  count += 1;
  const tool = `case.n${count}`;
  await stack.register(workerTool(tool, "1.0.0", { side_effect_class: classes[of], timeout: "1m", ...spec }));
  return tool;
}

/** Through the proxy, so that it finds the runtime again; it lives through all that happens to the runtime. */
async function serve(tool: string): Promise<void> {
  serving.push(await stack.startWorker(`w-${tool}`, [{ tool, handler: gates.hold }], { address: proxy.address }));
}

interface Asking {
  readonly tool: string;
  /** Key and gate as well. */
  readonly name: string;
  readonly more?: Partial<GateArgs>;
}

const callFor = ({ tool, name, more = {} }: Asking): Promise<Reply> =>
  admin.invoke({ tool, input: { gate: name, ...more }, mode: "async" }, { "idempotency-key": name });

async function idOf(asking: Asking): Promise<string> {
  return (await callFor(asking)).body.execution_id ?? "";
}

/** The runtime dies at the transaction that holds these texts, which `deed` brings about; then it is started again. */
async function dieAt(when: When, holds: readonly string[], deed: () => unknown): Promise<void> {
  const { runtime } = stack;
  const death: Death = { when, holds };
  writeFileSync(deathFile, JSON.stringify(death));
  // Whoever asks while it dies gets no answer; what became of it is what the test looks for.
  Promise.resolve(deed()).catch(() => undefined);
  const end = await within(deathMsMax, runtime.ended, `the runtime dies ${when} the commit that holds ${holds.join(" and ")}`);
  expect(end.signal).toBe("SIGKILL");
  await stack.start();
}

const event = (type: string): string => `"type":"${type}"`;
const callsOf = async (tool: string): Promise<readonly unknown[]> => (await admin.get(`/v1/executions?tool=${tool}`)).body.items ?? [];
const attemptsOf = ({ attempts = [] }: Told): readonly unknown[] => attempts.map(({ attempt, end_reason }) => [attempt, end_reason]);

/** Asks again under the key, as every caller would; it is one call, whoever made it. */
async function askedAgain(when: When, asking: Asking, was: number): Promise<string> {
  expect(await callsOf(asking.tool)).toHaveLength(when === "before" ? was : was + 1);
  const id = await idOf(asking);
  expect(await callsOf(asking.tool)).toHaveLength(was + 1);
  return id;
}

describe.each(moments)("killed right %s the commit of", (when) => {
  test("an admission that waits for a worker: there or not there, and run once", async () => {
    const tool = await newTool("unsafe");
    const asking = { tool, name: `admission-${when}` };
    await dieAt(when, [event("queued"), asking.name], () => callFor(asking));
    const id = await askedAgain(when, asking, 0);
    gates.open(asking.name);
    await serve(tool);
    const end = await admin.until(id, ["succeeded"], settledMsMax);
    expect(attemptsOf(end)).toEqual([[1, "succeeded"]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test.each(["safe", "unsafe"] as const)("the dispatch of a call that is %s: no code has run, so it is given out again", async (of) => {
    const tool = await newTool(of);
    await serve(tool);
    const asking = { tool, name: `dispatch-${of}-${when}` };
    gates.open(asking.name);
    await dieAt(when, [event("dispatched"), asking.name], () => callFor(asking));
    const id = await askedAgain(when, asking, 0);
    const end = await admin.until(id, ["succeeded"], settledMsMax);
    // The worker comes back and knows nothing of it: that lease was no attempt.
    expect(attemptsOf(end)).toEqual(when === "before" ? [[1, "succeeded"]] : [[1, "not_received"], [1, "succeeded"]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test.each(["safe", "unsafe"] as const)("the start of a call that is %s: its worker keeps it", async (of) => {
    const tool = await newTool(of);
    await serve(tool);
    const asking = { tool, name: `started-${of}-${when}` };
    let id = "";
    await dieAt(when, [event("started"), `w-${tool}`], async () => (id = await idOf(asking)));
    expect(gates.entriesOf(id)).toHaveLength(1);
    gates.open(asking.name);
    expect(attemptsOf(await admin.until(id, ["succeeded"], settledMsMax))).toEqual([[1, "succeeded"]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test.each([
    ["safe", "succeeded"],
    ["unsafe", "succeeded"],
    ["unsafe", "failed"],
  ] as const)("the result of a call that is %s and has %s: its worker tells it until somebody has it", async (of, status) => {
    const tool = await newTool(of);
    await serve(tool);
    const asking = { tool, name: `result-${of}-${status}-${when}` };
    const id = await idOf(asking);
    await gates.entered(asking.name);
    await dieAt(when, [event(status), id], () => (status === "failed" ? gates.fail(asking.name, new Error("no")) : gates.open(asking.name, { paid: 1 })));
    const end = await admin.until(id, [status], settledMsMax);
    if (status === "succeeded") expect(end.output).toEqual({ paid: 1 });
    expect(attemptsOf(end)).toEqual([[1, status]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test("a question to people: asked, or not there and asked again; a yes runs it once", async () => {
    const tool = await newTool("unsafe");
    await stack.publish({ name: `ask-${tool}`, match: { tools: [tool] }, then: ask("finance") });
    await serve(tool);
    const asking = { tool, name: `asked-${when}` };
    gates.open(asking.name);
    await dieAt(when, [event("approval_requested"), asking.name], () => callFor(asking));
    const id = await askedAgain(when, asking, 0);
    const { approval_id, status } = await admin.call(id);
    expect(status).toBe("awaiting_approval");
    expect((await fay.rest.decide(String(approval_id), "approve")).status).toBe(200);
    expect(attemptsOf(await admin.until(id, ["succeeded"], settledMsMax))).toEqual([[1, "succeeded"]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test("a yes: it counts or it does not, and the call runs once", async () => {
    const tool = await newTool("unsafe");
    await stack.publish({ name: `ask-${tool}`, match: { tools: [tool] }, then: ask("finance") });
    await serve(tool);
    const name = `yes-${when}`;
    gates.open(name);
    const { id, approvalId } = await admin.park(tool, { gate: name });
    await dieAt(when, [event("approved"), id], () => fay.rest.decide(approvalId, "approve"));
    expect((await admin.approval(approvalId))["status"]).toBe(when === "before" ? "pending" : "approved");
    const again = await fay.rest.decide(approvalId, "approve");
    expect([again.status, again.body.said]).toEqual(when === "before" ? [200, "counted"] : [200, "stored_outcome"]);
    expect(attemptsOf(await admin.until(id, ["succeeded"], settledMsMax)).at(-1)).toEqual([1, "succeeded"]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test.each(["safe", "unsafe"] as const)("a cancel of a call that runs and is %s: forgotten, or told to its worker when that comes back", async (of) => {
    const tool = await newTool(of);
    await serve(tool);
    const asking = { tool, name: `cancel-${of}-${when}` };
    const id = await idOf(asking);
    await gates.entered(asking.name);
    await dieAt(when, [event("cancel_requested"), id], () => admin.post(`/v1/executions/${id}/cancel`));
    if (when === "before") {
      expect((await admin.call(id)).cancel_requested_at).toBeNull();
      expect((await admin.post(`/v1/executions/${id}/cancel`)).status).toBeLessThan(300);
    }
    expect(attemptsOf(await admin.until(id, ["cancelled"], settledMsMax))).toEqual([[1, "cancelled"]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test("a timeout: the call ends by it, once", async () => {
    const tool = await newTool("safe", { timeout: "500ms", grace: "100ms" });
    await serve(tool);
    const asking = { tool, name: `timeout-${when}` };
    const id = await idOf(asking);
    await dieAt(when, [event("timed_out"), id], () => undefined);
    expect(await admin.until(id, ["timed_out"], settledMsMax)).toMatchObject({ error: { code: "timeout" } });
    expect(gates.entriesOf(id)).toHaveLength(1);
  });
});

/** A worker that begins the call, and lives on without it once its start is stored: two heartbeats do not name it. */
interface Forgetful {
  readonly forget: () => void;
  /** The same process, on a new stream, and still without the call. */
  comeBack(): Promise<void>;
}

async function beginAndForget(tool: string, id: string): Promise<Forgetful> {
  const start = (): Promise<ScriptedWorker> => startScriptedWorker({ address: proxy.address, key: stack.adminKey, workerId: `f-${tool}`, tools: [tool] });
  const worker = await start();
  await worker.begin(id);
  await expect.poll(async () => (await admin.events(id)).map(({ type }) => type), { timeout: settledMsMax }).toContain("started");
  return {
    forget() {
      for (let beat = 0; beat < 2; beat++) worker.send({ type: "heartbeat", load: 0, inFlight: [] });
    },
    comeBack: async () => (await start()).hangUp(),
  };
}

describe.each(moments)("a worker has lost its call, and the runtime is killed right %s the commit of", (when) => {
  test("the second attempt of a call that is safe: it is made, once", async () => {
    const tool = await newTool("safe");
    const asking = { tool, name: `retried-${when}` };
    const id = await idOf(asking);
    const worker = await beginAndForget(tool, id);
    // Else the same worker would have it again before anybody could die.
    expect((await admin.post("/v1/freezes", { tool, reason: "a test" })).status).toBeLessThan(300);
    await dieAt(when, [event("retried"), id], worker.forget);
    if (when === "before") await worker.comeBack();
    expect(await admin.call(id)).toMatchObject({ status: "queued" });
    expect((await admin.post("/v1/freezes:lift", { tool })).status).toBeLessThan(300);
    gates.open(asking.name);
    await serve(tool);
    const end = await admin.until(id, ["succeeded"], settledMsMax);
    expect(attemptsOf(end)).toEqual([[1, "lease_expired"], [2, "succeeded"]]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });

  test("the park of a call that is unsafe: it parks, and runs again by a person's word only, which is lost or kept like all else", async () => {
    const tool = await newTool("unsafe");
    const asking = { tool, name: `parked-${when}` };
    const id = await idOf(asking);
    const worker = await beginAndForget(tool, id);
    await dieAt(when, [event("indeterminate"), id], worker.forget);
    if (when === "before") await worker.comeBack();
    const parked = await admin.until(id, ["indeterminate"], settledMsMax);
    expect(parked.execution).toMatchObject({ routing_outcome: "lease_expired" });
    gates.open(asking.name);
    await serve(tool);
    const resolve = (): Promise<Reply> => admin.post(`/v1/executions/${id}/resolve`, { verdict: "retry" });
    await dieAt(when, [event("resolved"), id], resolve);
    if (when === "before") {
      expect((await admin.call(id)).status).toBe("indeterminate");
      expect(gates.entriesOf(id)).toHaveLength(0);
      expect((await resolve()).status).toBe(200);
    }
    const end = await admin.until(id, ["succeeded"], settledMsMax);
    expect(attemptsOf(end).at(-1)).toEqual([2, "succeeded"]);
    expect(gates.entriesOf(id)).toHaveLength(1);
  });
});

describe("runtime and workers die together", () => {
  test("what waited waits, in its order and with its instants; of what was held the class decides when a lease is over", async () => {
    const tools = { safe: await newTool("safe"), unsafe: await newTool("unsafe"), late: await newTool("unsafe") };
    const held = await stack.startChildWorker({ workerId: "w-dies", tools: [{ tool: tools.safe }, { tool: tools.unsafe }], capacity: 3, address: proxy.address });
    const ids = { safe: await idOf({ tool: tools.safe, name: "dies-safe" }), unsafe: await idOf({ tool: tools.unsafe, name: "dies-unsafe" }) };
    for (const gate of ["dies-safe", "dies-unsafe"]) await held.said((message) => message.said === "entered" && message.gate === gate);
    // It takes one more and stops before it could accept it: nothing of that one can have run.
    held.child.signal("SIGSTOP");
    const offered = await idOf({ tool: tools.unsafe, name: "dies-offered" });
    await admin.until(offered, ["dispatched"], settledMsMax);
    const waiting: string[] = [];
    for (const name of ["first", "second", "third"]) waiting.push(await idOf({ tool: tools.late, name }));
    const expiring = (await admin.invoke({ tool: tools.late, input: { gate: "never" }, mode: "async", deadline_ms: 1_500 })).body.execution_id ?? "";
    const before = await Promise.all(waiting.map((id) => admin.call(id)));

    await Promise.all([stack.kill(), held.child.kill()]);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    await stack.start();
    expect(await Promise.all(waiting.map((id) => admin.call(id)))).toEqual(before);
    expect(await admin.until(expiring, ["timed_out"], 2_000)).toMatchObject({ attempts: [] });
    for (const id of [ids.safe, ids.unsafe, offered]) expect(["dispatched", "running"]).toContain((await admin.call(id)).status);

    await stack.startWorker("w-after", [tools.safe, tools.unsafe, tools.late].map((tool) => ({ tool, handler: gates.hold })), { address: proxy.address, capacity: 1 });
    for (const [at, gate] of ["first", "second", "third"].entries()) {
      expect((await gates.entered(gate)).callId).toBe(waiting[at]);
      gates.open(gate);
    }
    gates.open("dies-safe");
    gates.open("dies-unsafe");
    gates.open("dies-offered");
    expect(attemptsOf(await admin.until(ids.safe, ["succeeded"], 30_000))).toEqual([[1, "indeterminate"], [2, "succeeded"]]);
    expect(await admin.until(ids.unsafe, ["indeterminate"], 30_000)).toMatchObject({ execution: { routing_outcome: "indeterminate" } });
    // Whether it was accepted died with both: nobody knows, so nobody runs it.
    expect(await admin.until(offered, ["indeterminate"], 30_000)).toMatchObject({ execution: { routing_outcome: "indeterminate" } });
    expect([ids.safe, ids.unsafe, offered].map((id) => gates.entriesOf(id).length)).toEqual([1, 0, 0]);
  }, 90_000);
});
