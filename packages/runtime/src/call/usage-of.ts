// What an ended call adds to the usage of its tenant.
import { utf8Bytes } from "@signalbox/protocol";
import type { UsageDelta } from "../schedule/types.ts";
import type { Call } from "./types.ts";

/** How the call came to its end, as far as its row does not tell. */
export interface Metered {
  /** The day of its tenant on which it was admitted. */
  readonly day: string;
  /** False: it was denied before it was admitted, and is no execution. */
  readonly admitted: boolean;
}

/** @param call settled */
export function usageOf(call: Call, { day, admitted }: Metered): UsageDelta {
  const { tenant, project, tool, state, usage, inputJson, outputBytes, cachedFrom } = call;
  const is = (end: Call["state"]): number => (state === end ? 1 : 0);
  return {
    tenant,
    project,
    tool,
    day,
    executions: admitted ? 1 : 0,
    succeeded: is("succeeded"),
    failed: is("failed"),
    timedOut: is("timed_out"),
    cancelled: is("cancelled"),
    denied: is("denied"),
    cacheHits: cachedFrom === null ? 0 : 1,
    durationUs: microseconds(usage?.durationMs),
    cpuUs: microseconds(usage?.cpuMs),
    peakMemoryBytes: whole(usage?.peakMemoryBytes),
    egressBytes: 0,
    inputBytes: inputJson === null ? 0 : utf8Bytes(inputJson),
    outputBytes,
  };
}

export const microseconds = (ms: number | undefined): number => (ms === undefined ? 0 : whole(ms * 1_000));

/** A worker tells these numbers: what makes no sense counts as nothing, lest one call spoil the sum of a day. */
function whole(value: number | undefined): number {
  return value !== undefined && value > 0 && value <= amountMax ? Math.round(value) : 0;
}

/** Four years in microseconds, 128 TiB in bytes: no call of a day comes near it. */
const amountMax = 2 ** 47;
