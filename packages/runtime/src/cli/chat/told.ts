// What a session tells its reader, as the chat and the lists of events take it.

export interface ToldEvent {
  readonly kind: "event";
  readonly seq: number;
  /** ISO 8601. */
  readonly ts: string;
  readonly type: string;
  readonly turn: number;
  readonly step: number;
  readonly data: Readonly<Record<string, unknown>>;
}

/** A piece of an answer on its way. */
export interface ToldPiece {
  readonly kind: "delta";
  readonly turn: number;
  readonly step: number;
  readonly type: "text" | "thought" | "tool_call";
  readonly text: string;
}

/** Pieces were dropped; the whole answer comes as an event. */
export interface ToldGap {
  readonly kind: "gap";
  readonly dropped: number;
}

export type Told = ToldEvent | ToldPiece | ToldGap;

export function textOf(data: ToldEvent["data"], name: string): string {
  const value = data[name];
  return typeof value === "string" ? value : "";
}

export function numberOf(data: ToldEvent["data"], name: string): number {
  const value = data[name];
  return typeof value === "number" ? value : 0;
}
