// Batches by hand: calls as preparation leaves them, results as rows give them, and a run in which time moves by itself.
import type { Batch } from "../../packages/runtime/src/session/batch/batch.ts";
import type { BatchEvent } from "../../packages/runtime/src/session/batch/types.ts";
import type { PreparedCall } from "../../packages/runtime/src/session/turn/types.ts";
import type { ToldResult } from "../../packages/runtime/src/session/types.ts";

export function preparedCall(index: number, scheduling = "parallel", args: unknown = {}, more: Partial<PreparedCall> = {}): PreparedCall {
  return {
    index,
    callId: `sess_1:agv_1:t1.1:${index}`,
    providerId: `toolu_${index}`,
    name: `tool_${index}`,
    tool: `shop.tool-${index}`,
    version: "1.0.0",
    argsJson: JSON.stringify(args),
    scheduling,
    settled: null,
    ...more,
  };
}

export const preparedCalls = (...schedulings: string[]): PreparedCall[] => schedulings.map((one, index) => preparedCall(index, one));

/** The result of the call's row. */
export function rowResult(call: PreparedCall, more: Partial<ToldResult> = {}): ToldResult {
  return {
    index: call.index,
    callId: call.callId,
    providerId: call.providerId,
    name: call.name,
    told: "row",
    status: "succeeded",
    text: `"done ${call.index}"`,
    isError: false,
    errorCode: null,
    editedArgsJson: null,
    editedBy: null,
    durationMs: 7,
    ...more,
  };
}

/** A call that was refused while it was prepared. */
export function refusedCall(index: number): PreparedCall {
  const call = preparedCall(index);
  const settled = rowResult(call, { told: "refused", status: "failed", isError: true, errorCode: "invalid_input", durationMs: 0 });
  return { ...call, settled };
}

/** How one call goes: when its body ends, as ms from its start. Stops at once, or not at all, when it is told to. */
export interface Course {
  readonly runsMs: number;
}

export interface Window {
  readonly index: number;
  readonly from: number;
  readonly to: number;
}

/** Runs a batch whose calls take the time they are given; time jumps from one end to the next. */
export function runBatch(batch: Batch, calls: readonly PreparedCall[], courses: readonly Course[]): { readonly windows: readonly Window[]; readonly events: readonly BatchEvent[]; readonly mostAtOnce: number } {
  let now = 0;
  let mostAtOnce = 0;
  const open: Window[] = [];
  const windows: Window[] = [];
  const events: BatchEvent[] = [...batch.takeEvents()];
  while (!batch.done) {
    for (const index of batch.next()) {
      batch.started(index);
      open.push({ index, from: now, to: now + (courses[index]?.runsMs ?? 0) });
    }
    mostAtOnce = Math.max(mostAtOnce, open.length);
    const first = open.toSorted((a, b) => a.to - b.to || a.index - b.index)[0];
    const call = first && calls[first.index];
    if (first === undefined || call === undefined) throw new Error("the batch starts nothing and is not done");
    open.splice(open.indexOf(first), 1);
    windows.push(first);
    now = first.to;
    batch.settled(first.index, rowResult(call), now);
    events.push(...batch.takeEvents());
  }
  return { windows, events, mostAtOnce };
}

/** Events as short words: `0 started`, `0 completed`. */
export const spoken = (events: readonly BatchEvent[]): string[] => events.map(({ index, type }) => `${index} ${type.slice("tool.".length)}`);
