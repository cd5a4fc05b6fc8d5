// What a batch of calls is told and what it answers: bounds, cancels, orders to stop, and events.
import type { ToldResult } from "../types.ts";

export interface BatchBounds {
  /** Calls that run at once; at least 1. */
  readonly concurrentCallsMax: number;
  /** How long a running call may still bring its own result after a cancel. */
  readonly cancelGraceMs: number;
}

/** `turn` and `batch` reach every call; `call` one of them. */
export type CancelScope = { readonly scope: "turn" | "batch" } | { readonly scope: "call"; readonly index: number };

export interface CancelOrder {
  /** False: it came too late, everything that it means had its result before. */
  readonly took: boolean;
  /** Told to the model as cancelled at once; nothing of them may be started any more. */
  readonly cancelled: readonly number[];
  /** To be told to stop: they run, or wait for people. */
  readonly stop: readonly number[];
  /** Until when (inclusive) those of `stop` may bring their own result; null where there are none. */
  readonly deadlineAt: number | null;
}

/** Every `tool.started` is followed by exactly one `tool.completed` of the same index. */
export type BatchEvent =
  | { readonly type: "tool.started"; readonly index: number; readonly callId: string; readonly name: string }
  | { readonly type: "tool.completed"; readonly index: number; readonly callId: string; readonly name: string; readonly result: ToldResult };

/** What the ledger knows of a call when a batch is taken up again. */
export type KnownCall = (
  | { readonly state: "unsubmitted" }
  /** It has a row that has not ended; `parked`: it waits for people. */
  | { readonly state: "open"; readonly parked: boolean }
  /** `settledAt`: ms since 1970, of its row. */
  | { readonly state: "ended"; readonly result: ToldResult; readonly settledAt: number }
) & {
  /** Its `tool.started` stands in the stream already. */
  readonly saidStarted?: boolean;
  /** What its `tool.completed` in the stream says, and when: that is what the model is told, whatever came of the call since. */
  readonly told?: { readonly result: ToldResult; readonly at: number };
};

export interface BatchOutcome {
  /** One for each call, by index. */
  readonly results: readonly ToldResult[];
  /** Indexes in the order in which the calls settled. */
  readonly settled: readonly number[];
  readonly cancelled: "turn" | "batch" | null;
}
