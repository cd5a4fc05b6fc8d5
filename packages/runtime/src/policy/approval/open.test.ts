// Opening an approval: the row, what tells people of it, and what cannot be asked.
import { expect, test } from "vitest";
import { asked0, hourMs, only, outline, requestOf } from "../../../../../test/support/approvals.ts";
import { openApproval } from "./open.ts";
import { approvalDefaults } from "./types.ts";

test("the row, its record, the call's event and the notice", () => {
  const step = openApproval(requestOf({ onTimeout: "escalate", escalateTo: "lead" }), asked0);
  expect(step.reply).toEqual({ ok: true, said: "done" });
  expect(outline(step.effects)).toEqual([
    "open",
    "audit:approval.requested",
    "call_event",
    "notice:approval.requested",
  ]);
  expect(only(step.effects, "open")[0]?.row).toEqual({
    tenant: "acme",
    approvalId: "apr_1",
    project: "shop",
    subject: { kind: "call", callId: "exec_1", sessionId: null },
    tool: "pay",
    version: "1.0.0",
    requester: "agent:clerk",
    onBehalfOf: "user:ann",
    routes: [{ route: "finance", quorum: 1 }],
    distinctFromRequester: false,
    comprehension: false,
    timeoutMs: 3_600_000,
    onTimeout: "escalate",
    onReject: "return_to_agent",
    escalateTo: "lead",
    reason: "Payments above 1000 need a person",
    depth: 0,
    escalatedFrom: null,
    escalatedTo: null,
    argsHash: "h0",
    argsJson: '{"amount":1500}',
    edited: false,
    round: 0,
    state: "pending",
    openedAt: 1_000_000,
    expiresAt: 4_600_000,
    closedAt: null,
    closedBy: null,
    outcome: null,
    revision: 1,
  });
  expect(only(step.effects, "notice")[0]?.notice).toEqual({
    type: "approval.requested",
    tenant: "acme",
    approvalId: "apr_1",
    at: 1_000_000,
    data: {
      kind: "call",
      execution_id: "exec_1",
      tool: "pay",
      version: "1.0.0",
      args_hash: "h0",
      routes: [{ route: "finance", quorum: 1 }],
      reason: "Payments above 1000 need a person",
      expires_at: "1970-01-01T01:16:40.000Z",
    },
  });
});

test("no record, event or notice shows the arguments", () => {
  const step = openApproval(requestOf({}, { args: { argsJson: '{"iban":"DE02canary"}', argsHash: "h0" } }), asked0);
  expect(JSON.stringify(step.effects.filter(({ type }) => type !== "open"))).not.toContain("canary");
});

test.each([
  [{ routes: [] }, "an approval has 1 to 16 routes"],
  [{ routes: [{ route: "finance", quorum: 0 }] }, 'route "finance": approvals is a whole number from 1 to 16'],
  [{ routes: [{ route: "finance", quorum: 1.5 }] }, 'route "finance": approvals is a whole number from 1 to 16'],
  [{ timeoutMs: 0 }, "timeout is 1 ms to 30 days"],
  [{ timeoutMs: 31 * 24 * hourMs }, "timeout is 1 ms to 30 days"],
  [{ timeoutMs: Number.NaN }, "timeout is 1 ms to 30 days"],
  [{ onTimeout: "escalate" }, "on_timeout: escalate needs escalate_to"],
  [{ reason: "x".repeat(2_001) }, "a reason has at most 2000 characters"],
] as const)("refused: %j", (changes, message) => {
  const step = openApproval(requestOf(changes), asked0);
  expect(step.reply).toEqual({ ok: false, refusal: { reason: "invalid_requirements", message } });
  expect(step.effects).toEqual([]);
});

test("time cannot say that an unknown end may run again", () => {
  const step = openApproval(
    requestOf({ onTimeout: "allow" }, { subject: { kind: "resolve", callId: "exec_1", sessionId: null } }),
    asked0,
  );
  expect(step.reply).toMatchObject({ ok: false, refusal: { reason: "invalid_requirements" } });
});

test("where no rule says it people have a day, and then it is no", () => {
  expect(approvalDefaults).toMatchObject({ timeoutMs: 86_400_000, onTimeout: "deny", onReject: "return_to_agent" });
});
