// Gives a tool whose manifest asks for it the session's projection: read once for a batch, cut to what fits into a call's context.
import { limits, utf8Bytes } from "@signalbox/protocol";
import type { Ledger } from "../../ledger/port.ts";
import { newestOf, projectionBounds, projectionOf, type EmittedByCall, type Projected, type Projection } from "../../session/projection.ts";
import type { HistoryItem } from "../../session/types.ts";
import { storable } from "../invoke.ts";

/** Calls whose events are read at once. */
const callsAtOnce = 20;
/** For the member's own name, and what stands around its items. */
const envelopeBytes = 64;

/** Everything before the batch, the completion that asked for it included. @throws SignalboxError ledger_unavailable */
export async function projectSession(ledger: Pick<Ledger, "hostEvents">, tenant: string, history: readonly HistoryItem[]): Promise<readonly Projected[]> {
  const callIds = history.flatMap((item) => (item.type === "results" ? item.results.flatMap(({ callId, told }) => (told === "row" ? [callId] : [])) : []));
  const emitted = new Map<string, EmittedByCall extends ReadonlyMap<string, readonly (infer E)[]> ? E[] : never>();
  for (let at = 0; at < callIds.length; at += callsAtOnce) {
    for (const { callId, ordinal, type, payloadJson } of await storable(ledger.hostEvents(tenant, callIds.slice(at, at + callsAtOnce)))) {
      const kept = utf8Bytes(payloadJson) > projectionBounds.payloadBytesMax ? "" : payloadJson;
      const list = emitted.get(callId);
      if (list === undefined) emitted.set(callId, [{ ordinal, type, payloadJson: kept }]);
      else list.push({ ordinal, type, payloadJson: kept });
    }
  }
  return projectionOf(history, emitted);
}

/** As much of it as the context has room for. @param rest what else is in there */
export function contextWith(rest: Readonly<Record<string, unknown>>, projected: readonly Projected[]): Readonly<Record<string, unknown>> & { readonly projection: Projection } {
  const room = limits.contextBytesMax - utf8Bytes(JSON.stringify(rest)) - envelopeBytes;
  return { ...rest, projection: newestOf(projected, Math.min(projectionBounds.projectionBytesMax, room)) };
}
