// The part of a ledger that keeps streams, in memory: for tests of what is written when, and of reads that come late or fail.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { CommitOutcome, Unit } from "../../packages/runtime/src/ledger/port.ts";
import type { StreamChunk } from "../../packages/runtime/src/stream/types.ts";

export class StreamShelf {
  chunks: StreamChunk[] = [];
  readonly calls = new Map<string, Call>();
  /** Units that were asked for, whatever became of them. */
  units = 0;
  failing: Error | undefined;
  /** True: units wait until `release`. */
  holding = false;
  #waiting: (() => void)[] = [];
  /** Asked before a row is read. */
  beforeRow: () => void | Promise<void> = () => undefined;

  commit(unit: Unit): Promise<CommitOutcome> {
    this.units++;
    const { promise, resolve, reject } = Promise.withResolvers<CommitOutcome>();
    const go = (): void => {
      if (this.failing !== undefined) return reject(this.failing);
      for (const write of unit.writes) {
        if (write.op !== "append_stream") throw new Error(`no part of a stream: ${write.op}`);
        this.chunks.push(write.chunk);
        if (write.dropBefore > 0) this.chunks = this.chunks.filter(({ seqTo }) => seqTo >= write.dropBefore);
      }
      resolve({ applied: true });
    };
    if (this.holding) this.#waiting.push(go);
    else queueMicrotask(go);
    return promise;
  }

  release(): void {
    this.holding = false;
    for (const go of this.#waiting.splice(0)) go();
  }

  async streamChunks(tenant: string, callId: string, afterSeq: number, limit: number): Promise<readonly StreamChunk[]> {
    return this.chunks
      .filter((one) => one.tenant === tenant && one.callId === callId && one.seqTo > afterSeq)
      .slice(0, limit);
  }

  async lastStreamSeq(tenant: string, callId: string): Promise<number> {
    return this.chunks.findLast((one) => one.tenant === tenant && one.callId === callId)?.seqTo ?? 0;
  }

  async getCall(tenant: string, callId: string): Promise<Call | undefined> {
    await this.beforeRow();
    return this.calls.get(`${tenant}/${callId}`);
  }

  /** `seqFrom-seqTo` of each run; `end 7` for the mark of an end. */
  get runs(): string[] {
    return this.chunks.map(({ seqFrom, seqTo, events }) =>
      events.length === 0 ? `end ${seqFrom}` : `${seqFrom}-${seqTo}`,
    );
  }
}
