// Replicas that die, stand still or leave while calls run: what another one makes of their calls, and that nothing runs twice that must not.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { startFleet, type Fleet, type FleetReplica } from "../support/fleet.ts";
import { createGates, type Gates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { noPostgres } from "../support/postgres.ts";
import { startNode } from "../support/processes.ts";
import { fileURLToPath } from "node:url";
import type { WorkerChildConfig } from "../support/worker-child.ts";

const workerChildFile = fileURLToPath(new URL("../support/worker-child.ts", import.meta.url));
/** A lease, the sweep that looks for ended ones, and the machine's own pace. */
const leaseAndSweepMs = 22_000;

describe.skipIf(noPostgres !== undefined)(`replicas that go away${noPostgres === undefined ? "" : ` (${noPostgres})`}`, () => {
  let fleet: Fleet;
  let a: FleetReplica;
  let b: FleetReplica;
  let gates: Gates;

  beforeEach(async () => {
    gates = createGates();
    fleet = await startFleet({ args: ["--drain", "6s"] });
    [a, b] = fleet.replicas as [FleetReplica, FleetReplica];
    for (const [tool, side_effect_class] of [
      ["safe", "idempotent_write"],
      ["unsafe", "irreversible_action"],
    ] as const)
      await a.register(workerTool(tool, "1.0.0", { side_effect_class, timeout: "2m" }));
  }, 60_000);
  afterEach(async () => {
    await fleet.close();
  });

  const offer = (at: readonly FleetReplica[], workerId: string, capacity = 64) =>
    fleet.startWorker(workerId, [{ tool: "safe", handler: gates.hold }, { tool: "unsafe", handler: gates.hold }] as never, at, { capacity });

  test("kill -9 of the replica that a worker is at: the worker goes to the other one with what it holds, and nothing runs twice", async () => {
    await offer([a, b], "w-both");
    const ids: (string | undefined)[] = [];
    for (const tool of ["safe", "unsafe"]) {
      const { body } = await a.admin.invoke({ tool, input: { gate: tool }, mode: "async" });
      ids.push(body.execution_id);
      await gates.entered(tool);
    }
    const waiting = b.admin.invoke({ tool: "unsafe", input: { gate: "unsafe" }, idempotency_key: "k" });
    await a.kill();
    gates.open("safe", "done");
    gates.open("unsafe", "done");
    for (const id of ids) expect((await b.admin.until(id, ["succeeded"], leaseAndSweepMs)).output).toBe("done");
    expect((await waiting).body.status).toBe("succeeded");
    for (const id of ids) expect(gates.entriesOf(id)).toHaveLength(1);
    expect(ids.map((id) => gates.entriesOf(id)[0]?.fence)).toEqual([1, 1]);
  }, 60_000);

  test("replica and worker die together: within a lease and a sweep the safe call runs at the other replica, and the unsafe one waits for a person there", async () => {
    const config: WorkerChildConfig = { address: a.grpc(), key: fleet.adminKey, workerId: "w-dies", folder: fleet.folder, tools: [{ tool: "safe" }, { tool: "unsafe" }] };
    const child = startNode([workerChildFile, JSON.stringify(config)], { ipc: true });
    const safe = await b.admin.invoke({ tool: "safe", input: { gate: "together" }, mode: "async" });
    const unsafe = await b.admin.invoke({ tool: "unsafe", input: { gate: "together" }, mode: "async" });
    await a.admin.until(safe.body.execution_id, ["running"]);
    await a.admin.until(unsafe.body.execution_id, ["running"]);
    await Promise.all([a.kill(), child.kill()]);
    const began = Date.now();
    await offer([b], "w-b");
    gates.open("together", "again");
    const parked = await b.admin.until(unsafe.body.execution_id, ["indeterminate"], leaseAndSweepMs);
    const ended = await b.admin.until(safe.body.execution_id, ["succeeded"], leaseAndSweepMs);
    expect(Date.now() - began).toBeLessThan(leaseAndSweepMs);
    expect([parked.execution?.attempt, ended.execution?.attempt]).toEqual([1, 2]);
    const resolved = await b.admin.post(`/v1/executions/${unsafe.body.execution_id}/resolve`, { verdict: "fail", comment: "looked into it" });
    expect([resolved.status, resolved.body.status]).toEqual([200, "failed"]);
    expect(gates.entriesOf(unsafe.body.execution_id)).toHaveLength(0);
  }, 90_000);

  test("calls that wait are run by the replica that is left, in their order", async () => {
    await offer([a], "w-a", 1);
    const first = await a.admin.invoke({ tool: "safe", input: { gate: "first" }, mode: "async" });
    await gates.entered("first");
    const waiting: (string | undefined)[] = [];
    for (let n = 0; n < 5; n++) waiting.push((await (n % 2 === 0 ? a : b).admin.invoke({ tool: "safe", input: { gate: "rest" }, mode: "async" })).body.execution_id);
    await a.kill();
    gates.open("rest", "ran");
    gates.open("first", "ran");
    await offer([b], "w-b", 1);
    for (const id of waiting) await b.admin.until(id, ["succeeded"], leaseAndSweepMs);
    const order = gates.entries.map(({ callId }) => callId).filter((id) => id !== first.body.execution_id);
    expect(order).toEqual(waiting);
  }, 60_000);

  test("a replica that stood still while its calls were taken over changes nothing when it goes on", async () => {
    await offer([a, b], "w-both");
    const { body } = await b.admin.invoke({ tool: "unsafe", input: { gate: "frozen" }, mode: "async" });
    await gates.entered("frozen");
    const holder = (await a.admin.get("/v1/workers?limit=100")).body.items?.some((one) => one["worker_id"] === "w-both") === true ? a : b;
    const other = holder === a ? b : a;
    holder.process.signal("SIGSTOP");
    // The worker hears nothing any more, goes to the other one, and brings its call along.
    await expect.poll(async () => (await other.admin.get("/v1/workers?limit=100")).body.items?.some((one) => one["worker_id"] === "w-both"), { timeout: 40_000 }).toBe(true);
    gates.open("frozen", "once");
    expect((await other.admin.until(body.execution_id, ["succeeded", "indeterminate"], leaseAndSweepMs)).status).toBe("succeeded");
    holder.process.signal("SIGCONT");
    await expect.poll(async () => (await holder.admin.call(body.execution_id)).status, { timeout: 10_000 }).toBe("succeeded");
    expect(gates.entriesOf(body.execution_id)).toHaveLength(1);
  }, 90_000);

  test("a database that is away for longer than a lease: living workers keep their calls, what they finish is stored, and nobody is asked", async () => {
    await offer([a], "w-a");
    await offer([b], "w-b");
    const calls: { id: string | undefined; gate: string }[] = [];
    for (let n = 0; n < 8; n++) {
      const gate = n % 2 === 0 ? "meanwhile" : "afterwards";
      calls.push({ gate, id: (await a.admin.invoke({ tool: "unsafe", input: { gate }, mode: "async" })).body.execution_id });
    }
    await gates.entered("meanwhile", 4);
    await gates.entered("afterwards", 4);
    await fleet.postgres.stop();
    gates.open("meanwhile", "done meanwhile");
    // Longer than the lease, and than the time that a living replica is given beyond it.
    await new Promise((resolve) => setTimeout(resolve, 22_000));
    await fleet.postgres.start();
    // Some sweeps of either replica, which find every lease over.
    await new Promise((resolve) => setTimeout(resolve, 5_000));
    gates.open("afterwards", "done afterwards");
    for (const { id, gate } of calls) {
      const { status, output } = await b.admin.until(id, ["succeeded", "failed", "indeterminate"], leaseAndSweepMs);
      expect([status, output]).toEqual(["succeeded", `done ${gate}`]);
      expect(gates.entriesOf(id)).toHaveLength(1);
    }
  }, 90_000);

  test("SIGTERM of one replica: its calls go on, its workers go to the other, and nobody fails", async () => {
    await offer([a, b], "w-both");
    const running: (string | undefined)[] = [];
    for (let n = 0; n < 10; n++) running.push((await a.admin.invoke({ tool: n % 2 === 0 ? "safe" : "unsafe", input: { gate: "roll" }, mode: "async" })).body.execution_id);
    await gates.entered("roll", 10);
    const began = Date.now();
    const leaving = a.stop();
    await expect.poll(async () => (await b.admin.get("/v1/workers?limit=100")).body.items?.some((one) => one["worker_id"] === "w-both" && one["state"] === "ready"), { timeout: 40_000 }).toBe(true);
    const { body } = await b.admin.invoke({ tool: "safe", input: { gate: "roll" }, mode: "async" });
    gates.open("roll", "fine");
    for (const id of [...running, body.execution_id]) expect((await b.admin.until(id, ["succeeded"], leaseAndSweepMs)).output).toBe("fine");
    expect((await leaving).code).toBe(0);
    expect(Date.now() - began).toBeLessThan(40_000);
    for (const id of running) expect(gates.entriesOf(id)).toHaveLength(1);
  }, 90_000);
});
