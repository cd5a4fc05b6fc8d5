// `signalbox worker`: a sandbox worker of its own, which proves the boxes of this host and runs calls in them.
import type { Command } from "commander";
import { readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { backendRanks, isWatched } from "../../sandbox/types.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { plainLine } from "../text.ts";
import { parseSpanMs } from "../times.ts";

interface WorkerFlags {
  readonly connect?: string;
  readonly data: string;
  readonly store?: string;
  readonly capacity: string;
  readonly backends?: string;
  readonly workerId?: string;
  readonly recycleCalls?: string;
  readonly recycleAge?: string;
  readonly acceptWatchedLimits?: boolean;
  readonly withParent?: boolean;
  readonly insecure?: boolean;
}

const capacityMax = 1_000;

export function addWorker(program: Command, runs: Runs): void {
  const worker = program
    .command("worker")
    .description("run calls of sandbox tools in boxes on this machine")
    .option("--connect <host:port>", "the runtime's gRPC door; by default what the data folder's client.json says")
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
    .option("--insecure", "send the key in clear text to another host");
  runs.offline<WorkerFlags>(worker, runWorker);
}

interface Place {
  readonly address: string;
  readonly key: string;
}

function placeOf(session: Session, flags: WorkerFlags): Place {
  const file = join(resolve(session.io.cwd, flags.data), "client.json");
  const known = readClient(file);
  const address = flags.connect ?? known.grpc;
  // A key that was made for the platform, never an ordinary one: what runs in boxes is every tenant's.
  const { SIGNALBOX_WORKER_KEY: own, SIGNALBOX_PLATFORM_KEY: operators } = session.io.env;
  // A variable that is there and empty says nothing, as for every other command.
  const key = [own, operators, known.platform_key].find((one) => one !== undefined && one !== "");
  if (address === undefined)
    throw new CliError("where is the runtime?", { next: "signalbox worker --connect host:9090" });
  if (key === undefined) {
    throw new CliError("no key of the platform is known", {
      exitCode: exitCodes.refused,
      next: "set SIGNALBOX_WORKER_KEY to a key of the tenant platform with the scope workers:connect",
    });
  }
  return { address, key };
}

function readClient(file: string): { readonly grpc?: string; readonly platform_key?: string } {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as { grpc?: string; platform_key?: string };
  } catch {
    return {};
  }
}

async function runWorker(session: Session, _args: readonly string[], flags: WorkerFlags): Promise<Outcome> {
  const { io, signal } = session;
  const { address, key } = placeOf(session, flags);
  const { startBoxWorker } = await io.boxes();
  const worker = await startBoxWorker({
    address,
    key,
    store: resolve(io.cwd, flags.store ?? join(flags.data, "store")),
    capacity: countOf("--capacity", flags.capacity, capacityMax),
    log: (message) => session.remark(plainLine(message)),
    ...(flags.workerId === undefined ? {} : { workerId: flags.workerId }),
    ...(flags.backends === undefined ? {} : { backends: backendsOf(flags.backends) }),
    ...(flags.acceptWatchedLimits === true ? { allowBestEffortLimits: true } : {}),
    ...(flags.insecure === true ? { insecure: true } : {}),
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
