// A backup of a deployment on PostgreSQL: taken while it works, restored into another database, and served from there.
import { cpSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFleet, type Fleet, type FleetReplica } from "../support/fleet.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { noPostgres } from "../support/postgres.ts";
import { startNode, type Child } from "../support/processes.ts";
import { createRest, type Rest } from "../support/rest.ts";
import { signalboxBin, within } from "../support/stack.ts";
import { Worker } from "@signalbox/worker";

const readyMsMax = 20_000;
/** A lease, the sweep that looks for ended ones, and the machine's own pace. */
const leaseAndSweepMs = 30_000;

describe.skipIf(noPostgres !== undefined)(`a backup${noPostgres === undefined ? "" : ` (${noPostgres})`}`, () => {
  const gates = createGates();
  let fleet: Fleet;
  let a: FleetReplica;
  let child: Child | undefined;
  let worker: Worker | undefined;

  beforeAll(async () => {
    fleet = await startFleet({ replicas: 1, args: ["--drain", "1s"] });
    [a] = fleet.replicas as [FleetReplica];
    for (const [tool, side_effect_class] of [
      ["safe", "idempotent_write"],
      ["unsafe", "irreversible_action"],
    ] as const)
      await a.register(workerTool(tool, "1.0.0", { side_effect_class, timeout: "2m" }));
    const tools = ["safe", "unsafe"].map((tool) => ({ tool, handler: gates.hold }));
    await fleet.startWorker("w-before", tools as never, [a]);
  }, 60_000);
  afterAll(async () => {
    await worker?.close();
    await child?.kill();
    await fleet?.close();
  });

  async function serveRestored(dataDir: string): Promise<Rest> {
    const own = ["--port", "0", "--grpc-port", "0", "--boxes", "0", "--data", dataDir, "--replica", a.name, "--audit-key-file", join(fleet.folder, "audit.key")];
    child = startNode([signalboxBin, "serve", "--json", "--log", "json", ...own], { cwd: fleet.folder, env: { SIGNALBOX_LEDGER: fleet.postgres.url("restored") } });
    const { url, grpc } = JSON.parse(await within(readyMsMax, child.nextLine(), "the restored replica is ready")) as { url: string; grpc: string };
    worker = new Worker({ address: [grpc], key: fleet.adminKey, workerId: "w-after", signals: false, log: () => undefined, drainMs: 1_000 });
    for (const tool of ["safe", "unsafe"]) worker.tool(tool, { version: "1.0.0" }, gates.hold as never);
    worker.run().catch(() => undefined);
    return createRest(() => url, fleet.adminKey);
  }

  test("what was there is there, what ran goes on as after a crash, and what came later is not known", async () => {
    gates.open("done", "kept");
    const done = await a.admin.invoke({ tool: "safe", input: { gate: "done" }, idempotency_key: "done" });
    const running: (string | undefined)[] = [];
    for (const tool of ["safe", "unsafe"]) {
      const { body } = await a.admin.invoke({ tool, input: { gate: tool }, mode: "async" });
      running.push(body.execution_id);
      await gates.entered(tool);
      await a.admin.until(body.execution_id, ["running"]);
    }
    const [safe, unsafe] = running;

    // The folder first: its anchor may be older than the database, never newer.
    const dataDir = join(fleet.folder, "restored");
    cpSync(a.dataDir, dataDir, { recursive: true });
    const file = join(fleet.folder, "ledger.dump");
    await fleet.postgres.program("pg_dump", ["--format=custom", `--file=${file}`, fleet.ledgerUrl]);

    gates.open("later", "first time");
    const later = { tool: "safe", input: { gate: "later" }, idempotency_key: "later" };
    const lost = await a.admin.invoke(later);
    await a.kill();

    await fleet.postgres.run("CREATE DATABASE restored");
    await fleet.postgres.program("pg_restore", ["--exit-on-error", `--dbname=${fleet.postgres.url("restored")}`, file]);
    const rest = await serveRestored(dataDir);

    expect(await rest.call(done.body.execution_id)).toMatchObject({ status: "succeeded", output: "kept" });
    const again = await rest.invoke({ tool: "safe", input: { gate: "done" }, idempotency_key: "done" });
    expect(again.body.execution_id).toBe(done.body.execution_id);

    expect((await rest.call(lost.body.execution_id)).error?.code).toBe("execution_not_found");
    const anew = await rest.invoke(later);
    expect([anew.body.status, anew.body.execution_id === lost.body.execution_id]).toEqual(["succeeded", false]);

    gates.open("safe", "again");
    expect((await rest.until(unsafe, ["indeterminate"], leaseAndSweepMs)).status).toBe("indeterminate");
    expect((await rest.until(safe, ["succeeded"], leaseAndSweepMs)).execution?.attempt).toBe(2);
    expect(gates.entriesOf(unsafe)).toHaveLength(1);
    expect((await rest.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
  }, 120_000);
});
