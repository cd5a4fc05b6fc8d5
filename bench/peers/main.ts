// The bench of peers from start to end: install them, start them and ours, measure in turns, print, clean up.
import { join } from "node:path";
import type { PostgresServer } from "../../test/support/postgres.ts";
import { cleanUp, cleanUpOnExit } from "../children.ts";
import { dataParent, readMachine, readVersions } from "../machine.ts";
import { replicasOf, startPostgres } from "../on-postgres.ts";
import { jsonLine, table } from "../report.ts";
import { runRounds } from "../rounds.ts";
import { median } from "../statistics.ts";
import { startSignalbox, type PeerName, type Subject, type SubjectName } from "../subjects.ts";
import { oursBeside, peerConcurrencies, peerFigures, peerNames, peersFor } from "./figures.ts";
import { installPeers } from "./install.ts";
import { startPeer } from "./start.ts";

export interface PeersOptions {
  readonly json: boolean;
  /** Fewer and shorter slices: a first look, not a result. */
  readonly quick: boolean;
  /** Only the peers whose names begin so. */
  readonly only: string;
}

const pace = {
  full: { rounds: 5, sliceMs: 2_500, warmUpMs: 400 },
  quick: { rounds: 1, sliceMs: 1_500, warmUpMs: 300 },
};
const repo = join(import.meta.dirname, "../..");

/** @returns the exit code */
export async function benchPeers({ json, quick, only }: PeersOptions): Promise<number> {
  const names = peersFor(only);
  if (names.length === 0) {
    process.stderr.write(`no peer begins with "${only}"; there are: ${peerNames.join(" ")}\n`);
    return 2;
  }
  cleanUpOnExit();
  try {
    const parent = dataParent(repo);
    const resting = readMachine(parent);
    const { subjects, failures, words } = await startAll(names, parent);
    const lanes = subjects.map((subject) => ({ subject, concurrencies: peerConcurrencies }));
    const rounds = await runRounds({ ...pace[quick ? "quick" : "full"], lanes }, note);
    const all = new Map([...failures, ...rounds.failures]);
    const figures = peerFigures(names, { measured: rounds.measured, failures: all, words });
    const others = median(rounds.measured.map(({ othersPercent }) => othersPercent));
    const machine = { ...resting, others_cpu_percent: others === undefined ? null : Math.round(others) };
    const versions = readVersions(repo);
    const text = json ? figures.map((figure) => jsonLine(figure, machine, versions)).join("\n") : table(figures, machine, versions, "ours");
    process.stdout.write(`${text}\n`);
    return 0;
  } finally {
    await cleanUp();
  }
}

interface Started {
  readonly subjects: readonly Subject[];
  readonly failures: ReadonlyMap<SubjectName, string>;
  readonly words: ReadonlyMap<PeerName, string>;
}

/** What cannot be installed or started says why, and the rest goes on. */
async function startAll(names: readonly PeerName[], parent: string): Promise<Started> {
  const subjects: Subject[] = [];
  const failures = new Map<SubjectName, string>();
  const words = new Map<PeerName, string>();
  const attempt = async (name: SubjectName, start: () => Promise<void>): Promise<void> => {
    note(`starting ${name}`);
    try {
      await start();
    } catch (error) {
      failures.set(name, firstLines(error));
      note(`${name} is not measured: ${firstLines(error)}`);
    }
  };
  let server: Promise<PostgresServer> | undefined;
  const postgres = (): Promise<PostgresServer> => (server ??= startPostgres(parent));
  const ours = new Set(names.map((name) => oursBeside[name]));
  if (ours.has("signalbox")) {
    await attempt("signalbox", async () => {
      const [rest] = await startSignalbox(parent);
      if (rest !== undefined) subjects.push(rest);
    });
  }
  if (ours.has("pg")) {
    await attempt("pg", async () => {
      const running = await postgres();
      subjects.push(await replicasOf("pg", parent, running.url(await running.createEmptyDatabase()), 1));
    });
  }
  const installing = installPeers(note);
  installing.catch(() => undefined);
  for (const name of names) {
    await attempt(name, async () => {
      const started = await startPeer[name]({ installed: await installing, parent, postgres });
      subjects.push(started.subject);
      words.set(name, started.words);
    });
  }
  return { subjects, failures, words };
}

function note(text: string): void {
  process.stderr.write(`bench: ${text}\n`);
}

function firstLines(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split("\n").slice(0, 3).join(" ");
}
