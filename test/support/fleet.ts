// Several real replicas for tests: built `signalbox serve` processes on one real PostgreSQL ledger, each of which can be killed, stopped and started again.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Worker, type WorkerOptions } from "@signalbox/worker";
import { PostgresServer } from "./postgres.ts";
import { startNode, type Child } from "./processes.ts";
import { createRest, type Rest } from "./rest.ts";
import { signalboxBin, within, type OfferedTool } from "./stack.ts";

const readyMsMax = 20_000;
const lookEveryMs = 20;

export interface FleetReplica {
  readonly name: string;
  readonly dataDir: string;
  /** As the admin of the first start, at this replica. */
  readonly admin: Rest;
  url(): string;
  grpc(): string;
  /** The running process, or the last one. */
  readonly process: Child;
  as(key: string): Rest;
  /** @throws Error with the answer when it is not taken */
  register(manifest: Readonly<Record<string, unknown>>): Promise<void>;
  start(): Promise<void>;
  stop(): ReturnType<Child["kill"]>;
  kill(): ReturnType<Child["kill"]>;
}

export interface Fleet {
  readonly folder: string;
  readonly postgres: PostgresServer;
  readonly ledgerUrl: string;
  readonly adminKey: string;
  readonly replicas: readonly FleetReplica[];
  /** The gRPC doors of all. */
  grpcs(): readonly string[];
  /** In this process; resolves once some replica lists it as ready. */
  startWorker(workerId: string, tools: readonly OfferedTool[], at: readonly FleetReplica[], options?: Partial<WorkerOptions>): Promise<Worker>;
  logs(): string;
  close(): Promise<void>;
}

export interface FleetOptions {
  readonly replicas?: number;
  readonly args?: readonly string[];
  readonly postgres?: PostgresServer;
  /** Another build of the runtime for the replica of this index. */
  readonly bins?: Readonly<Record<number, string>>;
}

/** Ports are chosen at the first start and kept, so that clients and workers find a replica again. */
export async function startFleet(options: FleetOptions = {}): Promise<Fleet> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-fleet-"));
  const postgres = options.postgres ?? (await PostgresServer.start());
  await postgres.run("CREATE DATABASE fleet");
  const ledgerUrl = postgres.url("fleet");
  const auditKeyFile = join(folder, "audit.key");
  writeFileSync(auditKeyFile, `${"5a".repeat(32)}\n`, { mode: 0o600 });
  const workers: Worker[] = [];
  let adminKey = "";
  const make = (index: number): FleetReplica => {
    const name = `replica-${index + 1}`;
    const dataDir = join(folder, name);
    mkdirSync(dataDir);
    let ports = { http: "0", grpc: "0" };
    let where = { url: "", grpc: "" };
    let child: Child | undefined;
    const current = (): Child => {
      if (child === undefined) throw new Error(`${name} was not started`);
      return child;
    };
    const as = (key: string): Rest => createRest(() => where.url, key);
    const start = async (): Promise<void> => {
      const bin = options.bins?.[index] ?? signalboxBin;
      const own = ["--port", ports.http, "--grpc-port", ports.grpc, "--data", dataDir, "--replica", name, "--audit-key-file", auditKeyFile];
      child = startNode([bin, "serve", "--json", "--log", "json", "--boxes", "0", ...own, ...(options.args ?? [])], {
        cwd: folder,
        env: { SIGNALBOX_LEDGER: ledgerUrl },
      });
      const line = await within(readyMsMax, child.nextLine(), `${name} is ready`);
      if (!line.includes('"ready":true')) throw new Error(`${name} did not come up: ${(await child.ended, child.stdout() + child.stderr())}`);
      where = JSON.parse(line) as typeof where;
      ports = { http: new URL(where.url).port, grpc: where.grpc.split(":")[1] ?? "0" };
    };
    return {
      name,
      dataDir,
      get admin() {
        return as(adminKey);
      },
      get process() {
        return current();
      },
      url: () => where.url,
      grpc: () => where.grpc,
      as,
      async register(manifest) {
        const answer = await as(adminKey).put("/v1/tools", manifest);
        if (answer.status !== 201) throw new Error(`the tool was not taken: ${answer.status} ${answer.text}`);
      },
      start,
      async stop() {
        current().signal("SIGTERM");
        return current().ended;
      },
      kill: () => current().kill(),
    };
  };
  const replicas = Array.from({ length: options.replicas ?? 2 }, (_, index) => make(index));
  for (const replica of replicas) {
    await replica.start();
    const file = join(replica.dataDir, "client.json");
    if (adminKey === "" && existsSync(file)) adminKey = (JSON.parse(readFileSync(file, "utf8")) as { key: string }).key;
  }
  return {
    folder,
    postgres,
    ledgerUrl,
    adminKey,
    replicas,
    grpcs: () => replicas.map((one) => one.grpc()),
    async startWorker(workerId, tools, at, more = {}) {
      const worker = new Worker({ address: at.map((one) => one.grpc()), key: adminKey, workerId, signals: false, log: () => undefined, drainMs: 1_000, ...more });
      for (const { tool, version = "1.0.0", handler, maxConcurrency } of tools)
        worker.tool(tool, { version, ...(maxConcurrency === undefined ? {} : { maxConcurrency }) }, handler);
      worker.run().catch(() => undefined);
      workers.push(worker);
      await within(readyMsMax, untilReady(at, workerId), `${workerId} is registered`);
      return worker;
    },
    logs: () => replicas.map((one) => one.process.stderr()).join("\n"),
    async close() {
      await Promise.all(workers.map((one) => one.close()));
      for (const replica of replicas) await replica.kill();
      if (options.postgres === undefined) await postgres.remove();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function untilReady(at: readonly FleetReplica[], workerId: string): Promise<void> {
  for (;;) {
    for (const { admin } of at) {
      const { items = [] } = (await admin.get("/v1/workers?limit=100")).body;
      if (items.some((one) => one["worker_id"] === workerId && one["state"] === "ready")) return;
    }
    await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  }
}
