// What whoever follows a call sees: one ordered stream of events, each with its number, and one end.
import type { Call } from "../call/types.ts";

/** Events on the way; the end is `done` or `error`, and stands apart. */
export const streamEventTypes = [
  "start",
  "stdout",
  "stderr",
  "progress",
  "partial",
  "log",
  "emit",
  "approval",
] as const;
export type StreamEventType = (typeof streamEventTypes)[number];

export interface StreamEvent {
  /** Grows by one; after a restart of the runtime in mid-call it leaps, and a gap is told. */
  readonly seq: number;
  /** Wall clock, ms since 1970. */
  readonly at: number;
  readonly type: StreamEventType;
  /** JSON text. */
  readonly dataJson: string;
}

/** Numbers that the reader does not get: their events are not kept any more, or were never given. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

/** The last event of every stream: the call as it ended. How that is written is the door's matter. */
export interface StreamEnd {
  readonly seq: number;
  readonly at: number;
  readonly call: Call;
}

/** What one look gives. Empty: nothing came in time. */
export interface Batch {
  /** Told before the events. */
  readonly gap: Gap | null;
  readonly events: readonly StreamEvent[];
  /** Behind the events; nothing follows. */
  readonly end: StreamEnd | null;
  /** The runtime leaves and the call goes on: nothing more comes here, and the reader comes back. */
  readonly leaving: boolean;
}

/** A run of events as the ledger keeps it. */
export interface StreamChunk {
  readonly tenant: string;
  readonly callId: string;
  readonly seqFrom: number;
  readonly seqTo: number;
  /** None: the mark of the end, whose number is `seqFrom`. */
  readonly events: readonly StreamEvent[];
}
