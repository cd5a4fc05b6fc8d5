// Conformance: an approval changes under the guard of its revision alone, votes are kept as they were cast, and what is due is found.
import { expect } from "vitest";
import type { ApprovalFilter, Ledger, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Approval } from "../../packages/runtime/src/policy/approval/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { approved, sampleApproval, sampleVote } from "./ledger-governance-rows.ts";
import { dayStart, sampleCall } from "./ledger-rows.ts";

const applied = { applied: true };
const refused = { applied: false, write: 0 };

const commit = (ledger: Ledger, ...writes: Write[]) => ledger.commit({ writes });
const open = (ledger: Ledger, row: Approval) => commit(ledger, { op: "insert_approval", row });

async function openAll(ledger: Ledger, rows: readonly Approval[]): Promise<void> {
  for (const row of rows) expect(await open(ledger, row)).toEqual(applied);
}

async function listedIds(ledger: Ledger, filter: ApprovalFilter): Promise<string[]> {
  return (await ledger.listApprovals(filter, 100)).items.map(({ approvalId }) => approvalId);
}

function rowCases(ledgerCase: LedgerCase): void {
  ledgerCase("an approval comes back as it was, whatever it is about", async ({ ledger, reopen }) => {
    const call = sampleApproval({ approvalId: "apr_1" });
    const limit = sampleApproval({
      approvalId: "apr_2",
      subject: { kind: "limit", callId: null, sessionId: "ses_1" },
      tool: "",
      version: "",
      onBehalfOf: "",
      routes: [{ route: "", quorum: 1 }],
      distinctFromRequester: false,
      comprehension: true,
      onTimeout: "deny",
      onReject: "fail",
      escalateTo: null,
      reason: "",
      argsJson: "{}",
    });
    const resolve = approved(
      sampleApproval({
        approvalId: "apr_3",
        tenant: "globex",
        subject: { kind: "resolve", callId: "exec_1", sessionId: "ses_1" },
        depth: 5,
        escalatedFrom: "apr_2",
        escalatedTo: "apr_4",
        edited: true,
        round: 50,
        revision: 7,
        reason: "Zoë said: 'why; not?' 🦊\n\t\u0001",
        argsJson: '{"a":1.10,"b":"\\u0000"}',
      }),
    );
    await openAll(ledger, [call, limit, resolve]);
    const again = await reopen();
    expect(await again.approval("acme", "apr_1")).toEqual({ approval: call, votes: [] });
    expect(await again.approval("acme", "apr_2")).toEqual({ approval: limit, votes: [] });
    expect(await again.approval("globex", "apr_3")).toEqual({ approval: resolve, votes: [] });
    expect(await again.approval("acme", "apr_3")).toBeUndefined();
    expect(await again.approval("acme", "apr_9")).toBeUndefined();
  });

  ledgerCase("a second approval of one id is refused in its tenant alone, and leaves nothing", async ({ ledger }) => {
    const row = sampleApproval({ approvalId: "apr_1" });
    const call = sampleCall({ callId: "exec_1", state: "awaiting_approval" });
    await open(ledger, row);
    const outcome = await commit(
      ledger,
      { op: "insert_call", row: call },
      { op: "insert_approval", row: { ...row, reason: "another" } },
      { op: "store_vote", row: sampleVote({ approvalId: "apr_1", voter: "user:bo" }) },
    );
    expect(outcome).toEqual({ applied: false, write: 1 });
    expect(await ledger.getCall("acme", "exec_1")).toBeUndefined();
    expect(await ledger.approval("acme", "apr_1")).toEqual({ approval: row, votes: [] });
    expect(await open(ledger, { ...row, tenant: "globex" })).toEqual(applied);
  });

  ledgerCase("an update stores the whole row, under the revision that was read", async ({ ledger }) => {
    const row = sampleApproval({ approvalId: "apr_1", revision: 3 });
    await openAll(ledger, [row, { ...row, tenant: "globex" }, sampleApproval({ approvalId: "apr_2", revision: 3 })]);
    const moved: Approval = {
      tenant: "acme",
      approvalId: "apr_1",
      project: "support",
      subject: { kind: "resolve", callId: "exec_2", sessionId: "ses_2" },
      tool: "payments.cancel",
      version: "3.0.0",
      requester: "user:cy",
      onBehalfOf: "",
      routes: [{ route: "legal", quorum: 3 }],
      distinctFromRequester: false,
      comprehension: true,
      timeoutMs: 5,
      onTimeout: "allow",
      onReject: "fail",
      escalateTo: null,
      reason: "other rules",
      depth: 1,
      escalatedFrom: "apr_0",
      escalatedTo: "apr_9",
      argsHash: "b2".repeat(32),
      argsJson: "[]",
      edited: true,
      round: 1,
      state: "escalated",
      openedAt: dayStart + 1,
      expiresAt: dayStart + 2,
      closedAt: dayStart + 3,
      closedBy: "runtime",
      outcome: "escalated",
      revision: 4,
    };
    const update = (revision: number, to: Approval) =>
      commit(ledger, { op: "update_approval", expect: { revision }, row: to });
    expect(await update(2, moved)).toEqual(refused);
    expect(await update(4, moved)).toEqual(refused);
    expect(await update(3, { ...moved, approvalId: "apr_9" })).toEqual(refused);
    expect(await update(3, { ...moved, tenant: "initech" })).toEqual(refused);
    expect((await ledger.approval("acme", "apr_1"))?.approval).toEqual(row);
    expect(await update(3, moved)).toEqual(applied);
    expect((await ledger.approval("acme", "apr_1"))?.approval).toEqual(moved);
    expect((await ledger.approval("globex", "apr_1"))?.approval).toEqual({ ...row, tenant: "globex" });
    expect((await ledger.approval("acme", "apr_2"))?.approval.revision).toBe(3);
  });

  ledgerCase("a closed approval never changes, whatever its revision", async ({ ledger }) => {
    const states = ["approved", "rejected", "expired", "cancelled", "escalated"] as const;
    for (const state of states) {
      const row = sampleApproval({ approvalId: `apr_${state}`, state, closedAt: 1, closedBy: "runtime" });
      await open(ledger, row);
      const to = { ...row, state: "pending" as const, closedAt: null };
      expect(await commit(ledger, { op: "update_approval", expect: { revision: 0 }, row: to })).toEqual(refused);
      expect((await ledger.approval("acme", row.approvalId))?.approval).toEqual(row);
    }
  });

  ledgerCase("of two who decide at once one is first, and the other leaves nothing", async ({ ledger }) => {
    const row = sampleApproval({ approvalId: "apr_1" });
    await open(ledger, row);
    const decide = (voter: string) =>
      commit(
        ledger,
        { op: "update_approval", expect: { revision: 0 }, row: approved(row, { closedBy: voter }) },
        { op: "store_vote", row: sampleVote({ approvalId: "apr_1", voter }) },
      );
    expect(await Promise.all([decide("user:bo"), decide("user:cy")])).toEqual([applied, refused]);
    const after = await ledger.approval("acme", "apr_1");
    expect(after?.approval).toEqual(approved(row, { closedBy: "user:bo" }));
    expect(after?.votes.map(({ voter }) => voter)).toEqual(["user:bo"]);
  });
}

function voteCases(ledgerCase: LedgerCase): void {
  ledgerCase("votes come back as they were cast, in the order of storing", async ({ ledger }) => {
    await openAll(ledger, [sampleApproval({ approvalId: "apr_1" }), sampleApproval({ approvalId: "apr_2" })]);
    const votes = [
      sampleVote({ approvalId: "apr_1", voter: "user:zoë", at: 9, comprehended: true, comment: "Ja — 'gut' 👍\n" }),
      sampleVote({
        approvalId: "apr_1",
        voter: "user:bo",
        at: 5,
        roles: [],
        round: 1,
        argsHash: "b2".repeat(32),
        editedArgsJson: '{"amount":500.00}',
        editedArgsHash: "b3".repeat(32),
      }),
      sampleVote({ approvalId: "apr_1", voter: "user:ann", at: 5, round: 1, decision: "reject" }),
      // A word in an earlier round does not keep a person from another one.
      sampleVote({ approvalId: "apr_1", voter: "user:zoë", at: 5, round: 1 }),
    ];
    for (const row of votes) expect(await commit(ledger, { op: "store_vote", row })).toEqual(applied);
    const foreign = sampleVote({ approvalId: "apr_2", voter: "user:bo" });
    await commit(ledger, { op: "store_vote", row: foreign });
    expect((await ledger.approval("acme", "apr_1"))?.votes).toEqual(votes);
    expect((await ledger.approval("acme", "apr_2"))?.votes).toEqual([foreign]);
  });

  ledgerCase("a counted vote twice is an error that leaves nothing, also with the other word", async ({ ledger }) => {
    const row = sampleApproval({ approvalId: "apr_1" });
    const first = sampleVote({ approvalId: "apr_1", voter: "user:bo" });
    await open(ledger, row);
    await commit(ledger, { op: "store_vote", row: first });
    for (const decision of ["approve", "reject"] as const) {
      const again = commit(
        ledger,
        { op: "update_approval", expect: { revision: 0 }, row: approved(row) },
        { op: "store_vote", row: { ...first, decision, comment: "again" } },
      );
      await expect(again).rejects.toThrow("a vote of user:bo on approval apr_1 counts already in round 0");
    }
    expect(await ledger.approval("acme", "apr_1")).toEqual({ approval: row, votes: [first] });
  });

  ledgerCase("a late vote is kept once a decision, beside the one that counts", async ({ ledger }) => {
    await open(ledger, approved(sampleApproval({ approvalId: "apr_1" })));
    const counted = sampleVote({ approvalId: "apr_1", voter: "user:bo" });
    const lateYes = { ...counted, late: true, comment: "too late", at: 20 };
    const lateNo = { ...counted, late: true, decision: "reject" as const, at: 30 };
    const repeated = { ...lateYes, comment: "still", at: 40 };
    for (const row of [counted, lateYes, lateNo, repeated]) {
      expect(await commit(ledger, { op: "store_vote", row })).toEqual(applied);
    }
    expect((await ledger.approval("acme", "apr_1"))?.votes).toEqual([counted, lateYes, lateNo]);
  });
}

function listCases(ledgerCase: LedgerCase): void {
  ledgerCase("approvals are listed newest first, without their arguments", async ({ ledger }) => {
    const rows = [1, 3, 2].map((at) => sampleApproval({ approvalId: `apr_${at}`, openedAt: dayStart + at }));
    await openAll(ledger, rows);
    const { items, next } = await ledger.listApprovals({ tenant: "acme" }, 10);
    expect(items.map(({ approvalId }) => approvalId)).toEqual(["apr_3", "apr_2", "apr_1"]);
    expect(items[0]).toEqual({ ...rows[1], argsJson: "" });
    expect(next).toBeUndefined();
  });

  ledgerCase("a list of approvals is filtered by each part, also together", async ({ ledger }) => {
    const at = (n: number) => ({ approvalId: `apr_${n}`, openedAt: dayStart + n });
    await openAll(ledger, [
      sampleApproval(at(1)),
      sampleApproval({ ...at(2), project: "support" }),
      sampleApproval({ ...at(3), tool: "payments.cancel" }),
      approved(sampleApproval(at(4))),
      sampleApproval({
        ...at(5),
        requester: "user:cy",
        subject: { kind: "resolve", callId: "exec_2", sessionId: null },
      }),
      sampleApproval({ ...at(6), subject: { kind: "limit", callId: null, sessionId: "ses_1" } }),
      sampleApproval({ ...at(7), tenant: "globex" }),
    ]);
    const tenant = "acme";
    expect(await listedIds(ledger, { tenant })).toEqual(["apr_6", "apr_5", "apr_4", "apr_3", "apr_2", "apr_1"]);
    expect(await listedIds(ledger, { tenant, project: "support" })).toEqual(["apr_2"]);
    expect(await listedIds(ledger, { tenant, tool: "payments.cancel" })).toEqual(["apr_3"]);
    expect(await listedIds(ledger, { tenant, state: "approved" })).toEqual(["apr_4"]);
    expect(await listedIds(ledger, { tenant, state: "pending" })).toEqual([
      "apr_6",
      "apr_5",
      "apr_3",
      "apr_2",
      "apr_1",
    ]);
    expect(await listedIds(ledger, { tenant, callId: "exec_1" })).toEqual(["apr_4", "apr_3", "apr_2", "apr_1"]);
    expect(await listedIds(ledger, { tenant, requester: "user:cy" })).toEqual(["apr_5"]);
    expect(await listedIds(ledger, { tenant, state: "pending", callId: "exec_1", project: "shop" })).toEqual([
      "apr_3",
      "apr_1",
    ]);
    expect(await listedIds(ledger, { tenant: "globex" })).toEqual(["apr_7"]);
    expect(await listedIds(ledger, { tenant: "initech" })).toEqual([]);
  });

  ledgerCase("a walk over approvals meets each once while others come in and close", async ({ ledger }) => {
    // Three share each instant, so pages end inside such a group.
    const rows = Array.from({ length: 20 }, (_, n) =>
      sampleApproval({ approvalId: `apr_${String(n).padStart(2, "0")}`, openedAt: dayStart + Math.floor(n / 3) }),
    );
    await openAll(ledger, rows);
    const met: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await ledger.listApprovals({ tenant: "acme", project: "shop" }, 3, cursor);
      met.push(...page.items.map(({ approvalId }) => approvalId));
      cursor = page.next;
      await open(ledger, sampleApproval({ approvalId: `new_${met.length}`, openedAt: dayStart + 99 }));
    } while (cursor !== undefined);
    expect(met).toEqual(rows.map(({ approvalId }) => approvalId).reverse());
    await expect(ledger.listApprovals({ tenant: "acme" }, 3, "%%%")).rejects.toMatchObject({ code: "invalid_input" });
  });

  ledgerCase("what is due is pending and comes earliest first, of all tenants", async ({ ledger }) => {
    expect(await ledger.nextApprovalAt()).toBeUndefined();
    expect(await ledger.dueApprovals(dayStart, 10)).toEqual([]);
    const due = (approvalId: string, expiresAt: number, fields: Partial<Approval> = {}) =>
      sampleApproval({ approvalId, expiresAt, ...fields });
    await openAll(ledger, [
      due("apr_late", 300),
      due("apr_b", 100),
      due("apr_a", 100),
      due("apr_z", 200, { tenant: "globex" }),
      due("apr_closed", 50, { state: "approved" }),
    ]);
    const name = (tenant: string, approvalId: string) => ({ tenant, approvalId });
    const inOrder = [name("acme", "apr_a"), name("acme", "apr_b"), name("globex", "apr_z"), name("acme", "apr_late")];
    expect(await ledger.nextApprovalAt()).toBe(100);
    expect(await ledger.dueApprovals(99, 10)).toEqual([]);
    expect(await ledger.dueApprovals(200, 10)).toEqual(inOrder.slice(0, 3));
    expect(await ledger.dueApprovals(9_999, 10)).toEqual(inOrder);
    expect(await ledger.dueApprovals(9_999, 2)).toEqual(inOrder.slice(0, 2));
    for (const approvalId of ["apr_a", "apr_b"]) {
      const row = approved(due(approvalId, 100));
      await commit(ledger, { op: "update_approval", expect: { revision: 0 }, row });
    }
    expect(await ledger.nextApprovalAt()).toBe(200);
    expect(await ledger.dueApprovals(9_999, 10)).toEqual(inOrder.slice(2));
  });

  ledgerCase("an escalation closes one approval and opens the next in one commit, or neither", async ({ ledger }) => {
    const row = sampleApproval({ approvalId: "apr_1", expiresAt: 100 });
    const next = sampleApproval({ approvalId: "apr_2", depth: 1, escalatedFrom: "apr_1", expiresAt: 200 });
    const closed = { state: "escalated", outcome: "escalated", closedBy: "runtime", escalatedTo: "apr_2" } as const;
    await open(ledger, row);
    const escalate = (revision: number) =>
      commit(
        ledger,
        { op: "insert_approval", row: next },
        { op: "update_approval", expect: { revision }, row: approved(row, closed) },
      );
    expect(await escalate(1)).toEqual({ applied: false, write: 1 });
    expect(await ledger.approval("acme", "apr_2")).toBeUndefined();
    expect(await escalate(0)).toEqual(applied);
    expect((await ledger.approval("acme", "apr_1"))?.approval).toEqual(approved(row, closed));
    expect((await ledger.approval("acme", "apr_2"))?.approval).toEqual(next);
    expect(await ledger.dueApprovals(9_999, 10)).toEqual([{ tenant: "acme", approvalId: "apr_2" }]);
  });
}

export function approvalCases(ledgerCase: LedgerCase): void {
  rowCases(ledgerCase);
  voteCases(ledgerCase);
  listCases(ledgerCase);
}
