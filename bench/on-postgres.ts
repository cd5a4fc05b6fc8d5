// The subjects that keep their ledger in PostgreSQL: the floor, one replica, and two, each on a database of one server with real fsyncs.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { PostgresServer } from "../test/support/postgres.ts";
import { atCleanUp, makeFolder, startNode, type Child } from "./children.ts";
import { treeCpuUs } from "./procfs.ts";
import { serveEcho, startFloorOn, type HttpSubject, type StartedRuntime, type Subject, type SubjectName } from "./subjects.ts";

const startTimeoutMs = 60_000;
const here = import.meta.dirname;
/** As PostgreSQL comes, but for what keeps a figure from being about a tiny cache. */
const settings = ["fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on", "shared_buffers=256MB", "max_connections=300"];

/**
 * A server in a folder of its own, for as long as the bench runs. Its processes count as the bench's own.
 * @throws Error where there is none to start
 */
export async function startPostgres(parent: string): Promise<PostgresServer> {
  const server = await PostgresServer.start({ fsync: true, settings, parent });
  const { pid } = server;
  // A server that ends is waited for, and does not keep this process by itself.
  const staying = setInterval(() => undefined, 60_000);
  atCleanUp({
    cpuUs: () => treeCpuUs(pid),
    end: async () => {
      await server.remove();
      clearInterval(staying);
    },
  });
  return server;
}

export async function startOnPostgres(parent: string, isWanted: (name: SubjectName) => boolean): Promise<readonly Subject[]> {
  const server = await startPostgres(parent);
  const database = async (): Promise<string> => server.url(await server.createEmptyDatabase());
  const starts: readonly (readonly [SubjectName, () => Promise<Subject>])[] = [
    ["pgFloor", async () => startFloorOn("pgFloor", await database())],
    ["pg", async () => replicasOf("pg", parent, await database(), 1)],
    ["pg2", async () => replicasOf("pg2", parent, await database(), 2)],
  ];
  const subjects: Subject[] = [];
  for (const [name, start] of starts) if (isWanted(name)) subjects.push(await start());
  return subjects;
}

/** As many replicas with a worker at each; callers are spread over all of them. CPU and counters are the first one's. */
export async function replicasOf(name: SubjectName, parent: string, ledger: string, count: number): Promise<HttpSubject> {
  const folder = makeFolder(parent, name);
  const auditKeyFile = join(folder, "audit.key");
  writeFileSync(auditKeyFile, `${"5a".repeat(32)}\n`, { mode: 0o600 });
  const replicas: StartedRuntime[] = [];
  for (let number = 1; number <= count; number++) replicas.push(await startReplica(folder, ledger, auditKeyFile, number));
  const [first, ...others] = replicas;
  if (first === undefined) throw new Error("no replica was asked for");
  const { subject, key } = await serveEcho(name, first);
  for (const { ready } of others) startWorker(String(ready["grpc"]), key);
  const { door } = subject;
  return { ...subject, door: { ...door, moreOrigins: others.map(({ ready }) => String(ready["url"])) } };
}

async function startReplica(folder: string, ledger: string, auditKeyFile: string, number: number): Promise<StartedRuntime> {
  const cli = join(here, "../packages/runtime/bin/signalbox.js");
  const own = ["--data", join(folder, `replica-${number}`), "--replica", `replica-${number}`, "--audit-key-file", auditKeyFile];
  const documents = ["--tools", join(here, "tools"), "--policies", join(here, "policies")];
  const args = ["serve", "--json", "--boxes", "0", "--port", "0", "--grpc-port", "0", ...documents, ...own];
  const child = startNode(`replica ${number}`, [cli, ...args], { SIGNALBOX_LEDGER: ledger });
  return { child, ready: await child.saying("ready", startTimeoutMs) };
}

function startWorker(address: string, key: string): Child {
  return startNode("the echo worker", [join(here, "worker.ts")], { SIGNALBOX_BENCH_ADDRESS: address, SIGNALBOX_BENCH_KEY: key });
}
