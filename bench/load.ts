// The load process: keeps a fixed number of calls in flight and times every one of them.
import { performance } from "node:perf_hooks";
import { Client, type Dispatcher } from "undici";
import { cpuTimeUs } from "./procfs.ts";
import type { FromLoad, SliceRequest, SliceResult, ToLoad } from "./slice.ts";
import { percentile } from "./statistics.ts";

/** A dead server would make errors at full speed; nothing is learnt after this many. */
const errorsMax = 5_000;
const answerTimeoutMs = 30_000;

interface Tally {
  readonly latenciesUs: number[];
  readonly errorCodes: Record<string, number>;
  errors: number;
  started: number;
}

/** One request on one connection; resolves with undefined when the answer is good, else with an error code. */
function call(client: Client, options: Dispatcher.DispatchOptions, expected: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    let status = 0;
    let text = "";
    client.dispatch(options, {
      // The client insists on this method.
      onRequestStart() {},
      onResponseStart(_controller, statusCode) {
        status = statusCode;
      },
      onResponseData(_controller, chunk) {
        text += chunk.toString("latin1");
      },
      onResponseEnd() {
        resolve(status === 200 && text.includes(expected) ? undefined : errorCode(status, text));
      },
      onResponseError(_controller, error) {
        resolve("code" in error ? String(error.code) : error.name);
      },
    });
  });
}

function errorCode(status: number, text: string): string {
  const code = /"code"\s*:\s*"(\w+)"/.exec(text)?.[1];
  return code ?? (status === 200 ? "unexpected_answer" : `http_${status}`);
}

async function drive(
  clients: readonly Client[],
  request: SliceRequest,
  until: SliceRequest["until"],
): Promise<{ readonly tally: Tally; readonly elapsedMs: number }> {
  const options: Dispatcher.DispatchOptions = {
    method: "POST",
    path: request.path,
    headers: request.headers,
    body: request.body,
  };
  const tally: Tally = { latenciesUs: [], errorCodes: {}, errors: 0, started: 0 };
  const startedAt = performance.now();
  const endsAt = "durationMs" in until ? startedAt + until.durationMs : Infinity;
  const callsMax = "calls" in until ? until.calls : Infinity;
  async function keepCalling(client: Client): Promise<void> {
    while (performance.now() < endsAt && tally.started < callsMax && tally.errors < errorsMax) {
      tally.started += 1;
      const sentAt = performance.now();
      const code = await call(client, options, request.expect);
      if (code === undefined) {
        tally.latenciesUs.push((performance.now() - sentAt) * 1_000);
      } else {
        tally.errors += 1;
        tally.errorCodes[code] = (tally.errorCodes[code] ?? 0) + 1;
      }
    }
  }
  await Promise.all(clients.map(keepCalling));
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
  const clients = Array.from(
    { length: request.concurrency },
    () => new Client(request.origin, { pipelining: 1, headersTimeout: answerTimeoutMs, bodyTimeout: answerTimeoutMs }),
  );
  try {
    await drive(clients, request, { durationMs: request.warmUpMs });
    const go = new Promise<void>((resolve) => {
      measure = resolve;
    });
    tell({ type: "warm" });
    await go;
    const cpuBefore = request.pid === undefined ? undefined : cpuTimeUs(request.pid);
    const { tally, elapsedMs } = await drive(clients, request, request.until);
    const cpuUs = request.pid === undefined || cpuBefore === undefined ? undefined : cpuTimeUs(request.pid) - cpuBefore;
    return summarise(tally, elapsedMs, cpuUs);
  } finally {
    await Promise.all(clients.map((client) => client.destroy()));
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
