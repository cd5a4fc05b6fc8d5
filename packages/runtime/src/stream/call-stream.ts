// The stream of one call in memory: what is new goes in at one end, and the oldest goes when it holds too much.
import type { Batch, StreamEvent, StreamEventType } from "./types.ts";

export interface StreamBounds {
  /** Of the events that are kept, counted as characters of their JSON. */
  readonly keptCharsMax: number;
  /** What one look of a reader gets at most; at least one event. */
  readonly batchCharsMax: number;
}

/** What an event costs beside its data. */
const eventChars = 64;
const sizeOf = ({ dataJson }: StreamEvent): number => dataJson.length + eventChars;

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
  #ended = false;
  /** Not handed out for keeping yet, by seq. */
  #unsavedFrom: number;
  readonly #waiting = new Set<() => void>();

  /** @param nextSeq 1 for a fresh call; behind the last known one for a call that is taken up again */
  constructor(bounds: StreamBounds, nextSeq = 1) {
    this.#bounds = bounds;
    this.#nextSeq = nextSeq;
    this.#unsavedFrom = nextSeq;
  }

  get ended(): boolean {
    return this.#ended;
  }

  get lastSeq(): number {
    return this.#nextSeq - 1;
  }

  get readers(): number {
    return this.#waiting.size;
  }

  append(type: StreamEventType, dataJson: string, at: number): void {
    if (this.#ended) return;
    const event: StreamEvent = { seq: this.#nextSeq++, at, type, dataJson };
    this.#events.push(event);
    this.#chars += sizeOf(event);
    if (type === "done" || type === "error") this.#ended = true;
    this.#trim();
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
  }

  #trim(): void {
    const { keptCharsMax } = this.#bounds;
    while (this.#chars > keptCharsMax && this.#head < this.#events.length - 1) {
      this.#chars -= sizeOf(this.#events[this.#head] as StreamEvent);
      this.#head++;
    }
    if (this.#head * 2 <= this.#events.length) return;
    this.#events = this.#events.slice(this.#head);
    this.#head = 0;
  }

  /** What follows `afterSeq`, as far as it is kept; an empty batch that has not ended means: wait. */
  read(afterSeq: number): Batch {
    const first = this.#events[this.#head]?.seq ?? this.#nextSeq;
    const from = Math.max(afterSeq + 1, first);
    const gap = afterSeq + 1 < first && first > 1 ? { from: afterSeq + 1, to: first - 1 } : null;
    const events: StreamEvent[] = [];
    let chars = 0;
    for (let at = this.#head + (from - first); at < this.#events.length; at++) {
      const event = this.#events[at] as StreamEvent;
      chars += sizeOf(event);
      if (events.length > 0 && chars > this.#bounds.batchCharsMax) break;
      events.push(event);
    }
    const last = events.at(-1)?.seq ?? afterSeq;
    return { gap, events, ended: this.#ended && last >= this.lastSeq };
  }

  /** Calls back once, when something new is there. @returns takes it back */
  wait(wake: () => void): () => void {
    this.#waiting.add(wake);
    return () => this.#waiting.delete(wake);
  }

  /** What has not been handed out for keeping, as far as it is still here. */
  takeUnsaved(): readonly StreamEvent[] {
    const first = this.#events[this.#head]?.seq ?? this.#nextSeq;
    const from = Math.max(this.#unsavedFrom, first);
    this.#unsavedFrom = this.#nextSeq;
    return this.#events.slice(this.#head + (from - first));
  }
}
