// The cases on dispatch, policy and approvals, through a session: a scripted agent pays, and rules, people, workers and crashes have their say.
import { setTimeout as wait } from "node:timers/promises";
import { ToolError } from "@signalbox/worker";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startAgentStage, type AgentStage } from "../support/agent-stage.ts";
import { ask, deny, workerTool } from "../support/manifests.ts";
import { openTill, order, paymentTool, type Order } from "../support/payments.ts";
import type { MadeKey } from "../support/stack.ts";
import type { Told } from "../support/rest.ts";

const till = openTill();
let stage: AgentStage;
let fay: MadeKey;
let finn: MadeKey;
let olga: MadeKey;

const pays = (when: string, input: object) => ({ when: { last_user: when }, completions: [{ text: "I pay.", calls: [{ tool: "process_payment", input }] }, { text: "Told: {{last_result}}" }] });
const scripts = {
  turns: {
    branches: [
      pays("pay 0", { amount: 0, currency: "USD", payee: "" }),
      pays("pay 500", order(500)),
      pays("pay 800", order(800)),
      pays("pay 1500", order(1_500)),
      pays("pay 2000", order(2_000)),
      pays("pay in euros", order(500, { currency: "EUR" })),
    ],
  },
};

/** The same payment under several names, each with rules or a worker of its own. */
const served = ["pay", "pay.capped", "pay.dollars", "pay.two", "pay.edit", "pay.guarded"];

beforeAll(async () => {
  stage = await startAgentStage(scripts, ["--queue-wait", "10s"]);
  const { stack } = stage;
  fay = await stack.person("fay", "finance");
  finn = await stack.person("finn", "finance");
  olga = await stack.person("olga", "ops");
  for (const tool of served) await stack.register(paymentTool(tool, "1.0.0", tool === "pay.guarded" ? { integrity: { identities: ["service:till"] } } : {}));
  await stack.startWorker(
    "w-till",
    served.map((tool) => ({ tool, handler: till.pay })),
  );
  await stack.publish({ name: "above-1000", match: { tools: ["pay"] }, when: "args.amount > 1000.0", then: ask("finance") });
  await stack.publish({ name: "above-500", match: { tools: ["pay.capped"] }, when: "args.amount > 500.0", then: deny("no more than 500") });
  await stack.publish({ name: "dollars", match: { tools: ["pay.dollars"] }, when: "!(args.currency in ['USD'])", then: deny("dollars only") });
  await stack.publish({ name: "two-people", match: { tools: ["pay.two"] }, then: ask("finance", 2) });
  await stack.publish({ name: "above-1000-edit", match: { tools: ["pay.edit"] }, when: "args.amount > 1000.0", then: ask("finance") });
  await stack.publish({ name: "nobody-there", match: { tools: ["unserved"], triggers: ["dispatch.no_handler"] }, then: ask("ops") });
  await stack.publish({ name: "lost", match: { tools: ["lost.*"], triggers: ["dispatch.lease_expired", "dispatch.indeterminate"] }, then: ask("ops") });
});
afterAll(() => stage.close(till));

const agentOf = (tool: string): string => `payer-${tool.replaceAll(/[._]/g, "-")}`;
const toolRef = (tool: string, version = "1.0.0") => ({ tools: [{ tool: `${tool}@${version}`, as: "process_payment" }] });

async function payer(tool: string, version?: string): Promise<string> {
  await stage.publish(agentOf(tool), toolRef(tool, version));
  return agentOf(tool);
}

/** @returns the session's id, which is all that a detached start prints */
async function detached(agent: string, message: string): Promise<string> {
  const { code, out } = await stage.cli(["sessions", "start", agent, "--message", message, "--detach"]);
  expect([code, out]).toEqual([0, expect.stringMatching(/^sess_\w+\n$/)]);
  return out.trim();
}

interface Timeline {
  readonly calls: readonly Readonly<Record<string, unknown>>[];
  readonly approvals: readonly Readonly<Record<string, unknown>>[];
  readonly history: readonly { readonly results?: { readonly results: readonly Readonly<Record<string, unknown>>[] } }[];
}

async function timelineOf(id: string): Promise<Timeline> {
  return JSON.parse((await stage.cli(["sessions", "inspect", id, "--json"])).out) as Timeline;
}

async function callOf(id: string): Promise<Readonly<Record<string, unknown>>> {
  const [call] = (await timelineOf(id)).calls;
  if (call === undefined) throw new Error(`session ${id} has made no call`);
  return call;
}

/** What the model was told of its one call. */
async function toldOf(id: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await timelineOf(id)).history.flatMap(({ results }) => results?.results ?? [])[0];
}

const receiptsOf = async (id: string) => till.receiptsOf(String((await callOf(id))["execution_id"]));

const approvalOf = async (id: string): Promise<string> => String(((await stage.session(id))["waiting"] as { readonly approval_ids: readonly string[] }).approval_ids[0]);

/** Starts it, and waits until people are asked. */
async function asked(agent: string, message: string): Promise<{ readonly id: string; readonly approvalId: string }> {
  const id = await detached(agent, message);
  await stage.until(id, ["awaiting_approval"]);
  return { id, approvalId: await approvalOf(id) };
}

const done = (id: string, waitMs?: number): Promise<Told> => stage.until(id, ["awaiting_input"], waitMs);

describe("people and rules", () => {
  test("D1, D6: 500 runs detached: a receipt, nobody is asked, it is listed as awaiting input, and inspect tells of it", async () => {
    const agent = await payer("pay");
    const id = await detached(agent, "pay 500");
    expect(await done(id)).toMatchObject({ status: "awaiting_input", reason: { code: "end_turn" } });
    expect(await receiptsOf(id)).toHaveLength(1);
    expect((await timelineOf(id)).approvals).toEqual([]);
    const listed = await stage.cli(["sessions", "list", "--status", "awaiting_input", "--agent", agent]);
    expect(listed.out).toMatch(new RegExp(`^${id}  awaiting_input  ${agent}@1\\.0\\.0`, "m"));
    expect((await stage.cli(["sessions", "list", "--status", "awaiting_approval", "--agent", agent])).out).not.toContain(id);
    const inspected = await stage.cli(["sessions", "inspect", id]);
    expect([inspected.code, inspected.out]).toEqual([0, expect.stringContaining(`${id}  ${agent}@1.0.0  awaiting_input`)]);
    expect(inspected.out).toMatch(/process_payment  succeeded  pay@1\.0\.0  sess_\S+  queued .+, start .+, code /);
  });

  test("D2, D3, G1: 1500 waits for a person, is listed as pending, and is paid once somebody approved it at the command line, with a comment", async () => {
    const started = await stage.cli(["sessions", "start", await payer("pay"), "--message", "pay 1500"]);
    expect(started.code).toBe(6);
    expect(started.err).toMatch(/awaiting_approval .* · sess_\w+\nnext: {2}signalbox approvals show apr_\w+\n$/);
    const id = /sess_\w+/.exec(started.err)?.[0] ?? "";
    const approvalId = await approvalOf(id);
    const listed = await stage.cli(["approvals", "list", "--status", "pending", "--tool", "pay"], fay.secret);
    expect(listed.out).toMatch(new RegExp(`^${approvalId}  pending +pay@1\\.0\\.0`, "m"));
    expect(await receiptsOf(id)).toEqual([]);
    const voted = await stage.cli(["approvals", "approve", approvalId, "--comment", "the invoice is right"], fay.secret);
    expect(voted.code).toBe(0);
    expect(await done(id)).toMatchObject({ reason: { code: "end_turn" }, reply: expect.stringContaining('"status":"processed"') as string });
    expect(await receiptsOf(id)).toHaveLength(1);
  });

  test("D4: 1500 is rejected: the turn ends, nothing is paid, and the model was told", async () => {
    const { id, approvalId } = await asked(await payer("pay"), "pay 1500");
    expect((await stage.cli(["approvals", "reject", approvalId, "--comment", "too much"], fay.secret)).code).toBe(0);
    await done(id);
    expect(await receiptsOf(id)).toEqual([]);
    expect(await toldOf(id)).toMatchObject({ status: "denied", error_code: "approval_denied", is_error: true });
  });

  test.each([
    ["E1: 800 where more than 500 is denied", "pay.capped", "pay 800"],
    ["E2: euros where dollars alone are allowed", "pay.dollars", "pay in euros"],
  ])("%s: done, and the worker was never called", async (_case, tool, message) => {
    const id = await detached(await payer(tool), message);
    await done(id);
    expect(await toldOf(id)).toMatchObject({ status: "denied", error_code: "forbidden" });
    const { execution_id: callId } = await callOf(id);
    expect(till.entries.filter((entry) => entry.callId === callId)).toEqual([]);
  });

  test("E3, G3: two people are needed: one is 1 of 2 however often they say so, the second lets it be paid, and decided is decided", async () => {
    const { id, approvalId } = await asked(await payer("pay.two"), "pay 2000");
    const vote = (by: MadeKey) => stage.cli(["approvals", "approve", approvalId], by.secret);
    expect((await vote(fay)).out).toContain("approved: 1 of 2\n");
    expect((await vote(fay)).out).toContain("approved: 1 of 2 (you had said so before)\n");
    expect((await stage.session(id)).status).toBe("awaiting_approval");
    expect((await vote(finn)).out).toMatch(/^approved, the call is \w+$/m);
    await done(id);
    expect(await receiptsOf(id)).toHaveLength(1);
    const late = await stage.cli(["approvals", "reject", approvalId], fay.secret);
    expect([late.code, late.err]).toEqual([1, expect.stringContaining("(approval_closed)")]);
    expect(await receiptsOf(id)).toHaveLength(1);
  });

  test("E4: approved with 500 in place of 1500: the rules hear 500, nobody else is asked, 500 is paid, and the model is told", async () => {
    const { id, approvalId } = await asked(await payer("pay.edit"), "pay 1500");
    expect((await stage.cli(["approvals", "approve", approvalId, "--args", JSON.stringify(order(500))], fay.secret)).code).toBe(0);
    await done(id);
    expect((await receiptsOf(id)).map(({ order: { amount } }: { readonly order: Order }) => amount)).toEqual([500]);
    expect(await toldOf(id)).toMatchObject({ status: "succeeded", edited_by: "user:fay", text: expect.stringContaining('"amount":500') as string });
  });

  test("G2: nobody can approve what is not there", async () => {
    const { code, err } = await stage.cli(["approvals", "approve", "apr_01ARZ3NDEKTSV4RRFFQ69G5FAV"], fay.secret);
    expect(code).toBe(4);
    expect(err).toContain("next:  see which there are: signalbox approvals list --all\n");
  });
});

describe("workers, and nobody", () => {
  test("F1: a worker that says unavailable: done, no receipt, and the model saw the error", async () => {
    await stage.stack.register(paymentTool("down"));
    await stage.stack.startWorker("w-down", [{ tool: "down", handler: () => Promise.reject(new ToolError("unavailable", "the bank is closed")) }]);
    const id = await detached(await payer("down"), "pay 500");
    expect((await done(id)).reply).toContain("the bank is closed");
    expect(await toldOf(id)).toMatchObject({ status: "failed", error_code: "tool_error", text: expect.stringContaining("the bank is closed") as string });
    expect(await receiptsOf(id)).toEqual([]);
  });

  test("F2: nobody serves the tool and a rule wants people asked: they are, within the queue's wait", { timeout: 40_000 }, async () => {
    await stage.stack.register(paymentTool("unserved"));
    const id = await detached(await payer("unserved"), "pay 500");
    await stage.until(id, ["awaiting_approval"], 25_000);
    const approval = await stage.stack.admin.approval(await approvalOf(id));
    expect(approval).toMatchObject({ status: "pending", kind: "call", routes: [{ route: "ops", quorum: 1 }] });
    expect((await olga.rest.decide(String(approval.approval_id), "reject")).status).toBe(200);
    await done(id);
    expect(await toldOf(id)).toMatchObject({ status: "denied", error_code: "approval_denied" });
  });

  test("F3: the agent is bound to a version that nobody has: done, and the worker of another version is never called", { timeout: 40_000 }, async () => {
    const before = till.entries.length;
    await stage.publish("payer-of-the-future", toolRef("pay", "9.9.9"));
    const id = await detached("payer-of-the-future", "pay 500");
    await done(id, 25_000);
    expect(await toldOf(id)).toMatchObject({ is_error: true });
    expect(till.entries).toHaveLength(before);
  });

  test("F4: an amount of 0 and no payee: the worker rejects it, and the turn still ends, with the tool's error in its history", async () => {
    const id = await detached(await payer("pay"), "pay 0");
    expect((await done(id)).reason).toMatchObject({ code: "end_turn" });
    expect(await toldOf(id)).toMatchObject({ status: "failed", error_code: "tool_error", text: "[tool_error] a payment needs an amount, a currency and a payee" });
    expect(await receiptsOf(id)).toEqual([]);
  });

  test("F5: the one worker is not on the tool's list: it is never called, and the turn ends with an error", { timeout: 40_000 }, async () => {
    const id = await detached(await payer("pay.guarded"), "pay 500");
    await done(id, 25_000);
    expect(await toldOf(id)).toMatchObject({ status: "failed", is_error: true });
    const { execution_id: callId } = await callOf(id);
    expect(till.entries.filter((entry) => entry.callId === callId)).toEqual([]);
  });
});

/** The only worker of the tool accepts the call and dies 100 ms later. */
async function lost(name: string, side_effect_class: string): Promise<string> {
  const tool = `lost.${name.toLowerCase()}`;
  await stage.stack.register(workerTool(tool, "1.0.0", { side_effect_class }));
  const worker = await stage.stack.startChildWorker({ workerId: `w-${tool}`, tools: [{ tool }] });
  const id = await detached(await payer(tool), "pay 500");
  await worker.said(({ said }) => said === "entered");
  await wait(100);
  await worker.child.kill();
  return id;
}

describe.concurrent("the worker dies 100 ms after it has accepted", () => {
  test.each([
    ["F6a", "read_only"],
    ["F6b", "idempotent_write"],
  ])("%s, %s: done without an approval, and the model is told of an error", { timeout: 90_000 }, async (name, sideEffectClass) => {
    const id = await lost(name, sideEffectClass);
    await done(id, 75_000);
    expect((await timelineOf(id)).approvals).toEqual([]);
    expect(await toldOf(id)).toMatchObject({ status: "failed", is_error: true, error_code: "no_handler" });
  });

  test.each([
    ["F7a", "non_idempotent_write"],
    ["F7b", "irreversible_action"],
  ])("%s, %s: people are asked, and nothing is run again by itself", { timeout: 90_000 }, async (name, sideEffectClass) => {
    const id = await lost(name, sideEffectClass);
    await stage.until(id, ["awaiting_approval"], 60_000);
    const approval = await stage.stack.admin.approval(await approvalOf(id));
    expect(approval).toMatchObject({ status: "pending", kind: "resolve" });
    const { execution_id: callId } = await callOf(id);
    expect((await stage.stack.admin.call(String(callId))).attempts).toHaveLength(1);
    // Rejected, the call is given up, and the turn goes on with that.
    expect((await olga.rest.decide(String(approval.approval_id), "reject")).status).toBe(200);
    await done(id);
    expect(await toldOf(id)).toMatchObject({ status: "failed", is_error: true });
  });
});
