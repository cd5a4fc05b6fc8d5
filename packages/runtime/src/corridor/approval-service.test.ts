// Approvals as people meet them: what whose key sees, whose question it is, and how a vote is answered.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, refusal } from "../../../../test/support/corridor.ts";
import { admin, ask, Governed, voter } from "../../../../test/support/governed.ts";
import type { Asked } from "../tenancy/types.ts";

let house: Governed;
const fay = voter("fay", "finance");
const olga = voter("olga", "ops");
const reader = asked({ name: "user:eva", scopes: new Set(["calls:read"]) });
const elsewhere = (by: Asked): Asked => ({ ...by, principal: { ...by.principal, project: "office" } });
const foreign = asked({ tenant: "other", name: "user:root", scopes: new Set(["*"]) });

beforeEach(async () => {
  house = await Governed.open();
  await house.policy({ name: "large", when: "args.amount > 1000.0", then: ask("finance", 1, { timeout: "1h" }) });
  await house.policy({ name: "odd", when: "args.amount < 0.0", then: ask("ops", 1, { timeout: "1h" }) });
});
afterEach(() => house.close());

const list = async (by: Asked, query: Parameters<typeof house.service.listApprovals>[1]): Promise<string[]> =>
  (await house.service.listApprovals(by, query)).items.map(({ approvalId }) => approvalId);

describe("listing", () => {
  test("newest first, by state, tool, call and requester", async () => {
    const one = await house.parked(1_500);
    await house.pass(10);
    const two = await house.parked(-1);
    expect(await list(reader, { limit: 10 })).toEqual([two.approvalId, one.approvalId]);
    await house.vote(fay, one.approvalId);
    expect(await list(reader, { limit: 10, status: "pending" })).toEqual([two.approvalId]);
    expect(await list(reader, { limit: 10, status: "approved" })).toEqual([one.approvalId]);
    expect(await list(reader, { limit: 10, executionId: two.callId })).toEqual([two.approvalId]);
    expect(await list(reader, { limit: 10, tool: "ship" })).toEqual([]);
    expect(await list(reader, { limit: 10, requester: "user:ann", status: "pending" })).toEqual([two.approvalId]);
  });

  test("a key sees its own project; the admin key sees all, or the one it asks for; another tenant nothing", async () => {
    const { approvalId } = await house.parked();
    expect(await list(elsewhere(reader), { limit: 10 })).toEqual([]);
    expect(await list(elsewhere(reader), { limit: 10, project: "shop" })).toEqual([]);
    expect(await list(admin, { limit: 10 })).toEqual([approvalId]);
    expect(await list(admin, { limit: 10, project: "office" })).toEqual([]);
    expect(await list(foreign, { limit: 10 })).toEqual([]);
  });

  test("takes approvals:decide or calls:read", async () => {
    expect(await list(asked({ name: "user:eva", scopes: new Set(["approvals:decide"]) }), { limit: 10 })).toEqual([]);
    expect(await refusal(house.service.listApprovals(asked(), { limit: 10 }))).toMatchObject({ code: "forbidden" });
  });

  test("mine: those that wait for this very person, page by page, none left out and none twice", async () => {
    const own: string[] = [];
    for (let n = 0; n < 7; n++) {
      const { approvalId } = await house.parked(n % 3 === 1 ? -1 : 1_500);
      if (n % 3 !== 1) own.unshift(approvalId);
      await house.pass(10);
    }
    const seen: string[] = [];
    let cursor: string | undefined;
    for (let pages = 0; pages < 9; pages++) {
      const page = await house.service.listApprovals(fay, { limit: 2, mine: true, ...(cursor === undefined ? {} : { cursor }) });
      expect(page.items.length).toBeLessThanOrEqual(2);
      seen.push(...page.items.map(({ approvalId }) => approvalId));
      cursor = page.next;
      if (cursor === undefined) break;
    }
    expect(seen).toEqual(own);
    expect(await list(reader, { limit: 10, mine: true })).toEqual([]);
    expect(await list(voter("nobody"), { limit: 10, mine: true })).toEqual([]);
  });

  test("mine leaves out what the person asked for itself", async () => {
    await house.policy({ name: "other-eyes", when: "args.amount > 1000.0", then: ask("finance", 1, { distinct_from_requester: true }) });
    await house.key("user:fay");
    await house.grant(["*"], "user:fay");
    const { approvalId } = await house.parked(1_500, asked({ name: "user:fay" }));
    expect(await list(fay, { limit: 10, mine: true })).toEqual([]);
    expect(await list(voter("fred", "finance"), { limit: 10, mine: true })).toEqual([approvalId]);
  });
});

describe("reading one", () => {
  test("question, progress, call, and why the reader has no vote", async () => {
    const { approvalId, callId } = await house.parked();
    expect(await house.service.getApproval(fay, approvalId)).toMatchObject({ approval: { approvalId }, votes: [], progress: [{ route: "finance", quorum: 1, voters: [] }], call: { callId }, mayNotVote: null });
    expect((await house.service.getApproval(reader, approvalId)).mayNotVote).toBe("this key lacks the scope approvals:decide");
    expect((await house.service.getApproval(olga, approvalId)).mayNotVote).toContain("finance");
  });

  test("one that is unknown, of another project or of another tenant: the very same words", async () => {
    const { approvalId } = await house.parked();
    const words = await Promise.all([
      refusal(house.service.getApproval(fay, "apr_unknown")),
      refusal(house.service.getApproval(elsewhere(fay), approvalId)),
      refusal(house.service.getApproval(foreign, approvalId)),
      refusal(house.service.vote(elsewhere(fay), approvalId, { decision: "approve", argsHash: "x" })),
      refusal(house.service.vote(foreign, approvalId, { decision: "approve", argsHash: "x" })),
    ]);
    const [first] = words;
    expect(first?.code).toBe("approval_not_found");
    expect(words).toEqual(words.map(() => first));
  });
});

describe("voting", () => {
  test("takes the scope, and a refusal for want of a right is written down with the approval", async () => {
    const { approvalId, callId } = await house.parked();
    expect(await refusal(house.service.vote(reader, approvalId, { decision: "approve", argsHash: "x" }))).toMatchObject({ code: "forbidden" });
    expect(await refusal(house.vote(olga, approvalId))).toMatchObject({ code: "forbidden", executionId: callId, details: { reason: "missing_role", approval_id: approvalId } });
    expect((await house.audit())[0]).toMatchObject({ action: "call.refused", principal: "user:olga", details: { approval_id: approvalId, reason: "missing_role" } });
  });

  test("an agent has no vote, whatever its roles", async () => {
    const { approvalId } = await house.parked();
    const agent = asked({ name: "agent:clerk", scopes: new Set(["approvals:decide"]), roles: ["finance"] });
    expect(await refusal(house.vote(agent, approvalId))).toMatchObject({ code: "forbidden", details: { reason: "not_a_person" } });
  });

  test("on arguments that are not the ones: a conflict that is no matter of rights, and names those that count", async () => {
    const { approvalId } = await house.parked();
    const { argsHash } = (await house.approval(approvalId)).approval;
    const records = (await house.audit()).length;
    expect(await refusal(house.service.vote(fay, approvalId, { decision: "approve", argsHash: "stale" }))).toMatchObject({ code: "conflict", details: { reason: "args_changed", args_hash: argsHash } });
    expect(await house.audit()).toHaveLength(records);
  });

  test("with arguments larger than any input may be", async () => {
    const { approvalId } = await house.parked();
    const { argsHash } = (await house.approval(approvalId)).approval;
    const args = { amount: 1, note: "x".repeat(1_048_577) };
    expect(await refusal(house.service.vote(fay, approvalId, { decision: "approve", argsHash, args }))).toMatchObject({ code: "payload_too_large" });
  });

  test("a full disk: nothing was stored, and the vote can be cast again", async () => {
    const { approvalId, callId } = await house.parked();
    const { argsHash } = (await house.approval(approvalId)).approval;
    house.ledger.full = true;
    expect(await refusal(house.service.vote(fay, approvalId, { decision: "approve", argsHash }))).toMatchObject({ code: "ledger_unavailable" });
    expect([(await house.approval(approvalId)).votes, await house.state(callId)]).toEqual([[], "awaiting_approval"]);
    house.ledger.full = false;
    await house.pass(500);
    expect(await house.vote(fay, approvalId)).toMatchObject({ said: "counted", approval: { state: "approved" } });
    expect(await house.state(callId)).toBe("queued");
  });

  test("the answer is what is stored: who counts, and what became of the call", async () => {
    await house.policy({ name: "huge", when: "args.amount > 5000.0", then: ask("finance", 2) });
    const { approvalId } = await house.parked(6_000);
    expect(await house.vote(fay, approvalId, { comment: "fine" })).toMatchObject({
      said: "counted",
      approval: { state: "pending" },
      votes: [{ voter: "user:fay", comment: "fine", late: false }],
      progress: [{ route: "finance", quorum: 2, voters: ["user:fay"] }],
      call: { state: "awaiting_approval" },
    });
    expect(await house.vote(voter("fred", "finance"), approvalId)).toMatchObject({ said: "counted", approval: { state: "approved", closedBy: "user:fred" }, call: { state: "queued" } });
  });
});
