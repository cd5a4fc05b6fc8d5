// The cases of approvals, of pairing a call with its result, of repeats, and the worst things that people decide or policies hold off.
import type { Place } from "./registry.ts";

const approvals = "test/e2e/approvals.test.ts";
const asked = "test/e2e/reports-approvals.test.ts";
const idempotency = "test/e2e/idempotency.test.ts";
const pairing = "packages/runtime/src/corridor/sessions/pairing.test.ts";
const policies = "test/e2e/policies.test.ts";
const retry = "packages/runtime/src/call/retry.test.ts";
const sessions = "packages/runtime/src/corridor/sessions/session.test.ts";

const expired: readonly Place[] = [[asked, "reports 035, 036, 037, 038 and 224: an expiry is told as one"]];
const edited: readonly Place[] = [
  [asked, "reports 026 and 027: approved with other arguments"],
  [sessions, "who changes the arguments is told to the model, with what ran"],
];
const equalCalls: readonly Place[] = [
  [approvals, "worst thing 4, report 029: two equal calls are two questions"],
  [sessions, "two equal calls of one batch: only the one that is approved runs"],
];

export const reportCases: Readonly<Record<string, readonly Place[]>> = {
  "report 003": [
    [pairing, "report 003: the first of two results is stored"],
    [pairing, "report 003: what may be made again is, and alone"],
  ],
  "report 006": [[pairing, "report 006: four of five have ended"]],
  "report 015": [["test/e2e/governed-registry.test.ts", "report 015: a new version, active while a call waits"]],
  "report 019": [[idempotency, "report 019: the same key with another body"]],
  "report 025": [
    [asked, "report 025: stopping what waits and what runs"],
    [sessions, "of the session ends it, its open approval included"],
  ],
  "report 026": edited,
  "report 027": edited,
  "report 028": [[asked, "report 028: the same no twice"]],
  "report 029": equalCalls,
  "report 030": [[asked, "report 030: yes and no in the same moment"]],
  "report 035": expired,
  "report 036": expired,
  "report 037": expired,
  "report 038": [...expired, [asked, "report 038: where a rule names no timeout"]],
  "report 041": [
    [policies, "report 041: a denial holds whatever stands beside it"],
    ["packages/runtime/src/policy/lints.test.ts", "041: a catch-all allow does not undo a denial"],
  ],
  "report 189": [[idempotency, "report 189: a hundred calls at once"]],

  "worst thing 1": [[sessions, "with two tool steps: both calls run, under ids that differ by their step"]],
  "worst thing 4": equalCalls,
  "worst thing 5": [[approvals, "worst thing 5: the second voter edits"]],
  "worst thing 11": [["test/e2e/integrity.test.ts", "worst thing 11, F5: a rogue worker registers first"]],
  "worst thing 12": [
    [policies, "worst thing 12: a guard over an absent field"],
    [policies, "worst thing 12: a rule on an absent field"],
    [policies, "worst thing 12: a rule without a level"],
  ],
  "worst thing 13": [["test/e2e/streams-follow.test.ts", "is not slowed by a reader that does not read"]],
  "worst thing 14": [[policies, "worst thing 14, EVT-02, PERM-17"], ["test/e2e/audit-events.test.ts", "EVT-02, worst thing 14"]],

  // A tool's version is read for every completion, since the model is shown all that the agent was given: of others none is.
  B8: [[pairing, "B8: a tool that the agent was not given is not found"]],
  B12: [[retry, "without a policy a failure is the end"]],
  B16: [[retry, "its attempts used up, it ends with the last error"]],
  B17: [[retry, "somebody who wants it to stop is not answered with another attempt"]],
  // The provider of a tool is a worker here.
  E15: [
    ["test/e2e/streams.test.ts", "an unsafe call starts on Go, and Go comes after Accepted only"],
    ["test/e2e/retries.test.ts", "report 213: Retry-After in seconds and as a date"],
  ],
  E18: [["test/e2e/boxes-builtin.test.ts", "has its grace, and nothing of it is left"]],
  "dispatch B1": [["packages/runtime/src/cli/commands/administration.test.ts", "status tells what is going on"]],
};
