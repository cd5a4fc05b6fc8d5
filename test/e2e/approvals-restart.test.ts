// kill -9 while people are asked: no word that was acknowledged is lost, no call runs twice, and nothing waits for ever.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, workerTool } from "../support/manifests.ts";
import { openTill, order, paymentTool, type Order } from "../support/payments.ts";
import type { Parked, Reply, Rest, Told } from "../support/rest.ts";
import { startNode } from "../support/processes.ts";
import { signalboxBin, slowly, startStack, type MadeKey, type Stack } from "../support/stack.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const till = openTill();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;
let finn: MadeKey;
let proxy: TcpProxy;

const tools = ["pay", "pay.two", "pay.short"];
/** A restart, and a lease for what was on its way to a worker when the runtime died. */
const settledMsMax = 60_000;

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  proxy = await stack.startProxy();
  fay = await stack.person("fay", "finance");
  finn = await stack.person("finn", "finance");
  for (const tool of tools) await stack.register(paymentTool(tool));
  await stack.startWorker(
    "w-till",
    tools.map((tool) => ({ tool, handler: till.pay })),
    { address: proxy.address, capacity: 64 },
  );
  await stack.publish({ name: "pay", match: { tools: ["pay"] }, then: ask("finance") });
  await stack.publish({ name: "two", match: { tools: ["pay.two"] }, then: ask("finance", 2) });
  await stack.publish({ name: "short", match: { tools: ["pay.short"] }, then: ask("finance", 1, { timeout: "1s" }) });
});
afterAll(() => finish(stack, till));

test("kill -9 while parked: one is approved afterwards, one rejected, one had expired meanwhile, one is cancelled, one had half its votes", async () => {
  const [yes, no, gone, half] = [
    await admin.park("pay", order(1)),
    await admin.park("pay", order(2)),
    await admin.park("pay", order(3)),
    await admin.park("pay.two", order(4)),
  ];
  expect((await fay.rest.decide(half.approvalId, "approve")).status).toBe(200);
  const before = await Promise.all([yes, no, gone, half].map(({ approvalId }) => admin.approval(approvalId)));
  const expiring = await admin.park("pay.short", order(5));
  const expiresAt = Date.parse(String((await admin.approval(expiring.approvalId))["expires_at"]));
  await stack.kill();
  // Its instant passes while nobody is there to see it.
  await expect.poll(() => Date.now(), { timeout: 5_000 }).toBeGreaterThan(expiresAt);
  await stack.start();

  expect(await Promise.all([yes, no, gone, half].map(({ approvalId }) => admin.approval(approvalId)))).toEqual(before);
  expect(await admin.until(expiring.id, ["denied"])).toMatchObject({
    attempts: [],
    error: { code: "approval_expired" },
  });
  expect(await admin.approval(expiring.approvalId)).toMatchObject({ status: "expired", closed_by: "runtime" });
  expect((await fay.rest.decide(expiring.approvalId, "approve")).status).toBe(409);

  expect((await fay.rest.decide(yes.approvalId, "approve")).status).toBe(200);
  expect((await fay.rest.decide(no.approvalId, "reject", { comment: "after the crash" })).status).toBe(200);
  expect((await admin.post(`/v1/executions/${gone.id}/cancel`)).body.status).toBe("cancelled");
  expect((await fay.rest.decide(half.approvalId, "approve")).body.said).toBe("repeated");
  expect((await finn.rest.decide(half.approvalId, "approve")).body.status).toBe("approved");
  for (const { id } of [yes, half])
    expect((await admin.until(id, ["succeeded"], settledMsMax)).attempts).toHaveLength(1);
  expect(await admin.call(no.id)).toMatchObject({
    status: "denied",
    error: { code: "approval_denied", details: { comment: "after the crash" } },
  });
  expect((await admin.approval(gone.approvalId)).status).toBe("cancelled");
  expect([yes, no, gone, half, expiring].map(({ id }) => till.receiptsOf(id).length)).toEqual([1, 0, 0, 1, 0]);
}, 90_000);

test("SIGTERM while parked: it does not hold the stop; a yes during the stop is taken, hands nothing to a worker, and holds after the restart", async () => {
  const gates = createGates();
  await stack.register(workerTool("hold", "1.0.0", { side_effect_class: "idempotent_write" }));
  await stack.startWorker("w-hold", [{ tool: "hold", handler: gates.hold }], { address: proxy.address });
  const running =
    (await admin.invoke({ tool: "hold", input: { gate: "drain" }, mode: "async" })).body.execution_id ?? "";
  await gates.entered("drain");
  const [during, after] = [await admin.park("pay", order(1)), await admin.park("pay", order(2))];
  const { runtime } = stack;
  runtime.signal("SIGTERM");
  await expect.poll(async () => (await admin.get("/readyz")).status, slowly).toBe(503);
  expect((await fay.rest.decide(during.approvalId, "approve")).body.status).toBe("approved");
  expect(await admin.call(during.id)).toMatchObject({ status: "queued", attempts: [] });
  gates.open("drain");
  expect(await runtime.ended).toEqual({ code: 0, signal: null });
  expect(till.receiptsOf(during.id)).toEqual([]);
  await stack.start();
  expect((await admin.call(running)).status).toBe("succeeded");
  await fay.rest.decide(after.approvalId, "approve");
  for (const { id } of [during, after])
    expect((await admin.until(id, ["succeeded"], settledMsMax)).attempts).toHaveLength(1);
}, 90_000);

/** A word on its way when the runtime dies. */
interface Word {
  readonly parked: Parked;
  readonly by: MadeKey;
  readonly decision: "approve" | "reject";
  /** Changed arguments. */
  readonly args?: Order;
}
interface Said extends Word {
  /** Undefined: nobody answered. */
  readonly answer: Reply | undefined;
}

/** When the runtime dies: so many answers have come, and so much time has passed since. */
interface Moment {
  readonly answers: number;
  readonly ms: number;
}

const stands = ({ votes = [] }: Told, { by, decision, args }: Word): boolean =>
  votes.some(
    (vote) =>
      vote["voter"] === by.principal && vote["decision"] === decision && vote["edited"] === (args !== undefined),
  );

/** Both people say their words, each one after the other, and the runtime dies among them. */
async function sayUntilKilled(words: readonly Word[], { answers, ms }: Moment): Promise<readonly Said[]> {
  const hashes = new Map<string, unknown>();
  for (const { parked } of words) hashes.set(parked.approvalId, (await admin.approval(parked.approvalId)).args_hash);
  const said: Said[] = [];
  const enough = Promise.withResolvers<void>();
  if (answers === 0) enough.resolve();
  const speak = async (by: MadeKey): Promise<void> => {
    for (const word of words.filter((one) => one.by === by)) {
      const { parked, decision, args } = word;
      const vote = { decision, args_hash: hashes.get(parked.approvalId), ...(args === undefined ? {} : { args }) };
      const answer = await by.rest.vote(parked.approvalId, vote).catch(() => undefined);
      said.push({ ...word, answer });
      if (said.length === answers) enough.resolve();
    }
  };
  const speaking = [speak(fay), speak(finn)];
  await enough.promise;
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
  await stack.kill();
  await Promise.all(speaking);
  return said;
}

/** @returns the calls of the round, and how many words were acknowledged in it */
async function round(moment: Moment): Promise<{ readonly calls: readonly Parked[]; readonly acknowledged: number }> {
  const park = (tool: string, amount: number): Promise<Parked> => admin.park(tool, order(amount));
  const [one, other, edited, two] = await Promise.all([
    park("pay", 1),
    park("pay", 2),
    park("pay", 3),
    park("pay.two", 4),
  ]);
  const said = await sayUntilKilled(
    [
      { parked: two, by: fay, decision: "approve" },
      { parked: edited, by: fay, decision: "approve", args: order(30) },
      { parked: one, by: fay, decision: "approve" },
      { parked: one, by: finn, decision: "reject" },
      { parked: two, by: finn, decision: "approve" },
      { parked: other, by: finn, decision: "reject" },
    ],
    moment,
  );
  await stack.start();
  const acknowledged = said.filter(({ answer }) => answer?.status === 200);
  for (const word of acknowledged) {
    const approval = await admin.approval(word.parked.approvalId);
    expect([moment, word.by.principal, word.decision, stands(approval, word)]).toEqual([
      moment,
      word.by.principal,
      word.decision,
      true,
    ]);
    // What the answer said of the end is what stands.
    if (word.answer?.body.status !== "pending") expect(approval.status).toBe(word.answer?.body.status);
  }
  return { calls: [one, other, edited, two], acknowledged: acknowledged.length };
}

const moments: readonly Moment[] = [
  { answers: 0, ms: 0 },
  { answers: 0, ms: 15 },
  { answers: 0, ms: 40 },
  ...[1, 2, 3, 4, 5].map((answers) => ({ answers, ms: 0 })),
  { answers: 1, ms: 2 },
  { answers: 2, ms: 5 },
  { answers: 4, ms: 3 },
  { answers: 6, ms: 0 },
];

test("kill -9 among votes, a dozen times: every acknowledged word stands, and all of it comes to an end", async () => {
  const all: Parked[] = [];
  let acknowledged = 0;
  for (const moment of moments) {
    const done = await round(moment);
    all.push(...done.calls);
    acknowledged += done.acknowledged;
  }
  // Some words were heard and some were cut off, else nothing was tried.
  expect(acknowledged).toBeGreaterThan(10);
  expect(acknowledged).toBeLessThan(moments.length * 6);
  // Whoever got no answer says it again; a word that had been stored counts once.
  for (const { id, approvalId } of all) {
    for (const person of [fay, finn]) {
      const { status } = await admin.approval(approvalId);
      if (status === "pending") expect((await person.rest.decide(approvalId, "approve")).status).toBe(200);
    }
    const { status } = await admin.until(id, ["succeeded", "denied", "indeterminate"], settledMsMax);
    const approval = await admin.approval(approvalId);
    expect([id, approval.status, status === "denied"]).toEqual([
      id,
      status === "denied" ? "rejected" : "approved",
      status === "denied",
    ]);
    expect(till.entries.filter(({ callId }) => callId === id).length).toBeLessThanOrEqual(1);
    if (status === "succeeded") expect(till.receiptsOf(id).map((receipt) => receipt.order)).toEqual([approval["args"]]);
  }
  expect((await admin.post("/v1/audit:verify")).body).toMatchObject({ ok: true });
  await stack.kill();
  const verify = startNode([signalboxBin, "audit", "verify", "--local", "--data", stack.dataDir]);
  expect((await verify.ended).code).toBe(0);
}, 180_000);
