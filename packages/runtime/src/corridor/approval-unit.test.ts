// What a step of an approval becomes: guards first, every row once, and at most one happening of its call.
import { describe, expect, test } from "vitest";
import {
  asked0,
  cancelled,
  editBy,
  finance,
  hourMs,
  opened,
  play,
  playAll,
  requestOf,
  requirementsOf,
  toFiveHundred,
  voteBy,
} from "../../../../test/support/approvals.ts";
import type { ApprovedArgs } from "../call/machine.ts";
import { openApproval } from "../policy/approval/open.ts";
import type { ApprovalStep } from "../policy/approval/machine.ts";
import type { ApprovalWithVotes } from "../policy/approval/types.ts";
import { approves, unitOf } from "./approval-unit.ts";

const args: ApprovedArgs = { argsJson: toFiveHundred.argsJson, editedBy: "user:fay", timeoutMs: 1_000, resultBytesMax: 10 };
const ops = (all: ApprovalWithVotes, step: ApprovalStep, edit: ApprovedArgs | null = null) => {
  const { guards, writes, call, notices } = unitOf(all.approval, step, edit);
  return { guards: guards.map(({ op }) => op), writes: writes.map(({ op }) => op), call, notices };
};

test("an opening: the row, its record and its notice, and the event of its call", () => {
  const step = openApproval(requestOf(), asked0);
  const { guards, writes, call, notices } = unitOf(undefined, step, null);
  expect(guards).toEqual([{ op: "insert_approval", row: step.after.approval }]);
  expect(writes.map(({ op }) => op)).toEqual(["append_audit", "append_notice"]);
  expect(call).toEqual({
    callId: "exec_1",
    happening: {
      type: "asked",
      approvalId: "apr_1",
      outcome: null,
      args: null,
      data: { approval_id: "apr_1", args_hash: "h0", routes: [{ route: "finance", quorum: 1 }], reason: "Payments above 1000 need a person", expires_at: "1970-01-01T01:16:40.000Z" },
    },
  });
  expect(notices).toBe(1);
});

test("a vote that is not the last one: guarded by the revision that was read, and the call is left alone", () => {
  const all = opened({ routes: [{ route: "finance", quorum: 2 }] });
  const step = play(all, voteBy("user:bo"));
  expect(ops(all, step)).toEqual({ guards: ["update_approval"], writes: ["store_vote", "append_audit", "append_notice"], call: null, notices: 1 });
  expect(unitOf(all.approval, step, null).guards[0]).toMatchObject({ expect: { revision: 1 }, row: { revision: 2, state: "pending" } });
});

test("the last vote lets the call go on", () => {
  const all = opened();
  const step = play(all, voteBy("user:bo"));
  expect(ops(all, step)).toMatchObject({ guards: ["update_approval"], call: { callId: "exec_1", happening: { type: "approved", by: ["user:bo"], args: null } } });
  expect(approves(step)).toMatchObject({ type: "approve_call", callId: "exec_1", argsHash: "h0" });
});

test("an edit that waits for others: the call is told its new arguments at once", () => {
  const all = opened({ routes: [{ route: "finance", quorum: 2 }] });
  const step = play(all, editBy("user:fay", requirementsOf({ routes: [{ route: "finance", quorum: 2 }] })));
  expect(ops(all, step, args).call).toMatchObject({ happening: { type: "asked", approvalId: "apr_1", outcome: null, args, data: { edited_by: "user:fay" } } });
  expect(approves(step)).toBeUndefined();
});

test("an edit that is enough goes on with them", () => {
  const all = opened();
  expect(ops(all, play(all, editBy("user:fay", finance)), args).call).toMatchObject({ happening: { type: "approved", args } });
});

test("a no, an expiry and a failed look deny the call; only a person is named", () => {
  const all = opened();
  const no = play(all, voteBy("user:bo", { decision: "reject" }));
  const late = play(all, { type: "due" }, hourMs);
  const error = { code: "forbidden", message: "stopped", type: "permission", retryable: false } as const;
  const stopped = play(all, { type: "recheck_failed", error, instead: voteBy("user:bo") });
  expect([no, late, stopped].map((step) => ops(all, step).call?.happening)).toMatchObject([
    { type: "rejected", by: "user:bo", error: { code: "approval_denied" } },
    { type: "rejected", by: null, error: { code: "approval_expired" } },
    { type: "rejected", by: null, error },
  ]);
});

test("an escalation closes one and opens the next in one unit, and the call is asked about again", () => {
  const all = opened({ onTimeout: "escalate", escalateTo: "lead" });
  const { guards, call, notices } = ops(all, play(all, { type: "due" }, hourMs));
  expect([guards, notices]).toEqual([["update_approval", "insert_approval"], 2]);
  expect(call?.happening).toMatchObject({ type: "asked", approvalId: "apr_2", args: null });
});

test("a cancel closes it and says nothing to the call, which ends in the same unit by itself", () => {
  const all = opened();
  expect(ops(all, play(all, cancelled))).toEqual({ guards: ["update_approval"], writes: ["append_audit", "append_notice"], call: null, notices: 1 });
});

describe("on a closed approval", () => {
  test("a late vote is kept without a guard: the row does not change", () => {
    const all = playAll(opened(), voteBy("user:bo"));
    expect(ops(all, play(all, voteBy("user:cy"), 600_000))).toEqual({ guards: [], writes: ["store_vote", "append_audit"], call: null, notices: 0 });
  });

  test("a repeat writes nothing at all", () => {
    const all = playAll(opened(), voteBy("user:bo"));
    expect(ops(all, play(all, voteBy("user:bo"), 600_000))).toEqual({ guards: [], writes: [], call: null, notices: 0 });
  });
});

test("a question about an unknown end: yes runs it again, no ends it", () => {
  const all = opened({}, { subject: { kind: "resolve", callId: "exec_1", sessionId: null } });
  const verdicts = (["approve", "reject"] as const).map((decision) => ops(all, play(all, voteBy("user:bo", { decision, comment: "asked the bank" }))).call?.happening);
  expect(verdicts).toEqual([
    { type: "resolve", verdict: "retry", by: "user:bo", comment: "asked the bank", output: null },
    { type: "resolve", verdict: "fail", by: "user:bo", comment: "asked the bank", output: null },
  ]);
});

test("a session's limit has no call", () => {
  const all = opened({}, { subject: { kind: "limit", callId: null, sessionId: "ses_1" } });
  expect(ops(all, play(all, voteBy("user:bo"))).call).toBeNull();
});
