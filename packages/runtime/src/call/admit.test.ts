// The first row of a call: what is in it, what is told of it, and what a denied one must not keep.
import { errorBody } from "@signalbox/protocol";
import { expect, test } from "vitest";
import { at0, identityOf, only, outline, told } from "../../../../test/support/calls.ts";
import { admit, deny } from "./admit.ts";

const queue = { startTag: 7, queueWaitMs: 30_000, edited: null };

test("an admitted call is queued, with every instant and count of its first row", () => {
  const outcome = admit(identityOf({ totalDeadlineAt: at0 + 60_000 }), at0, queue);
  expect(outcome).toMatchObject({
    ok: true,
    durability: "commit",
    live: {
      lease: null,
      call: {
        ...identityOf({ totalDeadlineAt: 1_060_000 }),
        state: "queued",
        routingOutcome: null,
        fence: 1,
        attempt: 1,
        placements: 0,
        mayHaveRun: false,
        effectiveArgsJson: null,
        approvalId: null,
        startTag: 7,
        notBefore: 1_000_000,
        enqueuedAt: 1_000_000,
        queueDeadlineAt: 1_030_000,
        startDeadlineAt: null,
        provisionDeadlineAt: null,
        runDeadlineAt: null,
        leaseExpiresAt: null,
        graceDeadlineAt: null,
        dispatchedAt: null,
        startedAt: null,
        settledAt: null,
        workerId: null,
        incarnation: null,
        replica: null,
        cancelRequestedAt: null,
        cancelRequestedBy: null,
        stopReason: null,
        outputJson: null,
        outputHash: null,
        outputBytes: 0,
        outputIllFormed: false,
        error: null,
        usage: null,
        eventSeq: 2,
      },
    },
  });
  expect(outline(outcome.effects)).toEqual(["event:requested", "event:queued", "enqueue"]);
  expect(told(outcome.effects)).toEqual([
    ["requested", 1, { tool: "pay", version: "1.0.0", input_hash: "in1", decision: "allow", request_id: "req_1" }],
    ["queued", 2, { attempt: 1 }],
  ]);
});

test("nulls that were taken as absent run, and are told", () => {
  const outcome = admit(identityOf(), at0, { ...queue, edited: { argsJson: '{"amount":5}', pointers: ["/note"] } });
  expect(outcome).toMatchObject({ ok: true, live: { call: { effectiveArgsJson: '{"amount":5}' } } });
  expect(told(outcome.effects)[0]?.[2]).toMatchObject({ nulls_taken_as_absent: ["/note"] });
});

test("a denied call is settled in its first row; it keeps the hash of its input, and neither input nor key", () => {
  const error = errorBody("forbidden", "user:ann has no grant for tool:invoke:pay", { missing: ["tool:invoke:pay"] });
  const decision = { id: "dec_1", outcome: "deny", reason: "no grant", rules: [], spentMicros: 3 } as const;
  const outcome = deny(identityOf({ idempotencyKey: "k1", decision }), at0, error);
  expect(outcome).toMatchObject({
    ok: true,
    durability: "commit",
    live: {
      lease: null,
      call: { state: "denied", inputJson: null, idempotencyKey: null, inputHash: "in1", settledAt: 1_000_000, queueDeadlineAt: null, fence: 1, error, eventSeq: 2 },
    },
  });
  expect(JSON.stringify(outcome)).not.toContain("amount");
  expect(outline(outcome.effects)).toEqual(["event:requested", "event:denied", "audit", "tell"]);
  expect(told(outcome.effects)).toEqual([
    ["requested", 1, { tool: "pay", version: "1.0.0", input_hash: "in1", decision: "deny", request_id: "req_1" }],
    ["denied", 2, { attempt: 1, code: "forbidden" }],
  ]);
  expect(only(outcome.effects, "audit").map(({ draft }) => draft)).toEqual([
    {
      ts: 1_000_000,
      tenant: "acme",
      project: "shop",
      principal: "user:ann",
      action: "call.denied",
      tool: "pay",
      version: "1.0.0",
      manifestDigest: "digest1",
      executionId: "exec_1",
      callId: "exec_1",
      attempt: 1,
      inputHash: "in1",
      status: "denied",
      errorCode: "forbidden",
      policy: { decision: "deny", ids: [] },
      requestId: "req_1",
    },
  ]);
});
