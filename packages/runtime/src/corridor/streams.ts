// What calls say while they run, for those who follow them: kept in memory while somebody reads it, and in the ledger for those who come late.
import { limits, parseJson, wellFormedJson, type Emit, type Output, type Progress } from "@signalbox/protocol";
import { isTerminal, type Call } from "../call/types.ts";
import type { DroppedEvent } from "../dispatch/types.ts";
import type { Ledger } from "../ledger/port.ts";
import { CallStream, type StreamBounds } from "../stream/call-stream.ts";
import { lastOutputOf, type LastOutput } from "../stream/last-output.ts";
import { ChannelText } from "../stream/channel-text.ts";
import type { StreamEventType } from "../stream/types.ts";
import { waitKey } from "./driver.ts";
import type { Clock, Log } from "./ports.ts";
import { StreamKeeper, type Kept } from "./stream-keeper.ts";
import { afarReader } from "./stream-afar.ts";
import { keptReader, liveReader, newestEvents, startData, type Reader } from "./stream-reader.ts";

export interface StreamPorts {
  readonly ledger: Pick<Ledger, "commit" | "streamChunks" | "lastStreamSeq" | "getCall">;
  /** The call as memory has it. */
  readonly find: (tenant: string, callId: string) => Call | undefined;
  /** Where replicas share the ledger: others hear that more of a call was kept. */
  readonly kept?: (tenant: string, callId: string) => void;
  readonly clock: Clock;
  readonly log: Log;
}

export const streamBounds: StreamBounds & { readonly leapSeqs: number } = {
  /** 1 MiB of a call that somebody follows; of others only what is on its way to the ledger. */
  keptCharsMax: 1_048_576,
  batchCharsMax: 256 * 1_024,
  /** More than a runtime that died can have numbered and not kept: no number is used twice. */
  leapSeqs: 1_000_000,
};

/** A replica has written what a call said so long after its end, however much others say: see its keeper. */
const writtenWithinMs = 3_000;

type Channel = Output["channel"];

/** A call that said something, or that somebody follows. It stays until its end is written down and read. */
export interface Open extends Kept {
  text: ChannelText<Channel>;
  /** The lease whose `start` was told. */
  startedFence: number;
  approvalTold: string;
  readers: number;
  ended: Call | null;
  /** Aborted when another replica goes on with the call. */
  readonly moved: AbortController;
  /** Nothing was put in yet. */
  untouched: boolean;
  /** The ledger has what there is up to here, or has lost it. */
  settledSeq: number;
}

export class Streams {
  readonly #ports: StreamPorts;
  readonly #keeper: StreamKeeper;
  readonly #open = new Map<string, Open>();
  /** Calls of an earlier process: where their numbers go on, and the lease whose `start` that process told. */
  readonly #resumed = new Map<string, { readonly nextSeq: number; readonly fence: number }>();
  readonly #leaving = new AbortController();
  /** Readers of calls that are elsewhere, who wait for more to be kept. */
  readonly #afar = new Map<string, Set<() => void>>();

  constructor(ports: StreamPorts) {
    const { ledger, clock, log } = ports;
    this.#ports = ports;
    this.#keeper = new StreamKeeper({
      ledger,
      clock,
      log,
      settled: (kept, upToSeq) => this.#settled(kept as Open, upToSeq),
    });
  }

  /** A call that an earlier process had open. Whatever that may have told of it was numbered. */
  async recover(call: Call): Promise<void> {
    const { kept } = this.#ports;
    // Of an earlier lease an earlier process of this ledger has told; where replicas share it, another one may have.
    if (call.dispatchedAt === null && call.approvalId === null && (kept === undefined || call.fence === 1)) return;
    const last = await this.#ports.ledger.lastStreamSeq(call.tenant, call.callId);
    const fence = call.workerId === null ? 0 : call.fence;
    // What nobody works on at the moment, nobody speaks of: what was told is kept.
    const leap = kept !== undefined && call.dispatchedAt === null ? 1 : streamBounds.leapSeqs;
    this.#resumed.set(waitKey(call.tenant, call.callId), { nextSeq: last + leap, fence });
  }

  /** Another replica goes on with the call: who reads here comes back, and reads what that one keeps. */
  moved(tenant: string, callId: string): void {
    const key = waitKey(tenant, callId);
    this.#resumed.delete(key);
    const open = this.#open.get(key);
    if (open === undefined || open.ended !== null) return;
    this.#flushText(open);
    open.moved.abort();
    this.#open.delete(key);
  }

  /** Another replica has kept more of a call, or its end. */
  keptElsewhere(tenant: string, callId: string): void {
    for (const wake of this.#afar.get(waitKey(tenant, callId)) ?? []) wake();
  }

  hear(call: Call, message: Output | Progress | Emit | DroppedEvent): void {
    const open = this.#of(call);
    this.#start(open, call);
    if (message.type === "output") {
      const heard = open.text.read(message.channel, message.seq, message.chunk);
      if (heard === undefined || heard.text === "") return;
      const { text, missed } = heard;
      this.#append(open, message.channel, JSON.stringify(missed === 0 ? { text } : { text, missed_chunks: missed }));
    } else if (message.type === "progress") {
      const { percent, message: words } = message;
      this.#append(open, "progress", JSON.stringify({ percent, message: words }));
    } else if (message.type === "dropped_event") {
      this.#append(open, "log", JSON.stringify({ text: `an event of type ${JSON.stringify(message.eventType)} was dropped: ${message.reason}` }));
    } else {
      this.#append(open, "emit", emitData(message));
    }
  }

  /** A worker has it: told to those who follow already. */
  given(tenant: string, callId: string): void {
    if (this.#open.size === 0) return;
    const open = this.#open.get(waitKey(tenant, callId));
    const call = open === undefined ? undefined : this.#ports.find(tenant, callId);
    if (open !== undefined && call !== undefined) this.#start(open, call);
  }

  /** Stored: the call has ended or parked. Costs nothing where nobody listens and nothing was said. */
  told(call: Call): void {
    const key = waitKey(call.tenant, call.callId);
    if (!isTerminal(call.state)) {
      const open = this.#open.get(key);
      if (open !== undefined) this.#ask(open, call);
      return;
    }
    // Of a call of an earlier process the number of the end is written down, whoever listens: readers may know numbers that nobody kept.
    const open = this.#resumed.has(key) ? this.#of(call) : this.#open.get(key);
    this.#resumed.delete(key);
    if (open === undefined || open.ended !== null) return;
    this.#flushText(open);
    open.ended = call;
    open.stream.end();
    this.#keeper.note(open, 0);
  }

  /** @param afterSeq of the last event that the reader has; 0: from the beginning */
  async follow(call: Call, afterSeq: number): Promise<Reader> {
    const { ledger, clock } = this.#ports;
    const { batchCharsMax } = streamBounds;
    const known = this.#open.get(waitKey(call.tenant, call.callId));
    if (known === undefined && isTerminal(call.state)) return keptReader(ledger, call, afterSeq, batchCharsMax);
    if (this.#ports.kept !== undefined && known === undefined && this.#ports.find(call.tenant, call.callId) === undefined)
      return afarReader({ ledger, clock, leaving: this.#leaving.signal, charsMax: batchCharsMax, listen: (wake) => this.#listen(call, wake) }, call, afterSeq);
    const open = known ?? this.#of(call);
    open.readers++;
    try {
      if (open.untouched) {
        // Now that we listen: what was told before, when nobody did, stands in the row.
        const row = (await ledger.getCall(call.tenant, call.callId)) ?? call;
        if (isTerminal(row.state) && open.untouched) {
          this.#release(open);
          return await keptReader(ledger, row, afterSeq, batchCharsMax);
        }
        this.#ask(open, row);
        if (row.workerId !== null) this.#start(open, row);
      }
    } catch (error) {
      this.#release(open);
      throw error;
    }
    const release = (): void => this.#release(open);
    return liveReader(
      { ledger, clock, open, leaving: AbortSignal.any([this.#leaving.signal, open.moved.signal]), charsMax: batchCharsMax, release },
      afterSeq,
    );
  }

  /** @param endedAt when its last attempt was over, ms since 1970 */
  async lastOutput(call: Call, endedAt: number): Promise<LastOutput> {
    const { ledger, clock, find, kept } = this.#ports;
    const { tenant, callId } = call;
    // Memory first: what it lets go of meanwhile is in the ledger by then.
    const open = this.#open.get(waitKey(tenant, callId));
    // Where nothing was put in yet, its numbers only begin behind those of an earlier process.
    const { events, lastSeq } = await newestEvents(ledger, call, open === undefined || open.untouched ? undefined : open.stream);
    const { lost, ...said } = lastOutputOf(events, lastSeq, streamBounds.leapSeqs);
    const shared = kept !== undefined && open === undefined && find(tenant, callId) === undefined;
    const elsewhere = shared && clock.now() - endedAt < writtenWithinMs;
    return { ...said, missing: lost ? "lost" : elsewhere ? "elsewhere" : null };
  }

  /** Sends readers away; the calls go on, and they can come back with the number that they have. */
  leave(): void {
    this.#leaving.abort();
  }

  /** Nothing is said any more: writes the rest. */
  async stop(): Promise<void> {
    this.leave();
    await this.#keeper.flush();
  }

  #of(call: Call): Open {
    const { tenant, callId } = call;
    const key = waitKey(tenant, callId);
    let open = this.#open.get(key);
    if (open !== undefined) return open;
    const resumed = this.#resumed.get(key);
    open = {
      tenant,
      callId,
      stream: new CallStream(streamBounds, resumed?.nextSeq),
      runs: [],
      runsChars: 0,
      waitingChars: 0,
      marked: false,
      // The earlier process has heard some of what the worker of its last lease said.
      text: new ChannelText(resumed === undefined ? 0 : undefined),
      startedFence: resumed?.fence ?? 0,
      approvalTold: "",
      readers: 0,
      ended: null,
      moved: new AbortController(),
      untouched: true,
      settledSeq: 0,
    };
    this.#open.set(key, open);
    return open;
  }

  #append(open: Open, type: StreamEventType, dataJson: string): void {
    open.untouched = false;
    open.stream.append(type, dataJson, this.#ports.clock.now());
    this.#keeper.note(open, dataJson.length);
  }

  /** Once a lease. */
  #start(open: Open, call: Call): void {
    if (call.fence <= open.startedFence || call.workerId === null) return;
    if (open.startedFence > 0) this.#flushText(open);
    open.text = new ChannelText(0);
    open.startedFence = call.fence;
    this.#append(open, "start", startData(call));
  }

  /** People are asked. */
  #ask(open: Open, { approvalId, state }: Call): void {
    if (approvalId === null || (state !== "awaiting_approval" && state !== "indeterminate")) return;
    const news = `${approvalId} ${state}`;
    if (open.approvalTold === news) return;
    open.approvalTold = news;
    this.#append(open, "approval", JSON.stringify({ approval_id: approvalId, status: state }));
  }

  #flushText(open: Open): void {
    for (const { channel, text } of open.text.end()) this.#append(open, channel, JSON.stringify({ text }));
  }

  /** @returns takes the ear away */
  #listen({ tenant, callId }: Call, wake: () => void): () => void {
    const key = waitKey(tenant, callId);
    const wakes = this.#afar.get(key) ?? new Set();
    this.#afar.set(key, wakes.add(wake));
    return () => {
      wakes.delete(wake);
      if (wakes.size === 0 && this.#afar.get(key) === wakes) this.#afar.delete(key);
    };
  }

  #settled(open: Open, upToSeq: number): void {
    open.settledSeq = upToSeq;
    this.#ports.kept?.(open.tenant, open.callId);
    this.#letGo(open);
  }

  #release(open: Open): void {
    open.readers--;
    this.#letGo(open);
  }

  /** Whoever comes from now on reads from the ledger what is settled there. */
  #letGo(open: Open): void {
    if (open.readers > 0) return;
    open.stream.forget(open.settledSeq);
    const over = open.ended === null ? open.untouched : open.settledSeq === open.stream.endSeq;
    if (over) this.#open.delete(waitKey(open.tenant, open.callId));
  }
}

/** A payload that is no JSON would break the line it stands in, and every reader with it: it is left out, and that is said. */
function emitData({ eventType, payloadJson }: Emit): string {
  const type = JSON.stringify(eventType);
  const parsed = parseJson(wellFormedJson(payloadJson).text, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  return parsed.ok
    ? `{"type":${type},"payload":${JSON.stringify(parsed.value)}}`
    : `{"type":${type},"payload":null,"malformed":true}`;
}
