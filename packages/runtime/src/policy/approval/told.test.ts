// The exact sentences that models and voters are given.
import { describe, expect, test } from "vitest";
import type { ApprovalRefusal } from "./machine.ts";
import { refusalError, toldEdited, toldExpired, toldRejected, toldWaiting } from "./told.ts";

describe("to a model", () => {
  test("waiting, expired and rejected are three different things", () => {
    expect(toldWaiting("pay")).toBe("The call of pay has not run. It waits for a person's approval.");
    expect(toldExpired("pay")).toBe(
      "The call of pay was not run, and it will not be: nobody decided on its approval in time. It may be asked for again.",
    );
    expect(toldRejected("pay", "")).toBe("The call of pay was not run: a person rejected it.");
    expect(toldRejected("pay", "use EUR")).toBe(
      "The call of pay was not run: a person rejected it. They said: use EUR",
    );
  });

  test("an edit: that a person made it, and what ran", () => {
    expect(toldEdited("pay", '{"amount":500}')).toBe(
      "A person changed the arguments of this call of pay before it ran. " +
        'It ran once, with these arguments: {"amount":500} ' +
        "The arguments that you gave were not used; do not make the call again in order to use them.",
    );
  });
});

describe("to a voter", () => {
  const at = 1_000_000;
  const closed = (outcome: Extract<ApprovalRefusal, { reason: "approval_closed" }>["outcome"], by = "user:bo") =>
    refusalError({
      reason: "approval_closed",
      outcome,
      closedBy: by,
      closedAt: at,
      argsHash: "h0",
      escalatedTo: outcome === "escalated" ? "apr_2" : null,
    });

  test.each([
    ["approved", "user:bo approved this at 1970-01-01T00:16:40.000Z, with the arguments h0"],
    ["rejected", "user:bo rejected this at 1970-01-01T00:16:40.000Z"],
    ["expired", "this expired at 1970-01-01T00:16:40.000Z and was not run; it must be asked for again"],
    ["timeout_allowed", "nobody decided in time, and by its rule this was approved at 1970-01-01T00:16:40.000Z"],
    ["escalated", "nobody decided in time; apr_2 asks on: vote there"],
    ["cancelled", "user:bo cancelled this at 1970-01-01T00:16:40.000Z; there is nothing left to decide"],
    ["recheck_failed", "this was approved, but by 1970-01-01T00:16:40.000Z the call was no longer allowed to run"],
  ] as const)("%s", (outcome, message) => {
    expect(closed(outcome)).toMatchObject({ code: "approval_closed", message, details: { outcome, by: "user:bo" } });
  });

  test("the escalated one names its successor in the details too", () => {
    expect(closed("escalated").details).toEqual({
      outcome: "escalated",
      by: "user:bo",
      at: "1970-01-01T00:16:40.000Z",
      args_hash: "h0",
      escalated_to: "apr_2",
    });
  });

  const inner = {
    code: "forbidden",
    message: "no",
    type: "permission",
    retryable: false,
    details: { rule: "r" },
  } as const;
  test.each([
    [
      { reason: "already_voted", decision: "reject", argsHash: "h0" },
      "conflict",
      { reason: "already_voted", decision: "reject", args_hash: "h0" },
    ],
    [{ reason: "args_changed", argsHash: "h1" }, "conflict", { reason: "args_changed", args_hash: "h1" }],
    [
      { reason: "missing_role", routes: ["finance", "legal"] },
      "forbidden",
      { reason: "missing_role", roles: ["finance", "legal"] },
    ],
    [{ reason: "requester_may_not_vote" }, "forbidden", { reason: "requester_may_not_vote" }],
    [{ reason: "not_a_person" }, "forbidden", { reason: "not_a_person" }],
    [
      { reason: "comprehension_required" },
      "invalid_input",
      { reason: "comprehension_required", fields: [{ pointer: "/comprehended", keyword: "const", message: "must be true" }] },
    ],
    [
      { reason: "invalid_vote", field: "args", message: "m" },
      "invalid_input",
      { reason: "invalid_vote", fields: [{ pointer: "/args", keyword: "not", message: "m" }] },
    ],
    [{ reason: "too_many_edits" }, "conflict", { reason: "too_many_edits" }],
    [{ reason: "not_due" }, "conflict", { reason: "not_due" }],
    [{ reason: "invalid_requirements", message: "m" }, "policy_error", { reason: "invalid_requirements" }],
    [{ reason: "edit_denied", error: inner }, "forbidden", { rule: "r", reason: "edit_denied" }],
    [{ reason: "recheck_failed", error: inner }, "forbidden", { rule: "r", reason: "recheck_failed" }],
  ] as const)("%j → %s", (refusal, code, details) => {
    expect(refusalError(refusal)).toMatchObject({ code, details });
  });
});
