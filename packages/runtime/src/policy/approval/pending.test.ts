// Votes and edits on an open approval: counted once, bound to the arguments that were seen, and void when those change.
import { errorBody } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import {
  asked0,
  castBy,
  editBy,
  finance,
  hourMs,
  only,
  opened,
  outline,
  play,
  playAll,
  replyOf,
  requirementsOf,
  toFiveHundred,
  voteBy,
} from "../../../../../test/support/approvals.ts";
import { progressOf } from "./votes.ts";

const pair = requirementsOf({ routes: [{ route: "finance", quorum: 2 }] });
const waiting = () => opened(pair);

describe("a vote", () => {
  test("the first of two: stored, told, and the approval waits on", () => {
    const step = play(waiting(), voteBy("user:bo", { comment: "fine with me" }), 5_000);
    expect(step.reply).toEqual({ ok: true, said: "counted" });
    expect(step.changed).toBe(true);
    expect(step.after.approval).toEqual({ ...waiting().approval, revision: 2 });
    expect(outline(step.effects)).toEqual(["store_vote", "audit:approval.voted", "notice:approval.voted"]);
    expect(only(step.effects, "store_vote")[0]?.row).toEqual({
      tenant: "acme",
      approvalId: "apr_1",
      voter: "user:bo",
      roles: ["finance"],
      decision: "approve",
      argsHash: "h0",
      round: 0,
      comment: "fine with me",
      editedArgsJson: null,
      editedArgsHash: null,
      comprehended: false,
      at: 1_005_000,
      late: false,
    });
    expect(only(step.effects, "audit")[0]?.draft).toEqual({
      ts: 1_005_000,
      tenant: "acme",
      project: "shop",
      principal: "user:bo",
      action: "approval.voted",
      tool: "pay",
      version: "1.0.0",
      executionId: "exec_1",
      callId: "exec_1",
      inputHash: "h0",
      status: "pending",
      requestId: "req_user:bo",
      details: { approval_id: "apr_1", kind: "call", decision: "approve", comment: "fine with me" },
    });
    expect(only(step.effects, "notice")[0]?.notice.data).toMatchObject({
      decision: "approve",
      by: "user:bo",
      progress: [{ route: "finance", quorum: 2, voters: ["user:bo"] }],
    });
  });

  test("the second of two: approved, as admitted, by both", () => {
    const step = play(play(waiting(), voteBy("user:bo")).after, voteBy("user:cy"), 9_000);
    expect(step.after.approval).toMatchObject({
      state: "approved",
      outcome: "approved",
      closedBy: "user:cy",
      closedAt: 1_009_000,
      revision: 3,
    });
    expect(only(step.effects, "approve_call")).toEqual([
      { type: "approve_call", callId: "exec_1", effectiveArgsJson: null, argsHash: "h0", by: ["user:bo", "user:cy"] },
    ]);
    expect(outline(step.effects)).toEqual([
      "store_vote",
      "audit:approval.voted",
      "approve_call",
      "audit:approval.approved",
      "notice:approval.approved",
    ]);
    expect(only(step.effects, "audit")[1]?.draft).toMatchObject({
      principal: "user:cy",
      status: "approved",
      approval: { by: ["user:bo", "user:cy"], at: 1_009_000 },
      details: { outcome: "approved", closed_by: "user:cy" },
    });
  });

  test("one no ends it at once, with the comment, however many had said yes", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const step = play(first, voteBy("user:cy", { decision: "reject", comment: "wrong payee" }), 9_000);
    expect(step.after.approval).toMatchObject({ state: "rejected", outcome: "rejected", closedBy: "user:cy" });
    expect(only(step.effects, "deny_call")).toEqual([
      {
        type: "deny_call",
        callId: "exec_1",
        by: "user:cy",
        onReject: "return_to_agent",
        error: {
          code: "approval_denied",
          message: "The call of pay was not run: a person rejected it. They said: wrong payee",
          type: "permission",
          retryable: false,
          details: { approval_id: "apr_1", by: "user:cy", comment: "wrong payee" },
        },
      },
    ]);
  });

  test("on_reject goes with a person's no", () => {
    const step = play(opened({ onReject: "fail" }), voteBy("user:bo", { decision: "reject" }));
    expect(only(step.effects, "deny_call")[0]?.onReject).toBe("fail");
  });

  test("the same vote again is fine, and is not counted twice", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const step = play(first, voteBy("user:bo", { comment: "as I said" }), 70_000);
    expect(step).toEqual({ after: first, changed: false, effects: [], reply: { ok: true, said: "repeated" } });
  });

  test("another vote by the same person is refused", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const refusal = { reason: "already_voted", decision: "approve", argsHash: "h0" };
    const refused = { after: first, changed: false, effects: [], reply: { ok: false, refusal } };
    expect(play(first, voteBy("user:bo", { decision: "reject" }))).toEqual(refused);
    expect(play(first, voteBy("user:bo", { edit: toFiveHundred }))).toEqual(refused);
  });

  test.each([
    [{ argsHash: "h9" }, { reason: "args_changed", argsHash: "h0" }],
    [
      { argsHash: "h9", decision: "reject" },
      { reason: "args_changed", argsHash: "h0" },
    ],
    [{ roles: ["sales"] }, { reason: "missing_role", routes: ["finance"] }],
    [
      { comment: "x".repeat(1_001) },
      { reason: "invalid_vote", field: "comment", message: "a comment has at most 1000 characters" },
    ],
    [
      { decision: "reject", edit: toFiveHundred },
      {
        reason: "invalid_vote",
        field: "args",
        message: "a rejection changes no arguments; approve with them, or leave them out",
      },
    ],
  ] as const)("refused: %j", (changes, refusal) => {
    const step = play(waiting(), voteBy("user:bo", changes));
    expect(step).toEqual({ after: waiting(), changed: false, effects: [], reply: { ok: false, refusal } });
  });

  test("comprehension is asked of a yes, and not of a no", () => {
    const all = opened({ comprehension: true });
    expect(replyOf(play(all, voteBy("user:bo")))).toBe("comprehension_required");
    expect(play(all, voteBy("user:bo", { comprehended: true })).after.approval.state).toBe("approved");
    expect(play(all, voteBy("user:bo", { decision: "reject" })).after.approval.state).toBe("rejected");
  });
});

describe("an edit", () => {
  const editing = (voter: string) => voteBy(voter, { edit: toFiveHundred });

  test("asks for all checks first, and changes nothing before they pass", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const step = play(first, editing("user:cy"));
    expect(step).toEqual({
      after: first,
      changed: false,
      effects: [{ type: "revalidate", cast: editing("user:cy").cast, edit: toFiveHundred }],
      reply: { ok: true, said: "revalidate" },
    });
  });

  test("by the second voter: the first vote is void, the edit is its author's, and the first must vote again", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const step = play(first, editBy("user:cy", pair, { comment: "500 is enough" }), 60_000);
    expect(step.reply).toEqual({ ok: true, said: "counted" });
    expect(step.after.approval).toMatchObject({
      state: "pending",
      argsHash: "h1",
      argsJson: '{"amount":500}',
      edited: true,
      round: 1,
      revision: 3,
      expiresAt: asked0 + hourMs,
    });
    expect(step.after.votes).toMatchObject([
      { voter: "user:bo", argsHash: "h0", round: 0, editedArgsJson: null },
      { voter: "user:cy", argsHash: "h1", round: 1, editedArgsJson: '{"amount":500}', editedArgsHash: "h1" },
    ]);
    expect(progressOf(step.after)[0]?.voters).toEqual(["user:cy"]);
    expect(outline(step.effects)).toEqual([
      "store_vote",
      "audit:approval.edited",
      "call_event",
      "notice:approval.edited",
    ]);
    expect(only(step.effects, "audit")[0]?.draft).toMatchObject({
      principal: "user:cy",
      inputHash: "h1",
      details: { previous_args_hash: "h0", votes_voided: 1, comment: "500 is enough" },
    });
    expect(only(step.effects, "call_event")).toEqual([
      {
        type: "call_event",
        callId: "exec_1",
        event: "approval_requested",
        data: {
          approval_id: "apr_1",
          args_hash: "h1",
          routes: [{ route: "finance", quorum: 2 }],
          reason: "Payments above 1000 need a person",
          expires_at: new Date(asked0 + hourMs).toISOString(),
          edited: true,
          edited_by: "user:cy",
        },
      },
    ]);

    // A vote on what bo saw first counts no more, not even as a repeat of bo's own.
    const stale = play(step.after, voteBy("user:bo"), 70_000);
    expect(stale.reply).toEqual({ ok: false, refusal: { reason: "args_changed", argsHash: "h1" } });
    const done = play(step.after, voteBy("user:bo", { argsHash: "h1" }), 80_000);
    expect(only(done.effects, "approve_call")).toEqual([
      {
        type: "approve_call",
        callId: "exec_1",
        effectiveArgsJson: '{"amount":500}',
        argsHash: "h1",
        by: ["user:cy", "user:bo"],
      },
    ]);
  });

  test("with one person to ask, or none, the edit is the decision", () => {
    for (const requirements of [finance, null]) {
      const step = play(opened(), editBy("user:bo", requirements), 60_000);
      expect(step.after.approval).toMatchObject({ state: "approved", closedBy: "user:bo", argsHash: "h1" });
      expect(only(step.effects, "approve_call")[0]).toMatchObject({
        effectiveArgsJson: '{"amount":500}',
        by: ["user:bo"],
      });
    }
  });

  test("to arguments that no rule asks about: its author is enough where two were asked before", () => {
    const step = play(waiting(), editBy("user:bo", null));
    expect(step.after.approval.state).toBe("approved");
  });

  test("to arguments that other people must judge: they are asked, and its author counts only in their role", () => {
    const legal = requirementsOf({ routes: [{ route: "legal", quorum: 1 }], reason: "abroad" });
    const step = play(opened(), editBy("user:bo", legal));
    expect(step.after.approval).toMatchObject({
      state: "pending",
      routes: [{ route: "legal", quorum: 1 }],
      reason: "abroad",
    });
    expect(progressOf(step.after)).toEqual([{ route: "legal", quorum: 1, voters: [] }]);
    const both = play(opened(), editBy("user:bo", legal, { roles: ["finance", "legal"] }));
    expect(both.after.approval.state).toBe("approved");
  });

  test("under a rule that keeps the requester out: the requester's edit stands, and is not a vote that counts", () => {
    const strict = requirementsOf({ distinctFromRequester: true });
    const step = play(opened(), editBy("user:ann", strict));
    expect(step.after.approval).toMatchObject({ state: "pending", argsHash: "h1" });
    expect(progressOf(step.after)[0]?.voters).toEqual([]);
  });

  test("under a rule that asks for understanding, it must say so", () => {
    const careful = requirementsOf({ comprehension: true });
    expect(replyOf(play(opened(), editBy("user:bo", careful)))).toBe("comprehension_required");
    expect(play(opened(), editBy("user:bo", careful, { comprehended: true })).after.approval.state).toBe("approved");
  });

  test("wins no time: the earlier expiry holds", () => {
    const longer = requirementsOf({ ...pair, timeoutMs: 24 * hourMs });
    expect(play(waiting(), editBy("user:bo", longer), 60_000).after.approval.expiresAt).toBe(asked0 + hourMs);
    const shorter = requirementsOf({ ...pair, timeoutMs: 60_000 });
    expect(play(waiting(), editBy("user:bo", shorter), 60_000).after.approval.expiresAt).toBe(asked0 + 120_000);
  });

  test("sent again, after it was taken: its author's vote, once", () => {
    const after = play(waiting(), editBy("user:bo", pair)).after;
    expect(replyOf(play(after, editing("user:bo")))).toBe("repeated");
    expect(replyOf(play(after, editBy("user:bo", pair)))).toBe("repeated");
    // What was sent and what runs may differ; both are the vote.
    const sent = { argsJson: '{"amount":500,"note":null}', argsHash: "h1-as-sent" };
    const normal = play(waiting(), { ...editBy("user:bo", pair, { edit: sent }), accepted: toFiveHundred }).after;
    expect(normal.approval).toMatchObject({ argsHash: "h1", argsJson: '{"amount":500}' });
    expect(normal.votes[0]).toMatchObject({
      argsHash: "h1",
      editedArgsHash: "h1-as-sent",
      editedArgsJson: sent.argsJson,
    });
    expect(replyOf(play(normal, voteBy("user:bo", { edit: sent })))).toBe("repeated");
    expect(replyOf(play(normal, voteBy("user:bo", { argsHash: "h1" })))).toBe("repeated");
  });

  test("that was overtaken: by another edit, a close, or its author's own vote", () => {
    const cast = castBy("user:bo", { edit: { argsJson: '{"amount":7}', argsHash: "h7" } });
    const accepted = {
      type: "edit_accepted",
      cast,
      accepted: { argsJson: '{"amount":7}', argsHash: "h7" },
      requirements: pair,
    } as const;
    expect(replyOf(play(play(waiting(), editBy("user:cy", pair)).after, accepted))).toBe("args_changed");
    expect(replyOf(play(play(waiting(), voteBy("user:cy", { decision: "reject" })).after, accepted))).toBe(
      "approval_closed",
    );
    expect(replyOf(play(play(waiting(), voteBy("user:bo")).after, accepted))).toBe("already_voted");
  });

  test("that was overtaken by a vote voids that vote", () => {
    const voted = play(waiting(), voteBy("user:di")).after;
    expect(progressOf(play(voted, editBy("user:cy", pair)).after)[0]?.voters).toEqual(["user:cy"]);
  });

  test("that changes nothing is a plain vote: nobody votes again", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const same = { argsJson: '{ "amount": 1500 }', argsHash: "h0" };
    const asVote = play(first, voteBy("user:cy", { edit: same }));
    expect(asVote.after.approval).toMatchObject({
      state: "approved",
      round: 0,
      edited: false,
      argsJson: '{"amount":1500}',
    });
    expect(only(asVote.effects, "approve_call")[0]?.effectiveArgsJson).toBeNull();
    const sent = { argsJson: '{"amount":1500,"note":null}', argsHash: "h0-as-sent" };
    const asEdit = play(first, { ...editBy("user:cy", null, { edit: sent }), accepted: same });
    expect(asEdit.after.approval).toMatchObject({ state: "approved", round: 0, edited: false });
  });

  test("back to the first arguments revives no vote", () => {
    const all = playAll(
      opened({ routes: [{ route: "finance", quorum: 3 }] }),
      voteBy("user:bo"),
      editBy("user:cy", requirementsOf({ routes: [{ route: "finance", quorum: 3 }] })),
      editBy("user:di", requirementsOf({ routes: [{ route: "finance", quorum: 3 }] }), {
        argsHash: "h1",
        edit: { argsJson: '{"amount":1500}', argsHash: "h0" },
      }),
    );
    expect(all.approval).toMatchObject({ argsHash: "h0", round: 2, edited: true });
    expect(progressOf(all)[0]?.voters).toEqual(["user:di"]);
    const again = play(all, voteBy("user:bo"), 300_000);
    expect(replyOf(again)).toBe("counted");
    expect(progressOf(again.after)[0]?.voters).toEqual(["user:di", "user:bo"]);
  });

  test("that was denied leaves arguments and votes as they were, with its reason for its author and the audit", () => {
    const first = play(waiting(), voteBy("user:bo")).after;
    const error = errorBody("forbidden", "payments-abroad@1.0.0: no payments abroad");
    const step = play(first, { type: "edit_denied", cast: editing("user:cy").cast, error });
    expect(step).toMatchObject({
      after: first,
      changed: false,
      reply: { ok: false, refusal: { reason: "edit_denied", error } },
    });
    expect(outline(step.effects)).toEqual(["audit:approval.edit_denied"]);
    expect(only(step.effects, "audit")[0]?.draft).toMatchObject({
      principal: "user:cy",
      inputHash: "h0",
      errorCode: "forbidden",
      details: { edited_args_hash: "h1" },
    });
    // Its author has not voted by it.
    expect(play(step.after, voteBy("user:cy")).after.approval.state).toBe("approved");
  });

  test("is refused when it can ask nobody, and after fifty of them", () => {
    const nobody = requirementsOf({ routes: [] });
    expect(play(waiting(), editBy("user:bo", nobody)).reply).toEqual({
      ok: false,
      refusal: { reason: "invalid_requirements", message: "an approval has 1 to 16 routes" },
    });
    const { approval, votes } = waiting();
    expect(replyOf(play({ approval: { ...approval, round: 49 }, votes }, editing("user:bo")))).toBe("revalidate");
    expect(replyOf(play({ approval: { ...approval, round: 50 }, votes }, editing("user:bo")))).toBe("too_many_edits");
  });

  test.each([
    [{ kind: "limit", callId: null, sessionId: "ses_1" }],
    [{ kind: "resolve", callId: "exec_1", sessionId: null }],
  ] as const)("has nothing to change in %j", (subject) => {
    const step = play(opened({}, { subject }), editing("user:bo"));
    expect(step.reply).toMatchObject({ ok: false, refusal: { reason: "invalid_vote", field: "args" } });
  });
});

test("two approvals for equal calls are two questions: each row is its own", () => {
  const first = opened();
  const second = opened({}, { approvalId: "apr_9", subject: { kind: "call", callId: "exec_9", sessionId: null } });
  const step = play(second, voteBy("user:bo"));
  expect(only(step.effects, "approve_call").map(({ callId }) => callId)).toEqual(["exec_9"]);
  expect(first.approval.state).toBe("pending");
});
