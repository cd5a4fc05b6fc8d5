// The whole table by hand: every state that an approval can be in, with everything that can happen to it.
import { errorBody } from "@signalbox/protocol";
import { expect, test } from "vitest";
import {
  cancelled,
  castBy,
  editBy,
  finance,
  hourMs,
  only,
  opened,
  play,
  replyOf,
  toFiveHundred,
  voteBy,
} from "../../../../../test/support/approvals.ts";
import type { ApprovalHappening } from "./machine.ts";
import { transitions } from "./step.ts";
import type { ApprovalWithVotes } from "./types.ts";

const due = { type: "due" } as const;
const no = { decision: "reject" } as const;

/** Each place, and the instant at which it is looked at. */
const places: Readonly<Record<string, readonly [ApprovalWithVotes, number]>> = {
  pending: [opened(), hourMs - 1],
  overdue: [opened(), hourMs],
  "overdue, allow": [opened({ onTimeout: "allow" }), hourMs],
  "overdue, escalate": [opened({ onTimeout: "escalate", escalateTo: "lead" }), hourMs],
  approved: [play(opened(), voteBy("user:bo")).after, 1],
  rejected: [play(opened(), voteBy("user:bo", no)).after, 1],
  expired: [play(opened(), due, hourMs).after, hourMs + 1],
  "timeout allowed": [play(opened({ onTimeout: "allow" }), due, hourMs).after, hourMs + 1],
  cancelled: [play(opened(), cancelled).after, 1],
  escalated: [play(opened({ onTimeout: "escalate", escalateTo: "lead" }), due, hourMs).after, hourMs + 1],
};

const words: Readonly<Record<string, ApprovalHappening>> = {
  approve: voteBy("user:cy"),
  reject: voteBy("user:cy", no),
  edit: voteBy("user:cy", { edit: toFiveHundred }),
  "edit passed": editBy("user:cy", finance),
  "edit denied": {
    type: "edit_denied",
    cast: castBy("user:cy", { edit: toFiveHundred }),
    error: errorBody("forbidden", "no"),
  },
  due,
  cancel: cancelled,
};

/** place · word → the state after it · the reply */
const table = `
pending           approve      approved  counted
pending           reject       rejected  counted
pending           edit         pending   revalidate
pending           edit passed  approved  counted
pending           edit denied  pending   edit_denied
pending           due          pending   not_due
pending           cancel       cancelled done
overdue           approve      expired   approval_closed
overdue           reject       expired   approval_closed
overdue           edit         expired   approval_closed
overdue           edit passed  expired   approval_closed
overdue           edit denied  expired   approval_closed
overdue           due          expired   done
overdue           cancel       cancelled done
overdue, allow    approve      approved  stored_outcome
overdue, allow    reject       approved  approval_closed
overdue, allow    edit         approved  approval_closed
overdue, allow    edit passed  approved  approval_closed
overdue, allow    edit denied  approved  approval_closed
overdue, allow    due          approved  done
overdue, allow    cancel       cancelled done
overdue, escalate approve      escalated approval_closed
overdue, escalate reject       escalated approval_closed
overdue, escalate edit         escalated approval_closed
overdue, escalate edit passed  escalated approval_closed
overdue, escalate edit denied  escalated approval_closed
overdue, escalate due          escalated done
overdue, escalate cancel       cancelled done
approved          approve      approved  stored_outcome
approved          reject       approved  approval_closed
approved          edit         approved  approval_closed
approved          edit passed  approved  approval_closed
approved          edit denied  approved  approval_closed
approved          due          approved  approval_closed
approved          cancel       approved  approval_closed
rejected          approve      rejected  approval_closed
rejected          reject       rejected  stored_outcome
rejected          edit         rejected  approval_closed
rejected          edit passed  rejected  approval_closed
rejected          edit denied  rejected  approval_closed
rejected          due          rejected  approval_closed
rejected          cancel       rejected  approval_closed
expired           approve      expired   approval_closed
expired           reject       expired   approval_closed
expired           edit         expired   approval_closed
expired           edit passed  expired   approval_closed
expired           edit denied  expired   approval_closed
expired           due          expired   approval_closed
expired           cancel       expired   approval_closed
timeout allowed   approve      approved  stored_outcome
timeout allowed   reject       approved  approval_closed
timeout allowed   edit         approved  approval_closed
timeout allowed   edit passed  approved  approval_closed
timeout allowed   edit denied  approved  approval_closed
timeout allowed   due          approved  approval_closed
timeout allowed   cancel       approved  approval_closed
cancelled         approve      cancelled approval_closed
cancelled         reject       cancelled approval_closed
cancelled         edit         cancelled approval_closed
cancelled         edit passed  cancelled approval_closed
cancelled         edit denied  cancelled approval_closed
cancelled         due          cancelled approval_closed
cancelled         cancel       cancelled approval_closed
escalated         approve      escalated approval_closed
escalated         reject       escalated approval_closed
escalated         edit         escalated approval_closed
escalated         edit passed  escalated approval_closed
escalated         edit denied  escalated approval_closed
escalated         due          escalated approval_closed
escalated         cancel       escalated approval_closed
`;
const rows = table
  .trim()
  .split("\n")
  .map((line): [string, string, string, string] => {
    const [place = "", word = "", state = "", reply = ""] = /^(.{18})(.{13})(.{10})(.*)$/.exec(line)?.slice(1) ?? [];
    return [place.trim(), word.trim(), state.trim(), reply];
  });

test("the table is whole", () => {
  expect(rows).toHaveLength(Object.keys(places).length * Object.keys(words).length);
  expect(new Set(rows.map(([place, word]) => `${place}/${word}`)).size).toBe(rows.length);
  expect(Object.keys(transitions).sort()).toEqual([
    "approved",
    "cancelled",
    "escalated",
    "expired",
    "overdue",
    "pending",
    "rejected",
  ]);
});

test.each(rows)("%s: %s → %s, %s", (placeName, wordName, state, reply) => {
  const [place, word] = [places[placeName], words[wordName]];
  if (place === undefined || word === undefined) throw new Error("no such row");
  const [before, at] = place;
  const step = play(before, word, at);
  expect(step.after.approval.state).toBe(state);
  expect(replyOf(step)).toBe(reply);
  // A change is one revision; and what is closed is the very same row after it.
  expect(step.changed).toBe(before.approval.state !== state);
  expect(step.after.approval.revision - before.approval.revision).toBe(step.changed ? 1 : 0);
  if (!step.changed) expect(step.after.approval).toBe(before.approval);
  // What was said before stays as it was said.
  expect(step.after.votes.slice(0, before.votes.length)).toEqual(before.votes);
  // A close is told once, and the call is told once at most.
  const closes = only(step.effects, "notice").filter(({ notice }) => notice.type === `approval.${state}`);
  expect(closes).toHaveLength(step.changed && state !== "pending" ? 1 : 0);
  const told = step.effects.filter(({ type }) => type === "approve_call" || type === "deny_call");
  expect(told).toHaveLength(step.changed && ["approved", "rejected", "expired"].includes(state) ? 1 : 0);
});
