// `signalbox worker`: a sandbox worker of its own, which proves the boxes of this host and runs calls in them.
import type { Command } from "commander";
import { join, resolve } from "node:path";
import { backendRanks, isWatched } from "../../sandbox/types.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";
import { parseSpanMs } from "../times.ts";
import { placeOf, type PlaceFlags } from "../worker-place.ts";

interface WorkerFlags extends PlaceFlags {
  readonly store?: string;
  readonly capacity: string;
  readonly backends?: string;
  readonly workerId?: string;
  readonly recycleCalls?: string;
  readonly recycleAge?: string;
  readonly acceptWatchedLimits?: boolean;
  readonly withParent?: boolean;
}

const capacityMax = 1_000;

export function addWorker(program: Command, runs: Runs): void {
  const worker = program
    .command("worker")
    .description("run calls of sandbox tools in boxes on this machine")
    .option(
      "--connect <host:port>",
      "the runtime's gRPC door, or those of its replicas, separated by commas; can be given again; by default what the data folder's client.json says",
      (text: string, before: readonly string[]) => [...before, text],
      [],
    )
    .option("--data <folder>", "the runtime's data folder, for its client.json and its store", ".signalbox")
    .option("--store <folder>", "where packages and files are kept, when that is elsewhere")
    .option("--capacity <count>", "boxes at once", "16")
    .option("--backends <names>", "only these, separated by commas, where they work")
    .option("--worker-id <id>", "a name that stays the same over restarts")
    .option("--recycle-calls <count>", "leave after so many calls; whoever keeps this process running starts a fresh one")
    .option("--recycle-age <duration>", "leave after so long")
    .option(
      "--accept-watched-limits",
      "offer native boxes without control groups: limits are then watched, not enforced",
    )
    .option("--with-parent", "leave when standard input ends, which it does when whoever started this is gone")
    .option("--tls", "speak TLS, and believe the authorities that this machine knows")
    .option("--tls-ca <file>", "speak TLS, and believe the certificates in this file (PEM)")
    .option("--insecure", "send the key in clear text to another host");
  runs.offline<WorkerFlags>(worker, runWorker);
}

async function runWorker(session: Session, _args: readonly string[], flags: WorkerFlags): Promise<Outcome> {
  const { io, signal } = session;
  const place = placeOf(io, flags);
  const { startBoxWorker } = await io.boxes();
  const worker = await startBoxWorker({
    ...place,
    store: resolve(io.cwd, flags.store ?? join(flags.data, "store")),
    capacity: countOf("--capacity", flags.capacity, capacityMax),
    log: (message) => session.remark(plainLine(message)),
    ...(flags.workerId === undefined ? {} : { workerId: flags.workerId }),
    ...(flags.backends === undefined ? {} : { backends: backendsOf(flags.backends) }),
    ...(flags.acceptWatchedLimits === true ? { allowBestEffortLimits: true } : {}),
    ...recycleOf(flags),
  });
  if (session.json) io.stdout.write(`${JSON.stringify({ ready: true, boxes: worker.probes })}\n`);
  else for (const [name, probe] of Object.entries(worker.probes)) io.stdout.write(`${probeLine(name, probe)}\n`);
  for (const [name, probe] of Object.entries(worker.probes)) if (probe.ok && isWatched(probe.limitsBy)) session.remark(watchedWarning(name));
  const stop = (): void => {
    session.remark("leaving: what runs is finished first, and nothing new is taken");
    void worker.stop();
  };
  if (flags.withParent === true) io.onStdinEnd(stop);
  if (signal.aborted) stop();
  else signal.addEventListener("abort", stop, { once: true });
  await worker.left;
  return exitCodes.ok;
}

function watchedWarning(name: string): string {
  return `WARNING: the limits of ${name} boxes are watched here and not held by the kernel: code that means harm gets past them`;
}

/** One line for one backend: what it is good for here, or why it is not and what to do about it. */
export function probeLine(name: string, probe: ProbeView): string {
  if (probe.ok)
    return `${name.padEnd(8)} works, rank ${probe.rank}; limits by ${probe.limitsBy}${probe.notes.map((note) => `; ${note}`).join("")}`;
  return `${name.padEnd(8)} does not work: ${probe.reason}${probe.remedy === null ? "" : `\n${"".padEnd(9)}next:  ${probe.remedy}`}`;
}

export type ProbeView =
  | { readonly ok: true; readonly rank: number; readonly limitsBy: string; readonly notes: readonly string[] }
  | { readonly ok: false; readonly reason: string; readonly remedy: string | null };

function recycleOf({ recycleCalls, recycleAge }: WorkerFlags): {
  readonly recycle?: { readonly calls: number; readonly ageMs: number };
} {
  if (recycleCalls === undefined && recycleAge === undefined) return {};
  const calls =
    recycleCalls === undefined
      ? Number.MAX_SAFE_INTEGER
      : countOf("--recycle-calls", recycleCalls, Number.MAX_SAFE_INTEGER);
  const ageMs = recycleAge === undefined ? ageMsMax : parseSpanMs(recycleAge);
  if (ageMs === undefined) throw new CliError(`--recycle-age takes a duration like 1h, not "${recycleAge}"`);
  return { recycle: { calls, ageMs: Math.min(ageMs, ageMsMax) } };
}

/** A misspelt name would start a worker that offers nothing. */
function backendsOf(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  const unknown = names.find((name) => !Object.hasOwn(backendRanks, name));
  if (unknown !== undefined)
    throw new CliError(`--backends: there is no kind of box "${unknown}"; there are ${Object.keys(backendRanks).join(", ")}`);
  return names;
}

/** What a timer can hold. */
const ageMsMax = 2_147_483_647;

function countOf(flag: string, text: string, max: number): number {
  const count = /^\d{1,16}$/.test(text) ? Number(text) : 0;
  if (count < 1 || count > max) throw new CliError(`${flag} takes a whole number from 1 to ${max}, not "${text}"`);
  return count;
}
