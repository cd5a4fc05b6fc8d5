// What an audit record says of a call, and which absent facts it leaves out.
import { expect, test } from "vitest";
import { admitted } from "../../../../test/support/calls.ts";
import { auditOf } from "./audit-of.ts";

test("facts that are absent are left out, never null", () => {
  const draft = auditOf(admitted().call, "call.settled", 5);
  expect(Object.keys(draft).sort()).toEqual(
    ["ts", "tenant", "project", "principal", "action", "tool", "version", "manifestDigest", "executionId", "callId", "attempt", "inputHash", "status", "policy", "requestId"].sort(),
  );
  expect(Object.values(draft)).not.toContain(null);
});

test.each([
  ["00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "0af7651916cd43dd8448eb211c80319c"],
  ["", undefined],
  ["0af7651916cd43dd8448eb211c80319c", undefined],
])("the trace of %j is %s", (traceparent, traceId) => {
  expect(auditOf(admitted({ traceparent }).call, "call.settled", 5).traceId).toBe(traceId);
});

test("details stand beside the call's own facts", () => {
  expect(auditOf(admitted().call, "call.settled", 5, { by: "user:bo" })).toMatchObject({ callId: "exec_1", details: { by: "user:bo" } });
});
