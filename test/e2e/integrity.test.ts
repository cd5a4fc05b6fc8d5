// Who may run a tool: a worker that is not on the tool's list takes nothing, whenever it comes and whatever it says of itself.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import type { Rest } from "../support/rest.ts";
import { startScriptedWorker } from "../support/scripted-worker.ts";
import { startStack, type Stack } from "../support/stack.ts";

const gates = createGates();
const goodImage = `sha256:${"a".repeat(64)}`;
const otherImage = `sha256:${"b".repeat(64)}`;
let stack: Stack;
let admin: Rest;
let payroll: string;
let stranger: string;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  const keyOf = async (principal: string): Promise<string> =>
    (await stack.makeKey({ principal, scopes: ["workers:connect"] })).secret;
  payroll = await keyOf("service:payroll");
  stranger = await keyOf("service:stranger");
});
afterAll(() => finish(stack, gates));

const guarded = {
  side_effect_class: "non_idempotent_write",
  integrity: { identities: ["service:payroll"], image_digests: [goodImage] },
};

async function queued(tool: string): Promise<string> {
  return (await admin.invoke({ tool, input: { gate: tool }, mode: "async" })).body.execution_id ?? "";
}

test("worst thing 11, F5: a rogue worker registers first; the call waits for the approved one, and the rogue is on record", async () => {
  await stack.register(workerTool("vault", "1.0.0", guarded));
  const rogue = createGates();
  const offer = (handler: typeof gates.hold) => [{ tool: "vault", handler }];
  await stack.startWorker("a-rogue", offer(rogue.hold), { key: stranger, imageDigest: goodImage });
  await stack.startWorker("a-stale", offer(rogue.hold), { key: payroll, imageDigest: otherImage });
  await stack.startWorker("a-silent", offer(rogue.hold), { key: payroll });
  const id = await queued("vault");
  // All three have free slots, and names that come first in every choice.
  expect((await admin.call(id)).status).toBe("queued");
  await stack.startWorker("w-right", offer(gates.hold), { key: payroll, imageDigest: goodImage });
  await gates.entered("vault");
  gates.open("vault", { by: "the right one" });
  expect(await admin.until(id, ["succeeded"])).toMatchObject({
    output: { by: "the right one" },
    execution: { worker: "w-right", attempt: 1 },
  });
  expect(rogue.entries).toEqual([]);

  const records = await admin.audit({ action: "worker.refused" });
  const { length } = records;
  expect(length).toBe(3);
  expect(new Set(records.map(({ principal }) => principal))).toEqual(new Set(["service:stranger", "service:payroll"]));
  for (const record of records)
    expect(record).toMatchObject({
      status: "refused",
      error_code: "integrity_violation",
      details: { handlers: ["vault@1.0.0"] },
    });
  // It is no routing outcome: nothing was counted as one.
  expect((await admin.get("/metrics")).text).not.toMatch(/^routing_outcome_total\{[^}]*\} [1-9]/m);
});

test("an integrity reject sends no invoke, also to a worker that was there before the tool had a list, and leaves its other tools alone", async () => {
  const worker = await startScriptedWorker({
    address: stack.grpc(),
    key: stranger,
    workerId: "a-early",
    tools: ["early", "free"],
  });
  try {
    await stack.register(workerTool("early", "1.0.0", guarded));
    await stack.register(workerTool("free"));
    const [early, free] = [await queued("early"), await queued("free")];
    // One stream, in order: had the guarded call been offered, its invoke would be first.
    const invoke = await worker.next("invoke");
    expect(invoke).toMatchObject({ callId: free });
    worker.succeed(invoke, "{}");
    await admin.until(free, ["succeeded"]);
    expect(await admin.call(early)).toMatchObject({ status: "queued", attempts: [] });
    expect((await admin.post(`/v1/executions/${early}/cancel`)).body.status).toBe("cancelled");
  } finally {
    worker.hangUp();
  }
});
