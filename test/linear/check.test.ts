// The search itself: histories by hand that some order explains, and histories that none does.
import { expect, test } from "vitest";
import type { Approval, Vote } from "../../packages/runtime/src/policy/approval/types.ts";
import { linearize } from "./check.ts";
import type { Answer, Operation, Request } from "./history.ts";
import { hashOf, houses, type House } from "./rules.ts";
import { firstState } from "./spec.ts";

const two = houses[1] as House;
const hash = hashOf('{"amount":2000}');

const open: Approval = {
  ...two.asked,
  tenant: "acme",
  approvalId: "apr_1",
  project: "shop",
  subject: { kind: "call", callId: "exec_1", sessionId: null },
  tool: "pay",
  version: "1.0.0",
  requester: "user:ann",
  onBehalfOf: "",
  depth: 0,
  escalatedFrom: null,
  escalatedTo: null,
  argsHash: hash,
  argsJson: '{"amount":2000}',
  edited: false,
  round: 0,
  state: "pending",
  openedAt: 0,
  expiresAt: 2_000,
  closedAt: null,
  closedBy: null,
  outcome: null,
  revision: 1,
};

const vote = (voter: string, at: number, late = false): Vote => ({
  tenant: "acme",
  approvalId: "apr_1",
  voter,
  roles: voter === "user:bo" ? ["finance"] : ["finance", "lead"],
  decision: "approve",
  argsHash: hash,
  round: 0,
  comment: "",
  editedArgsJson: null,
  editedArgsHash: null,
  comprehended: true,
  at,
  late,
});

const approve = (voter: string): Request => ({
  kind: "vote",
  voter,
  approvalId: "apr_1",
  decision: "approve",
  argsHash: hash,
  edit: null,
  comprehended: true,
  comment: "",
});
const read: Request = { kind: "read", approvalId: "apr_1" };

const bo = vote("user:bo", 10);
const cy = vote("user:cy", 20);
const withBo: Approval = { ...open, revision: 2 };
const approved: Approval = {
  ...open,
  revision: 3,
  state: "approved",
  outcome: "approved",
  closedBy: "user:cy",
  closedAt: 20,
};
const said = (word: string, approval: Approval, ...votes: readonly Vote[]): Answer => ({
  word,
  rows: { approval, votes },
});

/** Instants are orders too: no two of a history are the same. */
function judge(
  requests: readonly (readonly [Request, from: number, to: number, Answer | null])[],
  approval: Approval,
  ...votes: readonly Vote[]
) {
  const operations = requests.map(([request, from, to, answer], id): Operation => ({
    id,
    replica: 0,
    request,
    began: { order: from, at: from },
    end: answer === null ? null : { order: to, at: to, answer },
  }));
  return linearize({ house: two, idAfter: () => "apr_2" }, firstState(open), operations, {
    questions: [{ approval, votes }],
  });
}

test("two people at once: the one whose vote closed it was second", () => {
  const verdict = judge(
    [
      [approve("user:cy"), 5, 30, said("counted", approved, bo, cy)],
      [approve("user:bo"), 6, 31, said("counted", withBo, bo)],
    ],
    approved,
    bo,
    cy,
  );
  expect(verdict).toEqual({ ok: true, order: [1, 0] });
});

test("both believe that they were the first of two: no order says so", () => {
  const withCy: Approval = { ...open, revision: 2 };
  const verdict = judge(
    [
      [approve("user:cy"), 5, 30, said("counted", withCy, cy)],
      [approve("user:bo"), 6, 31, said("counted", withBo, bo)],
    ],
    withBo,
    bo,
    cy,
  );
  expect(verdict.ok).toBe(false);
});

test("who reads after an answer sees what was answered; who reads meanwhile may not", () => {
  const counted = [approve("user:bo"), 5, 15, said("counted", withBo, bo)] as const;
  expect(judge([counted, [read, 16, 17, said("read", open)]], withBo, bo).ok).toBe(false);
  expect(judge([counted, [read, 6, 17, said("read", open)]], withBo, bo)).toEqual({ ok: true, order: [1, 0] });
});

test("a request that nobody answered has happened, or it has not", () => {
  const unknown = [approve("user:bo"), 5, 0, null] as const;
  expect(judge([unknown], open)).toEqual({ ok: true, order: [] });
  expect(judge([unknown], withBo, bo)).toEqual({ ok: true, order: [0] });
  expect(judge([], withBo, bo).ok).toBe(false);
});

test("a vote at its instant is in time, or it is late; a row that says neither is not explained", () => {
  const late = vote("user:bo", 2_000, true);
  const expired: Approval = {
    ...open,
    revision: 2,
    state: "expired",
    outcome: "expired",
    closedBy: "runtime",
    closedAt: 2_000,
  };
  const refused: Answer = { word: "approval_closed expired runtime", rows: null };
  expect(judge([[approve("user:bo"), 1_999, 2_001, refused]], expired, late)).toEqual({ ok: true, order: [0] });
  const counted = { ...late, late: false };
  expect(judge([[approve("user:bo"), 2_000, 2_001, said("counted", withBo, counted)]], withBo, counted).ok).toBe(false);
});

test("an expiry needs nobody, and comes at no other instant than its row says", () => {
  const expired: Approval = {
    ...open,
    revision: 2,
    state: "expired",
    outcome: "expired",
    closedBy: "runtime",
    closedAt: 2_005,
  };
  expect(judge([[read, 2_010, 2_011, said("read", expired)]], expired).ok).toBe(true);
  expect(judge([[read, 2_010, 2_011, said("read", open)]], expired).ok).toBe(true);
  expect(judge([[read, 2_001, 2_002, said("read", expired)]], expired).ok).toBe(false);
  expect(judge([], { ...expired, closedAt: 1_999 }).ok).toBe(false);
});
