// The stream of one call in memory: what is new goes in at one end, and the oldest goes when it holds too much.
import type { Gap, StreamEvent, StreamEventType } from "./types.ts";

export interface StreamBounds {
  /** Of the events that are kept, counted as characters of their JSON. */
  readonly keptCharsMax: number;
  /** What one look of a reader gets at most; at least one event. */
  readonly batchCharsMax: number;
}

export interface Look {
  readonly gap: Gap | null;
  readonly events: readonly StreamEvent[];
  /** The reader has everything up to the end, which stands behind these events. */
  readonly over: boolean;
}

/** What an event costs beside its data. */
const eventChars = 64;

export function sizeOf({ dataJson }: StreamEvent): number {
  return dataJson.length + eventChars;
}

/**
 * Readers take from it at their own pace and hold nobody up: who falls behind what is kept is told of the gap.
 * Its owner says what happens; there is no clock here.
 */
export class CallStream {
  readonly #bounds: StreamBounds;
  #events: StreamEvent[] = [];
  /** Events before it are gone; the array is cut when half of it is. */
  #head = 0;
  #chars = 0;
  #nextSeq: number;
  #endSeq: number | undefined;
  /** Not handed out for keeping yet, by seq. */
  #unsavedFrom: number;
  readonly #waiting = new Set<() => void>();

  /** @param nextSeq 1 for a fresh call; behind the last known one for a call that is taken up again */
  constructor(bounds: StreamBounds, nextSeq = 1) {
    this.#bounds = bounds;
    this.#nextSeq = nextSeq;
    this.#unsavedFrom = nextSeq;
  }

  /** The number of the end; undefined while the call goes on. */
  get endSeq(): number | undefined {
    return this.#endSeq;
  }

  /** Of the last event, or of the end. */
  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  get hasUnsaved(): boolean {
    return this.#unsavedFrom < (this.#endSeq ?? this.#nextSeq);
  }

  /** What it holds, in characters. */
  get chars(): number {
    return this.#chars;
  }

  append(type: StreamEventType, dataJson: string, at: number): void {
    if (this.#endSeq !== undefined) return;
    const event: StreamEvent = { seq: this.#nextSeq++, at, type, dataJson };
    this.#events.push(event);
    this.#chars += sizeOf(event);
    while (this.#chars > this.#bounds.keptCharsMax && this.#head < this.#events.length - 1) this.#drop();
    this.#cut();
    this.#wake();
  }

  /** Gives the end its number; the second time nothing happens. */
  end(): void {
    if (this.#endSeq !== undefined) return;
    this.#endSeq = this.#nextSeq++;
    this.#wake();
  }

  #wake(): void {
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const wake of waiting) wake();
  }

  #drop(): void {
    this.#chars -= sizeOf(this.#events[this.#head] as StreamEvent);
    this.#head++;
  }

  #cut(): void {
    if (this.#head * 2 <= this.#events.length) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }

  /** What is kept elsewhere and nobody reads need not be kept here. */
  forget(upToSeq: number): void {
    for (
      let first = this.#events[this.#head];
      first !== undefined && first.seq <= upToSeq;
      first = this.#events[this.#head]
    )
      this.#drop();
    this.#cut();
  }

  /** What follows `afterSeq`, as far as it is here; neither gap nor events nor over means: wait. */
  read(afterSeq: number): Look {
    const behind = this.#endSeq ?? this.#nextSeq;
    const first = this.#events[this.#head]?.seq ?? behind;
    const from = Math.max(afterSeq + 1, first);
    const gap = afterSeq + 1 < first ? { from: afterSeq + 1, to: first - 1 } : null;
    const events = this.#run(from - first, this.#bounds.batchCharsMax);
    const last = events.at(-1)?.seq ?? Math.max(afterSeq, first - 1);
    return { gap, events, over: this.#endSeq !== undefined && last >= this.#endSeq - 1 };
  }

  /** Events from a place on, at most so many characters; at least one, if there is one. */
  #run(offset: number, charsMax: number): StreamEvent[] {
    const events: StreamEvent[] = [];
    let chars = 0;
    for (let at = this.#head + offset; at < this.#events.length; at++) {
      const event = this.#events[at] as StreamEvent;
      chars += sizeOf(event);
      if (events.length > 0 && chars > charsMax) break;
      events.push(event);
    }
    return events;
  }

  /** Calls back once, when something new is there. @returns takes it back */
  wait(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** What has not been handed out for keeping, oldest first, as far as it is still here; the rest the next time. */
  takeUnsaved(charsMax: number): readonly StreamEvent[] {
    const first = this.#events[this.#head]?.seq ?? this.#nextSeq;
    const events = this.#run(Math.max(this.#unsavedFrom, first) - first, charsMax);
    this.#unsavedFrom = (events.at(-1)?.seq ?? this.#nextSeq - 1) + 1;
    return events;
  }
}
