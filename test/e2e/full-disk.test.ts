// A disk that fills up under a running runtime: calls are refused, nothing is acknowledged that is not stored, and it comes back by itself.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { workerTool } from "../support/manifests.ts";
import { mountSmallDisk, noSmallDisk, type SmallDisk } from "../support/small-disk.ts";
import { slowly, startStack, within, type Stack } from "../support/stack.ts";

const gates = createGates();
let stack: Stack | undefined;
let disk: SmallDisk | undefined;

afterAll(async () => {
  try {
    await finish(stack, gates);
  } finally {
    disk?.unmount();
  }
});

test("a full disk: 503 ledger_unavailable, nothing acknowledged that is not stored, and recovery without a restart", async ({
  skip,
}) => {
  const small = (disk = mountSmallDisk());
  if (small === undefined) return skip(noSmallDisk);
  const dataDir = join(small.path, "data");
  mkdirSync(dataDir);
  stack = await startStack({ dataDir });
  const { admin, ready } = stack;
  for (const tool of ["held", "quick"])
    await stack.register(workerTool(tool, "1.0.0", { side_effect_class: "non_idempotent_write" }));
  const proxy = await stack.startProxy();
  const tools = [
    { tool: "held", handler: gates.hold },
    { tool: "quick", handler: gates.note },
  ];
  const worker = await stack.startWorker("w-disk", tools, { address: proxy.address, drainMs: 60_000 });
  const running = admin.invoke({ tool: "held", input: { gate: "held" }, wait_ms: 60_000 });
  const { callId } = await gates.entered("held");
  await admin.until(callId, ["running"]);

  onTestFinished(() => small.empty());
  small.fill();

  // The write-ahead log may have room of its own for a few commits more.
  const acknowledged: string[] = [];
  let refused;
  for (let n = 0; refused === undefined; n++) {
    expect(n).toBeLessThan(500);
    const answer = await admin.invoke({
      tool: "quick",
      input: { n, text: "x".repeat(20_000) },
      idempotency_key: `disk-${n}`,
    });
    if (answer.status === 200) acknowledged.push(answer.body.execution_id ?? "");
    else refused = { answer, key: `disk-${n}` };
  }
  const { answer, key } = refused;
  expect([answer.status, answer.body.error?.code, answer.body.error?.retryable]).toEqual([
    503,
    "ledger_unavailable",
    true,
  ]);
  expect(answer.headers["retry-after"]).toBe("1");
  const entries = gates.entries.length;
  for (let n = 0; n < 5; n++) {
    const again = await admin.invoke({ tool: "quick", input: { text: "y".repeat(20_000) } });
    expect(again.body.error?.code).toBe("ledger_unavailable");
  }
  expect(gates.entries).toHaveLength(entries);
  // A grant that cannot be stored is not given either.
  const grant = await admin.post("/v1/grants", { subject: "user:disk", permissions: ["*"] });
  expect([grant.status, grant.body.error?.code]).toEqual([503, "ledger_unavailable"]);

  // The running call ends now; its end cannot be stored, so nobody is told.
  gates.open("held", { kept: "by the worker" });
  await expect.poll(async () => (await admin.get("/readyz")).body["reasons"], slowly).toEqual(["ledger_unavailable"]);
  expect((await admin.get("/healthz")).status).toBe(200);
  expect((await admin.call(callId)).status).toBe("running");
  // Its worker loses the connection before anybody could acknowledge the result, and tells it again on the next one.
  const connected = await ready("w-disk");
  proxy.cut();
  await expect.poll(() => ready("w-disk"), slowly).toEqual([]);
  proxy.mend();
  await expect.poll(() => ready("w-disk"), slowly).toEqual(connected);

  small.empty();
  const end = await running;
  expect([end.status, end.body.status, end.body.output]).toEqual([200, "succeeded", { kept: "by the worker" }]);
  await expect.poll(async () => (await admin.get("/readyz")).status, slowly).toBe(200);
  const later = await admin.invoke({ tool: "quick", input: {}, idempotency_key: key });
  expect([later.status, later.body.status]).toEqual([200, "succeeded"]);
  for (const id of acknowledged) expect((await admin.call(id)).status).toBe("succeeded");
  expect(gates.entriesOf(callId)).toHaveLength(1);
  expect((await admin.get("/v1/grants")).text).not.toContain("user:disk");
  // The worker learns that its result is stored, at the latest when it tells it again with its second heartbeat (5 s
  // each): then it holds nothing and leaves.
  await within(20_000, worker.close(), "the worker leaves");
}, 60_000);
