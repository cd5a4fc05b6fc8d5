// The bench from start to end: choose figures, start what they need, measure, judge, print, clean up.
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { timeKilledReplica } from "./avail.ts";
import type { BoxEvidence, BoxLane } from "./box-figures.ts";
import { timeClaims } from "./claims.ts";
import { cleanUp, cleanUpOnExit, makeFolder, startNode } from "./children.ts";
import { claimLimits } from "./fair-figures.ts";
import { specs, specsFor, type Evidence, type Figure, type Lane, type Spec } from "./figures.ts";
import { timeHistory, type HistoryPlan } from "./history.ts";
import { dataParent, isMemoryFileSystem, readMachine, readVersions } from "./machine.ts";
import { timeNeighbour } from "./neighbour.ts";
import { timePolicies } from "./policy-10k.ts";
import { startOnPostgres } from "./on-postgres.ts";
import { residentBytes } from "./procfs.ts";
import { timeRecovery } from "./recover.ts";
import type { Lookups } from "./registry.ts";
import { jsonLine, table } from "./report.ts";
import { timeSchedule } from "./schedule-100k.ts";
import { median } from "./statistics.ts";
import { timeSessions } from "./sessions.ts";
import { timeStreams } from "./streams.ts";
import { runRounds, type Rounds, type RoundsPlan } from "./rounds.ts";
import { startFloor, startHttp, startRuntime, startSignalbox, type Subject, type SubjectName } from "./subjects.ts";

export interface BenchOptions {
  /** One JSON line per figure instead of the table. */
  readonly json: boolean;
  /** Fewer and shorter slices: a first look, not a result. */
  readonly quick: boolean;
  /** A missed target makes the exit code 1. */
  readonly strict: boolean;
  /** Only the figures whose names begin with this. */
  readonly only: string;
}

const pace = {
  full: { rounds: 5, sliceMs: 2_500, warmUpMs: 400 },
  quick: { rounds: 3, sliceMs: 1_500, warmUpMs: 300 },
};
const idleMs = 5_000;
/** Registering takes most of it. */
const registryTimeoutMs = 300_000;
const policiesLoaded = 10_000;
const turns = { full: 100_000, quick: 20_000 };
const neighbours = { full: { rounds: 5, queued: 2_000 }, quick: { rounds: 1, queued: 2_000 } };
const openCalls = { full: 10_000, quick: 1_000 };
const lined = { tenants: 1_000, callsEach: 100, limits: claimLimits };
const claiming = { full: { ...lined, claims: 200 }, quick: { ...lined, claims: 50 } };
const kills = { full: 4, quick: 1 };
const decisions = { full: 20_000, quick: 4_000 };
/** The whole is a GiB. */
const streams = {
  full: { firsts: 200, warmUpFloods: 16, floods: 64 },
  quick: { firsts: 60, warmUpFloods: 8, floods: 12 },
};
const boxes = { full: { runs: 200, atOnce: 200 }, quick: { runs: 25, atOnce: 40 } };
/** Turns of 200 steps each. */
const sessionTurns = { full: 10, quick: 3 } as const;
/** Two subjects at one concurrency: there is time for more rounds than the others have. */
const histories: Readonly<Record<"full" | "quick", HistoryPlan>> = {
  full: { calls: 1_000_000, rounds: { ...pace.full, rounds: 9 }, starts: 5, reads: 200 },
  quick: { calls: 50_000, rounds: pace.quick, starts: 3, reads: 30 },
};
/** Guests rest between runs, so that what is made for the next one is made before it. */
const boxesTimeoutMs = 600_000;
const repo = join(import.meta.dirname, "..");

/** By the processes that they share. The long history and what is beside it start for themselves. */
const starters: readonly {
  readonly names: readonly SubjectName[];
  readonly start: (parent: string, isWanted: (name: SubjectName) => boolean) => Promise<readonly Subject[]>;
}[] = [
  { names: ["http"], start: async () => [await startHttp()] },
  { names: ["floor"], start: async (parent) => [await startFloor(parent)] },
  { names: ["signalbox", "grpc", "many"], start: startSignalbox },
  { names: ["pgFloor", "pg", "pg2"], start: startOnPostgres },
];

/** @returns the exit code */
export async function bench(options: BenchOptions): Promise<number> {
  const wanted = specsFor(options.only);
  if (wanted.length === 0) {
    process.stderr.write(
      `no figure begins with "${options.only}"; there are: ${specs.map((spec) => spec.figure).join(" ")}\n`,
    );
    return 2;
  }
  cleanUpOnExit();
  try {
    const parent = dataParent(repo);
    const resting = readMachine(parent);
    const versions = readVersions(repo);
    const found = await gather(wanted, parent, options.quick ? "quick" : "full");
    const evidence = isMemoryFileSystem(resting) ? { ...found, memoryFileSystem: resting.data_fs } : found;
    const others = median(found.measured.map((slice) => slice.othersPercent));
    const machine = { ...resting, others_cpu_percent: others === undefined ? null : Math.round(others) };
    const figures: readonly Figure[] = wanted.map((spec) => ({ figure: spec.figure, ...spec.judge(evidence) }));
    const text = options.json
      ? figures.map((figure) => jsonLine(figure, machine, versions)).join("\n")
      : table(figures, machine, versions);
    process.stdout.write(`${text}\n`);
    return options.strict && figures.some(({ ok }) => ok === false) ? 1 : 0;
  } finally {
    await cleanUp();
  }
}

async function gather(wanted: readonly Spec[], parent: string, how: "quick" | "full"): Promise<Evidence> {
  const failures = new Map<Lane, string>();
  // First, while nothing that was started takes the cores.
  const policies = wanted.some((spec) => spec.needsPolicies)
    ? await orFailure("policies", () => timePolicies(policiesLoaded, decisions[how]))
    : undefined;
  const schedule = wanted.some((spec) => spec.needsFair === "schedule")
    ? await orFailure("schedule", async () => timeSchedule(turns[how]))
    : undefined;
  const idleResidentBytes = wanted.some((spec) => spec.needsIdle)
    ? await orFailure("idle", () => readIdle(parent))
    : undefined;
  const registry = wanted.some((spec) => spec.needsRegistry)
    ? await orFailure("registry", () => lookUp(parent))
    : undefined;
  const timedStreams = wanted.some((spec) => spec.needsStreams)
    ? await orFailure("streams", () => {
        note("running tools that write, and reading what they write");
        return timeStreams(parent, streams[how]);
      })
    : undefined;
  const sessions = wanted.some((spec) => spec.needsSessions)
    ? await orFailure("sessions", () => {
        note("an agent calls the echo, step by step");
        return timeSessions(parent, sessionTurns[how]);
      })
    : undefined;
  const neighbour = wanted.some((spec) => spec.needsFair === "neighbour")
    ? await orFailure("neighbour", () => {
        note("one tenant fills the line, another one calls beside it");
        return timeNeighbour(parent, neighbours[how]);
      })
    : undefined;
  const claims = wanted.some((spec) => spec.needsFair === "claims")
    ? await orFailure("claims", () => timeClaims(parent, claiming[how], note))
    : undefined;
  const recover = wanted.some((spec) => spec.needsOutage === "recover")
    ? await orFailure("recover", () => timeRecovery(parent, openCalls[how], note))
    : undefined;
  const avail = wanted.some((spec) => spec.needsOutage === "avail")
    ? await orFailure("avail", () => timeKilledReplica(parent, { kills: kills[how] }, note))
    : undefined;
  const timedBoxes = await timeBoxes(wanted, parent, how, orFailure);
  const history = wanted.some((spec) => spec.needsHistory)
    ? await orFailure("history", () => timeHistory(parent, histories[how], note))
    : undefined;
  const lanes: { readonly subject: Subject; readonly concurrencies: readonly number[] }[] = [];
  for (const { names, start } of starters) {
    const isWanted = (name: SubjectName): boolean => concurrenciesNeeded(wanted, name).length > 0;
    if (!names.some(isWanted)) continue;
    const subjects = await orFailure(names, () => start(parent, isWanted));
    for (const subject of subjects ?? []) {
      const concurrencies = concurrenciesNeeded(wanted, subject.name);
      if (concurrencies.length > 0) lanes.push({ subject, concurrencies });
    }
  }
  const plan: RoundsPlan = { ...pace[how], lanes };
  const rounds = lanes.length === 0 ? nothingMeasured : await runRounds(plan, note);
  return {
    measured: [...rounds.measured, ...(history?.measured ?? [])],
    ...(idleResidentBytes === undefined ? {} : { idleResidentBytes }),
    ...(registry === undefined ? {} : { registry }),
    ...(policies === undefined ? {} : { policies }),
    ...(timedStreams === undefined ? {} : { streams: timedStreams }),
    ...(sessions === undefined ? {} : { sessions }),
    boxes: timedBoxes,
    fair: { ...(schedule === undefined ? {} : { schedule }), ...(neighbour === undefined ? {} : { neighbour }), ...(claims === undefined ? {} : { claims }) },
    outage: { ...(recover === undefined ? {} : { recover }), ...(avail === undefined ? {} : { avail }) },
    ...(history === undefined ? {} : { history }),
    failures: new Map([...failures, ...rounds.failures, ...(history?.failures ?? [])]),
  };

  async function orFailure<T>(lanesOf: Lane | readonly Lane[], start: () => Promise<T>): Promise<T | undefined> {
    const names = typeof lanesOf === "string" ? [lanesOf] : lanesOf;
    try {
      return await start();
    } catch (error) {
      for (const name of names) failures.set(name, firstLine(error));
      note(`${names.join(", ")} could not be measured: ${firstLine(error)}`);
      return undefined;
    }
  }
}

function concurrenciesNeeded(wanted: readonly Spec[], name: SubjectName): readonly number[] {
  const needs = wanted.flatMap((spec) => spec.needs).filter((need) => need.subject === name);
  return [...new Set(needs.map((need) => need.concurrency))];
}

/** Alone on the machine, on a fresh data folder, and with nobody connected. */
async function readIdle(parent: string): Promise<number> {
  note(`starting signalbox dev and leaving it idle for ${idleMs / 1_000} s`);
  const { child } = await startRuntime(parent);
  await wait(idleMs);
  const bytes = residentBytes(child.pid);
  await child.stop();
  return bytes;
}

/** In a process of its own: what it leaves on the heap is nobody else's. */
async function lookUp(parent: string): Promise<Lookups> {
  note("registering 110000 versions and looking some of them up");
  const child = startNode("the registry", [join(import.meta.dirname, "registry.ts"), makeFolder(parent, "registry")]);
  const said = await child.saying("lookups", registryTimeoutMs);
  await child.stop();
  return said as unknown as Lookups;
}

const nothingMeasured: Rounds = { measured: [], failures: new Map() };

type OrFailure = <T>(name: Lane, start: () => Promise<T>) => Promise<T | undefined>;

/** Each in a process of its own, as small as a sandbox worker is: what a fork costs grows with the process that asks for it. */
async function timeBoxes(
  wanted: readonly Spec[],
  parent: string,
  how: "quick" | "full",
  orFailure: OrFailure,
): Promise<BoxEvidence> {
  const { runs, atOnce } = boxes[how];
  const scripts: Readonly<Record<BoxLane, { readonly field: keyof BoxEvidence; readonly args: readonly string[] }>> = {
    boxes: { field: "native", args: ["boxes.ts", String(runs), String(atOnce)] },
    guests: { field: "guests", args: ["boxes-wasm.ts", String(runs), String(atOnce)] },
    beside: { field: "beside", args: ["boxes-beside.ts", parent, String(atOnce)] },
  };
  const found: Record<string, unknown> = {};
  for (const [lane, { field, args }] of Object.entries(scripts) as [BoxLane, (typeof scripts)[BoxLane]][]) {
    if (!wanted.some((spec) => spec.needsBoxes === lane)) continue;
    const [script = "", ...rest] = args;
    found[field] = await orFailure(lane, async () => {
      note(`bench/${script} starts boxes`);
      const child = startNode(script, [join(import.meta.dirname, script), ...rest]);
      const said = await child.saying("boxes", boxesTimeoutMs);
      await child.stop();
      return said;
    });
  }
  return found as BoxEvidence;
}

function note(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n").slice(0, 3).join(" ");
}
