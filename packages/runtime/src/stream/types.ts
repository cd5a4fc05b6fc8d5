// What whoever follows a call sees: one ordered stream of events, each with its number.

export const streamEventTypes = [
  "start",
  "stdout",
  "stderr",
  "progress",
  "partial",
  "log",
  "emit",
  "approval",
  "done",
  "error",
] as const;
export type StreamEventType = (typeof streamEventTypes)[number];

/** One event. Exactly one of `done` and `error` is the last. */
export interface StreamEvent {
  /** Grows by one; after a restart of the runtime in mid-call it leaps, and a gap is told. */
  readonly seq: number;
  /** Wall clock, ms since 1970. */
  readonly at: number;
  readonly type: StreamEventType;
  /** JSON text. */
  readonly dataJson: string;
}

/** Events that were there and are not any more: the reader was too slow, or came too late. */
export interface Gap {
  readonly from: number;
  readonly to: number;
}

export interface Batch {
  readonly gap: Gap | null;
  readonly events: readonly StreamEvent[];
  /** Nothing will follow. */
  readonly ended: boolean;
}

/** A run of events as the ledger keeps it. */
export interface StreamChunk {
  readonly tenant: string;
  readonly callId: string;
  readonly seqFrom: number;
  readonly seqTo: number;
  readonly events: readonly StreamEvent[];
}
