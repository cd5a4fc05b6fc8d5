// How the demands of several rules come together.
import { expect, test } from "vitest";
import { combineApprovals, combineObligations } from "./combine.ts";
import type { ApprovalDemand } from "./types.ts";

const demand = (given: Partial<ApprovalDemand> = {}): ApprovalDemand => ({
  route: "finance",
  approvals: 1,
  distinctFromRequester: false,
  timeoutMs: 60_000,
  onTimeout: "deny",
  onReject: "return_to_agent",
  escalateTo: null,
  comprehension: false,
  ...given,
});
const asking = (reason: string, given: Partial<ApprovalDemand> = {}) => ({ reason, demand: demand(given) });

test("nothing asked, nothing needed", () => {
  expect(combineApprovals([])).toBeNull();
});

test("every route its quorum, the larger where two rules ask the same; the shortest time; the strictest end", () => {
  const combined = combineApprovals([
    asking("large", { approvals: 2, timeoutMs: 90_000, onTimeout: "escalate", escalateTo: "finance-lead" }),
    asking("abroad", { route: "compliance", distinctFromRequester: true, timeoutMs: 30_000, onTimeout: "allow" }),
    asking("large", { approvals: 3, comprehension: true, onReject: "fail", onTimeout: "escalate", escalateTo: "cfo" }),
  ]);
  expect(combined).toEqual({
    routes: [
      { route: "finance", quorum: 3 },
      { route: "compliance", quorum: 1 },
    ],
    distinctFromRequester: true,
    comprehension: true,
    timeoutMs: 30_000,
    onTimeout: "escalate",
    onReject: "fail",
    escalateTo: "finance-lead",
    reason: "large; abroad",
  });
});

test.each([
  [["allow", "allow"], "allow"],
  [["allow", "escalate"], "escalate"],
  [["escalate", "deny", "allow"], "deny"],
] as const)("timeouts %j come to %s", (all, expected) => {
  const combined = combineApprovals(
    all.map((onTimeout) => asking("r", { onTimeout, escalateTo: onTimeout === "escalate" ? "lead" : null })),
  );
  expect(combined?.onTimeout).toBe(expected);
  expect(combined?.escalateTo).toBe(expected === "escalate" ? "lead" : null);
});

test("numbers take the minimum, backends the highest rank, lists what is left of both", () => {
  expect(
    combineObligations([
      { limits: { timeoutMs: 5_000, memoryBytes: 64 }, sandbox: "container", egress: ["*.example.com"] },
      {
        limits: { timeoutMs: 1_000, pids: 3 },
        sandbox: "microvm",
        egress: ["api.example.com", "b.test"],
        paths: { read: ["/a"] },
      },
      { limits: {}, sandbox: "native", paths: { read: ["/a/b"], write: [] } },
    ]),
  ).toEqual({
    limits: { timeoutMs: 1_000, memoryBytes: 64, pids: 3 },
    sandbox: "microvm",
    egress: ["api.example.com:443"],
    paths: { read: ["/a/b"], write: [] },
  });
  expect(combineObligations([])).toEqual({ limits: {} });
  expect(combineObligations([{ limits: {} }, { limits: {}, egress: [] }])).toEqual({ limits: {}, egress: [] });
});
