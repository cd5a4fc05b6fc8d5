// Every bound on what people may be asked for: exactly that much is asked, and one more is refused.
import { expect, test } from "vitest";
import { asked0, requestOf } from "../../../../../test/support/approvals.ts";
import { openApproval } from "./open.ts";
import type { ApprovalRequirements } from "./types.ts";

const routes = (count: number) => Array.from({ length: count }, (_, at) => ({ route: `role-${at}`, quorum: 1 }));

test.each<[string, number, (size: number) => Partial<ApprovalRequirements>, string]>([
  ["routesMax", 16, (size) => ({ routes: routes(size) }), "an approval has 1 to 16 routes"],
  [
    "quorumMax",
    16,
    (size) => ({ routes: [{ route: "finance", quorum: size }] }),
    'route "finance": approvals is a whole number from 1 to 16',
  ],
  ["timeoutMsMax", 2_592_000_000, (size) => ({ timeoutMs: size }), "timeout is 1 ms to 30 days"],
  ["reasonCharsMax", 2_000, (size) => ({ reason: "x".repeat(size) }), "a reason has at most 2000 characters"],
])("%s", (_name, most, make, message) => {
  expect(openApproval(requestOf(make(most)), asked0).reply.ok).toBe(true);
  expect(openApproval(requestOf(make(most + 1)), asked0).reply).toEqual({
    ok: false,
    refusal: { reason: "invalid_requirements", message },
  });
});
