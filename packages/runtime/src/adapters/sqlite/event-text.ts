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

/** What a call's `event_rows` gains with one row: the last seq in it, and its id. */
export function rowName(seqTo: number, id: number): string {
  return `${seqTo}:${id};`;
}

/** The ids of the rows that hold events behind `afterSeq`, in order. */
export function rowIds(eventRows: string, afterSeq: number): number[] {
  return eventRows
    .split(";")
    .map((name) => name.split(":"))
    .flatMap(([seqTo, id]) => (id !== undefined && Number(seqTo) > afterSeq ? [Number(id)] : []));
}
