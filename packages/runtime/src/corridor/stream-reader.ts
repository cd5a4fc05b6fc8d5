// One reader of one call: from memory while the call goes on, from the ledger for what memory does not have any more.
import type { Call } from "../call/types.ts";
import type { Ledger } from "../ledger/port.ts";
import { sizeOf, type CallStream } from "../stream/call-stream.ts";
import type { Batch, StreamChunk, StreamEvent } from "../stream/types.ts";
import type { Clock } from "./ports.ts";

export interface Reader {
  /** True where there is nothing left to read, the end included. */
  readonly over: boolean;
  /** Waits for what is new, at most `ms`. After the end it is not asked again. */
  next(ms: number): Promise<Batch>;
  close(): void;
}

export interface LivePorts {
  readonly ledger: Pick<Ledger, "streamChunks">;
  readonly clock: Clock;
  readonly open: {
    readonly tenant: string;
    readonly callId: string;
    readonly stream: CallStream;
    readonly ended: Call | null;
  };
  readonly leaving: AbortSignal;
  readonly charsMax: number;
  /** Called once, when the reader is closed. */
  readonly release: () => void;
}

/** Runs that one look takes from the ledger at most. */
export const chunksPerLook = 32;
export const nothing: Batch = { gap: null, events: [], end: null, leaving: false };

/** Of a call that goes on, or has just ended. A reader that is closed hears nothing more, and waits for nothing. */
export function liveReader(ports: LivePorts, afterSeq: number): Reader {
  const { clock, open, leaving, charsMax } = ports;
  const { stream } = open;
  // A number that was never given is somebody's mistake: it hears what is new.
  let after = Math.min(afterSeq, stream.lastSeq);
  let closed = false;
  let wake = (): void => {};
  const look = async (): Promise<Batch> => {
    const { gap, events, over } = stream.read(after);
    if (gap !== null) {
      const kept = await fromLedger(ports, after, gap.to);
      if (kept.events.length > 0) return kept;
    }
    const end = over && stream.endSeq !== undefined && open.ended !== null ? endOf(open.ended, stream.endSeq) : null;
    return { gap, events, end, leaving: false };
  };
  return {
    over: stream.endSeq !== undefined && after >= stream.endSeq,
    async next(ms) {
      for (let waited = false; !closed; waited = true) {
        // What it has not read yet it gets after it has come back; an end that is there is told here.
        if (leaving.aborted && stream.endSeq === undefined) return { ...nothing, leaving: true };
        const batch = await look();
        after = lastOf(batch) ?? after;
        if (batch.gap !== null || batch.events.length > 0 || batch.end !== null) return batch;
        if (waited) return nothing;
        await new Promise<void>((resolve) => {
          const go = (): void => resolve();
          const takeBack = stream.wait(go);
          const stop = clock.after(ms, go);
          leaving.addEventListener("abort", go);
          wake = () => {
            takeBack();
            stop();
            leaving.removeEventListener("abort", go);
            resolve();
          };
        });
        wake();
      }
      return nothing;
    },
    close() {
      if (closed) return;
      closed = true;
      wake();
      ports.release();
    },
  };

  async function fromLedger({ ledger }: LivePorts, from: number, upToSeq: number): Promise<Batch> {
    const chunks = await ledger.streamChunks(open.tenant, open.callId, from, chunksPerLook);
    return run(chunks, from, upToSeq, charsMax);
  }
}

/** Of a call that ended and that memory has forgotten. */
export async function keptReader(
  ledger: Pick<Ledger, "streamChunks" | "lastStreamSeq">,
  call: Call,
  afterSeq: number,
  charsMax: number,
): Promise<Reader> {
  const { tenant, callId } = call;
  let after = afterSeq;
  const next = async (): Promise<Batch> => {
    const chunks = await ledger.streamChunks(tenant, callId, after, chunksPerLook);
    const batch = run(chunks, after, Number.POSITIVE_INFINITY, charsMax);
    if (batch.events.length > 0) return batch;
    return { ...batch, ...closing(call, after, await endSeqOf(ledger, call)) };
  };
  const over = afterSeq > 0 && afterSeq === (await endSeqOf(ledger, call)).marked;
  return {
    over,
    async next() {
      const batch = await next();
      after = lastOf(batch) ?? after;
      return batch;
    },
    close: () => undefined,
  };
}

/** What the ledger knows of the end's number: the one that was told, or the last event before it. */
export async function endSeqOf(
  ledger: Pick<Ledger, "streamChunks" | "lastStreamSeq">,
  { tenant, callId }: Call,
): Promise<{ readonly marked: number | undefined; readonly last: number }> {
  const last = await ledger.lastStreamSeq(tenant, callId);
  if (last === 0) return { marked: undefined, last };
  const [chunk] = await ledger.streamChunks(tenant, callId, last - 1, 1);
  return { marked: chunk?.events.length === 0 ? last : undefined, last };
}

/**
 * The end, and what stands before it. Where its number was not written down (nobody listened, or the process died in
 * that moment) whoever asks gets it once more rather than not at all.
 */
export function closing(
  call: Call,
  after: number,
  { marked, last }: { readonly marked: number | undefined; readonly last: number },
): Pick<Batch, "gap" | "events" | "end"> {
  if (marked !== undefined)
    return {
      gap: marked > after + 1 ? { from: after + 1, to: marked - 1 } : null,
      events: [],
      end: endOf(call, marked),
    };
  const silent = last === 0 && call.dispatchedAt !== null;
  const start = silent && after === 0 ? startOf(call) : [];
  return { gap: null, events: start, end: endOf(call, Math.max(after, last, silent ? 1 : 0) + 1) };
}

/** Events behind `after` up to the first hole; what is missing before them is the gap. */
export function run(chunks: readonly StreamChunk[], after: number, upToSeq: number, charsMax: number): Batch {
  const events: StreamEvent[] = [];
  let chars = 0;
  for (const event of chunks.flatMap((chunk) => chunk.events)) {
    const before = events.at(-1);
    if (event.seq <= after || event.seq > upToSeq) continue;
    chars += sizeOf(event);
    if (before !== undefined && (event.seq !== before.seq + 1 || chars > charsMax)) break;
    events.push(event);
  }
  const [first] = events;
  const gap = first !== undefined && first.seq > after + 1 ? { from: after + 1, to: first.seq - 1 } : null;
  return { gap, events, end: null, leaving: false };
}

export function lastOf({ gap, events, end }: Batch): number | undefined {
  return end?.seq ?? events.at(-1)?.seq ?? gap?.to;
}

function endOf(call: Call, seq: number): NonNullable<Batch["end"]> {
  return { seq, at: call.settledAt ?? call.admittedAt, call };
}

/** Of a call that said nothing while it ran. */
function startOf(call: Call): readonly StreamEvent[] {
  return [{ seq: 1, at: call.dispatchedAt ?? call.admittedAt, type: "start", dataJson: startData(call) }];
}

export function startData(call: Call): string {
  const sandbox = call.sandbox ?? (call.executor === "worker" ? "application" : null);
  return JSON.stringify({ sandbox, worker: call.workerId, attempt: call.attempt });
}

/** Events that a look at the newest ones takes at least, where there are so many. */
const newestMax = 64;

/** The newest events of a call, by seq, from the ledger and from memory, and the highest number that was given. */
export async function newestEvents(
  ledger: Pick<Ledger, "streamChunks" | "lastStreamSeq">,
  { tenant, callId }: Call,
  stream: CallStream | undefined,
): Promise<{ readonly events: readonly StreamEvent[]; readonly lastSeq: number }> {
  const bySeq = new Map<number, StreamEvent>();
  const heldSeq = stream === undefined ? 0 : (stream.endSeq ?? stream.lastSeq + 1) - 1;
  const held: StreamEvent[] = [];
  for (let after = heldSeq - newestMax; stream !== undefined && after < heldSeq; after = held.at(-1)?.seq ?? heldSeq) {
    const { events } = stream.read(after);
    if (events.length === 0) break;
    held.push(...events);
  }
  const keptSeq = await ledger.lastStreamSeq(tenant, callId);
  const chunks = keptSeq === 0 ? [] : await ledger.streamChunks(tenant, callId, Math.max(0, keptSeq - newestMax), newestMax);
  for (const event of [...chunks.flatMap((chunk) => chunk.events), ...held]) bySeq.set(event.seq, event);
  const marks = chunks.filter((chunk) => chunk.events.length === 0).length;
  return { events: [...bySeq.values()].sort((a, b) => a.seq - b.seq), lastSeq: Math.max(heldSeq, keptSeq - marks) };
}
