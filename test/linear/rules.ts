// What the rules of these runs say, by hand: which amounts people are asked about, who may answer, and what time does.
import { createHash } from "node:crypto";
import type { ApprovalRequirements } from "../../packages/runtime/src/policy/approval/types.ts";
import { ask, deny, type RuleText } from "../support/governed.ts";

/** Everybody who takes part, with the roles of their key. */
export const people: Readonly<Record<string, readonly string[]>> = {
  "user:ann": ["finance"],
  "user:bo": ["finance"],
  "user:cy": ["finance", "lead"],
  "user:di": ["finance", "lead"],
  "user:eve": ["sales"],
};

/** Who makes the call. */
export const requester = "user:ann";
export const amount0 = 2_000;

/** One way to ask about 1 000 to 5 000. */
export interface House {
  readonly name: string;
  readonly asked: ApprovalRequirements;
}

/** Two seconds: short enough that words meet the expiry often. */
const timeoutMs = 2_000;
const base: ApprovalRequirements = {
  routes: [{ route: "finance", quorum: 1 }],
  distinctFromRequester: false,
  comprehension: false,
  timeoutMs,
  onTimeout: "deny",
  onReject: "return_to_agent",
  escalateTo: null,
  reason: "a person must look",
};

const house = (name: string, changes: Partial<ApprovalRequirements>): House => ({
  name,
  asked: { ...base, ...changes },
});
const two = [{ route: "finance", quorum: 2 }];

export const houses: readonly House[] = [
  house("one", {}),
  house("two", { routes: two }),
  house("three", { routes: [{ route: "finance", quorum: 3 }] }),
  house("two-or-allow", { routes: two, onTimeout: "allow" }),
  house("two-then-lead", { routes: two, onTimeout: "escalate", escalateTo: "lead" }),
  house("two-others-who-understand", { routes: two, distinctFromRequester: true, comprehension: true }),
];

/** Above 5 000: two people who have less time, whatever the house asks for below. */
const large: ApprovalRequirements = { ...base, routes: two, timeoutMs: 1_000, reason: "a large payment" };

/** What the rules say to these arguments: null = they ask nobody. */
export function rulesOn({ asked }: House, amount: number): ApprovalRequirements | "denied" | null {
  if (amount > 9_000) return "denied";
  if (amount > 5_000) return large;
  return amount > 1_000 ? asked : null;
}

/** The same as documents. */
export function documentsOf({ asked }: House): readonly RuleText[] {
  return [
    { name: "payments", when: "args.amount > 1000.0 && args.amount <= 5000.0", then: thenOf(asked) },
    { name: "large-payments", when: "args.amount > 5000.0 && args.amount <= 9000.0", then: thenOf(large) },
    { name: "too-large", when: "args.amount > 9000.0", then: deny("nobody pays that much") },
  ];
}

function thenOf({
  routes,
  distinctFromRequester,
  comprehension,
  timeoutMs: ms,
  onTimeout,
  onReject,
  escalateTo,
  reason,
}: ApprovalRequirements) {
  const [{ route, quorum } = { route: "", quorum: 1 }] = routes;
  const more = {
    timeout: `${ms}ms`,
    distinct_from_requester: distinctFromRequester,
    comprehension,
    on_timeout: onTimeout,
    on_reject: onReject,
    ...(escalateTo === null ? {} : { escalate_to: escalateTo }),
  };
  return { ...ask(route, quorum, more), reason };
}

/** The arguments as they run, and the hash that voters see; canonical JSON of one number is the text itself. */
export const textOf = (amount: number): string => `{"amount":${amount}}`;
/** As somebody may send them: the null of an optional field is taken out before they run. */
export const sentWithNull = (amount: number): string => `{"amount":${amount},"note":null}`;
export const hashOf = (text: string): string => createHash("sha256").update(text).digest("hex");
