// One reader of a call that another replica works on: reads what that one keeps in the ledger, soon after it is kept.
import { isTerminal, type Call } from "../call/types.ts";
import type { Ledger } from "../ledger/port.ts";
import type { Batch } from "../stream/types.ts";
import type { Clock } from "./ports.ts";
import { chunksPerLook, closing, endSeqOf, lastOf, nothing, run, type Reader } from "./stream-reader.ts";

export interface AfarPorts {
  readonly ledger: Pick<Ledger, "streamChunks" | "lastStreamSeq" | "getCall">;
  readonly clock: Clock;
  readonly leaving: AbortSignal;
  readonly charsMax: number;
  /** Hears that more was kept; may miss it. @returns takes the ear away */
  readonly listen: (wake: () => void) => () => void;
}

/** Nobody may have told of what was kept: it is looked for this often. */
const lookMs = 500;
/** What a call said last is kept soon after its end is stored. Where nobody has marked its end by then, it said nothing more. */
const endMsMax = 500;

export function afarReader(ports: AfarPorts, call: Call, afterSeq: number): Reader {
  const { ledger, clock, leaving, charsMax } = ports;
  const { tenant, callId } = call;
  let after = afterSeq;
  let closed = false;
  let wake = (): void => {};
  const look = async (): Promise<Batch> => {
    // The row first: what was kept before its end is read behind it.
    const row = await ledger.getCall(tenant, callId);
    const batch = run(await ledger.streamChunks(tenant, callId, after, chunksPerLook), after, Number.POSITIVE_INFINITY, charsMax);
    if (batch.events.length > 0 || row === undefined || !isTerminal(row.state)) return batch;
    const end = await endSeqOf(ledger, row);
    if (end.marked === undefined && clock.now() - (row.settledAt ?? 0) < endMsMax) return batch;
    return { ...batch, ...closing(row, after, end) };
  };
  // Heard from the beginning, so that nothing that is told while the ledger is read is missed.
  let heard = false;
  const deaf = ports.listen(() => {
    heard = true;
    wake();
  });
  const pause = (ms: number): Promise<void> =>
    new Promise((resolve) => {
      const go = (): void => {
        disarm();
        leaving.removeEventListener("abort", go);
        resolve();
      };
      wake = go;
      const disarm = clock.after(ms, go);
      leaving.addEventListener("abort", go);
      if (heard) go();
    });
  return {
    over: false,
    async next(ms) {
      for (let left = ms; !closed; left -= lookMs) {
        if (leaving.aborted) return { ...nothing, leaving: true };
        heard = false;
        const batch = await look();
        after = lastOf(batch) ?? after;
        if (batch.gap !== null || batch.events.length > 0 || batch.end !== null || left <= 0) return batch;
        await pause(Math.min(left, lookMs));
      }
      return nothing;
    },
    close() {
      closed = true;
      deaf();
      wake();
    },
  };
}
