// Scenarios, shrunk, that once could not be explained; they stay here for good.
import type { Plan, Scenario } from "./scenario.ts";

const plan = (changes: Partial<Plan>): Plan => ({
  kind: "vote",
  person: "user:bo",
  replica: 0,
  at: 0,
  decision: "approve",
  saw: "newest",
  edit: null,
  comprehended: true,
  again: "never",
  twice: false,
  ...changes,
});

const scenario = (changes: Partial<Scenario>): Scenario => ({
  house: 0,
  chance: 0,
  latencyMs: 5,
  startMs: 0,
  spreadMs: 20,
  stranger: false,
  plans: [],
  misfortunes: [],
  ...changes,
});

export const formerFailures: Readonly<Record<string, Scenario>> = {
  "an edit on one replica, and the expiry on another whose memory is older than the edit": scenario({
    house: 1,
    chance: 1,
    plans: [plan({ at: 50, edit: { amount: 3_000, withNull: false } }), plan({ at: 100 })],
  }),
  "an escalation on one replica that dies, and a cancel on another that knows the question before it": scenario({
    house: 4,
    chance: 618_753_212,
    startMs: 1_950,
    plans: [plan({ kind: "cancel", again: "there" }), plan({})],
    misfortunes: [{ kind: "crash", replica: 0, at: 50, forMs: 30 }],
  }),
  "a vote on a replica that meets the end of the approval first and the end of its call after it": scenario({
    chance: 6,
    stranger: true,
    plans: [plan({ replica: 1 }), plan({}), plan({ at: 50, twice: true }), plan({ decision: "reject", twice: true })],
    misfortunes: [
      { kind: "crash", replica: 0, at: 550, forMs: 30 },
      { kind: "crash", replica: 0, at: 550, forMs: 30 },
    ],
  }),
  "a cancel on a replica that has never heard of the call": scenario({
    stranger: true,
    plans: [plan({ kind: "cancel", replica: 1 }), plan({})],
    misfortunes: [{ kind: "crash", replica: 0, at: 0, forMs: 30 }],
  }),
  "two cancels on a call that another replica has let go on": scenario({
    spreadMs: 100,
    plans: [
      plan({ kind: "cancel", replica: 1, at: 60, twice: true }),
      plan({ edit: { amount: 2_000, withNull: false } }),
      plan({}),
    ],
    misfortunes: [{ kind: "crash", replica: 0, at: 200, forMs: 30 }],
  }),
};
