// The load process: keeps a fixed number of calls in flight and times every one of them.
import { performance } from "node:perf_hooks";
import type { Caller } from "./callers.ts";
import { openGrpc } from "./load-grpc.ts";
import { openHttp } from "./load-http.ts";
import { cpuTimeUs } from "./procfs.ts";
import type { FromLoad, SliceRequest, SliceResult, ToLoad } from "./slice.ts";
import { percentile } from "./statistics.ts";

/** A dead server would make errors at full speed; nothing is learnt after this many. */
const errorsMax = 5_000;

interface Tally {
  readonly latenciesUs: number[];
  readonly errorCodes: Record<string, number>;
  errors: number;
  started: number;
}

async function drive(
  callers: readonly Caller[],
  until: SliceRequest["until"],
): Promise<{ readonly tally: Tally; readonly elapsedMs: number }> {
  const tally: Tally = { latenciesUs: [], errorCodes: {}, errors: 0, started: 0 };
  const startedAt = performance.now();
  const endsAt = "durationMs" in until ? startedAt + until.durationMs : Infinity;
  const callsMax = "calls" in until ? until.calls : Infinity;
  async function keepCalling(call: Caller): Promise<void> {
    while (performance.now() < endsAt && tally.started < callsMax && tally.errors < errorsMax) {
      tally.started += 1;
      const sentAt = performance.now();
      const code = await call();
      if (code === undefined) {
        tally.latenciesUs.push((performance.now() - sentAt) * 1_000);
      } else {
        tally.errors += 1;
        tally.errorCodes[code] = (tally.errorCodes[code] ?? 0) + 1;
      }
    }
  }
  await Promise.all(callers.map(keepCalling));
  return { tally, elapsedMs: performance.now() - startedAt };
}

function summarise(tally: Tally, elapsedMs: number, cpuUs: number | undefined): SliceResult {
  const sorted = Float64Array.from(tally.latenciesUs).sort();
  const base = {
    calls: sorted.length,
    errors: tally.errors,
    errorCodes: tally.errorCodes,
    elapsedMs,
    callsPerSecond: (sorted.length * 1_000) / elapsedMs,
    ...(cpuUs === undefined ? {} : { cpuUs }),
  };
  const p50Us = percentile(sorted, 0.5);
  const p95Us = percentile(sorted, 0.95);
  const p99Us = percentile(sorted, 0.99);
  const maxUs = sorted.at(-1);
  if (p50Us === undefined || p95Us === undefined || p99Us === undefined || maxUs === undefined) return base;
  return { ...base, p50Us, p95Us, p99Us, maxUs };
}

let measure: () => void = () => undefined;

async function runSlice(request: SliceRequest): Promise<SliceResult> {
  const { door, concurrency } = request;
  const open = door.via === "http" ? openHttp(door, concurrency) : openGrpc(door, concurrency);
  try {
    await drive(open.callers, { durationMs: request.warmUpMs });
    const go = new Promise<void>((resolve) => {
      measure = resolve;
    });
    tell({ type: "warm" });
    await go;
    const cpuBefore = request.pid === undefined ? undefined : cpuTimeUs(request.pid);
    const { tally, elapsedMs } = await drive(open.callers, request.until);
    const cpuUs = request.pid === undefined || cpuBefore === undefined ? undefined : cpuTimeUs(request.pid) - cpuBefore;
    return summarise(tally, elapsedMs, cpuUs);
  } finally {
    await open.close();
  }
}

function tell(message: FromLoad): void {
  process.send?.(message);
}

process.on("message", (message: ToLoad) => {
  if (message.type === "go") {
    measure();
    return;
  }
  runSlice(message.request).then(
    (result) => tell({ type: "result", result }),
    (error: unknown) => tell({ type: "failed", message: error instanceof Error ? error.message : String(error) }),
  );
});
process.on("disconnect", () => process.exit(0));
