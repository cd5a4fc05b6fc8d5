// What a tool emits while it runs: checked against what its manifest declares, and stored with the call, each at most once.
import { limits, parseJson, utf8Bytes, wellFormedJson, type Emit } from "@signalbox/protocol";
import { works } from "./occupancy.ts";
import type { HubState } from "./state.ts";
import type { DroppedEvent, LiveCall } from "./types.ts";

/**
 * Stores an event with the next change of its call that is stored, and within the time of lazy writes: at the latest in the
 * unit that settles the call. An attempt that is made again counts from 1 again, so what it repeats is there already.
 * @returns what is told of it
 */
export function keepEvent(state: HubState, entry: LiveCall, message: Emit, now: number): Emit | DroppedEvent {
  const { call } = entry.live;
  const { ordinal, eventType: type, payloadJson } = message;
  const reason = refusalOf(entry, message);
  if (reason !== null) return { type: "dropped_event", eventType: type, reason };
  entry.emitted ??= { keys: new Set(), bytes: 0 };
  const key = `${ordinal} ${type}`;
  if (entry.emitted.keys.has(key)) return message;
  entry.emitted.keys.add(key);
  entry.emitted.bytes += utf8Bytes(payloadJson);
  entry.unsaved ??= { writes: [], since: now };
  entry.unsaved.writes.push({ op: "put_host_event", row: { tenant: call.tenant, callId: call.callId, ordinal, type, payloadJson: wellFormedJson(payloadJson).text, at: now } });
  state.unsaved.add(entry);
  return message;
}

function refusalOf({ facts, emitted, live }: LiveCall, { refused, ordinal, eventType, payloadJson }: Emit): string | null {
  if (refused !== undefined) return refused;
  if (!(facts.events ?? []).includes(eventType)) return "the tool's manifest does not declare it under spec.events";
  // Of a call that has ended for us, or waits for people, nothing is stored beside its end.
  if (!works(live.call)) return "the call is not running any more";
  if (ordinal > limits.eventsPerCallMax) return `a call emits at most ${limits.eventsPerCallMax} events`;
  if ((emitted?.bytes ?? 0) + utf8Bytes(payloadJson) > limits.eventBytesPerCallMax) return `the events of a call have at most ${limits.eventBytesPerCallMax} bytes together`;
  const parsed = parseJson(wellFormedJson(payloadJson).text, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  return parsed.ok ? null : "its payload is no JSON that can be kept";
}
