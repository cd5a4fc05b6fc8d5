// Two replicas on one PostgreSQL ledger, over the real doors: whichever is asked answers, and whichever has a worker dispatches.
import { createClient } from "@signalbox/client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startFleet, type Fleet, type FleetReplica } from "../support/fleet.ts";
import { createGates } from "../support/gates.ts";
import { ask, deny, policyDocument, workerTool } from "../support/manifests.ts";
import { noPostgres } from "../support/postgres.ts";
import type { Rest } from "../support/rest.ts";
import { slowly } from "../support/stack.ts";

const gates = createGates();
let fleet: Fleet;
let a: FleetReplica;
let b: FleetReplica;
/** Calls that entered a handler, by id. */
const entered: string[] = [];
const times = (id: string | undefined): number => entered.filter((one) => one === id).length;

describe.skipIf(noPostgres !== undefined)(`two replicas${noPostgres === undefined ? "" : ` (${noPostgres})`}`, () => {
  beforeAll(async () => {
    fleet = await startFleet();
    [a, b] = fleet.replicas as [FleetReplica, FleetReplica];
    for (const tool of ["plain", "hold", "pay", "talk", "slots"]) {
      const numbers = { type: "object", properties: { amount: { type: "number" }, n: { type: "integer" } } };
      const spec = { input: numbers, ...(tool === "pay" || tool === "hold" ? { side_effect_class: "non_idempotent_write" } : {}) };
      await a.register(workerTool(tool, "1.0.0", spec));
    }
    const note = <T>(handler: (args: never, ctx: never) => T) => (args: never, ctx: { readonly callId: string }): T => {
      entered.push(ctx.callId);
      return handler(args, ctx as never);
    };
    await fleet.startWorker(
      "w-b",
      [
        { tool: "plain", handler: note((args) => args) },
        { tool: "pay", handler: note((args) => args) },
        { tool: "hold", handler: note(gates.hold as never) },
        {
          tool: "talk",
          async handler({ gate }: { readonly gate: string }, ctx) {
            ctx.output("stdout", "first ");
            await gates.hold({ gate } as never, ctx);
            ctx.output("stdout", "last");
            return { said: true };
          },
        },
      ],
      [b],
    );
  }, 60_000);
  afterAll(async () => {
    await fleet?.close();
  });

  const eventually = async (work: () => Promise<void>): Promise<void> => expect.poll(async () => work().then(() => "done", String), slowly).toBe("done");

  test("a call that one replica admits runs on the other's worker, and both tell the same of it", async () => {
    const { status, body } = await a.admin.invoke({ tool: "plain", input: { n: 1 } });
    expect([status, body.status, body.output]).toEqual([200, "succeeded", { n: 1 }]);
    expect(times(body.execution_id)).toBe(1);
    for (const { admin } of [a, b]) expect((await admin.call(body.execution_id)).status).toBe("succeeded");
  });

  test("a cancel at a replica that does not have the call stops it", async () => {
    const { body } = await b.admin.invoke({ tool: "hold", input: { gate: "cancelled" }, mode: "async" });
    const id = body.execution_id;
    await gates.entered("cancelled");
    expect((await a.admin.post(`/v1/executions/${id}/cancel`)).status).toBeLessThan(300);
    const ended = await a.admin.until(id, ["cancelled"]);
    expect(ended.error?.details["stop_confirmed"]).toBe(true);
    expect((await b.admin.call(id)).status).toBe("cancelled");
  });

  test("a cancel of a call that waits and is with nobody ends it at once", async () => {
    const { body } = await a.admin.invoke({ tool: "slots", input: {}, mode: "async" });
    const { status, body: answer } = await b.admin.post(`/v1/executions/${body.execution_id}/cancel`);
    expect([status, answer.status]).toEqual([200, "cancelled"]);
  });

  test("a question that one replica asks is answered at the other, and the call runs once", async () => {
    const rule = { name: "look-at-pay", match: { tools: ["pay"] }, when: "has(args.amount) && args.amount > 10.0", then: ask("finance") };
    expect((await a.admin.put("/v1/policies", policyDocument(rule))).status).toBe(201);
    await eventually(async () => {
      const dry = await b.admin.invoke({ tool: "pay", input: { amount: 11 } });
      expect(dry.status).toBe(202);
    });
    const { id, approvalId } = await a.admin.park("pay", { amount: 50 });
    const made = await a.admin.post("/v1/keys", { label: "fay", principal: "user:fay", scopes: ["approvals:decide", "calls:read"], roles: ["finance"] });
    await eventually(async () => expect((await b.as(String(made.body["secret"])).decide(approvalId, "approve")).status).toBe(200));
    expect((await a.admin.until(id, ["succeeded"])).output).toEqual({ amount: 50 });
    expect(times(id)).toBe(1);
  });

  test("what a call says is followed at the other replica, while it says it", async () => {
    const { body } = await b.admin.invoke({ tool: "talk", input: { gate: "talk" }, mode: "async" });
    await gates.entered("talk");
    const client = createClient({ url: a.url(), key: fleet.adminKey });
    const said: string[] = [];
    for await (const event of client.follow(body.execution_id ?? "")) {
      if (event.type === "stdout") said.push(event.data.text);
      if (said.join("") === "first ") gates.open("talk");
    }
    expect(said.join("")).toBe("first last");
  });

  test("fifty twins with one key, at both replicas at once: one run, one answer", async () => {
    const body = { tool: "pay", input: { amount: 3 }, idempotency_key: "twins" };
    const answers = await Promise.all(Array.from({ length: 50 }, (_, at) => (at % 2 === 0 ? a : b).admin.invoke(body)));
    expect(new Set(answers.map((one) => one.body.execution_id)).size).toBe(1);
    expect(answers.map((one) => [one.status, one.body.status])).toEqual(Array.from({ length: 50 }, () => [200, "succeeded"]));
    expect(times(answers[0]?.body.execution_id)).toBe(1);
  });

  test("a rule, a freeze and a key that end at one replica end at the other within a second", async () => {
    const made = await a.admin.post("/v1/keys", { label: "short", principal: "user:short", scopes: ["tools:invoke", "calls:read"] });
    await a.admin.post("/v1/grants", { subject: "user:short", permissions: ["tool:invoke:plain"] });
    const short = (at: FleetReplica): Rest => at.as(String(made.body["secret"]));
    await eventually(async () => expect((await short(b).invoke({ tool: "plain", input: {} })).status).toBe(200));
    await a.admin.delete(`/v1/keys/${String(made.body["key_id"])}`);
    await eventually(async () => expect((await short(b).invoke({ tool: "plain", input: {} })).status).toBe(401));
    await a.admin.put("/v1/policies", policyDocument({ name: "no-plain", match: { tools: ["plain"] }, when: "has(args.n) && args.n == 7", then: deny("not seven") }));
    await eventually(async () => expect((await b.admin.invoke({ tool: "plain", input: { n: 7 } })).status).toBe(403));
  });

  test("SCH-14: a thousand calls, four workers at two replicas: each runs once, and no worker has more than its slots", async () => {
    const runs = new Map<string, number>();
    const atWork = [0, 0, 0, 0];
    let most = 0;
    const slots = 5;
    await Promise.all(
      [0, 1, 2, 3].map((n) =>
        fleet.startWorker(
          `w-slots-${n}`,
          [
            {
              tool: "slots",
              async handler(_args: unknown, ctx) {
                runs.set(ctx.callId, (runs.get(ctx.callId) ?? 0) + 1);
                atWork[n] = (atWork[n] ?? 0) + 1;
                most = Math.max(most, atWork[n] ?? 0);
                await new Promise((resolve) => setImmediate(resolve));
                atWork[n] = (atWork[n] ?? 0) - 1;
                return n;
              },
            },
          ],
          [n % 2 === 0 ? a : b],
          { capacity: slots },
        ),
      ),
    );
    const answers = await Promise.all(Array.from({ length: 1_000 }, (_, at) => (at % 2 === 0 ? a : b).admin.invoke({ tool: "slots", input: { at } })));
    expect(answers.filter((one) => one.body.status !== "succeeded").map((one) => one.text)).toEqual([]);
    expect([runs.size, Math.max(...runs.values())]).toEqual([1_000, 1]);
    expect(most).toBeLessThanOrEqual(slots);
    expect(new Set(answers.map((one) => one.body.output)).size).toBe(4);
  }, 60_000);
});
