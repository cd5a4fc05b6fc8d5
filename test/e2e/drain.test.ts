// Runtimes and workers that are told to leave: nothing fails, nothing runs twice, nothing is lost, and they leave in time.
import { createServer, type AddressInfo, type Server } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { slowly, startStack, type ChildWorker, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const drainMs = 3_000;
/** How much later than its drain's end a process may be gone, on a busy machine. */
const exitSlackMs = 6_000;
const gates = createGates();
let stack: Stack;
let admin: Rest;
let proxy: TcpProxy;
/** Two ways to the same runtime. */
let doors: readonly [TcpProxy, TcpProxy];

beforeAll(async () => {
  // Calls wait for longer than two starts of a runtime take here.
  stack = await startStack({ args: ["--drain", `${drainMs}ms`, "--queue-wait", "5m", "--allow-private-webhooks"] });
  admin = stack.admin;
  proxy = await stack.startProxy();
  for (const tool of ["many", "left", "moved"])
    await stack.register(workerTool(tool, "1.0.0", { side_effect_class: "non_idempotent_write", timeout: "2m" }));
  doors = [await stack.startProxy(), await stack.startProxy()];
  const address = doors.map((door) => door.address);
  await stack.startWorker("w-moved", [{ tool: "moved", handler: gates.hold }], { address });
});
afterAll(() => finish(stack, { entries: gates.entries }));

async function queued(tool: string, gate: string): Promise<string> {
  return (await admin.invoke({ tool, input: { gate }, mode: "async" })).body.execution_id ?? "";
}

function entries(worker: ChildWorker): readonly { readonly callId: string; readonly gate: string }[] {
  return worker.messages().filter(({ said }) => said === "entered");
}

test("reports 014 and 176, worst thing 7: SIGTERM with 50 running and 200 queued calls; half of the running outlive the drain", async () => {
  const worker = await stack.startChildWorker({ workerId: "w-many", tools: [{ tool: "many" }], capacity: 50, address: proxy.address });
  const ids: string[] = [];
  for (let call = 0; call < 250; call++) ids.push(await queued("many", call < 25 ? "early" : call < 50 ? "late" : "later"));
  await expect.poll(() => entries(worker).length, slowly).toBe(50);
  const following = await fetch(`${stack.url()}/v1/executions/${ids[49] ?? ""}/stream`, {
    headers: { authorization: `Bearer ${stack.adminKey}` },
  });

  const { runtime } = stack;
  const toldAt = performance.now();
  runtime.signal("SIGTERM");
  await expect.poll(async () => (await admin.get("/readyz")).status, slowly).toBe(503);
  const refused = await admin.invoke({ tool: "many", input: { gate: "never" } });
  expect([refused.status, refused.body.error?.code, refused.headers["retry-after"]]).toEqual([503, "draining", "1"]);
  worker.open("early");
  expect(await runtime.ended).toEqual({ code: 0, signal: null });
  expect(performance.now() - toldAt).toBeLessThan(drainMs + exitSlackMs);
  expect((await following.text()).endsWith(": the runtime leaves; come back with the last id\n\n")).toBe(true);
  // What was asked for meanwhile went to nobody.
  expect(entries(worker)).toHaveLength(50);

  await stack.start();
  for (const id of ids.slice(0, 25)) expect((await admin.call(id)).status).toBe("succeeded");
  worker.open("late");
  worker.open("later");
  for (const id of ids) {
    const record = await admin.until(id, ["succeeded", "failed", "indeterminate"], 30_000);
    expect([record.status, record.attempts?.map(({ end_reason }) => end_reason)]).toEqual(["succeeded", ["succeeded"]]);
  }
  const entered = entries(worker).map(({ callId }) => callId);
  expect(entered.toSorted()).toEqual(ids.toSorted());
  // They go out in their order; a worker of 50 slots enters some of them together.
  expect(new Set(entered.slice(0, 50))).toEqual(new Set(ids.slice(0, 50)));
  expect(entered.slice(50)).toEqual(ids.slice(50));
}, 90_000);

test("WRK-07: SIGTERM of a worker with three calls: it takes no new one, finishes the three, and leaves", async () => {
  const worker = await stack.startChildWorker({ workerId: "w-left", tools: [{ tool: "left" }], capacity: 4 });
  const ids = [await queued("left", "one"), await queued("left", "two"), await queued("left", "three")];
  await expect.poll(() => entries(worker).length, slowly).toBe(3);
  worker.child.signal("SIGTERM");
  await expect.poll(async () => (await admin.get("/v1/workers")).text, slowly).toContain('"state":"draining"');
  // A slot is free, and it is not given.
  const fourth = await queued("left", "four");
  for (const gate of ["one", "two"]) worker.open(gate);
  for (const id of ids.slice(0, 2)) await admin.until(id, ["succeeded"]);
  // That it runs is written without anybody waiting for it.
  await admin.until(ids[2], ["running"]);
  worker.open("three");
  expect(await worker.child.ended).toEqual({ code: 0, signal: null });
  for (const id of ids) expect((await admin.call(id)).attempts).toHaveLength(1);
  expect((await admin.call(fourth)).status).toBe("queued");

  const next = await stack.startChildWorker({ workerId: "w-left-2", tools: [{ tool: "left" }] });
  next.open("four");
  expect(await admin.until(fourth, ["succeeded"])).toMatchObject({ output: { worker: "w-left-2", attempt: 1 } });
  await next.child.kill();
});

test("a worker with two addresses goes to the other one within a second, with the call that it holds, and back again", async () => {
  const held = await queued("moved", "held");
  await gates.entered("held");
  // It is with one of the two, and nobody says with which: cutting both in turn cuts it off once at least.
  for (const [turn, door] of doors.entries()) {
    door.cut();
    const gate = `quick-${turn}`;
    gates.open(gate);
    const began = performance.now();
    const { status } = await admin.invoke({ tool: "moved", input: { gate } });
    expect(status).toBe(200);
    expect(performance.now() - began).toBeLessThan(1_000);
    door.mend();
  }
  gates.open("held", { still: "here" });
  expect(await admin.until(held, ["succeeded"])).toMatchObject({ output: { still: "here" } });
  expect((await admin.call(held)).attempts).toHaveLength(1);
  expect(gates.entriesOf(held)).toHaveLength(1);
});

test("report 177: a receiver of webhooks that never answers does not hold the exit back", async () => {
  const silent = createServer(() => undefined);
  await new Promise<void>((resolve) => silent.listen(0, "127.0.0.1", resolve));
  try {
    const { status } = await admin.post("/v1/webhooks", { url: `http://127.0.0.1:${portOf(silent)}/hook` });
    expect(status).toBe(201);
    await stack.register(workerTool("asked"));
    await stack.publish({ name: "ask", match: { tools: ["asked"] }, then: ask("finance") });
    const reached = new Promise((resolve) => silent.once("connection", resolve));
    const { id } = await admin.park("asked", {});
    await reached;
    const toldAt = performance.now();
    expect(await stack.stop()).toEqual({ code: 0, signal: null });
    expect(performance.now() - toldAt).toBeLessThan(exitSlackMs);
    await stack.start();
    // It is still asked about; nobody wants it any more.
    expect((await admin.call(id)).status).toBe("awaiting_approval");
    expect((await admin.post(`/v1/executions/${id}/cancel`)).status).toBe(200);
  } finally {
    silent.close();
  }
});

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}
