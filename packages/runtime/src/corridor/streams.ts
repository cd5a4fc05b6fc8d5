// What calls say while they run, for those who follow them: kept in memory while somebody may want it, and in the ledger for those who come late.
import { wellFormedJson, type Emit, type Output, type Progress } from "@signalbox/protocol";
import { executionJson, iso } from "../call/view.ts";
import { isTerminal, type Call } from "../call/types.ts";
import type { Ledger } from "../ledger/port.ts";
import { CallStream, type StreamBounds } from "../stream/call-stream.ts";
import { ChannelText } from "../stream/channel-text.ts";
import type { Batch, StreamEvent, StreamEventType } from "../stream/types.ts";
import type { CallFollower } from "../service.ts";
import { waitKey } from "./driver.ts";
import type { Clock, Log } from "./ports.ts";

export interface StreamPorts {
  readonly ledger: Pick<Ledger, "commit" | "streamChunks" | "lastStreamSeq" | "getCall">;
  /** The call as memory has it. */
  readonly find: (tenant: string, callId: string) => Call | undefined;
  readonly clock: Clock;
  readonly log: Log;
}

export const streamBounds: StreamBounds & { readonly saveChars: number; readonly saveMs: number; readonly lingerMs: number; readonly leapSeqs: number } = {
  /** 1 MiB a call, in memory as in the ledger. */
  keptCharsMax: 1_048_576,
  batchCharsMax: 256 * 1_024,
  /** Kept in the ledger in runs of about this size, or after this long; nobody waits for it. */
  saveChars: 65_536,
  saveMs: 100,
  /** A stream that has ended stays in memory for those who are still reading. */
  lingerMs: 60_000,
  /** What a runtime that died may have numbered and not kept: numbers are never used twice. */
  leapSeqs: 10_000,
};

interface Open {
  readonly stream: CallStream;
  readonly text: ChannelText;
  /** What the ledger has of it, oldest first: where a run ends, and its size. */
  readonly saved: { seqTo: number; chars: number }[];
  savedChars: number;
  unsavedChars: number;
  armed: boolean;
}

export class Streams {
  readonly #ports: StreamPorts;
  readonly #open = new Map<string, Open>();
  /** Calls of an earlier process: where their numbers go on. */
  readonly #resumed = new Map<string, number>();

  constructor(ports: StreamPorts) {
    this.#ports = ports;
  }

  /** A call that an earlier process had open. */
  async recover(call: Call): Promise<void> {
    const last = await this.#ports.ledger.lastStreamSeq(call.tenant, call.callId);
    if (last > 0) this.#resumed.set(waitKey(call.tenant, call.callId), last + streamBounds.leapSeqs);
  }

  hear(call: Call, message: Output | Progress | Emit): void {
    const open = this.#of(call);
    if (message.type === "output") {
      const text = open.text.read(message.channel, message.chunk);
      if (text !== "") this.#append(call, open, message.channel, JSON.stringify({ text }));
    } else if (message.type === "progress") {
      const { percent, message: words } = message;
      this.#append(call, open, "progress", JSON.stringify({ percent, message: words }));
    } else {
      const payload = wellFormedJson(message.payloadJson).text;
      this.#append(call, open, "emit", `{"type":${JSON.stringify(message.eventType)},"payload":${payload}}`);
    }
  }

  /** Stored: the call has ended or parked. Costs nothing where nobody listens and nothing was said. */
  told(call: Call): void {
    const key = waitKey(call.tenant, call.callId);
    const open = this.#open.get(key);
    this.#resumed.delete(key);
    if (open === undefined) return;
    if (!isTerminal(call.state)) {
      if (call.approvalId !== null) this.#append(call, open, "approval", approvalData(call));
      return;
    }
    for (const channel of ["stdout", "stderr"] as const) {
      const rest = open.text.end(channel);
      if (rest !== "") this.#append(call, open, channel, JSON.stringify({ text: rest }));
    }
    this.#save(call, open);
    const { type, dataJson } = endOf(call, 0);
    open.stream.append(type, dataJson, call.settledAt ?? this.#ports.clock.now());
    this.#ports.clock.after(streamBounds.lingerMs, () => this.#open.delete(key));
  }

  /** @param afterSeq 0: from the beginning */
  async follow(call: Call, afterSeq: number): Promise<Omit<CallFollower, "abandon">> {
    const key = waitKey(call.tenant, call.callId);
    const known = this.#open.has(key);
    if (isTerminal(call.state) && !known) return ended(await this.#kept(call, afterSeq));
    const { stream } = this.#of(call);
    if (!known) {
      // Its end may have been told while its row was being read, when nobody listened yet.
      const now = await this.#ports.ledger.getCall(call.tenant, call.callId);
      if (now !== undefined && isTerminal(now.state) && !stream.ended) {
        this.#open.delete(key);
        return ended(await this.#kept(now, afterSeq));
      }
    }
    let after = afterSeq;
    let close = (): void => {};
    return {
      next: async (ms) => {
        const batch = await this.#read(call, stream, after);
        if (batch.events.length > 0 || batch.ended) return forward(batch);
        await new Promise<void>((resolve) => {
          const takeBack = stream.wait(resolve);
          const stop = this.#ports.clock.after(ms, resolve);
          close = () => {
            takeBack();
            stop();
            resolve();
          };
        });
        close();
        return forward(stream.read(after));
      },
      close: () => close(),
    };

    function forward(batch: Batch): Batch {
      after = batch.events.at(-1)?.seq ?? batch.gap?.to ?? after;
      return batch;
    }
  }

  /** What memory does not have any more the ledger may: of an earlier process, or from before the reader came. */
  async #read(call: Call, stream: CallStream, after: number): Promise<Batch> {
    const batch = stream.read(after);
    if (batch.gap === null) return batch;
    const { from, to } = batch.gap;
    const chunks = await this.#ports.ledger.streamChunks(call.tenant, call.callId, after);
    const events = chunks.flatMap((chunk) => chunk.events).filter(({ seq }) => seq >= from && seq <= to);
    const [first] = events;
    if (first === undefined) return batch;
    // The rest follows with the next look, and what is missing in between is told then.
    return { gap: first.seq > from ? { from, to: first.seq - 1 } : null, events, ended: false };
  }

  /** The whole stream of a call that ended long ago, as far as it was kept. */
  async #kept(call: Call, afterSeq: number): Promise<Batch> {
    const chunks = await this.#ports.ledger.streamChunks(call.tenant, call.callId, 0);
    const all = chunks.length === 0 ? startOf(call) : chunks.flatMap((chunk) => chunk.events);
    const end = endOf(call, (all.at(-1)?.seq ?? 0) + 1);
    const events = [...all, end].filter(({ seq }) => seq > afterSeq);
    const first = all[0]?.seq ?? end.seq;
    return { gap: afterSeq + 1 < first ? { from: afterSeq + 1, to: first - 1 } : null, events, ended: true };
  }

  #of(call: Call): Open {
    const key = waitKey(call.tenant, call.callId);
    let open = this.#open.get(key);
    if (open !== undefined) return open;
    const resumed = this.#resumed.get(key);
    open = { stream: new CallStream(streamBounds, resumed ?? 1), text: new ChannelText(), saved: [], savedChars: 0, unsavedChars: 0, armed: false };
    this.#open.set(key, open);
    if (call.state === "awaiting_approval") this.#append(call, open, "approval", approvalData(call));
    else if (call.workerId !== null && resumed === undefined) this.#append(call, open, "start", startData(call));
    return open;
  }

  /** A worker has it: told to those who follow already. */
  given(tenant: string, callId: string): void {
    if (this.#open.size === 0) return;
    const open = this.#open.get(waitKey(tenant, callId));
    const call = open === undefined ? undefined : this.#ports.find(tenant, callId);
    if (open !== undefined && call !== undefined) this.#append(call, open, "start", startData(call));
  }

  #append(call: Call, open: Open, type: StreamEventType, dataJson: string): void {
    const { clock } = this.#ports;
    open.stream.append(type, dataJson, clock.now());
    open.unsavedChars += dataJson.length;
    if (open.unsavedChars >= streamBounds.saveChars) return this.#save(call, open);
    if (open.armed) return;
    open.armed = true;
    clock.after(streamBounds.saveMs, () => this.#save(call, open));
  }

  #save(call: Call, open: Open): void {
    open.armed = false;
    const events = open.stream.takeUnsaved().filter(({ type }) => type !== "done" && type !== "error");
    const [first, last] = [events[0], events.at(-1)];
    if (first === undefined || last === undefined) return;
    const chars = events.reduce((sum, { dataJson }) => sum + dataJson.length, 0);
    open.unsavedChars = 0;
    open.saved.push({ seqTo: last.seq, chars });
    open.savedChars += chars;
    let dropBefore = 0;
    while (open.savedChars > streamBounds.keptCharsMax && open.saved.length > 1) {
      const oldest = open.saved.shift() as { seqTo: number; chars: number };
      open.savedChars -= oldest.chars;
      dropBefore = oldest.seqTo + 1;
    }
    const { tenant, callId } = call;
    const chunk = { tenant, callId, seqFrom: first.seq, seqTo: last.seq, events };
    // Output is no promise: a ledger that cannot write loses it, and says so once.
    this.#ports.ledger.commit({ lazy: true, writes: [{ op: "append_stream", chunk, dropBefore }] }).catch((error: unknown) => {
      this.#ports.log.warn({ reason: String(error), execution_id: callId }, "output of a call was not kept for late readers");
    });
  }
}

function startData(call: Call): string {
  return JSON.stringify({ sandbox: call.sandbox ?? (call.executor === "worker" ? "application" : null), worker: call.workerId, attempt: call.attempt });
}

function approvalData(call: Call): string {
  return JSON.stringify({ approval_id: call.approvalId, status: call.state });
}

/** Of a call that said nothing. */
function startOf(call: Call): readonly StreamEvent[] {
  if (call.dispatchedAt === null) return [];
  return [{ seq: 1, at: call.dispatchedAt, type: "start", dataJson: startData(call) }];
}

function endOf(call: Call, seq: number): StreamEvent {
  const at = call.settledAt ?? call.admittedAt;
  if (call.state === "succeeded") return { seq, at, type: "done", dataJson: executionJson(call) };
  const body = { execution_id: call.callId, status: call.state, error: call.error, settled_at: iso(at) };
  return { seq, at, type: "error", dataJson: JSON.stringify(body) };
}

function ended(batch: Batch): Omit<CallFollower, "abandon"> {
  return { next: async () => batch, close: () => undefined };
}
