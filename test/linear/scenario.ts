// What people are about to do, and what goes wrong meanwhile: made by fast-check, so that a failure shrinks to its core.
import fc from "fast-check";
import { houses, people } from "./rules.ts";

export interface Plan {
  readonly kind: "vote" | "cancel" | "read";
  readonly person: string;
  readonly replica: 0 | 1;
  /** 0 … 999: where in the spread of the scenario. */
  readonly at: number;
  readonly decision: "approve" | "reject";
  /** An approval that they read at the start, or what somebody was shown last. */
  readonly saw: "first" | "newest";
  readonly edit: { readonly amount: number; readonly withNull: boolean } | null;
  readonly comprehended: boolean;
  /** The same request once more when no answer came; also at the other replica. */
  readonly again: "never" | "here" | "there";
  /** The same request twice at once. */
  readonly twice: boolean;
}

export interface Misfortune {
  readonly kind: "crash" | "fail" | "lie";
  readonly replica: 0 | 1;
  readonly at: number;
  readonly forMs: number;
}

export interface Scenario {
  readonly house: number;
  /** Latencies, and what a crash leaves behind. */
  readonly chance: number;
  readonly latencyMs: number;
  readonly startMs: number;
  readonly spreadMs: number;
  /** Whether the second replica was up already when the call came to the first. */
  readonly stranger: boolean;
  readonly plans: readonly Plan[];
  readonly misfortunes: readonly Misfortune[];
}

/** Who has no part in it comes now and then; whoever decides, often. */
const person = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom("user:bo", "user:cy", "user:di") },
  { weight: 1, arbitrary: fc.constantFrom(...Object.keys(people)) },
);
const edit = fc.record({ amount: fc.constantFrom(2_000, 3_000, 3_500, 6_000, 500, 9_500), withNull: fc.boolean() });

/** A rejection that changes arguments is refused whatever else happens; once in a while is enough. */
const isDull = ({ decision, edit: change }: Plan): boolean =>
  decision === "reject" && change !== null && !change.withNull;

const plan: fc.Arbitrary<Plan> = fc
  .record<Plan>({
    kind: fc.constantFrom("vote", "vote", "vote", "vote", "vote", "vote", "vote", "vote", "read", "cancel"),
    person,
    replica: fc.constantFrom(0, 1),
    at: fc.nat(999),
    decision: fc.constantFrom("approve", "approve", "approve", "approve", "reject"),
    saw: fc.constantFrom("newest", "newest", "first"),
    edit: fc.oneof({ weight: 3, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: edit }),
    comprehended: fc.constantFrom(true, true, true, false),
    again: fc.constantFrom("never", "here", "there", "there"),
    twice: fc.constantFrom(false, false, false, true),
  })
  .map((one) => (isDull(one) ? { ...one, edit: null } : one));

const misfortune: fc.Arbitrary<Misfortune> = fc.record<Misfortune>({
  kind: fc.constantFrom("crash", "fail", "lie"),
  replica: fc.constantFrom(0, 1),
  at: fc.nat(999),
  forMs: fc.constantFrom(30, 200, 1_500),
});

export const scenarios: fc.Arbitrary<Scenario> = fc.record<Scenario>({
  house: fc.nat(houses.length - 1),
  chance: fc.nat(),
  latencyMs: fc.constantFrom(5, 20, 60, 200),
  // All at once at the beginning, around the expiry, or all along.
  startMs: fc.constantFrom(0, 0, 1_800, 1_950),
  spreadMs: fc.constantFrom(20, 100, 400, 2_500),
  stranger: fc.constantFrom(false, false, true),
  plans: fc.array(plan, { minLength: 2, maxLength: 8 }),
  misfortunes: fc.oneof(
    { weight: 2, arbitrary: fc.constant([]) },
    { weight: 3, arbitrary: fc.array(misfortune, { minLength: 1, maxLength: 2 }) },
  ),
});
