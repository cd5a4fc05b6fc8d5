// The walk's and the driver tests' approvals in memory refuse what the ledger refuses, and say what is broken when nobody asks.
import { expect, test } from "vitest";
import { approved, sampleApproval, sampleNotice, sampleVote } from "../conformance/ledger-governance-rows.ts";
import { sampleCall } from "../conformance/ledger-rows.ts";
import { MemoryLedger } from "../support/memory-ledger.ts";
import { ApprovalShelf } from "./approval-shelf.ts";

const row = sampleApproval({ approvalId: "apr_1", expiresAt: 200 });
const vote = sampleVote({ approvalId: "apr_1", voter: "user:bo" });
const who = { tenant: "acme", tool: "orders.find", principal: "service:storefront" };
const inSession = { ...who, within: { kind: "session", sessionId: "ses_1" } } as const;

test("guards of approvals and counts refuse, wherever in the unit they stand, and leave nothing", async () => {
  const ledger = new MemoryLedger();
  await ledger.commit({ writes: [{ op: "insert_approval", row }] });
  const call = sampleCall({ callId: "c1", sessionId: "ses_1" });
  const insert = { op: "insert_call", row: call } as const;
  const outcomes = [
    await ledger.commit({ writes: [insert, { op: "insert_approval", row }] }),
    await ledger.commit({ writes: [insert, { op: "update_approval", expect: { revision: 1 }, row: approved(row) }] }),
    await ledger.commit({ writes: [insert, { op: "expect_count", of: inSession, calls: 1 }] }),
  ];
  expect(outcomes).toEqual(outcomes.map(() => ({ applied: false, write: 1 })));
  expect(await ledger.getCall("acme", "c1")).toBeUndefined();
  expect(await ledger.commit({ writes: [insert, { op: "expect_count", of: inSession, calls: 0 }] })).toEqual({
    applied: true,
  });
  expect(await ledger.countCalls(inSession)).toBe(1);
  ledger.counted = () => 7;
  expect(await ledger.countCalls(inSession)).toBe(7);
});

test("an approval is due while it is pending, keeps its votes, and its notices are told", async () => {
  const ledger = new MemoryLedger();
  const later = sampleApproval({ approvalId: "apr_2", expiresAt: 300 });
  for (const one of [later, row]) await ledger.commit({ writes: [{ op: "insert_approval", row: one }] });
  expect(await ledger.nextApprovalAt()).toBe(200);
  expect(await ledger.dueApprovals(199, 10)).toEqual([]);
  expect(await ledger.dueApprovals(300, 10)).toEqual([
    { tenant: "acme", approvalId: "apr_1" },
    { tenant: "acme", approvalId: "apr_2" },
  ]);
  const notice = sampleNotice({ type: "approval.approved" });
  const close = { op: "update_approval", expect: { revision: 0 }, row: approved(row) } as const;
  await ledger.commit({ writes: [close, { op: "store_vote", row: vote }, { op: "append_notice", notice }] });
  expect(await ledger.nextApprovalAt()).toBe(300);
  expect(await ledger.approval("acme", "apr_1")).toEqual({ approval: approved(row), votes: [vote] });
  expect(ledger.notices).toEqual([notice]);
  await expect(ledger.commit({ writes: [{ op: "store_vote", row: vote }] })).rejects.toThrow("counts twice in round 0");
});

test("without guards the broken rule is named", () => {
  const shelf = new ApprovalShelf();
  const closed = approved(row);
  const told = [
    shelf.write({ op: "insert_approval", row }),
    shelf.write({ op: "update_approval", expect: { revision: 0 }, row: { ...row, round: 1 } }),
    shelf.write({ op: "update_approval", expect: { revision: 0 }, row: closed }),
    shelf.write({ op: "update_approval", expect: { revision: 0 }, row: { ...closed, revision: 2 } }),
    shelf.write({ op: "store_vote", row: vote }),
    shelf.write({ op: "store_vote", row: { ...vote, late: true } }),
    shelf.write({ op: "store_vote", row: { ...vote, late: true } }),
    shelf.write({ op: "store_vote", row: { ...vote, decision: "reject" } }),
  ];
  expect(told).toEqual([
    undefined,
    "apr_1: the revision did not grow",
    undefined,
    "apr_1: a closed approval was changed",
    undefined,
    undefined,
    undefined,
    "apr_1: user:bo counts twice in round 0",
  ]);
  expect(shelf.votes).toHaveLength(3);
});
