// The rows of the error table that need a runtime of their own, at each door: a full queue, a runtime that stops, a full disk.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, onTestFinished, test } from "vitest";
import { doors } from "../support/doors.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { mountSmallDisk, noSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { startStack, type Stack } from "../support/stack.ts";
import { worldAt } from "./error-table/case.ts";
import { meet } from "./error-table/check.ts";
import { draining, fillQueue, ledgerUnavailable, queueFull } from "./error-table/extremes.ts";

let stack: Stack | undefined;
let disk: SmallDisk | undefined;

afterEach(async () => {
  try {
    await finish(stack);
  } finally {
    stack = undefined;
    disk?.unmount();
    disk = undefined;
  }
});

describe.each(doors)("at the door $name", (door) => {
  test("queue_full: of 1 000 calls that wait the last is taken, and one more is not", async () => {
    stack = await startStack();
    const world = worldAt(door, stack, createGates());
    await stack.register(workerTool("held.up"));
    await fillQueue(world.admin, 1);
    expect((await world.admin.invoke({ tool: "held.up", input: {}, mode: "async" })).status).toBe(202);
    await meet(world, queueFull);
    // No row is left of what was refused.
    expect((await world.admin.get("/v1/status")).body["calls"]).toEqual({ queued: 1_000 });
    // Those that were taken all run, once they may.
    await stack.startWorker("w-held-up", [{ tool: "held.up", handler: () => null }], { capacity: 100 });
    await world.admin.post("/v1/freezes:lift", { tool: "held.up" });
    await expect
      .poll(async () => (await world.admin.get("/v1/status")).body["calls"], { timeout: 30_000 })
      .toEqual({});
  }, 60_000);

  test("draining: a runtime that stops waits for what runs, and takes nothing new", async () => {
    const running = (stack = await startStack());
    const gates = createGates();
    const world = worldAt(door, running, gates);
    const tool = await world.tool("lasting", {}, gates.hold);
    const waiting = world.admin.invoke({ tool, input: { gate: "lasting" }, mode: "async" });
    await gates.entered("lasting");
    await waiting;
    running.runtime.signal("SIGTERM");
    await expect.poll(async () => (await running.admin.get("/readyz")).status).toBe(503);
    await meet(world, draining);
    gates.open("lasting");
    expect(await running.runtime.ended).toEqual({ code: 0, signal: null });
  });

  test("ledger_unavailable: on a full disk nothing is taken", async ({ skip }) => {
    const small = (disk = mountSmallDisk());
    if (small === undefined) return skip(noSmallDisk);
    const dataDir = join(small.path, "data");
    mkdirSync(dataDir);
    stack = await startStack({ dataDir });
    onTestFinished(() => small.empty());
    expect((await stack.admin.invoke({ tool: "echo", input: {} })).status).toBe(200);
    small.fill();
    await meet(worldAt(door, stack, createGates()), ledgerUnavailable);
    small.empty();
    await expect.poll(async () => (await stack?.admin.get("/readyz"))?.status, { timeout: 10_000 }).toBe(200);
  }, 60_000);
});
