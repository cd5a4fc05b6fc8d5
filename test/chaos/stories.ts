// The stories of a chaos run: which processes there are, and what happens to them how often.
import type { Blow, Rhythm, Story } from "./types.ts";

const often = (blow: Blow, fromMs: number, toMs: number, timesMax?: number): Rhythm => ({
  blow,
  fromMs,
  toMs,
  ...(timesMax === undefined ? {} : { timesMax }),
});

const sqlite = { ledger: "sqlite", replicas: 1, workers: 2 } as const;
const postgres = { ledger: "postgres", replicas: 2, workers: 2 } as const;

export const stories: readonly Story[] = [
  {
    name: "kill-runtime",
    about: "kill -9 of the runtime every 1 to 3 s, started again at once",
    ...sqlite,
    seconds: 20,
    rhythms: [often("kill-runtime", 1_000, 3_000)],
  },
  {
    name: "kill-worker",
    about: "kill -9 of a worker every 1 to 2 s, another one in its place at once",
    ...sqlite,
    seconds: 12,
    rhythms: [often("kill-worker", 1_000, 2_000)],
  },
  {
    name: "stop-worker",
    about: "SIGSTOP of workers for longer than a lease, then SIGCONT",
    ...sqlite,
    workers: 3,
    seconds: 22,
    rhythms: [often("stop-worker", 500, 3_000, 2)],
  },
  {
    name: "cut-tcp",
    about: "every connection of callers and workers cut for 2 s",
    ...sqlite,
    seconds: 15,
    rhythms: [often("cut-tcp", 2_500, 4_000)],
  },
  {
    name: "everything",
    about: "all of that at once",
    ...sqlite,
    workers: 3,
    seconds: 25,
    rhythms: [
      often("kill-runtime", 2_000, 5_000),
      often("kill-worker", 2_000, 5_000),
      often("cut-tcp", 5_000, 8_000),
      often("stop-worker", 1_000, 4_000, 1),
    ],
  },
  {
    name: "kill-replica",
    about: "two replicas, kill -9 of one of them every 2 to 4 s",
    ...postgres,
    seconds: 20,
    rhythms: [often("kill-runtime", 2_000, 4_000)],
  },
  {
    name: "stop-postgres",
    about: "the database stopped, or killed with -9, every 3 to 5 s, and started again",
    ...postgres,
    seconds: 25,
    rhythms: [often("stop-store", 5_000, 9_000), often("kill-store", 5_000, 9_000)],
  },
  {
    name: "everything-postgres",
    about: "replicas, workers, connections and the database, all at once",
    ...postgres,
    workers: 3,
    seconds: 30,
    rhythms: [
      often("kill-runtime", 3_000, 6_000),
      often("kill-worker", 3_000, 6_000),
      often("cut-tcp", 6_000, 9_000),
      often("stop-worker", 1_000, 4_000, 1),
      often("stop-store", 8_000, 12_000),
      often("kill-store", 10_000, 14_000),
    ],
  },
];
