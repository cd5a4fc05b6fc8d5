// People decide about calls, through the public door: who may say what, what becomes of the call, and what is left on record.
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { finish } from "../support/finish.ts";
import { ask, deny } from "../support/manifests.ts";
import { openTill, order, paymentTool } from "../support/payments.ts";
import type { Rest } from "../support/rest.ts";
import { startStack, within, type MadeKey, type Stack } from "../support/stack.ts";

const till = openTill();
let stack: Stack;
let admin: Rest;
let fay: MadeKey;
let finn: MadeKey;
let lara: MadeKey;

const tools = [
  "pay",
  "pay.two",
  "pay.edit",
  "pay.short",
  "pay.open",
  "pay.up",
  "pay.aware",
  "pay.watched",
  "pay.gone",
  "pay.routes",
];
const above1000 = { when: "args.amount > 1000.0" };

beforeAll(async () => {
  stack = await startStack();
  admin = stack.admin;
  fay = await stack.person("fay", "finance");
  finn = await stack.person("finn", "finance");
  lara = await stack.person("lara", "legal");
  for (const tool of tools) await stack.register(paymentTool(tool));
  await stack.startWorker(
    "w-till",
    tools.map((tool) => ({ tool, handler: till.pay })),
  );
  await stack.publish({ name: "above-1000", match: { tools: ["pay"] }, ...above1000, then: ask("finance") });
});
afterAll(() => finish(stack, till));

describe("POL-03, D1 to D4: a payment above 1000 needs a person", () => {
  test("D1: 500 runs without an approval", async () => {
    const { status, body } = await admin.invoke({ tool: "pay", input: order(500) });
    expect([status, body.status, body.approval_id]).toEqual([200, "succeeded", null]);
    expect(till.receiptsOf(body.execution_id)).toHaveLength(1);
    expect((await admin.get(`/v1/approvals?execution_id=${body.execution_id ?? ""}`)).body.items).toEqual([]);
  });

  test("D2, D3, G1: 1500 parks with 202, is listed as pending, and runs once a person approved it by the command line, with a comment", async () => {
    const parked = await admin.invoke({ tool: "pay", input: order(1_500) });
    expect([parked.status, parked.body.status, parked.headers["location"]]).toEqual([
      202,
      "awaiting_approval",
      `/v1/executions/${parked.body.execution_id ?? ""}`,
    ]);
    const { execution_id: id, approval_id: approvalId = "" } = parked.body;
    expect(await admin.approval(approvalId)).toMatchObject({
      status: "pending",
      kind: "call",
      execution_id: id,
      requester: "user:admin",
      args: order(1_500),
      votes: [],
      outcome: null,
      routes: [{ route: "finance", quorum: 1, voters: [] }],
    });
    const env = { SIGNALBOX_KEY: fay.secret };
    const [list, mine] = await Promise.all([
      stack.cli(["approvals", "list"], env),
      stack.cli(["approvals", "list", "--mine", "--json"], { SIGNALBOX_KEY: lara.secret }),
    ]);
    expect([list.code, list.out]).toEqual([
      0,
      expect.stringMatching(new RegExp(`^${approvalId ?? ""}  pending +pay@1\\.0\\.0 +user:admin`, "m")),
    ]);
    expect(JSON.parse(mine.out)).toEqual({ items: [], next_cursor: null });
    expect(till.receiptsOf(id)).toEqual([]);

    const approved = await stack.cli(
      ["approvals", "approve", approvalId ?? "", "--comment", "the invoice is right"],
      env,
    );
    expect([approved.code, approved.out]).toEqual([0, expect.stringMatching(/^approved, the call is \w+$/m)]);
    const record = await admin.until(id, ["succeeded"]);
    expect(record).toMatchObject({
      output: { status: "processed", amount: 1_500 },
      policy: { decision: "require_approval", rules: [{ policy: "above-1000", outcome: "require_approval" }] },
    });
    expect(record["edited"]).toBeUndefined();
    expect(till.receiptsOf(id)).toHaveLength(1);
    expect(await admin.approval(approvalId)).toMatchObject({
      status: "approved",
      outcome: "approved",
      closed_by: "user:fay",
      votes: [{ voter: "user:fay", decision: "approve", comment: "the invoice is right", late: false }],
    });
    expect((await admin.events(id)).map(({ type }) => type)).toEqual([
      "requested",
      "approval_requested",
      "approved",
      "queued",
      "dispatched",
      "started",
      "succeeded",
    ]);
  });

  test("D4: a rejected payment is denied: 403 approval_denied to who asks for the key again, no receipt, a decided event, and audit", async () => {
    const { id, approvalId } = await admin.park("pay", order(1_500), { idempotency_key: "d4" });
    // Whoever waits with the same key is told that it is parked, and not made to wait.
    const waiting = await admin.invoke({ tool: "pay", input: order(1_500), idempotency_key: "d4" });
    expect([waiting.status, waiting.body.execution_id, waiting.body.approval_id]).toEqual([202, id, approvalId]);
    const no = await fay.rest.decide(approvalId, "reject", { comment: "no such invoice" });
    expect([no.status, no.body.said, no.body.status, no.body.outcome]).toEqual([
      200,
      "counted",
      "rejected",
      "rejected",
    ]);
    const record = await admin.call(id);
    expect(record).toMatchObject({
      status: "denied",
      attempts: [],
      error: {
        code: "approval_denied",
        retryable: false,
        details: { approval_id: approvalId, by: "user:fay", comment: "no such invoice" },
      },
    });
    expect(record.error?.message).toContain("no such invoice");
    expect(till.receiptsOf(id)).toEqual([]);
    const events = await admin.events(id);
    expect(events.map(({ type }) => type)).toEqual(["requested", "approval_requested", "denied"]);
    expect((await admin.audit({ execution_id: id })).map(({ action }) => action)).toEqual(
      expect.arrayContaining(["approval.rejected", "call.denied"]),
    );
    // The key belongs to this call, which has ended: the same request again is told how, and asks nobody anew.
    const again = await admin.invoke({ tool: "pay", input: order(1_500), idempotency_key: "d4" });
    expect([again.status, again.body.error?.code, again.body.execution_id]).toEqual([403, "approval_denied", id]);
  });

  test("nobody in time: denied, with 403 approval_expired in the record, at expiry time", async () => {
    await stack.publish({
      name: "short",
      match: { tools: ["pay.short"] },
      ...above1000,
      then: ask("finance", 1, { timeout: "1s" }),
    });
    const { id, approvalId } = await admin.park("pay.short", order(1_500));
    const record = await admin.until(id, ["denied"]);
    const { expires_at, closed_at, ...rest } = await admin.approval(approvalId);
    expect(rest).toMatchObject({ status: "expired", outcome: "expired", closed_by: "runtime" });
    expect(record.error).toMatchObject({
      code: "approval_expired",
      details: { approval_id: approvalId, expired_at: expires_at },
    });
    const late = Date.parse(String(closed_at)) - Date.parse(String(expires_at));
    expect(late).toBeGreaterThanOrEqual(0);
    expect(late).toBeLessThan(2_000);
    expect(till.receiptsOf(id)).toEqual([]);
  });

  test("separation of duties: the requester gets 403 and is told so before; another person decides", async () => {
    const { rest: cleo } = await stack.makeKey({
      principal: "user:cleo",
      scopes: ["tools:invoke", "calls:read", "approvals:decide"],
      roles: ["finance"],
      grants: ["tool:invoke:pay"],
    });
    const { id, approvalId } = await cleo.park("pay", order(2_000));
    expect((await cleo.approval(approvalId)).may_not_vote).toEqual(expect.stringContaining("another person"));
    const own = await cleo.decide(approvalId, "approve");
    expect([own.status, own.body.error?.code, own.body.error?.details["reason"]]).toEqual([
      403,
      "forbidden",
      "requester_may_not_vote",
    ]);
    expect((await cleo.get("/v1/approvals?mine=true")).body.items).toEqual([]);
    expect((await cleo.call(id)).status).toBe("awaiting_approval");
    expect((await fay.rest.decide(approvalId, "approve")).status).toBe(200);
    expect((await cleo.until(id, ["succeeded"])).output).toMatchObject({ amount: 2_000 });
  });
});

describe("who may say what", () => {
  test("a person without the role, without the scope, or an agent: 403 each, and the vote counts nowhere", async () => {
    const { id, approvalId } = await admin.park("pay", order(1_500));
    const { rest: reader } = await stack.makeKey({
      principal: "user:rita",
      scopes: ["calls:read"],
      roles: ["finance"],
    });
    const { rest: agent } = await stack.makeKey({
      principal: "agent:clerk",
      scopes: ["approvals:decide", "calls:read"],
      roles: ["finance"],
    });
    const votes = [
      await lara.rest.decide(approvalId, "approve"),
      await reader.decide(approvalId, "approve"),
      await agent.decide(approvalId, "approve"),
    ];
    expect(votes.map(({ status, body }) => [status, body.error?.code, body.error?.details["reason"]])).toEqual([
      [403, "forbidden", "missing_role"],
      [403, "forbidden", "missing_scope"],
      [403, "forbidden", "not_a_person"],
    ]);
    expect((await admin.approval(approvalId)).votes).toEqual([]);
    await fay.rest.decide(approvalId, "reject");
    expect((await admin.call(id)).status).toBe("denied");
  });

  test("E3, G3: quorum two: one and the same person counts once, two people let it run", async () => {
    await stack.publish({ name: "two", match: { tools: ["pay.two"] }, ...above1000, then: ask("finance", 2) });
    const { id, approvalId } = await admin.park("pay.two", order(2_000));
    const env = { SIGNALBOX_KEY: fay.secret };
    const first = await stack.cli(["approvals", "approve", approvalId], env);
    expect([first.code, first.out]).toEqual([0, expect.stringMatching(/^approved: 1 of 2$/m)]);
    // The same word again is no second one; the other word is a conflict.
    const same = await fay.rest.decide(approvalId, "approve");
    expect([same.status, same.body.said, same.body.votes?.length]).toEqual([200, "repeated", 1]);
    const other = await fay.rest.decide(approvalId, "reject");
    expect([other.status, other.body.error?.code, other.body.error?.details]).toMatchObject([
      409,
      "conflict",
      { reason: "already_voted", decision: "approve" },
    ]);
    expect([(await admin.call(id)).status, till.receiptsOf(id)]).toEqual(["awaiting_approval", []]);
    const second = await stack.cli(["approvals", "approve", approvalId], { SIGNALBOX_KEY: finn.secret });
    expect(second.code).toBe(0);
    await admin.until(id, ["succeeded"]);
    expect(till.receiptsOf(id)).toHaveLength(1);
    // G3: decided is decided; who approved it then may say so again, and nothing changes.
    const late = await stack.cli(["approvals", "reject", approvalId], env);
    expect([late.code, late.err]).toEqual([1, expect.stringContaining("user:finn approved this")]);
  });

  test("every route of every matching rule must reach its quorum", async () => {
    await stack.publish({
      name: "routes-finance",
      match: { tools: ["pay.routes"] },
      then: ask("finance", 2, { timeout: "2h" }),
    });
    await stack.publish({
      name: "routes-legal",
      match: { tools: ["pay.routes"] },
      then: ask("legal", 1, { timeout: "1h" }),
    });
    const { id, approvalId } = await admin.park("pay.routes", order(1));
    const asked = await admin.approval(approvalId);
    expect(asked["routes"]).toEqual([
      { route: "finance", quorum: 2, voters: [] },
      { route: "legal", quorum: 1, voters: [] },
    ]);
    expect(Date.parse(String(asked["expires_at"])) - Date.parse(String(asked["opened_at"]))).toBe(3_600_000);
    for (const person of [fay, finn])
      expect((await person.rest.decide(approvalId, "approve")).body.status).toBe("pending");
    expect((await lara.rest.decide(approvalId, "approve")).body.status).toBe("approved");
    await admin.until(id, ["succeeded"]);
  });

  test("G2: an unknown approval: 404 and exit code 4", async () => {
    const id = "apr_00000000000000000000000000";
    const unknown = await fay.rest.vote(id, { decision: "approve", args_hash: "0" });
    expect([unknown.status, unknown.body.error?.code]).toEqual([404, "approval_not_found"]);
    const { code, err } = await stack.cli(["approvals", "approve", id], { SIGNALBOX_KEY: fay.secret });
    expect([code, err]).toEqual([4, expect.stringContaining("approval_not_found")]);
  });

  test("the comprehension gate: a yes must say that its voter has understood; a no need not", async () => {
    await stack.publish({
      name: "aware",
      match: { tools: ["pay.aware"] },
      then: ask("finance", 1, { comprehension: true }),
    });
    const { id, approvalId } = await admin.park("pay.aware", order(1));
    const blind = await fay.rest.decide(approvalId, "approve");
    expect([blind.status, blind.body.error?.code, blind.body.error?.details["reason"]]).toEqual([
      400,
      "invalid_input",
      "comprehension_required",
    ]);
    const cli = await stack.cli(["approvals", "approve", approvalId], { SIGNALBOX_KEY: fay.secret });
    expect([cli.code, cli.err]).toEqual([2, expect.stringContaining("--comprehended")]);
    expect((await admin.approval(approvalId)).votes).toEqual([]);
    expect((await fay.rest.decide(approvalId, "approve", { comprehended: true })).status).toBe(200);
    await admin.until(id, ["succeeded"]);
    const other = await admin.park("pay.aware", order(1));
    expect((await fay.rest.decide(other.approvalId, "reject")).status).toBe(200);
  });
});

describe("time", () => {
  test("on_timeout: allow lets it run, and the record says that nobody did", async () => {
    await stack.publish({
      name: "open",
      match: { tools: ["pay.open"] },
      then: ask("finance", 1, { timeout: "1s", on_timeout: "allow" }),
    });
    const { id, approvalId } = await admin.park("pay.open", order(1));
    await admin.until(id, ["succeeded"]);
    expect(await admin.approval(approvalId)).toMatchObject({
      status: "approved",
      outcome: "timeout_allowed",
      closed_by: "runtime",
      votes: [],
    });
    expect(till.receiptsOf(id)).toHaveLength(1);
  });

  test("on_timeout: escalate asks another role in a new approval, where the first role has no vote any more", async () => {
    await stack.publish({
      name: "up",
      match: { tools: ["pay.up"] },
      then: ask("finance", 1, { timeout: "1s", on_timeout: "escalate", escalate_to: "legal" }),
    });
    const { id, approvalId } = await admin.park("pay.up", order(1));
    await expect.poll(async () => (await admin.approval(approvalId)).status, { timeout: 10_000 }).toBe("escalated");
    const { escalated_to: next } = await admin.approval(approvalId);
    expect(await admin.approval(String(next))).toMatchObject({
      status: "pending",
      depth: 1,
      escalated_from: approvalId,
      routes: [{ route: "legal", quorum: 1 }],
    });
    expect((await admin.call(id)).approval_id).toBe(next);
    const late = await fay.rest.decide(approvalId, "approve");
    expect([late.status, late.body.error?.details["escalated_to"]]).toEqual([409, next]);
    expect((await fay.rest.decide(String(next), "approve")).status).toBe(403);
    expect((await lara.rest.decide(String(next), "approve")).status).toBe(200);
    await admin.until(id, ["succeeded"]);
  });

  test("a total deadline of the caller ends a parked call, and its question with it", async () => {
    const { id, approvalId } = await admin.park("pay", order(1_500), { deadline_ms: 1_000 });
    const record = await admin.until(id, ["timed_out"]);
    expect(record.error?.code).toBe("timeout");
    expect(await admin.approval(approvalId)).toMatchObject({ status: "cancelled", outcome: "cancelled" });
    expect((await fay.rest.decide(approvalId, "approve")).status).toBe(409);
    expect(till.receiptsOf(id)).toEqual([]);
  });
});

describe("changed arguments", () => {
  test("E4: approved with 500 instead of 1500: the rules hear 500, nobody else is asked, 500 is paid", async () => {
    await stack.publish({ name: "edit-two", match: { tools: ["pay.edit"] }, ...above1000, then: ask("finance", 2) });
    await stack.publish({
      name: "edit-never",
      match: { tools: ["pay.edit"] },
      when: "args.amount > 5000.0",
      then: deny("never above 5000"),
    });
    const { id, approvalId } = await admin.park("pay.edit", order(1_500));
    const { code, out } = await stack.cli(
      ["approvals", "approve", approvalId, "--args", JSON.stringify(order(500)), "--comment", "half of it"],
      { SIGNALBOX_KEY: fay.secret },
    );
    expect([code, out]).toEqual([0, expect.stringMatching(/^approved with other arguments, the call is \w+$/m)]);
    expect((await admin.until(id, ["succeeded"])).output).toMatchObject({ amount: 500 });
    expect(till.receiptsOf(id).map(({ order: paid }) => paid.amount)).toEqual([500]);
  });

  test("worst thing 5: the second voter edits: the first vote is void, the rules run again, and only votes on the new arguments count", async () => {
    const { id, approvalId } = await admin.park("pay.edit", order(1_500));
    const seen = (await admin.approval(approvalId)).args_hash;
    expect((await fay.rest.decide(approvalId, "approve")).body.said).toBe("counted");
    const edited = await finn.rest.decide(approvalId, "approve", { args: order(1_200) });
    expect([edited.status, edited.body.status, edited.body.edited]).toEqual([200, "pending", true]);
    expect(edited.body).toMatchObject({
      args: order(1_200),
      routes: [{ route: "finance", quorum: 2, voters: ["user:finn"] }],
    });
    expect(edited.body.args_hash).not.toBe(seen);
    // Fay's yes was on 1500. On those it is refused, with the hash of what counts now; on the new ones it is counted.
    const old = await fay.rest.vote(approvalId, { decision: "approve", args_hash: seen });
    expect([old.status, old.body.error?.code, old.body.error?.details]).toMatchObject([
      409,
      "conflict",
      { reason: "args_changed", args_hash: edited.body.args_hash },
    ]);
    expect(till.receiptsOf(id)).toEqual([]);
    expect((await fay.rest.decide(approvalId, "approve")).body.status).toBe("approved");
    await admin.until(id, ["succeeded"]);
    expect(till.receiptsOf(id).map(({ order: paid }) => paid.amount)).toEqual([1_200]);
  });

  test("an edit that a rule denies, or that the schema refuses, changes nothing and is no vote", async () => {
    const { id, approvalId } = await admin.park("pay.edit", order(1_500));
    const denied = await fay.rest.decide(approvalId, "approve", { args: order(9_000) });
    expect([denied.status, denied.body.error?.code, denied.body.error?.details]).toMatchObject([
      403,
      "forbidden",
      { reason: "edit_denied", policy: "edit-never@1.0.0" },
    ]);
    const invalid = await fay.rest.decide(approvalId, "approve", { args: { amount: "much" } });
    expect([invalid.status, invalid.body.error?.code, invalid.body.error?.details["reason"]]).toEqual([
      400,
      "invalid_input",
      "edit_denied",
    ]);
    expect(await admin.approval(approvalId)).toMatchObject({
      status: "pending",
      edited: false,
      args: order(1_500),
      votes: [],
    });
    expect((await fay.rest.vote(approvalId, { decision: "reject", args_hash: "x", args: order(1) })).status).toBe(400);
    await fay.rest.decide(approvalId, "reject");
    expect((await admin.call(id)).status).toBe("denied");
  });
});

test("worst thing 4, report 029: two equal calls are two questions; approving the second lets the second run, and only it", async () => {
  const [first, second] = [await admin.park("pay", order(1_500)), await admin.park("pay", order(1_500))];
  expect(first.approvalId).not.toBe(second.approvalId);
  expect((await admin.approval(first.approvalId)).args_hash).toBe((await admin.approval(second.approvalId)).args_hash);
  await fay.rest.decide(second.approvalId, "approve");
  await admin.until(second.id, ["succeeded"]);
  // A later call that needs nobody has run meanwhile, so the first one had its time.
  await admin.invoke({ tool: "pay", input: order(1) });
  expect([(await admin.call(first.id)).status, till.receiptsOf(first.id)]).toEqual(["awaiting_approval", []]);
  await fay.rest.decide(first.approvalId, "reject");
});

test("a parked call holds no slot: others pass it, and it runs as soon as it may", async () => {
  await stack.register(paymentTool("pay.single"));
  await stack.startWorker("w-single", [{ tool: "pay.single", handler: till.pay, maxConcurrency: 1 }], { capacity: 1 });
  await stack.publish({ name: "single", match: { tools: ["pay.single"] }, ...above1000, then: ask("finance") });
  const parked = await admin.park("pay.single", order(1_500));
  expect((await admin.invoke({ tool: "pay.single", input: order(5) })).body.status).toBe("succeeded");
  await fay.rest.decide(parked.approvalId, "approve");
  await admin.until(parked.id, ["succeeded"]);
});

test("what was approved must still be allowed: a denial published meanwhile wins, and the vote is told so", async () => {
  await stack.publish({ name: "gone", match: { tools: ["pay.gone"] }, then: ask("finance") });
  const { id, approvalId } = await admin.park("pay.gone", order(1));
  await stack.publish({ name: "gone-now", match: { tools: ["pay.gone"] }, then: deny("closed meanwhile") });
  const vote = await fay.rest.decide(approvalId, "approve");
  expect([vote.status, vote.body.error?.code, vote.body.error?.details]).toMatchObject([
    403,
    "forbidden",
    { reason: "recheck_failed", policy: "gone-now@1.0.0" },
  ]);
  expect(await admin.approval(approvalId)).toMatchObject({
    status: "cancelled",
    outcome: "recheck_failed",
    votes: [{ voter: "user:fay" }],
  });
  expect(await admin.call(id)).toMatchObject({
    status: "denied",
    error: { code: "forbidden", details: { policy: "gone-now@1.0.0" } },
  });
  expect(till.receiptsOf(id)).toEqual([]);
});

test("approvals list --watch and show --watch tell what happens while it happens; show ends with the approval", async () => {
  await stack.publish({ name: "watched", match: { tools: ["pay.watched"] }, then: ask("finance", 2) });
  const env = { SIGNALBOX_KEY: fay.secret };
  const list = stack.startCli(["approvals", "list", "--tool", "pay.watched", "--watch", "--interval", "100ms"], env);
  const { id, approvalId } = await admin.park("pay.watched", order(1));
  expect(await within(10_000, list.nextLine(), "the list tells of the question")).toMatch(
    new RegExp(`^${approvalId}  pending    pay\\.watched@1\\.0\\.0 for user:admin  2 of finance`),
  );
  const show = stack.startCli(["approvals", "show", approvalId, "--watch", "--interval", "100ms"], env);
  const saidBy = async (who: string): Promise<void> => {
    while (!(await within(10_000, show.nextLine(), `show tells of ${who}`)).includes(`  user:${who}  approve  `));
  };
  await within(10_000, show.nextLine(), "show tells of the question");
  await fay.rest.decide(approvalId, "approve", { comment: "the first" });
  await saidBy("fay");
  await finn.rest.decide(approvalId, "approve");
  await saidBy("finn");
  expect(await within(10_000, show.ended, "show ends")).toEqual({ code: 0, signal: null });
  expect(show.stdout()).toContain("approved by user:finn; the call is");
  expect(await within(10_000, list.nextLine(), "the list tells of the end")).toMatch(
    new RegExp(`^${approvalId}  approved`),
  );
  list.signal("SIGINT");
  expect((await list.ended).code).toBe(0);
  await admin.until(id, ["succeeded"]);
});
