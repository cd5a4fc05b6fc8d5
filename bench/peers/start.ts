// Starts each peer with the servers and processes that it takes, behind a door that the load process can call.
import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { delimiter, join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { PostgresServer } from "../../test/support/postgres.ts";
import { makeFolder, startNode, startProgram } from "../children.ts";
import { echoDoor, firstAnswer, type PeerName, type Subject } from "../subjects.ts";
import type { Installed } from "./install.ts";

export interface PeerSetting {
  readonly installed: Installed;
  /** Where data folders are made. */
  readonly parent: string;
  /** One server for all who want one. */
  readonly postgres: () => Promise<PostgresServer>;
}

export interface StartedPeer {
  readonly subject: Subject;
  /** What was measured: versions, and what makes a commit durable. */
  readonly words: string;
}

const startMsMax = 60_000;
const lookEveryMs = 50;

export const startPeer: Readonly<Record<PeerName, (setting: PeerSetting) => Promise<StartedPeer>>> = {
  restate: startRestate,
  bullmq: startBullmq,
  "graphile-worker": (setting) => startOnPostgres("graphile-worker", setting, true),
  "pg-boss": (setting) => startOnPostgres("pg-boss", setting, true),
  dbos: (setting) => startOnPostgres("dbos", setting, false),
};

const packageOf: Readonly<Record<PeerName, string>> = {
  restate: "@restatedev/restate-server",
  bullmq: "bullmq",
  "graphile-worker": "graphile-worker",
  "pg-boss": "pg-boss",
  dbos: "@dbos-inc/dbos-sdk",
};

function versionOf(name: PeerName, { versions }: Installed): string {
  return `${packageOf[name]} ${versions[packageOf[name]] ?? "?"}`;
}

/** The peer's driver as caller's side, and where there is one its worker's process. */
async function startDrivers(name: PeerName, { installed }: PeerSetting, env: Readonly<Record<string, string>>, hasWorker: boolean): Promise<Subject> {
  const driver = join(import.meta.dirname, `drivers/${name}.ts`);
  const all = { SIGNALBOX_PEERS_FOLDER: installed.folder, ...env };
  const server = startNode(`${name}'s server`, [driver, "server"], all);
  const ready = await server.saying("ready", startMsMax);
  if (hasWorker) await startNode(`${name}'s worker`, [driver, "worker"], all).saying("ready", startMsMax);
  const door = echoDoor(String(ready["url"]), "/call");
  await firstAnswer(door);
  return { name, pid: server.pid, door };
}

async function startOnPostgres(name: PeerName, setting: PeerSetting, hasWorker: boolean): Promise<StartedPeer> {
  const server = await setting.postgres();
  const url = server.url(await server.createEmptyDatabase());
  const subject = await startDrivers(name, setting, { SIGNALBOX_PEERS_POSTGRES: url }, hasWorker);
  return { subject, words: `${versionOf(name, setting.installed)}, PostgreSQL, synchronous_commit on` };
}

async function startBullmq(setting: PeerSetting): Promise<StartedPeer> {
  const program = process.env["SIGNALBOX_REDIS_SERVER"] ?? onPath("redis-server");
  if (program === undefined) throw new Error("no Redis server here: install the Debian package redis-server, or set SIGNALBOX_REDIS_SERVER");
  const version = /v=([\d.]+)/.exec(execFileSync(program, ["--version"], { encoding: "utf8" }))?.[1] ?? "?";
  const port = String(await freePort());
  const durable = ["--appendonly", "yes", "--appendfsync", "always", "--save", "", "--maxmemory-policy", "noeviction"];
  const folder = makeFolder(setting.parent, "redis");
  startProgram("redis-server", program, ["--port", port, "--bind", "127.0.0.1", "--dir", folder, ...durable]);
  const subject = await startDrivers("bullmq", setting, { SIGNALBOX_PEERS_REDIS_PORT: port }, true);
  return { subject, words: `${versionOf("bullmq", setting.installed)}, Redis ${version}, appendfsync always` };
}

async function startRestate(setting: PeerSetting): Promise<StartedPeer> {
  const { installed, parent } = setting;
  const build = `${process.platform}-${process.arch}`;
  const program = join(installed.folder, `node_modules/@restatedev/restate-server-${build}/bin/restate-server`);
  if (!existsSync(program)) throw new Error(`Restate has no server for ${build}`);
  const [ingress, admin, node] = [await freePort(), await freePort(), await freePort()];
  const server = startProgram("restate-server", program, [], {
    RESTATE_BASE_DIR: makeFolder(parent, "restate"),
    RESTATE_LISTEN_MODE: "tcp",
    RESTATE_BIND_ADDRESS: `127.0.0.1:${node}`,
    RESTATE_INGRESS__BIND_ADDRESS: `127.0.0.1:${ingress}`,
    RESTATE_ADMIN__BIND_ADDRESS: `127.0.0.1:${admin}`,
    RESTATE_BIFROST__LOCAL__ROCKSDB_DISABLE_WAL_FSYNC: "false",
    RESTATE_LOG_SERVER__ROCKSDB_DISABLE_WAL_FSYNC: "false",
    RESTATE_DISABLE_TELEMETRY: "true",
    RESTATE_LOG_FILTER: "warn",
  });
  const driver = startNode("restate's service", [join(import.meta.dirname, "drivers/restate.ts")], { SIGNALBOX_PEERS_FOLDER: installed.folder });
  const { url } = await driver.saying("ready", startMsMax);
  await untilAnswered(() => fetch(`http://127.0.0.1:${admin}/health`));
  const headers = { "content-type": "application/json" };
  await untilAnswered(() => fetch(`http://127.0.0.1:${admin}/deployments`, { method: "POST", headers, body: JSON.stringify({ uri: url }) }));
  const door = echoDoor(`http://127.0.0.1:${ingress}`, "/bench/echo");
  await firstAnswer(door);
  return { subject: { name: "restate", pid: server.pid, door }, words: `${versionOf("restate", installed)}, fsync of its log on` };
}

async function untilAnswered(ask: () => Promise<Response>): Promise<void> {
  const giveUp = AbortSignal.timeout(startMsMax);
  for (;;) {
    const answer = await ask().catch(() => undefined);
    if (answer?.ok === true) return;
    if (giveUp.aborted) throw new Error(answer === undefined ? "it never answered" : `it answered ${answer.status}: ${await answer.text()}`);
    await wait(lookEveryMs);
  }
}

function onPath(name: string): string | undefined {
  const folder = (process.env["PATH"] ?? "").split(delimiter).find((one) => existsSync(join(one, name)));
  return folder === undefined ? undefined : join(folder, name);
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}
