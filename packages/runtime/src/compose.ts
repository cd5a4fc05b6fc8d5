// The composition root: one function per deployment mode, and the only place that knows what is plugged into what.
import { existsSync, readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { fileURLToPath } from "node:url";
import { limits, SignalboxError, type RuntimeMessage, type WorkerMessage, type WorkStream } from "@signalbox/protocol";
import type { Worker } from "@signalbox/worker";
import { serveAgents } from "./adapters/builtin/agents.ts";
import { packagedNames } from "./adapters/builtin/packaged.ts";
import { keepInProcess, type InProcess } from "./adapters/builtin/in-process.ts";
import { serveBuiltins } from "./adapters/builtin/serve.ts";
import { auditKey, dataFolder, readClientFile, writeClientFile, type DataFolder } from "./adapters/files/data-folder.ts";
import { createApiDoor, type ApiDoor } from "./adapters/grpc/api/door.ts";
import { addReflection } from "./adapters/grpc/api/reflection.ts";
import { startGrpcServer, type GrpcServer } from "./adapters/grpc/server.ts";
import { addWorkService, type Refusal } from "./adapters/grpc/work-door.ts";
import { openModels } from "./adapters/models/configured.ts";
import { createHttpDoor, type HttpDoor } from "./adapters/http/server.ts";
import { verifyAuditFile } from "./adapters/sqlite/verify-file.ts";
import { DiskStore } from "./adapters/store/store.ts";
import { systemCalendar } from "./adapters/system/calendar.ts";
import { systemClock } from "./adapters/system/clock.ts";
import { base64url, sha256, systemChance } from "./adapters/system/crypto.ts";
import { createLog, type LogForm } from "./adapters/system/log.ts";
import { checkExposure } from "./adapters/system/exposure.ts";
import { createSeal } from "./adapters/system/seal.ts";
import { webhookDoor } from "./adapters/webhooks/door.ts";
import { keepBoxWorker, type BoxChild } from "./boxes/child.ts";
import { hubLimits } from "./config.ts";
import type { Clock, Log } from "./corridor/ports.ts";
import { privilegedTools, type Switches } from "./corridor/switches.ts";
import type { WorkspacePorts } from "./corridor/workspace.ts";
import type { WorkerIdentity } from "./dispatch/types.ts";
import type { AuditVerdict } from "./ledger/audit.ts";
import type { Ledger } from "./ledger/port.ts";
import { openEmbedded, openLedger, openShared, type Opened, type SharedPlace } from "./opening.ts";
import { createRuntime, type Runtime } from "./runtime.ts";
import { backendRanks, isWatched } from "./sandbox/types.ts";
import { platformTenant, type Asked, type Scope } from "./tenancy/types.ts";
import type { Models } from "./session/model.ts";
import { FairLine } from "./schedule/fair-line.ts";
import { ensureBuiltins, ensureTenants, publishAgents, publishPolicies, registerTools, renewKeys, type Setting } from "./setup.ts";
import { version } from "./version.ts";

export { exportLedger, importLedger } from "./adapters/transfer/move.ts";
export { upgradeLedger } from "./adapters/transfer/upgrade.ts";

export interface DevOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly dataDir: string;
  /** Every tool.yaml below these folders is registered at start. */
  readonly toolsDirs: readonly string[];
  /** Every policy below these folders is published at start. */
  readonly policiesDirs?: readonly string[];
  /** Every agent.yaml below these folders is published at start, and deployed where no version of it is. */
  readonly agentsDirs?: readonly string[];
  /** Names the providers of agents' models; left out: those whose keys stand in the environment. */
  readonly modelsFile?: string;
  /** Boxes at once; 0 = no sandbox worker is started, and sandbox tools need one that was started by hand. */
  readonly boxes?: number;
  /** Takes native boxes whose limits are watched, not enforced, where the host has no control groups. */
  readonly acceptWatchedLimits?: boolean;
  /** Privileged built-in tools that are on, by name; none if not given. */
  readonly enable?: readonly string[];
  /** Lets webhooks go to loopback and private networks. */
  readonly allowPrivateWebhooks?: boolean;
  /** Exact origins of web pages that may ask from a browser. */
  readonly corsOrigins?: readonly string[];
  readonly drainMs?: number;
  /** How long a call may wait for a worker; 30 s unless said otherwise. */
  readonly queueWaitMs?: number;
  /** How long ended calls are kept; 0 = for ever, 7 days unless said otherwise. */
  readonly retentionMs?: number;
  /** PEM files of both doors, or `upstream`: an ingress in front ends TLS. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string } | "upstream";
  /** Clear text beyond this machine. */
  readonly insecure?: boolean;
  readonly log?: LogForm;
}

export type ServeOptions = DevOptions & SharedPlace;

export interface DevRuntime {
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly keyFile: string;
  readonly firstStart: boolean;
  /** Drains and closes everything; the second call waits for the first. */
  stop(): Promise<void>;
  /** Resolves when it has stopped, whoever asked for it. */
  readonly closed: Promise<void>;
}

/** How long open HTTP requests and streams may still take once the calls are done. */
const closeGraceMs = 2_000;

/** The whole runtime in one process, on SQLite. @throws Error that says what to do, e.g. when a port is taken */
export async function startDev(options: DevOptions): Promise<DevRuntime> {
  return startOn(options, (log) => openEmbedded(options.dataDir, log));
}

/** One of any number of replicas on one PostgreSQL ledger. @throws Error that says what to do */
export async function startServe(options: ServeOptions): Promise<DevRuntime> {
  return startOn(options, (log) => openShared(options, log));
}

async function startOn(options: DevOptions, open: (log: Log) => Promise<Opened>): Promise<DevRuntime> {
  const tls = typeof options.tls === "object" ? readTls(options.tls) : options.tls;
  const exposed = checkExposure({ host: options.host, ...(tls === undefined ? {} : { tls }), insecure: options.insecure ?? false });
  const chance = systemChance();
  const log = createLog(options.log ?? "pretty");
  if (exposed === "clear_text") log.warn({ host: options.host }, "the doors speak clear text beyond this machine: everybody on the way can read every key");
  const opened = await open(log);
  const { folder, clock, meters, ledger, replica } = opened;
  let begun: Runtime | undefined;
  /** Known when the door is open. */
  let grpcAddress = "";
  try {
    // The only process that writes it; sandbox workers read.
    const store = await DiskStore.open(folder.storeFolder);
    const keys = await opened.keys({ ledger, folder, clock, chance });
    await ensureBuiltins({ ledger, store, clock, log });
    const runtime = createRuntime({
      replica,
      version,
      ledger,
      line: new FairLine(),
      clock,
      chance,
      hash: sha256,
      base64url,
      meters,
      log,
      calendar: systemCalendar(),
      limits: options.queueWaitMs === undefined ? hubLimits : { ...hubLimits, queueWaitMs: options.queueWaitMs },
      webhookDoor: webhookDoor({ version, allowPrivate: options.allowPrivateWebhooks ?? false }),
      seal: createSeal(opened.auditKey, "webhooks"),
      cursorSeal: createSeal(opened.auditKey, "cursors"),
      store,
      grpcAddress: () => grpcAddress,
      ...(opened.storeTime === undefined ? {} : { storeTime: opened.storeTime }),
      switches: switchesOf(options, log),
      models: await modelsOf(options, clock, log),
      ...retentionOf(options),
    });
    begun = runtime;
    const recovered = await runtime.recover();
    if (recovered > 0) log.info({ calls: recovered }, "open calls were found in the ledger and go on");
    await takeFolders(runtime, store, options, log);
    // Behind the folders, which may bring such tools, and without holding up the doors.
    void runtime.warnOfUnaskable();
    const parts = await openDoors(runtime, options, typeof tls === "object" ? tls : undefined, log);
    grpcAddress = opened.advertised ?? hostPort(options.host, parts.grpc.port);
    const builtins = keepInProcess(inProcessOf(runtime, opened.name, { ledger, store, now: () => clock.now() }), log);
    const all = { runtime, closeLedger: () => opened.close(), builtins, ...parts, folder, firstStart: opened.firstStart, drainMs: options.drainMs ?? limits.drainMs };
    try {
      const openUrl = `${typeof tls === "object" ? "https" : "http"}://${hostPort(options.host, parts.httpPort)}`;
      const address = { url: openUrl, grpc: hostPort(options.host, parts.grpc.port) };
      // A replica that made no keys has none to tell.
      if (keys.admin !== undefined) writeClientFile(folder, { ...address, key: keys.admin, ...(keys.operator === undefined ? {} : { platform_key: keys.operator }) });
    } catch (error) {
      // Open doors would keep the process from ending.
      await running({ ...all, boxes: undefined, drainMs: 0 }).stop();
      throw error;
    }
    parts.grpc.setServing(true);
    const onWatched = (backends: readonly string[]): void => recordWatched({ ledger, log, now: clock.now() }, backends);
    const place = { address: parts.grpc.loopbackAddress, folder, log, onWatched };
    const boxes = keys.boxes === undefined ? undefined : startBoxes(options, { ...place, key: keys.boxes });
    return running({ ...all, boxes });
  } catch (error) {
    // Its timers would keep the process from ending.
    await begun?.stop();
    await opened.close();
    throw error;
  }
}

function inProcessOf({ driver, sessions }: Runtime, name: string, workspace: WorkspacePorts): readonly Worker[] {
  return [serveBuiltins(driver, name, workspace), serveAgents({ driver, name, runChild: (order) => sessions.runChild(order) })];
}

/**
 * Before the doors open: no call shall come in between without its rules. Policies are checked against the tools, and
 * tools against the policies that they attach: so the tools come twice, and what is wrong with them is told the second time.
 * Agents name both.
 */
async function takeFolders(runtime: Runtime, store: DiskStore, options: DevOptions, log: Log): Promise<void> {
  const { toolsDirs, policiesDirs = [], agentsDirs = [] } = options;
  if (policiesDirs.length > 0) await registerTools(runtime, store, toolsDirs, createLog("silent"));
  await publishPolicies(runtime, policiesDirs);
  await registerTools(runtime, store, toolsDirs, log);
  await publishAgents(runtime, agentsDirs, log);
}

/** @throws Error that names the file and what is wrong in it */
async function modelsOf({ modelsFile }: DevOptions, clock: Clock, log: Log): Promise<Models> {
  const { models, providers } = await openModels({ file: modelsFile, env: process.env, clock });
  if (providers.length > 0) log.info({ providers }, "model providers of agents");
  return models;
}

function retentionOf({ retentionMs = limits.retentionMs }: DevOptions): { readonly retentionMs?: number } {
  return retentionMs === 0 ? {} : { retentionMs };
}

/**
 * What is on, and that here it may run in the weakest box there is: on a machine of one's own there is nobody else to
 * protect from it. Said at every start. @throws Error for a name that is no switch
 */
function switchesOf({ enable = [] }: DevOptions, log: Log): Switches {
  const unknown = enable.find((name) => !(privilegedTools as readonly string[]).includes(name));
  if (unknown !== undefined) throw new Error(`there is no privileged tool ${unknown}; there are ${privilegedTools.join(", ")}`);
  const on = new Set(enable);
  const boxed = packagedNames.filter((name) => on.has(name));
  const lowered = new Map(boxed.map((name) => [name, backendRanks.native]));
  log.info({ on: [...on], off: privilegedTools.filter((name) => !on.has(name)) }, "privileged built-in tools");
  if (boxed.length > 0)
    log.info({ tools: boxed, rank: backendRanks.native }, "these may run in native boxes here, where they ask for rank 40 elsewhere");
  return { on, lowered };
}

/** Said loudly at every start, and kept: whoever looks at what went wrong must see under which limits it ran. */
function recordWatched({ ledger, log, now }: { ledger: Ledger; log: Log; now: number }, backends: readonly string[]): void {
  log.warn({ backends, unsandboxed: true }, "the limits of boxes are watched here and not held by the kernel: code that means harm gets past them");
  const action = "boxes.watched_limits_accepted";
  const base = { ts: now, tenant: platformTenant, project: "", principal: "operator", action, status: "done", requestId: "" };
  const draft = { ...base, details: { backends, unsandboxed: true } };
  ledger.commit({ writes: [{ op: "append_audit", draft }] }).catch((error: unknown) => {
    log.error({ reason: String(error) }, "that limits are only watched could not be recorded");
  });
}

function startBoxes(
  { boxes = boxesDefault, acceptWatchedLimits = false }: DevOptions,
  place: {
    readonly address: string;
    readonly key: string;
    readonly folder: DataFolder;
    readonly log: Log;
    /** Kinds of boxes whose limits no kernel holds. */
    readonly onWatched: (backends: readonly string[]) => void;
  },
): BoxChild | undefined {
  if (boxes === 0) return undefined;
  const { address, key, folder, log, onWatched } = place;
  return keepBoxWorker({
    cli: fileURLToPath(new URL("../bin/signalbox.js", import.meta.url)),
    address,
    key,
    store: folder.storeFolder,
    capacity: boxes,
    acceptWatchedLimits,
    log,
    onProved: (probes) => {
      const works = Object.entries(probes).filter(([, { ok }]) => ok);
      if (works.length === 0) log.warn({ probes }, "no box works here, so sandbox tools are refused; 'signalbox doctor' says what is missing");
      else log.info({ backends: works.map(([name]) => name) }, "the sandbox worker is ready");
      const watched = works.flatMap(([name, probe]) => (probe.ok && isWatched(probe.limitsBy) ? [name] : []));
      if (watched.length > 0) onWatched(watched);
    },
  });
}

const boxesDefault = 16;

interface Parts {
  readonly http: HttpDoor;
  readonly httpPort: number;
  readonly grpc: GrpcServer;
  readonly api: ApiDoor;
}

/** @throws Error that names the file */
function readTls({ certFile, keyFile }: { readonly certFile: string; readonly keyFile: string }): Tls {
  const [cert, key] = [certFile, keyFile].map((path) => {
    try {
      return readFileSync(path);
    } catch (error) {
      throw new Error(`the TLS file ${path} cannot be read: ${(error as Error).message}`, { cause: error });
    }
  });
  if (cert === undefined || key === undefined) throw new Error("two files are read");
  try {
    createSecureContext({ cert, key });
  } catch (error) {
    throw new Error(`${certFile} and ${keyFile} are no certificate and its key: ${(error as Error).message}`, { cause: error });
  }
  return { cert, key };
}

interface Tls {
  readonly cert: Buffer;
  readonly key: Buffer;
}

async function openDoors(runtime: Runtime, options: DevOptions, tls: Tls | undefined, log: Log): Promise<Parts> {
  const shared = {
    service: runtime.service,
    // A line for every request is for machines to read; people get what needs them.
    log: options.log === "json" ? log : { info: () => undefined, error: (fields: object, message: string) => log.error({ ...fields }, message) },
    // The door refuses by itself; asking once more writes the refusal down.
    onForbidden: (asked: Asked, scope: Scope) => runtime.refusals.requireScope(asked.principal, scope, asked.requestId).catch(() => undefined),
  };
  const api = createApiDoor(shared);
  const grpc = await startGrpcServer({
    host: options.host,
    port: options.grpcPort,
    ...(tls === undefined ? {} : { tls, loopbackToo: true }),
    serviceNames: api.serviceNames,
    services: [
      api.add,
      addReflection,
      (server) =>
        addWorkService<WorkerIdentity>(server, {
          authenticate: (key) => admitWorker(runtime, key),
          onConnect: (stream: WorkStream<WorkerMessage, RuntimeMessage>, identity) => runtime.driver.attach(stream, identity),
        }),
    ],
  }).catch((error: unknown) => {
    throw portTaken((error as Error).cause, "--grpc-port", options.grpcPort) ?? error;
  });
  const http = createHttpDoor({
    ...shared,
    host: options.host,
    port: options.httpPort,
    tls,
    corsOrigins: options.corsOrigins ?? [],
  });
  try {
    const { port: httpPort } = await http.listen();
    return { http, httpPort, grpc, api };
  } catch (error) {
    await grpc.stop(0);
    throw portTaken(error, "--port", options.httpPort) ?? error;
  }
}

function portTaken(error: unknown, flag: string, port: number): Error | undefined {
  // grpc-js tells the code in its message only.
  if (!`${(error as NodeJS.ErrnoException | undefined)?.code} ${String(error)}`.includes("EADDRINUSE")) return undefined;
  return new Error(`port ${port} is taken; stop what uses it, or choose another: signalbox dev ${flag} 0`, { cause: error });
}

async function admitWorker(runtime: Runtime, key: string): Promise<WorkerIdentity | Refusal> {
  try {
    const principal = await runtime.admitWorker(key);
    return { tenant: principal.tenant, principal: principal.name };
  } catch (error) {
    if (error instanceof SignalboxError) return { refused: { code: error.code, message: error.message } };
    throw error;
  }
}

function running(
  all: Parts & {
    readonly runtime: Runtime;
    readonly closeLedger: () => Promise<void>;
    readonly boxes: BoxChild | undefined;
    readonly builtins: InProcess;
    readonly folder: DataFolder;
    readonly firstStart: boolean;
    readonly drainMs: number;
  },
): DevRuntime {
  const { runtime, builtins, http, grpc, drainMs } = all;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    grpc.setServing(false);
    // Its calls end through the doors that are open still.
    await Promise.all([runtime.drain(drainMs), all.boxes?.stop(drainMs)]);
    await Promise.all([http.close(closeGraceMs), all.api.close(closeGraceMs)]);
    await builtins.close();
    await runtime.stop();
    await grpc.stop(closeGraceMs);
    await all.closeLedger();
    resolve();
  };
  return {
    httpPort: all.httpPort,
    grpcPort: grpc.port,
    keyFile: all.folder.clientFile,
    firstStart: all.firstStart,
    stop: () => (stopping ??= stop()),
    closed,
  };
}

/** Makes a new admin key for a stopped runtime. @throws LedgerUnavailable while the runtime runs */
export async function resetLocalKey(dataDir: string): Promise<{ readonly keyFile: string }> {
  const folder = existing(dataDir);
  const clock = systemClock();
  const ledger = openLedger(folder, clock, createLog("silent"), () => undefined);
  const setting: Setting = { folder, clock, chance: systemChance(), ledger };
  try {
    await ensureTenants(setting);
    const keys = await renewKeys(setting);
    const before = readClientFile(folder);
    const { url, grpc } = before ?? { url: "http://127.0.0.1:8080", grpc: "127.0.0.1:9090" };
    writeClientFile(folder, { url, grpc, key: keys.admin, platform_key: keys.operator });
    return { keyFile: folder.clientFile };
  } finally {
    await setting.ledger.close();
  }
}

/** Checks the audit of a data folder, all tenants, reading only; the runtime may be running. */
export async function verifyLocal(dataDir: string): Promise<AuditVerdict> {
  const folder = existing(dataDir);
  return verifyAuditFile(folder.ledgerFile, auditKey(folder));
}

function existing(dataDir: string): DataFolder {
  const folder = dataFolder(dataDir);
  if (!existsSync(folder.ledgerFile)) throw new Error(`${folder.path} holds no ledger; name the data folder with --data`);
  return folder;
}

function hostPort(host: string, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return reachable.includes(":") ? `[${reachable}]:${port}` : `${reachable}:${port}`;
}
