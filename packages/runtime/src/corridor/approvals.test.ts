// Approvals through the service, with a real ledger: parked in the admission, decided by people, ended by time, and run once.
import { parseJson } from "@signalbox/protocol";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { at0 } from "../../../../test/support/calls.ts";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { result } from "../../../../test/support/hand-hub.ts";
import { admin, ask, deny, Governed, voter } from "../../../../test/support/governed.ts";

/** JSON as a door hands it on: its digits are kept. */
function exact(text: string): unknown {
  const parsed = parseJson(text, { depthMax: 8 });
  if (!parsed.ok) throw new Error(parsed.problem.message);
  return parsed.value;
}

let house: Governed;
const fin1 = voter("fay", "finance");
const fin2 = voter("fred", "finance");

beforeEach(async () => {
  house = await Governed.open();
  await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance", 1, { timeout: "1h" }) });
});
afterEach(() => house.close());

describe("a call that needs a person", () => {
  test("parks in its admission, and no worker hears of it", async () => {
    const w1 = house.worker("w1");
    const { callId, approvalId } = await house.parked();
    expect(w1.words()).toEqual(["registered"]);
    expect((await house.eventsOf(callId)).map(([type]) => type)).toEqual(["requested", "approval_requested"]);
    const { approval, progress, call } = await house.approval(approvalId);
    expect(approval).toMatchObject({ state: "pending", tool: "pay", requester: "user:ann", argsJson: '{"amount":1500}', expiresAt: at0 + 3_600_000 });
    expect(progress).toEqual([{ route: "finance", quorum: 1, voters: [] }]);
    expect(call).toMatchObject({ callId, state: "awaiting_approval", decision: { outcome: "require_approval", rules: [{ policy: "large", version: "1.0.0" }] } });
  });

  test("below the limit nobody is asked", async () => {
    const { call, progress } = await house.invoke({ input: { amount: 500 } });
    expect([call.state, progress, call.approvalId]).toEqual(["queued", "waiting", null]);
  });

  test("approved: it runs once, with the arguments as they were", async () => {
    const w1 = house.worker("w1");
    const { callId, approvalId } = await house.parked();
    const answer = await house.vote(fin1, approvalId, { comment: "fine" });
    expect(answer).toMatchObject({ said: "counted", approval: { state: "approved", closedBy: "user:fay" } });
    expect(w1.words()).toEqual(["registered", `invoke ${callId}#1`]);
    expect(await house.state(callId)).toBe("dispatched");
    w1.say(result(callId));
    await house.settle();
    // Who let it run stands in the record of its end.
    expect((await house.audit())[0]).toMatchObject({ action: "call.settled", status: "succeeded", approval: { by: ["user:fay"], at: at0 } });
  });

  test("rejected: denied for good, with the comment for the model", async () => {
    const { callId, approvalId } = await house.parked();
    await house.vote(fin1, approvalId, { decision: "reject", comment: "too much" });
    const call = await house.ledger.getCall("acme", callId);
    expect(call).toMatchObject({ state: "denied", error: { code: "approval_denied", details: { by: "user:fay", comment: "too much" } } });
  });

  test("a role is needed, and the requester has no vote", async () => {
    const { approvalId } = await house.parked();
    expect(await refusal(house.vote(voter("sue", "sales"), approvalId))).toMatchObject({ code: "forbidden", details: { reason: "missing_role", roles: ["finance"] } });
    const ann = asked({ scopes: new Set(["approvals:decide"]), roles: ["finance"] });
    expect(await refusal(house.vote(ann, approvalId))).toMatchObject({ code: "forbidden", details: { reason: "requester_may_not_vote" } });
    expect((await house.audit()).filter(({ action }) => action === "call.refused")).toHaveLength(2);
  });

  test("a role by grant counts, and is gone with the grant", async () => {
    const row = { tenant: "acme", grantId: "g9", subject: "user:gus", project: "shop", permissions: [], roles: ["finance"], createdAt: at0, createdBy: "user:root", expiresAt: at0 + 5_000, revokedAt: null };
    await house.ledger.commit({ writes: [{ op: "insert_grant", row }] });
    house.runtime.directory.changed("acme");
    const one = await house.parked();
    const two = await house.parked();
    await house.vote(voter("gus"), one.approvalId);
    await house.pass(5_000);
    expect(await refusal(house.vote(voter("gus"), two.approvalId))).toMatchObject({ code: "forbidden" });
  });

  test("nobody decides: it ends at the stored instant, told as an expiry", async () => {
    const { callId, approvalId } = await house.parked();
    await house.pass(3_599_999);
    expect(await house.state(callId)).toBe("awaiting_approval");
    await house.pass(1);
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ state: "denied", settledAt: at0 + 3_600_000, error: { code: "approval_expired" } });
    expect(await refusal(house.vote(fin1, approvalId))).toMatchObject({ code: "approval_closed", details: { outcome: "expired" } });
    expect((await house.approval(approvalId)).votes).toMatchObject([{ voter: "user:fay", late: true }]);
  });

  test("a process that was killed while it waited: the next one goes on with the same instant", async () => {
    const { callId, approvalId } = await house.parked();
    await house.kill();
    await house.pass(3_000_000);
    house = await Governed.open({}, house);
    expect((await house.approval(approvalId)).approval.state).toBe("pending");
    await house.pass(600_000);
    expect(await house.state(callId)).toBe("denied");
  });

  test("closed with its tool's quarantine, which is told as such", async () => {
    const { callId, approvalId } = await house.parked();
    const keeper = asked({ name: "user:kit", scopes: new Set(["tools:write", "policies:write", "admin"]) });
    await house.service.quarantineTool(keeper, "pay", undefined, { released: false, reason: "a bad build" });
    await house.settle();
    expect(await house.state(callId)).toBe("denied");
    expect((await house.approval(approvalId)).approval.state).toBe("cancelled");
    const [closed] = (await house.audit()).filter(({ action = "" }) => action.startsWith("approval."));
    expect(closed?.details).toMatchObject({ reason: "barred" });
  });

  test("cancelled with its approval, and later votes are refused", async () => {
    const { callId, approvalId } = await house.parked();
    const canceller = asked({ scopes: new Set(["calls:cancel"]) });
    expect(await house.service.cancel(canceller, callId)).toMatchObject({ call: { state: "cancelled" }, stopping: false });
    expect((await house.approval(approvalId)).approval).toMatchObject({ state: "cancelled", closedBy: "user:ann" });
    expect(await refusal(house.vote(fin1, approvalId))).toMatchObject({ code: "approval_closed", details: { outcome: "cancelled" } });
    expect(await house.state(callId)).toBe("cancelled");
  });
});

describe("changed arguments", () => {
  test("votes are void, the rules run again, and what runs is what people saw last", async () => {
    await house.policy({ name: "huge", when: "args.amount > 1800.0", then: ask("finance", 2) });
    const w1 = house.worker("w1");
    const { callId, approvalId } = await house.parked(2_000);
    expect(await house.vote(fin1, approvalId)).toMatchObject({ progress: [{ voters: ["user:fay"], quorum: 2 }] });
    const edited = await house.vote(fin2, approvalId, { args: { amount: 1_900 } });
    expect(edited).toMatchObject({ approval: { state: "pending", edited: true, argsJson: '{"amount":1900}' }, progress: [{ voters: ["user:fred"], quorum: 2 }] });
    expect(await refusal(house.service.vote(fin1, approvalId, { decision: "approve", argsHash: "old" }))).toMatchObject({ code: "conflict", details: { reason: "args_changed" } });
    await house.vote(fin1, approvalId);
    expect(w1.last("invoke")).toMatchObject({ callId, argsJson: '{"amount":1900}' });
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ inputJson: '{"amount":2000}', effectiveArgsJson: '{"amount":1900}', argsEditedBy: "user:fred" });
  });

  test("an edit for which nobody need be asked runs with its author's word", async () => {
    const w1 = house.worker("w1");
    const { callId, approvalId } = await house.parked();
    await house.vote(fin1, approvalId, { args: { amount: 500 } });
    expect(w1.last("invoke")).toMatchObject({ callId, argsJson: '{"amount":500}' });
  });

  test("an edit that a rule denies, or the schema: the original stands", async () => {
    await house.policy({ name: "never", when: "args.amount > 9000.0", then: deny("never so much") });
    const { callId, approvalId } = await house.parked();
    expect(await refusal(house.vote(fin1, approvalId, { args: { amount: 10_000 } }))).toMatchObject({ code: "forbidden", details: { reason: "edit_denied", policy: "never@1.0.0" } });
    expect(await refusal(house.vote(fin1, approvalId, { args: { amount: "x" } }))).toMatchObject({ code: "invalid_input" });
    expect((await house.approval(approvalId)).approval).toMatchObject({ state: "pending", argsJson: '{"amount":1500}', edited: false });
    expect(await house.state(callId)).toBe("awaiting_approval");
  });

  test("digits beyond a double stay as people wrote them", async () => {
    const w1 = house.worker("w1");
    const { approvalId } = await house.parked();
    await house.vote(fin1, approvalId, { args: exact("{\"amount\":500.00000000000000000001}") });
    expect(w1.last("invoke")).toMatchObject({ argsJson: '{"amount":500.00000000000000000001}' });
  });
});

describe("leaving", () => {
  test("a rule that came meanwhile denies what people approved", async () => {
    const { callId, approvalId } = await house.parked();
    await house.policy({ name: "stop", then: deny("stopped today") });
    expect(await refusal(house.vote(fin1, approvalId))).toMatchObject({ code: "forbidden", details: { reason: "recheck_failed", policy: "stop@1.0.0" } });
    expect(await house.ledger.getCall("acme", callId)).toMatchObject({ state: "denied", error: { code: "forbidden" } });
  });

  test("a requester whose key was revoked has nothing run", async () => {
    const { callId, approvalId } = await house.parked();
    await house.service.revokeKey(admin, "key_of_user:ann");
    expect(await refusal(house.vote(fin1, approvalId))).toMatchObject({ code: "forbidden" });
    expect(await house.state(callId)).toBe("denied");
  });

  test("quarantine ends what is parked and what is queued", async () => {
    const { callId } = await house.parked();
    const { call } = await house.invoke({ input: { amount: 5 } });
    expect(await house.service.quarantineTool(admin, "pay", undefined, { released: false, reason: "leaks" })).toEqual({ versions: ["1.0.0"], denied: 2 });
    await house.ledger.flush();
    expect([await house.state(callId), await house.state(call.callId)]).toEqual(["denied", "denied"]);
  });
});

describe("several", () => {
  test("two equal calls: approving the second releases the second alone", async () => {
    const w1 = house.worker("w1");
    const one = await house.parked();
    const two = await house.parked();
    await house.vote(fin1, two.approvalId);
    expect(w1.words()).toEqual(["registered", `invoke ${two.callId}#1`]);
    expect(await house.state(one.callId)).toBe("awaiting_approval");
  });

  test("approve and reject at the same moment: one wins, the other is told who", async () => {
    const { callId, approvalId } = await house.parked();
    const { argsHash } = (await house.approval(approvalId)).approval;
    const [yes, no] = await Promise.allSettled([
      house.service.vote(fin1, approvalId, { decision: "approve", argsHash }),
      house.service.vote(fin2, approvalId, { decision: "reject", argsHash }),
    ]);
    expect([yes.status, no.status].sort()).toEqual(["fulfilled", "rejected"]);
    expect(no).toMatchObject({ reason: { code: "approval_closed", details: { by: "user:fay", outcome: "approved" } } });
    expect(await house.state(callId)).toBe("queued");
  });

  test("the same vote again is answered and not counted twice; another one is a conflict", async () => {
    await house.policy({ name: "two", when: "args.amount > 5000.0", then: ask("finance", 2) });
    const { approvalId } = await house.parked(6_000);
    expect(await house.vote(fin1, approvalId)).toMatchObject({ said: "counted" });
    expect(await house.vote(fin1, approvalId)).toMatchObject({ said: "repeated", progress: [{ voters: ["user:fay"] }] });
    expect(await refusal(house.vote(fin1, approvalId, { decision: "reject" }))).toMatchObject({ code: "conflict", details: { reason: "already_voted" } });
  });
});
