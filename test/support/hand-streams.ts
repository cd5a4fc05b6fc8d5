// Streams of calls moved by hand: a clock and a ledger that a test holds, what a worker says, and what a reader gets in short words.
import { Streams } from "../../packages/runtime/src/corridor/streams.ts";
import type { Reader } from "../../packages/runtime/src/corridor/stream-reader.ts";
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { Unit } from "../../packages/runtime/src/ledger/port.ts";
import type { Batch } from "../../packages/runtime/src/stream/types.ts";
import { HandClock, settled } from "./hand-clock.ts";
import { scriptedCall } from "./scripted-call.ts";
import { StreamShelf } from "./stream-shelf.ts";

export const { tenant, callId } = scriptedCall();
export const running = scriptedCall({ state: "running", settledAt: null, outputJson: null, workerId: "w1" });
export const queued = scriptedCall({
  ...running,
  state: "queued",
  dispatchedAt: null,
  startedAt: null,
  workerId: null,
  fence: 0,
});
export const done = scriptedCall({ workerId: "w1" });

export const bytes = (text: string): Uint8Array => new TextEncoder().encode(text);

export class HandStreams {
  readonly clock = new HandClock(1_700_000_000_000);
  readonly ledger = new StreamShelf();
  readonly logged: string[] = [];
  /** The call as memory has it. */
  live: Call = running;
  /** Of the last chunk that the worker sent. */
  outputSeq = 0;
  readonly streams: Streams;
  #alive: object = {};

  constructor() {
    this.row(running);
    this.streams = this.process();
  }

  row(call: Call): void {
    this.ledger.calls.set(`${tenant}/${callId}`, call);
  }

  /** A process that starts on the same ledger; the one before it is dead and writes nothing any more. */
  process(): Streams {
    const { clock, ledger, logged } = this;
    const self = {};
    this.#alive = self;
    const log = { info() {}, error() {}, warn: (_fields: object, message: string) => void logged.push(message) };
    const own = {
      commit: (unit: Unit) => (this.#alive === self ? ledger.commit(unit) : new Promise<never>(() => {})),
      streamChunks: ledger.streamChunks.bind(ledger),
      lastStreamSeq: ledger.lastStreamSeq.bind(ledger),
      getCall: ledger.getCall.bind(ledger),
    };
    return new Streams({ ledger: own, clock, find: () => this.live, log });
  }

  /** The worker writes to stdout. */
  say(text: string, of: Streams = this.streams, call: Call = running): void {
    const { fence } = call;
    of.hear(call, { type: "output", callId, fence, seq: ++this.outputSeq, channel: "stdout", chunk: bytes(text) });
  }

  settle(of: Streams = this.streams, call: Call = done): void {
    this.row(call);
    of.told(call);
  }

  /** What a reader gets within a second. */
  async next(reader: Reader): Promise<string[]> {
    const batch = reader.next(1_000);
    await settled();
    void this.clock.pass(1_000);
    return words(await batch);
  }
}

/** `1 start`, `2 stdout hi`, `gap 3-9`, `10 done`; `…` where nothing came in time. */
export function words({ gap, events, end, leaving }: Batch): string[] {
  const told = events.map(({ seq, type, dataJson }) => {
    const { text = "" } = JSON.parse(dataJson) as { text?: string };
    return `${seq} ${type} ${text.slice(0, 8)}`.trim();
  });
  const all = [...(gap === null ? [] : [`gap ${gap.from}-${gap.to}`]), ...told];
  if (end !== null) all.push(`${end.seq} ${end.call.state === "succeeded" ? "done" : "error"}`);
  if (leaving) all.push("leaving");
  return all.length === 0 ? ["…"] : all;
}

/** Everything up to the end. */
export async function rest(reader: Reader): Promise<string[]> {
  const all: string[] = [];
  for (;;) {
    const batch = await reader.next(0);
    all.push(...words(batch));
    if (batch.end !== null || batch.leaving) return all;
    if (all.at(-1) === "…") throw new Error(`the end did not come behind ${all.join(", ")}`);
  }
}
