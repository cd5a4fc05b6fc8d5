// Drains what the tools of a batch emitted: references for the journal, and what the session's stream tells, in the order in which their calls settled.
import { limits, parseJson, SignalboxError, utf8Bytes } from "@signalbox/protocol";
import type { BatchOutcome } from "../../session/batch/types.ts";
import { EffectFailure } from "../../session/effects/failure.ts";
import type { HostEventRef } from "../../session/turn/types.ts";
import type { HostEvent, ToldResult } from "../../session/types.ts";
import type { Ledger } from "../../ledger/port.ts";
import type { Log } from "../ports.ts";
import { storable } from "../invoke.ts";
import type { NewEvent } from "./row.ts";

export interface DrainPorts {
  readonly ledger: Pick<Ledger, "hostEvents">;
  readonly log: Log;
}

export interface Drained {
  readonly refs: readonly HostEventRef[];
  readonly events: readonly NewEvent[];
}

export const hostEventBounds = {
  /** Payloads that the stream tells of one batch, together; what comes after is told without its payload. */
  toldBytesPerBatchMax: 4 * 1024 * 1024,
} as const;
/** The code of a failure to read them, which is the machinery's and no tool's. */
export const drainCode = "tool_host_event_outcome_drain";

/**
 * Of the calls whose rows are told: one that the model was told about sooner than it ended goes on, and what it emits stays with it.
 * @throws EffectFailure when what is stored cannot be read; SignalboxError ledger_unavailable, and the effect is done again
 */
export async function drainHostEvents(
  { ledger, log }: DrainPorts,
  { tenant, turn }: { readonly tenant: string; readonly turn: number },
  { step, key }: { readonly step: number; readonly key: string },
  { results, settled }: Pick<BatchOutcome, "results" | "settled">,
): Promise<Drained> {
  const told = results.filter((result) => result.told === "row");
  if (told.length === 0) return { refs: [], events: [] };
  const stored = await read(ledger, log, tenant, told);
  const emitted = inOrder(told, settled, stored);
  let left: number = hostEventBounds.toldBytesPerBatchMax;
  const events = emitted.map(({ index, event }): NewEvent => {
    const { callId, ordinal, type, payloadJson } = event;
    left -= utf8Bytes(payloadJson);
    const about = { index, execution_id: callId, type, ordinal };
    return { type: "host.event", turn, step, data: left < 0 ? { ...about, payload: null, cut: true } : { ...about, payload: payloadOf(event, key) } };
  });
  return { refs: emitted.map(({ index, event: { callId, type, ordinal } }) => ({ index, callId, type, ordinal })), events };
}

async function read(ledger: DrainPorts["ledger"], log: Log, tenant: string, told: readonly ToldResult[]): Promise<readonly HostEvent[]> {
  try {
    return await storable(ledger.hostEvents(tenant, told.map(({ callId }) => callId)));
  } catch (error) {
    if (error instanceof SignalboxError) log.warn({ code: drainCode, reason: error.message }, "what the tools of a batch emitted could not be read; the batch is gone on with when it can");
    throw error;
  }
}

function inOrder(told: readonly ToldResult[], settled: readonly number[], stored: readonly HostEvent[]): readonly { readonly index: number; readonly event: HostEvent }[] {
  const places = new Map(settled.map((index, place) => [index, place]));
  return told
    .toSorted((one, other) => (places.get(one.index) ?? 0) - (places.get(other.index) ?? 0))
    .flatMap(({ index, callId }) => stored.filter((event) => event.callId === callId).map((event) => ({ index, event })));
}

/** Numbers keep their digits. */
function payloadOf({ callId, ordinal, type, payloadJson }: HostEvent, key: string): unknown {
  const parsed = parseJson(payloadJson, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  if (parsed.ok) return parsed.value;
  throw new EffectFailure(drainCode, key, `the stored event ${ordinal} (${type}) of call ${callId} is no JSON`);
}
