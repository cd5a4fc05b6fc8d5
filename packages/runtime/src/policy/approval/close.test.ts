// The ends of an approval: time, escalation, cancellation and the last look; and what is said to whoever comes after.
import { errorBody } from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import {
  asked0,
  cancelled,
  editBy,
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
import { approvalDueAt, stepApproval } from "./step.ts";
import type { ApprovalWithVotes } from "./types.ts";

const due = { type: "due" } as const;
const pair = [{ route: "finance", quorum: 2 }];
const limit = { kind: "limit", callId: null, sessionId: "ses_1" } as const;
const unknownEnd = { kind: "resolve", callId: "exec_1", sessionId: null } as const;

describe("time", () => {
  test("not before its instant", () => {
    expect(approvalDueAt(opened().approval)).toBe(4_600_000);
    expect(play(opened(), due, hourMs - 1)).toEqual({
      after: opened(),
      changed: false,
      effects: [],
      reply: { ok: false, refusal: { reason: "not_due" } },
    });
  });

  test("deny: expired, told as such at that time", () => {
    const step = play(opened({ onReject: "fail" }), due, hourMs);
    expect(step.after.approval).toMatchObject({
      state: "expired",
      outcome: "expired",
      closedBy: "runtime",
      closedAt: 4_600_000,
      revision: 2,
    });
    expect(outline(step.effects)).toEqual(["deny_call", "audit:approval.expired", "notice:approval.expired"]);
    expect(only(step.effects, "deny_call")).toEqual([
      {
        type: "deny_call",
        callId: "exec_1",
        by: null,
        // Nobody rejected anything, so the session goes on.
        onReject: "return_to_agent",
        error: {
          code: "approval_expired",
          message:
            "The call of pay was not run, and it will not be: nobody decided on its approval in time. It may be asked for again.",
          type: "permission",
          retryable: false,
          details: { approval_id: "apr_1", expired_at: "1970-01-01T01:16:40.000Z" },
        },
      },
    ]);
    expect(only(step.effects, "audit")[0]?.draft).toMatchObject({
      principal: "agent:clerk",
      onBehalfOf: "user:ann",
      status: "expired",
      errorCode: "approval_expired",
      details: { outcome: "expired", closed_by: "runtime", expired_at: "1970-01-01T01:16:40.000Z" },
    });
    expect(approvalDueAt(step.after.approval)).toBe(Number.POSITIVE_INFINITY);
  });

  test("allow: approved by its timeout, with those who had said yes", () => {
    const voted = play(opened({ routes: pair, onTimeout: "allow" }), voteBy("user:bo")).after;
    const step = play(voted, due, hourMs);
    expect(step.after.approval).toMatchObject({ state: "approved", outcome: "timeout_allowed", closedBy: "runtime" });
    expect(only(step.effects, "approve_call")[0]).toMatchObject({ by: ["user:bo"], effectiveArgsJson: null });
  });

  test("a yes that comes after the instant finds it expired, although nobody has swept it", () => {
    const step = play(opened(), voteBy("user:bo"), hourMs);
    expect(step.after.approval).toMatchObject({ state: "expired", outcome: "expired" });
    expect(step.reply).toEqual({
      ok: false,
      refusal: {
        reason: "approval_closed",
        outcome: "expired",
        closedBy: "runtime",
        closedAt: 4_600_000,
        argsHash: "h0",
        escalatedTo: null,
      },
    });
    expect(outline(step.effects)).toEqual([
      "deny_call",
      "audit:approval.expired",
      "notice:approval.expired",
      "keep_late_vote",
      "audit:approval.late_vote",
    ]);
  });

  test("an edit that passed its checks after the instant is late too", () => {
    const step = play(opened(), editBy("user:bo", null), hourMs);
    expect(step.after.approval).toMatchObject({ state: "expired", argsHash: "h0", edited: false });
    expect(only(step.effects, "keep_late_vote")[0]?.row).toMatchObject({
      argsHash: "h1",
      editedArgsJson: '{"amount":500}',
    });
  });

  test("a late no stays a late no: both facts are kept, the expiry and the word a second after", () => {
    const expired = play(opened(), due, hourMs).after;
    const step = play(expired, voteBy("user:bo", { decision: "reject" }), hourMs + 1_000);
    expect(step.changed).toBe(false);
    expect(step.after.approval).toEqual(expired.approval);
    expect(step.after.votes).toMatchObject([{ voter: "user:bo", decision: "reject", late: true, at: 4_601_000 }]);
    expect(replyOf(step)).toBe("approval_closed");
    expect(
      only(step.effects, "audit").map(({ draft }) => [draft.action, draft.principal, draft.ts, draft.status]),
    ).toEqual([["approval.late_vote", "user:bo", 4_601_000, "expired"]]);
  });
});

describe("escalation", () => {
  const climbing = requirementsOf({ routes: pair, onTimeout: "escalate", escalateTo: "lead" });

  test("closes this one and opens the next, in one step, without the votes", () => {
    const voted = play(opened(climbing), voteBy("user:bo")).after;
    const step = play(voted, due, hourMs + 5_000);
    expect(step.after.approval).toMatchObject({
      state: "escalated",
      outcome: "escalated",
      closedBy: "runtime",
      escalatedTo: "apr_2",
    });
    expect(outline(step.effects)).toEqual([
      "audit:approval.escalated",
      "notice:approval.escalated",
      "open",
      "audit:approval.requested",
      "call_event",
      "notice:approval.requested",
    ]);
    expect(only(step.effects, "open")[0]?.row).toEqual({
      ...opened(climbing).approval,
      approvalId: "apr_2",
      routes: [{ route: "lead", quorum: 2 }],
      depth: 1,
      escalatedFrom: "apr_1",
      openedAt: 4_605_000,
      expiresAt: 8_205_000,
    });
    expect(only(step.effects, "notice")[1]?.notice).toMatchObject({ approvalId: "apr_2", type: "approval.requested" });
  });

  test("a vote on the old one is told where to go", () => {
    const step = play(opened(climbing), voteBy("user:bo"), hourMs);
    expect(step.reply).toMatchObject({ ok: false, refusal: { outcome: "escalated", escalatedTo: "apr_2" } });
    expect(outline(step.effects).slice(-2)).toEqual(["keep_late_vote", "audit:approval.late_vote"]);
  });

  test("five deep, then no", () => {
    let all: ApprovalWithVotes = opened(climbing);
    const depths: number[] = [];
    for (let turn = 1; all.approval.state === "pending"; turn++) {
      const step = stepApproval(all, due, all.approval.expiresAt, `apr_${turn + 1}`);
      depths.push(all.approval.depth);
      const [next] = only(step.effects, "open");
      all = next === undefined ? step.after : { approval: next.row, votes: [] };
    }
    expect(depths).toEqual([0, 1, 2, 3, 4, 5]);
    expect(all.approval).toMatchObject({
      approvalId: "apr_6",
      state: "expired",
      depth: 5,
      expiresAt: asked0 + 6 * hourMs,
    });
  });

  test("an edit does not lead back to those who were asked first", () => {
    const next = only(play(opened(climbing), due, hourMs).effects, "open")[0]?.row;
    if (next === undefined) throw new Error("it did not escalate");
    const both = { roles: ["finance", "lead"] };
    const step = play({ approval: next, votes: [] }, editBy("user:bo", climbing, both), hourMs + 1);
    expect(step.after.approval).toMatchObject({ state: "pending", routes: [{ route: "lead", quorum: 2 }], depth: 1 });
  });

  test("an edit made before it is still what would run after it", () => {
    const edited = play(opened(climbing), editBy("user:bo", climbing)).after;
    const next = only(play(edited, due, hourMs).effects, "open")[0]?.row;
    expect(next).toMatchObject({ argsHash: "h1", edited: true, round: 0, routes: [{ route: "lead", quorum: 2 }] });
    if (next === undefined) throw new Error("it did not escalate");
    const lead = { roles: ["lead"], argsHash: "h1" };
    const first = play({ approval: next, votes: [] }, voteBy("user:bo", lead), hourMs + 1).after;
    const step = play(first, voteBy("user:cy", lead), hourMs + 2);
    expect(only(step.effects, "approve_call")[0]).toMatchObject({ effectiveArgsJson: '{"amount":500}' });
  });
});

describe("cancellation", () => {
  test("closes it, and tells nobody's call anything: that one has ended by itself", () => {
    const step = play(opened(), cancelled, 9_000);
    expect(step.after.approval).toMatchObject({ state: "cancelled", outcome: "cancelled", closedBy: "user:ann" });
    expect(outline(step.effects)).toEqual(["audit:approval.cancelled", "notice:approval.cancelled"]);
    expect(only(step.effects, "audit")[0]?.draft.details).toMatchObject({ reason: "call_ended" });
    expect(replyOf(play(step.after, voteBy("user:bo"), 10_000))).toBe("approval_closed");
  });

  test("wins over a late allow and a late escalation", () => {
    for (const onTimeout of ["allow", "escalate"] as const) {
      const step = play(opened({ onTimeout, escalateTo: "lead" }), cancelled, 2 * hourMs);
      expect(step.after.approval.state).toBe("cancelled");
      expect(outline(step.effects)).toEqual(["audit:approval.cancelled", "notice:approval.cancelled"]);
    }
  });
});

describe("the last look before the call runs", () => {
  const error = errorBody("integrity_violation", "pay@1.0.0 is quarantined and does not run");

  test("the vote that was enough is stored, and the call does not run", () => {
    const step = play(opened(), { type: "recheck_failed", error, instead: voteBy("user:bo") }, 9_000);
    expect(step.after.approval).toMatchObject({ state: "cancelled", outcome: "recheck_failed", closedBy: "runtime" });
    expect(step.reply).toEqual({ ok: false, refusal: { reason: "recheck_failed", error } });
    expect(outline(step.effects)).toEqual([
      "store_vote",
      "audit:approval.voted",
      "deny_call",
      "audit:approval.cancelled",
      "notice:approval.cancelled",
    ]);
    expect(only(step.effects, "deny_call")[0]).toMatchObject({ error, by: null, onReject: "return_to_agent" });
    expect(only(step.effects, "audit")[1]?.draft).toMatchObject({
      errorCode: "integrity_violation",
      approval: { by: ["user:bo"], at: 1_009_000 },
    });
  });

  test("also when an edit or the timeout approved", () => {
    const edit = play(opened(), { type: "recheck_failed", error, instead: editBy("user:bo", null) });
    expect(edit.after.approval).toMatchObject({ outcome: "recheck_failed", argsHash: "h1" });
    const time = play(opened({ onTimeout: "allow" }), { type: "recheck_failed", error, instead: due }, hourMs);
    expect(time.after.approval).toMatchObject({ outcome: "recheck_failed" });
    expect(time.reply).toEqual({ ok: true, said: "done" });
  });

  test("a word that approves no longer counts alone", () => {
    const edited = play(opened({ routes: pair }), editBy("user:cy", requirementsOf({ routes: pair }))).after;
    const stale = play(edited, { type: "recheck_failed", error, instead: voteBy("user:bo") });
    expect(replyOf(stale)).toBe("args_changed");
    const first = play(edited, { type: "recheck_failed", error, instead: voteBy("user:bo", { argsHash: "h1" }) });
    expect(first.after.approval.outcome).toBe("recheck_failed");
    const one = play(opened({ routes: pair }), { type: "recheck_failed", error, instead: voteBy("user:bo") });
    expect(one).toMatchObject({
      changed: true,
      reply: { ok: true, said: "counted" },
      after: { approval: { state: "pending" } },
    });
  });
});

describe("after the close", () => {
  const approved = () => play(opened(), voteBy("user:bo"), 5_000).after;
  const rejected = () => play(opened(), voteBy("user:bo", { decision: "reject" }), 5_000).after;
  const yes = voteBy("user:cy");
  const no = voteBy("user:cy", { decision: "reject" });

  test.each([
    ["approved", approved(), yes, "stored_outcome"],
    ["approved", approved(), no, "approval_closed"],
    ["rejected", rejected(), no, "stored_outcome"],
    ["rejected", rejected(), yes, "approval_closed"],
    ["expired", play(opened(), due, hourMs).after, yes, "approval_closed"],
    ["expired", play(opened(), due, hourMs).after, no, "approval_closed"],
    ["cancelled", play(opened(), cancelled).after, yes, "approval_closed"],
    ["cancelled", play(opened(), cancelled).after, no, "approval_closed"],
    ["allowed by its timeout", play(opened({ onTimeout: "allow" }), due, hourMs).after, yes, "stored_outcome"],
    ["allowed by its timeout", play(opened({ onTimeout: "allow" }), due, hourMs).after, no, "approval_closed"],
  ])("%s: another person's word changes nothing, and is kept", (_, all, word, expected) => {
    const step = play(all, word, 2 * hourMs);
    expect(replyOf(step)).toBe(expected);
    expect(step.changed).toBe(false);
    expect(step.after.approval).toEqual(all.approval);
    expect(outline(step.effects)).toEqual(["keep_late_vote", "audit:approval.late_vote"]);
    expect(step.after.votes.at(-1)).toMatchObject({ voter: "user:cy", late: true, at: asked0 + 2 * hourMs });
    // Kept once, however often it is said.
    expect(play(step.after, word, 3 * hourMs)).toMatchObject({ after: step.after, effects: [] });
  });

  test("the winner's own word again: the stored outcome, and nothing is kept twice", () => {
    const step = play(approved(), voteBy("user:bo"), 6_000);
    expect(step).toEqual({
      after: approved(),
      changed: false,
      effects: [],
      reply: { ok: true, said: "stored_outcome" },
    });
  });

  test("the winner's edit sent again, as it was sent", () => {
    const sent = { argsJson: '{"amount":500,"note":null}', argsHash: "h1-as-sent" };
    const all = play(opened(), { ...editBy("user:bo", null, { edit: sent }), accepted: toFiveHundred }).after;
    expect(play(all, voteBy("user:bo", { edit: sent }))).toMatchObject({
      effects: [],
      reply: { said: "stored_outcome" },
    });
  });

  test("a yes to what was changed since does not pass for a yes to what ran", () => {
    const all = play(opened(), editBy("user:bo", null)).after;
    expect(play(all, yes).reply).toMatchObject({
      ok: false,
      refusal: { outcome: "approved", closedBy: "user:bo", argsHash: "h1" },
    });
    expect(replyOf(play(all, voteBy("user:cy", { argsHash: "h1" })))).toBe("stored_outcome");
  });

  test("who overruled whom: the loser's own vote again names the winner", () => {
    const all = playAll(opened({ routes: pair }), voteBy("user:bo"), voteBy("user:cy", { decision: "reject" }));
    const step = play(all, voteBy("user:bo"), 300_000);
    expect(step).toMatchObject({
      effects: [],
      reply: { refusal: { reason: "approval_closed", outcome: "rejected", closedBy: "user:cy" } },
    });
  });

  test("who has no vote here leaves no trace", () => {
    expect(play(approved(), voteBy("user:eve", { roles: [] }))).toMatchObject({
      effects: [],
      reply: { refusal: { reason: "missing_role" } },
    });
  });

  test("a second sweep and a second cancel find that somebody was first", () => {
    for (const word of [due, cancelled]) {
      expect(play(approved(), word, 2 * hourMs)).toMatchObject({
        changed: false,
        effects: [],
        reply: { refusal: { reason: "approval_closed" } },
      });
    }
  });
});

describe("questions that are not about a call that is to run", () => {
  test("a session's limit: one more budget, or the end", () => {
    const asked = opened({}, { subject: limit });
    expect(outline(play(asked, voteBy("user:bo")).effects)).toContain("extend_limit");
    expect(only(play(asked, voteBy("user:bo", { decision: "reject" })).effects, "halt_session")[0]).toMatchObject({
      sessionId: "ses_1",
      error: { code: "approval_denied" },
    });
    const late = play(asked, due, hourMs);
    expect(only(late.effects, "halt_session")[0]?.error.code).toBe("approval_expired");
    expect(outline(late.effects)).not.toContain("call_event");
    expect(only(late.effects, "audit")[0]?.draft).not.toHaveProperty("callId");
  });

  test("an unknown end: yes = run it again, no = it failed, silence says nothing about it", () => {
    const asked = opened({}, { subject: unknownEnd });
    const yes = play(asked, voteBy("user:bo", { comment: "bank says no" }));
    expect(only(yes.effects, "resolve_call")).toEqual([
      { type: "resolve_call", callId: "exec_1", verdict: "retry", by: "user:bo", comment: "bank says no" },
    ]);
    const no = play(asked, voteBy("user:bo", { decision: "reject" }));
    expect(only(no.effects, "resolve_call")[0]).toMatchObject({ verdict: "fail" });
    expect(outline(no.effects)).not.toContain("deny_call");
    expect(outline(play(asked, due, hourMs).effects)).toEqual(["audit:approval.expired", "notice:approval.expired"]);
  });
});
