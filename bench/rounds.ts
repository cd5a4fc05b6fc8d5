// Runs the slices: every round takes each subject at each concurrency, and every other round in the opposite order.
import { once } from "node:events";
import { join } from "node:path";
import { availableParallelism } from "node:os";
import { performance } from "node:perf_hooks";
import { forkNode, ourCpuUs, type Child } from "./children.ts";
import { machineBusyUs } from "./procfs.ts";
import { bucketsSince, counterSum, histogramBuckets, type Buckets } from "./prometheus.ts";
import type { FromLoad, SliceRequest, SliceResult, ToLoad } from "./slice.ts";
import type { Subject, SubjectName } from "./subjects.ts";

/** What one slice brought, with what the subject counted about itself meanwhile. */
export interface Measured extends SliceResult {
  readonly subject: SubjectName;
  readonly concurrency: number;
  /** Share of all cores that went to programs other than the bench's, 0 to 100. */
  readonly othersPercent: number;
  readonly commits?: number;
  readonly dispatch?: Buckets;
}

export interface RoundsPlan {
  readonly rounds: number;
  readonly sliceMs: number;
  readonly warmUpMs: number;
  /** Which subject is measured at which concurrencies. */
  readonly lanes: readonly { readonly subject: Subject; readonly concurrencies: readonly number[] }[];
}

const commitsMetric = "ledger_commits_total";
const dispatchMetric = "tool_dispatch_seconds";
/** What a slice may take beyond its own time; a load process that is silent longer is stuck. */
const slackMs = 60_000;
/** The first slices run code that is still being compiled: one of these per lane is thrown away. */
const heatMs = 3_000;
const heatConcurrency = 16;
/** Chosen by what others did, never by how fast the slice was: a choice by speed would flatter. */
const disturbedPercent = 15;
const retakesMax = 2;

export interface Rounds {
  readonly measured: readonly Measured[];
  /** Subjects that broke down, and how; their later slices are missing. */
  readonly failures: ReadonlyMap<SubjectName, string>;
}

export async function runRounds(plan: RoundsPlan, note: (text: string) => void): Promise<Rounds> {
  const measured: Measured[] = [];
  const failures = new Map<SubjectName, string>();
  let load = startLoad();

  async function attempt(subject: Subject, concurrency: number, durationMs: number): Promise<Measured | undefined> {
    if (failures.has(subject.name)) return undefined;
    try {
      return await runSlice(load, subject, concurrency, plan.warmUpMs, durationMs);
    } catch (error) {
      failures.set(subject.name, error instanceof Error ? error.message : String(error));
      note(`${subject.name} broke down: ${failures.get(subject.name)}`);
      // The old one may still wait for answers that never come.
      await load.stop();
      load = startLoad();
      return undefined;
    }
  }

  /** Takes a slice that others disturbed again; the quietest one counts. Errors are never taken again. */
  async function quietest(subject: Subject, concurrency: number): Promise<Measured | undefined> {
    let best = await attempt(subject, concurrency, plan.sliceMs);
    for (let take = 1; take <= retakesMax; take++) {
      if (best === undefined || best.errors > 0 || best.othersPercent <= disturbedPercent) return best;
      note(
        `others used ${Math.round(best.othersPercent)} % of the cores: taking c=${concurrency} ${subject.name} again`,
      );
      const again = await attempt(subject, concurrency, plan.sliceMs);
      if (again === undefined || again.errors > 0 || again.othersPercent < best.othersPercent) best = again;
    }
    return best;
  }

  for (const { subject } of plan.lanes) {
    note(`warming ${subject.name} up`);
    await attempt(subject, heatConcurrency, heatMs);
  }
  for (let round = 1; round <= plan.rounds; round++) {
    const lanes = round % 2 === 1 ? plan.lanes : plan.lanes.toReversed();
    for (const concurrency of concurrenciesOf(plan)) {
      for (const { subject, concurrencies } of lanes) {
        const slice = concurrencies.includes(concurrency) ? await quietest(subject, concurrency) : undefined;
        if (slice === undefined) continue;
        measured.push(slice);
        note(`round ${round}/${plan.rounds} c=${concurrency} ${subject.name}: ${describe(slice)}`);
      }
    }
  }
  await load.stop();
  return { measured, failures };
}

function startLoad(): Child {
  return forkNode("the load process", join(import.meta.dirname, "load.ts"));
}

function describe(slice: Measured): string {
  const errors = slice.errors === 0 ? "" : `, ${slice.errors} errors ${JSON.stringify(slice.errorCodes)}`;
  return `${Math.round(slice.callsPerSecond)} calls/s, p50 ${((slice.p50Us ?? 0) / 1_000).toFixed(2)} ms${errors}`;
}

function concurrenciesOf(plan: RoundsPlan): readonly number[] {
  return [...new Set(plan.lanes.flatMap(({ concurrencies }) => concurrencies))].toSorted((a, b) => a - b);
}

async function runSlice(
  load: Child,
  subject: Subject,
  concurrency: number,
  warmUpMs: number,
  durationMs: number,
): Promise<Measured> {
  const { door, pid } = subject;
  const request: SliceRequest = { door, concurrency, warmUpMs, pid, until: { durationMs } };
  tell(load, { type: "slice", request });
  await hear(load, "warm", warmUpMs + slackMs);
  const before = await subject.metrics?.();
  const others = watchOthers();
  tell(load, { type: "go" });
  const { result } = await hear(load, "result", durationMs + slackMs);
  const othersPercent = others();
  const after = await subject.metrics?.();
  const base = { ...result, subject: subject.name, concurrency, othersPercent };
  if (before === undefined || after === undefined) return base;
  const commits = counterDelta(before, after, commitsMetric);
  return {
    ...base,
    ...(commits === undefined ? {} : { commits }),
    dispatch: bucketsSince(histogramBuckets(before, dispatchMetric), histogramBuckets(after, dispatchMetric)),
  };
}

/** Starts to look; what it returns says which share of the machine others have used since. */
function watchOthers(): () => number {
  const start = { at: performance.now(), othersUs: machineBusyUs() - ourCpuUs() };
  return () => {
    const capacityUs = (performance.now() - start.at) * 1_000 * availableParallelism();
    return Math.max(0, ((machineBusyUs() - ourCpuUs() - start.othersUs) / capacityUs) * 100);
  };
}

function counterDelta(before: string, after: string, name: string): number | undefined {
  const last = counterSum(after, name);
  return last === undefined ? undefined : last - (counterSum(before, name) ?? 0);
}

function tell(load: Child, message: ToLoad): void {
  load.process.send(message);
}

async function hear<T extends FromLoad["type"]>(
  load: Child,
  type: T,
  timeoutMs: number,
): Promise<Extract<FromLoad, { type: T }>> {
  const signal = AbortSignal.timeout(timeoutMs);
  const gone = new AbortController();
  const onClose = (): void => gone.abort(new Error("the load process ended"));
  load.process.once("close", onClose);
  try {
    const [message] = (await once(load.process, "message", { signal: AbortSignal.any([signal, gone.signal]) })) as [
      FromLoad,
    ];
    if (message.type !== type) {
      throw new Error(
        message.type === "failed" ? message.message : `the load process said "${message.type}" for "${type}"`,
      );
    }
    return message as Extract<FromLoad, { type: T }>;
  } finally {
    load.process.off("close", onClose);
  }
}
