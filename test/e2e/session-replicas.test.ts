// Two replicas on one PostgreSQL: any of them answers for a session, and when the one that drives it dies the other goes on with it.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { deployAgent, scriptedProvider, sessionIn, startSession, wordsOf, type ScriptedProvider } from "../support/agent-run.ts";
import { startFleet, type Fleet, type FleetReplica } from "../support/fleet.ts";
import { createGates, type Gates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { noPostgres } from "../support/postgres.ts";
import { slowly } from "../support/stack.ts";

/** A session's lease, the sweep that looks for ended ones, and the machine's own pace. */
const leaseAndSweepMs = 25_000;

describe.skipIf(noPostgres !== undefined)(`sessions of two replicas${noPostgres === undefined ? "" : ` (${noPostgres})`}`, () => {
  let folder: string;
  let fleet: Fleet;
  let a: FleetReplica;
  let b: FleetReplica;
  let gates: Gates;
  let model: ScriptedProvider;

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), "signalbox-sessions-"));
    model = scriptedProvider(folder, [
      { calls: [{ tool: "pay", input: { gate: "one" } }, { tool: "pay", input: { gate: "two" } }] },
      { text: "Wait.", calls: [{ tool: "pay", input: { gate: "three" } }], delay_ms: 3_000 },
      { text: "Paid." },
      { text: "Heard." },
    ]);
    gates = createGates();
    fleet = await startFleet({ args: ["--models", model.file, "--drain", "6s"] });
    [a, b] = fleet.replicas as [FleetReplica, FleetReplica];
    await a.register(workerTool("pay", "1.0.0", { side_effect_class: "irreversible_action", timeout: "2m" }));
    await deployAgent(a.admin, "teller", ["pay"]);
    await fleet.startWorker("w-till", [{ tool: "pay", handler: gates.hold }] as never, [a, b], { capacity: 16 });
  }, 60_000);
  afterEach(async () => {
    await fleet.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test("the driver dies while a batch runs, and its heir while the model answers: nothing recorded is asked again, nothing runs twice", async () => {
    const id = await startSession(a.admin, "teller", "pay");
    await gates.entered("one");
    await gates.entered("two");
    // The other one answers for it as well.
    expect((await b.admin.get(`/v1/sessions/${id}`)).body).toMatchObject({ session_id: id, status: "awaiting_tool" });
    expect((await b.admin.post(`/v1/sessions/${id}/messages`, { text: "in euros" })).status).toBe(202);
    await a.kill();
    gates.open("two", 2);
    gates.open("one", 1);
    await expect.poll(() => model.asked(), { timeout: leaseAndSweepMs }).toEqual([0, 1]);
    await b.kill();
    await a.start();
    await gates.entered("three");
    await b.start();
    gates.open("three", 3);
    const ended = await sessionIn(b.admin, id, "awaiting_input", leaseAndSweepMs);
    expect(ended).toMatchObject({ reply: "Paid.", turn: 1 });
    expect(model.asked()).toEqual([0, 1, 1, 2]);
    expect(gates.entries.map(({ args }) => (args as { readonly gate: string }).gate).toSorted()).toEqual(["one", "three", "two"]);
    const words = await wordsOf(a.admin, id);
    expect(words.filter((word) => word.startsWith("tool."))).toEqual(["tool.started", "tool.started", "tool.completed", "tool.completed", "tool.started", "tool.completed"]);
    expect(words.filter((word) => word.endsWith("out of order"))).toEqual([]);
    expect(words.filter((word) => word === "message")).toHaveLength(2);
  }, 120_000);

  test("a message and a cancel put in at the replica that does not drive it reach the one that does, at once", async () => {
    const id = await startSession(a.admin, "teller", "pay");
    await gates.entered("one");
    const began = Date.now();
    expect((await b.admin.post(`/v1/sessions/${id}/cancel`, { scope: "turn" })).status).toBeLessThan(300);
    expect(await sessionIn(b.admin, id, "awaiting_input")).toMatchObject({ reason: { code: "cancelled" } });
    expect(Date.now() - began).toBeLessThan(slowly.timeout);
    const answer = await b.admin.post(`/v1/sessions/${id}/messages`, { text: "and now?", wait_ms: 10_000 });
    expect(answer.body).toMatchObject({ turn: 2 });
    for (const gate of ["one", "two", "three"]) gates.open(gate, 1);
    expect(await sessionIn(a.admin, id, "awaiting_input", leaseAndSweepMs)).toMatchObject({ reply: "Paid." });
    expect(model.asked()).toEqual([0, 1, 2]);
  }, 90_000);
});
