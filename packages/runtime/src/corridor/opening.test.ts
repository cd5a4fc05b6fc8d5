// The question in the commit of an admission: whom it asks about what, and what the event and the record tell.
import { expect, test } from "vitest";
import { at0, identityOf } from "../../../../test/support/calls.ts";
import { HandClock } from "../../../../test/support/hand-clock.ts";
import { finance, requirementsOf } from "../../../../test/support/approvals.ts";
import type { Judgement } from "../policy/decide.ts";
import type { Approvals } from "./approvals.ts";
import { openingOf } from "./opening.ts";

const ports = {
  approvals: { newId: () => "apr_9" } as unknown as Approvals,
  clock: new HandClock(at0),
  hash: (text: string) => `hash of ${text}`,
};
const rules = [{ policy: "large", version: "1.0.0", level: "tenant", outcome: "require_approval", reason: "look", observed: false }] as const;

function judgement(approval: Judgement["approval"]): Judgement {
  const decision = { id: "dec_1", outcome: "require_approval", reason: "look", rules, spentMicros: 1 } as const;
  return { decision, code: null, deciding: rules[0], approval, obligations: { limits: {} } };
}
const identity = identityOf({ principal: "agent:clerk", onBehalfOf: "user:ann", sessionId: "ses_1" });

test("nobody is asked where no rule asks", () => {
  expect(openingOf(ports, identity, null, judgement(null))).toBeNull();
});

test("the approval's row, with who called for whom, and its instant", () => {
  const opening = openingOf(ports, identity, null, judgement(finance));
  expect(opening).toMatchObject({ approvalId: "apr_9", expiresAt: at0 + 3_600_000 });
  expect(opening?.guards).toMatchObject([
    {
      op: "insert_approval",
      row: {
        tenant: "acme",
        approvalId: "apr_9",
        project: "shop",
        subject: { kind: "call", callId: "exec_1", sessionId: "ses_1" },
        requester: "agent:clerk",
        onBehalfOf: "user:ann",
        argsJson: '{"amount":5}',
        argsHash: 'hash of {"amount":5}',
        state: "pending",
        openedAt: at0,
        expiresAt: at0 + 3_600_000,
      },
    },
  ]);
  expect(opening?.asked).toMatchObject({ approval_id: "apr_9", args_hash: 'hash of {"amount":5}', routes: [{ route: "finance", quorum: 1 }] });
});

test("the record names the rules that ask, and the request", () => {
  const records = openingOf(ports, identity, null, judgement(finance))?.writes.filter(({ op }) => op === "append_audit");
  expect(records).toMatchObject([{ draft: { action: "approval.requested", policy: { decision: "require_approval", ids: ["large@1.0.0"] }, requestId: "req_1" } }]);
});

test("people see the arguments as they would run, without nulls for what may be absent", () => {
  const opening = openingOf(ports, identityOf({ inputJson: '{"amount":5,"note":null}' }), { argsJson: '{"amount":5}', pointers: ["/note"] }, judgement(finance));
  expect(opening?.guards).toMatchObject([{ row: { argsJson: '{"amount":5}', argsHash: 'hash of {"amount":5}', subject: { sessionId: null } } }]);
});

test("what cannot be asked for is a denial, not a call that runs unasked", () => {
  const impossible = judgement(requirementsOf({ routes: [{ route: "finance", quorum: 99 }] }));
  expect(() => openingOf(ports, identity, null, impossible)).toThrow(expect.objectContaining({ code: "policy_error", details: { decision_id: "dec_1" } }));
});
