// A rolling change of version: two builds of the runtime beside each other over a schema that first grows and then lets go of something, while calls go on.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import { migrations } from "../../packages/runtime/src/adapters/postgres/schema.ts";
import { makeBuild } from "../support/builds.ts";
import { startFleet, type Fleet, type FleetReplica } from "../support/fleet.ts";
import { createGates } from "../support/gates.ts";
import { ask, policyDocument, workerTool } from "../support/manifests.ts";
import { noPostgres } from "../support/postgres.ts";
import type { Child } from "../support/processes.ts";
import { signalboxBin } from "../support/stack.ts";

const base = migrations.at(-1)?.version ?? 0;

/** Every table grows, so that whatever the older build says of one of them meets a table that is wider than it knows. */
const expand = {
  version: base + 1,
  compatibleFrom: base,
  statements: [
    `DO $$ DECLARE name TEXT; BEGIN
      FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = current_schema() AND tablename <> 'meta' LOOP
        EXECUTE format('ALTER TABLE %I ADD COLUMN later_note TEXT', name);
      END LOOP;
    END $$`,
    "CREATE INDEX calls_by_later_note ON calls (tenant, later_note) WHERE later_note IS NOT NULL",
    "ALTER TABLE replicas ADD COLUMN build TEXT",
  ],
};
/** From here on a replica says which build it is: what the oldest build does not do. */
const contract = {
  version: base + 2,
  compatibleFrom: base + 1,
  statements: ["UPDATE replicas SET build = 'none' WHERE build IS NULL", "ALTER TABLE replicas ALTER COLUMN build SET NOT NULL"],
};
const saysItsBuild = [
  { file: "adapters/postgres/fleet.js", from: "lanes_json, lives_until, released)", to: "lanes_json, lives_until, released, build)" },
  { file: "adapters/postgres/fleet.js", from: "+ ?, 0)\n  ON CONFLICT (replica)", to: "+ ?, 0, 'later')\n  ON CONFLICT (replica)" },
];

const endMsMax = 60_000;

describe.skipIf(noPostgres !== undefined)(`two builds${noPostgres === undefined ? "" : ` (${noPostgres})`}`, () => {
  const bins: Record<number, string> = {};
  const gates = createGates();
  let fleet: Fleet;
  let a: FleetReplica;
  let b: FleetReplica;
  let [older, newer, newest] = ["", "", ""];
  let traffic: Traffic;

  beforeAll(async () => {
    fleet = await startFleet({ bins, args: ["--drain", "6s"] });
    [a, b] = fleet.replicas as [FleetReplica, FleetReplica];
    older = signalboxBin;
    newer = makeBuild(fleet.folder, "newer", { migrations: [expand], edits: saysItsBuild });
    newest = makeBuild(fleet.folder, "newest", { migrations: [expand, contract], edits: saysItsBuild });
    for (const tool of ["note", "hold", "pay"]) await a.register(workerTool(tool, "1.0.0", { side_effect_class: "non_idempotent_write", timeout: "2m" }));
    const published = await a.admin.put("/v1/policies", policyDocument({ name: "look", match: { tools: ["pay"] }, then: ask("finance") }));
    if (published.status !== 201) throw new Error(published.text);
    const tools = [
      { tool: "note", handler: gates.note },
      { tool: "hold", handler: gates.hold },
      { tool: "pay", handler: gates.note },
    ];
    for (const name of ["w-1", "w-2"]) await fleet.startWorker(name, tools as never, [a, b], { capacity: 16 });
    traffic = startTraffic([a, b]);
  }, 90_000);
  afterAll(async () => {
    await traffic?.stop();
    await fleet?.close();
  });

  const schema = async (): Promise<number> => {
    const { rows } = await fleet.postgres.run("SELECT value FROM meta WHERE name = 'schema_version'", "fleet");
    return Number((rows[0] as { value: string }).value);
  };

  async function change(replica: FleetReplica, bin: string): Promise<void> {
    expect((await replica.stop()).code).toBe(0);
    bins[replica === a ? 0 : 1] = bin;
    await replica.start();
  }

  /** Starts this build in the place of a replica that has ended; it must not come up. */
  async function refused(replica: FleetReplica, bin: string): Promise<{ readonly code: number | null; readonly said: string }> {
    bins[replica === a ? 0 : 1] = bin;
    await expect(replica.start()).rejects.toThrow();
    const child: Child = replica.process;
    return { code: (await child.ended).code, said: child.stderr() };
  }

  /** What one replica began the other one goes on with, in both directions. */
  async function crossing(label: string): Promise<void> {
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const) {
      const gate = `${label} ${one.name}`;
      const held = (await one.admin.invoke({ tool: "hold", input: { gate }, mode: "async" })).body.execution_id;
      const left = (await one.admin.invoke({ tool: "hold", input: { gate: `${gate} left` }, mode: "async" })).body.execution_id;
      await Promise.all([gates.entered(gate), gates.entered(`${gate} left`)]);
      await other.admin.until(held, ["running"]);
      expect((await other.admin.post(`/v1/executions/${left}/cancel`)).status).toBeLessThan(300);
      expect((await one.admin.until(left, ["cancelled"])).error?.details["stop_confirmed"]).toBe(true);
      gates.open(gate, "held");
      expect((await other.admin.until(held, ["succeeded"])).output).toBe("held");
      const { id, approvalId } = await one.admin.park("pay", { amount: 50 });
      const made = await one.admin.post("/v1/keys", { label, principal: `user:${one.name}`, scopes: ["approvals:decide", "calls:read"], roles: ["finance"] });
      await expect.poll(async () => (await other.as(String(made.body["secret"])).decide(approvalId, "approve")).status, { timeout: 5_000 }).toBe(200);
      expect((await one.admin.until(id, ["succeeded"])).status).toBe("succeeded");
      for (const call of [held, id]) expect(gates.entriesOf(call)).toHaveLength(1);
      // Many at once, so that every connection of the pool has read this table: before it grew, and after.
      const read = await Promise.all(Array.from({ length: 40 }, () => one.admin.get("/v1/tools/hold?version=1.0.0")));
      expect(new Set(read.map(({ status }) => status))).toEqual(new Set([200]));
    }
  }

  test("two of the older build: calls flow", async () => {
    await crossing("older");
    expect(await schema()).toBe(base);
  }, endMsMax);

  test("a newer build joins and makes the schema grow, while the older one works on: each goes on with what the other began", async () => {
    await change(a, newer);
    expect(await schema()).toBe(base + 1);
    await crossing("grown");
  }, endMsMax);

  test("the older build may come back beside the grown schema", async () => {
    await change(a, older);
    expect(await schema()).toBe(base + 1);
    await change(b, newer);
    await crossing("back");
  }, endMsMax);

  test("the newest build, which lets go of something, is refused while the oldest one lives, and has changed nothing", async () => {
    expect((await b.stop()).code).toBe(0);
    const { code, said } = await refused(b, newest);
    expect(code).toBe(5);
    expect(said).toContain(`Replicas that know schemas up to ${base} live on this ledger, and schema ${base + 2} asks for ${base + 1}.`);
    expect(said).toContain("put the version between in their place first");
    expect(await schema()).toBe(base + 1);
    bins[1] = newer;
    await b.start();
    await crossing("still");
  }, endMsMax);

  test("with the oldest one gone it starts beside the one before it, and both go on", async () => {
    await change(a, newest);
    expect(await schema()).toBe(base + 2);
    await crossing("let go");
  }, endMsMax);

  test("the oldest build is refused from then on, and says what it would need", async () => {
    expect((await b.stop()).code).toBe(0);
    const { code, said } = await refused(b, older);
    expect(code).toBe(5);
    expect(said).toContain(`The ledger has schema ${base + 2}, which asks for a runtime that knows schema ${base + 1}; this Signalbox knows schemas up to ${base}.`);
    bins[1] = newer;
    await b.start();
    await crossing("end");
  }, endMsMax);

  test("of all that was asked for meanwhile nothing was lost, and nothing ran twice", async () => {
    const asked = await traffic.stop();
    expect(asked.length).toBeGreaterThan(200);
    expect(asked.filter(({ status }) => status !== "succeeded")).toEqual([]);
    expect(new Set(asked.map(({ id }) => id)).size).toBe(asked.length);
    for (const { id } of asked) expect(gates.entriesOf(id)).toHaveLength(1);
    for (const { admin } of [a, b]) expect((await admin.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
  }, endMsMax);
});

interface Asked {
  readonly id: string | undefined;
  readonly status: string | undefined;
}

interface Traffic {
  stop(): Promise<readonly Asked[]>;
}

/** Callers as they should be: who gets no answer, or is told to come again, asks the other replica under the same key. */
function startTraffic(replicas: readonly FleetReplica[]): Traffic {
  let over = false;
  const asked: Asked[] = [];
  async function ended(key: string, first: number): Promise<Asked> {
    for (let at = first; ; at += 1) {
      const replica = replicas[at % replicas.length];
      const answer = await replica?.admin.invoke({ tool: "note", input: { key }, idempotency_key: key }).catch(() => undefined);
      const { execution_id: id, status } = answer?.body ?? {};
      if (answer?.status === 200) return { id, status };
      if (answer !== undefined && ![202, 503].includes(answer.status)) return { id, status: `${answer.status} ${answer.text}` };
      await sleep(50);
    }
  }
  async function caller(name: number): Promise<void> {
    for (let n = 0; !over; n += 1) {
      asked.push(await ended(`${name}-${n}`, name + n));
      await sleep(20);
    }
  }
  const callers = [0, 1, 2, 3].map(caller);
  return {
    async stop() {
      over = true;
      await Promise.all(callers);
      return asked;
    },
  };
}
