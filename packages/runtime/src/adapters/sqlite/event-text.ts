// How events stand in their row, and how a call names the rows that hold its events.
import type { CallEvent, CallEventType } from "../../call/types.ts";

/**
 * One event as text; a row holds `[` one or more of them, parted by `,` and then `]`. That is JSON, for whoever looks at it
 * with SQL; `chars` says how long the data is, so that it comes back as the very text that it was.
 */
export function eventText({ at, type, dataJson }: CallEvent): string {
  return `{"at":${at},"type":"${type}","chars":${dataJson.length},"data":${dataJson}}`;
}

/** @throws Error when the row does not consist of what {@link eventText} makes */
export function eventsOfText(call: { tenant: string; callId: string }, seqFrom: number, row: string): CallEvent[] {
  const head = /[[,]\{"at":(\d+),"type":"(\w+)","chars":(\d+),"data":/y;
  const events: CallEvent[] = [];
  for (let from = 0; row[from] !== "]";) {
    head.lastIndex = from;
    const found = head.exec(row);
    if (found === null) throw new Error(`the events of call ${call.callId} cannot be read from character ${from} on`);
    const [, at, type, chars] = found;
    const dataAt = head.lastIndex;
    from = dataAt + Number(chars) + 1;
    const dataJson = row.slice(dataAt, from - 1);
    const { tenant, callId } = call;
    events.push({
      tenant,
      callId,
      seq: seqFrom + events.length,
      at: Number(at),
      type: type as CallEventType,
      dataJson,
    });
  }
  return events;
}

/**
 * Rows that begin with an event up to this one are named in `event_rows` of their call; the later ones of a long stream
 * have an index. So a usual call costs no index, and no call's row grows with its stream.
 */
export const namedSeqMax = 32;

export interface StoredRange {
  readonly seqFrom: number;
  readonly seqTo: number;
  readonly id: number;
}

export function isNamed({ seqFrom }: StoredRange): boolean {
  return seqFrom <= namedSeqMax;
}

/** What `event_rows` gains with a row; empty when it is not named there. */
export function rowName(range: StoredRange): string {
  return isNamed(range) ? `${range.seqTo}:${range.id};` : "";
}

/** The ids of the named rows that hold events behind `afterSeq`, in order. */
export function namedRows(eventRows: string, afterSeq: number): number[] {
  return eventRows
    .split(";")
    .map((name) => name.split(":"))
    .flatMap(([seqTo, id]) => (id !== undefined && Number(seqTo) > afterSeq ? [Number(id)] : []));
}
