// What a turn is between two effects, apart from its history: small, plain data, and all that a snapshot holds.
import { noCounts, type Counts, type CountedLimit } from "./limits.ts";
import type { Notice } from "./types.ts";

/** The one request that waits for its response, as far as history and configuration do not say it already. */
export type Pending =
  | { readonly type: "CompleteModel"; readonly id: number }
  | { readonly type: "RunTools"; readonly id: number }
  /** `cut`: the answer that is to be the turn's last reached the output limit. */
  | {
      readonly type: "Checkpoint";
      readonly id: number;
      readonly when: "after_work" | "before_completion";
      readonly cut: boolean;
    }
  /** `before`: what a grant lets go on. */
  | {
      readonly type: "AskLimit";
      readonly id: number;
      readonly limit: CountedLimit;
      readonly before: "completion" | "tools";
    };

export type Ending = Pick<Extract<Notice, { readonly type: "Done" }>, "end" | "reason">;
export type Emitted = Extract<Notice, { readonly type: "Emit" }>;

/** Either something is pending, or the turn is over. */
export interface TurnState {
  /** Items of history that were told in a `Progress` or before the turn. */
  readonly reported: number;
  /** Requests so far; the last one's id. */
  readonly requests: number;
  /** Its steps are the number of the completion that runs or ran last; 0 before the first. */
  readonly used: Counts;
  readonly granted: Counts;
  readonly emits: readonly Emitted[];
  readonly pending: Pending | null;
  readonly ending: (Ending & { readonly told: boolean }) | null;
}

export function freshState(reported: number): TurnState {
  return { reported, requests: 0, used: noCounts, granted: noCounts, emits: [], pending: null, ending: null };
}
