// What has gone wrong with approvals elsewhere, by the number of its report: each situation, and what happens here instead.
//
// Reports 029 (two equal calls, one click) and 041 (a later allow opens what was denied) stand with the cases of the same
// name in approvals.test.ts and policies.test.ts; report 096 (a tool that changes after its approval) in governed-registry.test.ts.
import { afterAll, beforeAll, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { ask, deny, workerTool } from "../support/manifests.ts";
import { openTill, order, paymentTool } from "../support/payments.ts";
import type { Parked, Reply, Rest } from "../support/rest.ts";
import { startStack, type MadeKey, type Stack } from "../support/stack.ts";
import { addTenant } from "../support/tenants.ts";

const till = openTill();
const gates = createGates();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;
let finn: MadeKey;

const tools = ["pay", "pay.short", "pay.default", "pay.counted", "pay.edit"];

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  fay = await stack.person("fay", "finance");
  finn = await stack.person("finn", "finance");
  for (const tool of tools) await stack.register(paymentTool(tool));
  await stack.register(workerTool("hold", "1.0.0", { side_effect_class: "idempotent_write" }));
  await stack.startWorker(
    "w-till",
    [...tools.map((tool) => ({ tool, handler: till.pay })), { tool: "hold", handler: gates.hold }],
    { capacity: 64 },
  );
  const rule = (name: string, more = {}) =>
    stack.publish({ name, match: { tools: [name] }, then: ask("finance", 1, more) });
  await rule("pay");
  await rule("pay.short", { timeout: "1s" });
  await rule("pay.default");
  await rule("pay.edit");
  await stack.publish({
    name: "pay.edit-usd",
    match: { tools: ["pay.edit"] },
    when: 'args.currency != "USD"',
    then: deny("USD only"),
  });
});
afterAll(() => finish(stack, { entries: [...till.entries, ...gates.entries] }));

const hashOf = async ({ approvalId }: Parked): Promise<unknown> => (await admin.approval(approvalId)).args_hash;
const actionsOf = async (id: string): Promise<string[]> =>
  (await admin.audit({ execution_id: id })).map(({ action }) => String(action));
const typesOf = async (id: string): Promise<string[]> => (await admin.events(id)).map(({ type }) => type);

test("report 025: stopping what waits and what runs: one end each, the question is cancelled, later words are refused", async () => {
  // That a session's stop does this to all its calls waits for sessions; here a person stops both calls.
  const running = (await admin.invoke({ tool: "hold", input: { gate: "025" }, mode: "async" })).body.execution_id ?? "";
  const parked = await admin.park("pay", order(1));
  await gates.entered("025");
  const cancels = await Promise.all(
    [running, parked.id, parked.id, running].map((id) => admin.post(`/v1/executions/${id}/cancel`)),
  );
  for (const { status } of cancels) expect([200, 202]).toContain(status);
  for (const id of [running, parked.id]) {
    await admin.until(id, ["cancelled"]);
    expect((await typesOf(id)).filter((type) => type === "cancelled")).toHaveLength(1);
  }
  expect(await admin.approval(parked.approvalId)).toMatchObject({
    status: "cancelled",
    outcome: "cancelled",
    closed_by: "user:admin",
  });
  expect((await actionsOf(parked.id)).filter((action) => action === "approval.cancelled")).toHaveLength(1);
  for (const decision of ["approve", "reject"] as const) {
    const late = await fay.rest.decide(parked.approvalId, decision);
    expect([late.status, late.body.error?.code, late.body.error?.details["outcome"]]).toEqual([
      409,
      "approval_closed",
      "cancelled",
    ]);
  }
  expect((await admin.call(parked.id)).attempts).toEqual([]);
});

test("reports 026 and 027: approved with other arguments: checked anew, run, recorded beside the original, and told to whoever called", async () => {
  const original = order(5, { payee: "a@x" });
  const parked = await admin.park("pay.edit", original);
  const seen = await hashOf(parked);
  const refusals = [
    await fay.rest.decide(parked.approvalId, "approve", { args: { ...original, payee: 7 } }),
    await fay.rest.decide(parked.approvalId, "approve", { args: { ...original, currency: "EUR" } }),
  ];
  expect(refusals.map(({ status, body }) => [status, body.error?.code])).toEqual([
    [400, "invalid_input"],
    [403, "forbidden"],
  ]);
  const changed = { ...original, payee: "b@x" };
  const yes = await fay.rest.decide(parked.approvalId, "approve", { args: changed, comment: "the other account" });
  expect([yes.status, yes.body.status, yes.body.edited]).toEqual([200, "approved", true]);

  const record = await admin.until(parked.id, ["succeeded"]);
  expect(till.receiptsOf(parked.id).map((receipt) => receipt.order)).toEqual([changed]);
  // The note goes into the model's tool result once there are sessions; for now whoever called reads it in the record.
  expect(record["edited"]).toEqual({
    by: "user:fay",
    args: changed,
    original_args: original,
    note:
      "A person changed the arguments of this call of pay.edit before it ran. It ran once, with these arguments: " +
      '{"amount":5,"currency":"USD","payee":"b@x"} The arguments that you gave were not used; do not make the call again in order to use them.',
  });
  // The record's hash is of what was asked for, the approval's of what ran; the audit has both, and the refused edits.
  expect([record["input_hash"], await hashOf(parked)]).toEqual([seen, expect.not.stringMatching(String(seen))]);
  const audit = await admin.audit({ execution_id: parked.id });
  const edit = audit.find(({ action }) => action === "approval.edited");
  expect(edit).toMatchObject({
    principal: "user:fay",
    input_hash: await hashOf(parked),
    details: { previous_args_hash: seen, votes_voided: 0, comment: "the other account" },
  });
  expect(audit.filter(({ action }) => action === "approval.edit_denied")).toHaveLength(2);
  expect(audit.find(({ action }) => action === "call.decided_again")).toMatchObject({
    input_hash: await hashOf(parked),
  });
  const approved = (await admin.events(parked.id)).find(({ type }) => type === "approved");
  expect(approved?.data).toEqual({ by: ["user:fay"], edited_by: "user:fay" });
});

test("report 028: the same no twice, at once and later: one decision, one answer, one end", async () => {
  const parked = await admin.park("pay", order(1));
  const vote = { decision: "reject", args_hash: await hashOf(parked), comment: "no" };
  const both = await Promise.all([fay.rest.vote(parked.approvalId, vote), fay.rest.vote(parked.approvalId, vote)]);
  both.push(await fay.rest.vote(parked.approvalId, vote));
  const { said: _, ...answer } = both[0]?.body ?? {};
  for (const { status, body } of both) expect([status, body]).toEqual([200, { ...answer, said: body.said }]);
  expect(both.map(({ body }) => String(body.said)).toSorted()).toEqual(["counted", "stored_outcome", "stored_outcome"]);
  expect(answer.votes).toHaveLength(1);
  expect((await typesOf(parked.id)).filter((type) => type === "denied")).toHaveLength(1);
  expect(
    (await actionsOf(parked.id)).filter((action) => action === "approval.rejected" || action === "call.denied"),
  ).toHaveLength(2);
});

test("report 030: yes and no in the same moment, twenty times: one wins each, the other is told who won; it runs once or never", async () => {
  const decisions: string[] = [];
  await Promise.all(
    Array.from({ length: 20 }, async (_, at) => {
      const parked = await admin.park("pay", order(at + 1));
      const args_hash = await hashOf(parked);
      const yes = (): Promise<Reply> => fay.rest.vote(parked.approvalId, { decision: "approve", args_hash });
      const no = (): Promise<Reply> => finn.rest.vote(parked.approvalId, { decision: "reject", args_hash });
      const answers = await Promise.all(at % 2 === 0 ? [yes(), no()] : [no(), yes()]);
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 409]));
      const approval = await admin.approval(parked.approvalId);
      const loser = answers.find(({ status }) => status === 409)?.body.error;
      expect([loser?.code, loser?.details["outcome"], loser?.details["by"]]).toEqual([
        "approval_closed",
        approval["outcome"],
        approval["closed_by"],
      ]);
      const { status } = await admin.until(parked.id, ["succeeded", "denied"]);
      expect([status, till.receiptsOf(parked.id).length]).toEqual(
        approval.status === "approved" ? ["succeeded", 1] : ["denied", 0],
      );
      decisions.push(String(approval.status));
    }),
  );
  expect(decisions).toHaveLength(20);
});

test("reports 035, 036, 037, 038 and 224: an expiry is told as one, at its instant; a word after it is refused and kept as a fact", async () => {
  const parked = await admin.park("pay.short", order(1));
  const args_hash = await hashOf(parked);
  const record = await admin.until(parked.id, ["denied"]);
  const approval = await admin.approval(parked.approvalId);
  expect(approval).toMatchObject({ status: "expired", outcome: "expired" });
  // To the model it goes with sessions; the record already has its words.
  expect(record.error).toMatchObject({
    code: "approval_expired",
    retryable: false,
    message:
      "The call of pay.short was not run, and it will not be: nobody decided on its approval in time. It may be asked for again.",
  });
  expect(Date.parse(String(record["settled_at"])) - Date.parse(String(approval["expires_at"]))).toBeLessThan(2_000);

  const late = [
    await fay.rest.vote(parked.approvalId, { decision: "approve", args_hash }),
    await finn.rest.vote(parked.approvalId, { decision: "reject", args_hash, comment: "never" }),
  ];
  for (const { status, body } of late)
    expect([status, body.error?.code, body.error?.details]).toMatchObject([
      409,
      "approval_closed",
      { outcome: "expired", by: "runtime", at: approval["closed_at"] },
    ]);
  expect(late[0]?.body.error?.message).toContain("expired");
  expect(await admin.approval(parked.approvalId)).toMatchObject({
    status: "expired",
    closed_at: approval["closed_at"],
    votes: [
      { voter: "user:fay", decision: "approve", late: true },
      { voter: "user:finn", decision: "reject", comment: "never", late: true },
    ],
  });
  expect([(await admin.call(parked.id)).status, till.receiptsOf(parked.id)]).toEqual(["denied", []]);
  expect((await actionsOf(parked.id)).filter((action) => action.startsWith("approval.")).toSorted()).toEqual([
    "approval.expired",
    "approval.late_vote",
    "approval.late_vote",
    "approval.requested",
  ]);
  // Report 224: a denial by rule, by a person and by time have names of their own.
  const rejected = await admin.park("pay", order(1));
  await fay.rest.decide(rejected.approvalId, "reject");
  const byRule = await admin.invoke({ tool: "pay.edit", input: order(1, { currency: "EUR" }) });
  const codes = [record.error?.code, (await admin.call(rejected.id)).error?.code, byRule.body.error?.code];
  expect(codes).toEqual(["approval_expired", "approval_denied", "forbidden"]);
});

test("report 038: where a rule names no timeout there is one all the same: a day, then no", async () => {
  const parked = await admin.park("pay.default", order(1));
  const approval = await admin.approval(parked.approvalId);
  expect(Date.parse(String(approval["expires_at"])) - Date.parse(String(approval["opened_at"]))).toBe(86_400_000);
  expect([approval["on_timeout"], approval["distinct_from_requester"], approval["on_reject"]]).toEqual([
    "deny",
    true,
    "return_to_agent",
  ]);
  await admin.post(`/v1/executions/${parked.id}/cancel`);
});

test("report 065: a cancel beside a yes: whoever is first wins; what was cancelled was never handed to anybody", async () => {
  await Promise.all(
    Array.from({ length: 12 }, async (_, at) => {
      const parked = await admin.park("pay", order(at + 1));
      const args_hash = await hashOf(parked);
      const yes = (): Promise<Reply> => fay.rest.vote(parked.approvalId, { decision: "approve", args_hash });
      const stop = (): Promise<Reply> => admin.post(`/v1/executions/${parked.id}/cancel`);
      const [one, other] = await Promise.all(at % 2 === 0 ? [yes(), stop()] : [stop(), yes()]);
      const vote = at % 2 === 0 ? one : other;
      const record = await admin.until(parked.id, ["succeeded", "cancelled", "indeterminate"]);
      const { status } = await admin.approval(parked.approvalId);
      if (vote?.status === 200) expect(status).toBe("approved");
      else
        expect([vote?.status, status, record.status, record.attempts, till.receiptsOf(parked.id)]).toEqual([
          409,
          "cancelled",
          "cancelled",
          [],
          [],
        ]);
      expect(till.receiptsOf(parked.id).length).toBeLessThanOrEqual(1);
      if (record.status === "indeterminate")
        await admin.post(`/v1/executions/${parked.id}/resolve`, { verdict: "fail" });
    }),
  );
});

test("report 016: the same call again is a call of its own, and a rule may have a person look at the repeat", async () => {
  await stack.publish({
    name: "repeats",
    match: { tools: ["pay.counted"] },
    when: 'calls.window("10m") >= 1',
    then: ask("finance"),
  });
  const first = await admin.invoke({ tool: "pay.counted", input: order(7) });
  expect(first.body.status).toBe("succeeded");
  const again = await admin.park("pay.counted", order(7));
  expect(again.id).not.toBe(first.body.execution_id);
  expect((await fay.rest.decide(again.approvalId, "reject")).body.status).toBe("rejected");
  expect(till.receipts.filter(({ tool }) => tool === "pay.counted")).toHaveLength(1);
});

test("report 218: another tenant's approval is a 404 like one that nobody has, to read and to vote on", async () => {
  const bob = stack.as(await addTenant(stack.operator, "beta", "user:bob"));
  const parked = await admin.park("pay", order(1));
  const nobodys = "apr_00000000000000000000000000";
  const vote = { decision: "approve", args_hash: await hashOf(parked) };
  const bare = ({ status, body }: Reply): unknown => [status, { ...body.error, request_id: "" }];
  expect(bare(await bob.get(`/v1/approvals/${parked.approvalId}`))).toEqual(
    bare(await bob.get(`/v1/approvals/${nobodys}`)),
  );
  expect(bare(await bob.vote(parked.approvalId, vote))).toEqual(bare(await bob.vote(nobodys, vote)));
  expect(bare(await bob.vote(nobodys, vote))).toMatchObject([404, { code: "approval_not_found" }]);
  expect((await bob.get("/v1/approvals")).body.items).toEqual([]);
  expect((await admin.approval(parked.approvalId)).votes).toEqual([]);
  await fay.rest.decide(parked.approvalId, "reject");
});
