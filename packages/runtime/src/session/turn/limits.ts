// The budgets of one turn: what was used, what was granted on top, and which one is reached first.
import type { AgentLimits } from "../../registry/agents/types.ts";
import type { SessionReason } from "../types.ts";
import type { LimitName } from "./types.ts";

/** Those that are counted here; `approval_wait` is measured where people are asked. */
export const countedLimits = ["steps", "tokens", "wall_clock", "tool_calls"] as const satisfies readonly LimitName[];
export type CountedLimit = (typeof countedLimits)[number];

/** `wall_clock` in ms, without the time in which people were waited for. */
export type Counts = Readonly<Record<CountedLimit, number>>;

export const noCounts: Counts = { steps: 0, tokens: 0, wall_clock: 0, tool_calls: 0 };

export interface Budgets {
  readonly limits: AgentLimits;
  readonly used: Counts;
  /** How many more budgets of the same size people granted. */
  readonly granted: Counts;
}

export function sizeOf(limits: AgentLimits, limit: CountedLimit): number {
  switch (limit) {
    case "steps":
      return limits.stepsMax;
    case "tokens":
      return limits.tokensMax;
    case "wall_clock":
      return limits.wallClockMsMax;
    case "tool_calls":
      return limits.toolCallsMax;
  }
}

export function budgetOf({ limits, granted }: Budgets, limit: CountedLimit): number {
  return sizeOf(limits, limit) * (1 + granted[limit]);
}

export function activeMsLeft(budgets: Budgets): number {
  return Math.max(0, budgetOf(budgets, "wall_clock") - budgets.used.wall_clock);
}

/** The budget that stands in the way of one more completion. */
export function beforeCompletion(budgets: Budgets): CountedLimit | undefined {
  return (["steps", "tokens", "wall_clock"] as const).find((limit) => budgets.used[limit] >= budgetOf(budgets, limit));
}

/** The budget that stands in the way of running `calls` tools; steps do not, for the step has begun. */
export function beforeTools(budgets: Budgets, calls: number): CountedLimit | undefined {
  if (calls === 0) return undefined;
  const spent = (["tokens", "wall_clock"] as const).find((limit) => budgets.used[limit] >= budgetOf(budgets, limit));
  if (spent !== undefined) return spent;
  return budgets.used.tool_calls + calls > budgetOf(budgets, "tool_calls") ? "tool_calls" : undefined;
}

const units: Readonly<Record<CountedLimit, string>> = {
  steps: "steps",
  tokens: "tokens",
  wall_clock: "ms of work",
  tool_calls: "tool calls",
};

/** `limit_steps` and the like, with what was used of what. `wanted`: calls that are asked for on top. */
export function limitReason(budgets: Budgets, limit: CountedLimit, wanted: number): SessionReason {
  const used = `the turn has used ${budgets.used[limit]} of ${budgetOf(budgets, limit)} ${units[limit]}`;
  const more = limit === "tool_calls" ? `, and asks for ${wanted} more` : "";
  return { code: `limit_${limit}`, message: used + more };
}
