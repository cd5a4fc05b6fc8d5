// The composition root: one function per deployment mode, and the only place that knows what is plugged into what.
import { existsSync } from "node:fs";
import { hostname } from "node:os";
import { limits, makeId, SignalboxError, type RuntimeMessage, type WorkerMessage, type WorkStream } from "@signalbox/protocol";
import type { Worker } from "@signalbox/worker";
import { base64url, sha256, systemChance } from "./adapters/system/crypto.ts";
import { systemClock } from "./adapters/system/clock.ts";
import { auditKey, dataFolder, makeFolder, readClientFile, writeClientFile, type DataFolder } from "./adapters/files/data-folder.ts";
import { startGrpcServer, type GrpcServer } from "./adapters/grpc/server.ts";
import { addWorkService, type Refusal } from "./adapters/grpc/work-door.ts";
import { createHttpDoor, type HttpDoor } from "./adapters/http/server.ts";
import { otelMeters } from "./adapters/otel/meters.ts";
import { SqliteLedger } from "./adapters/sqlite/ledger.ts";
import { verifyAuditFile } from "./adapters/sqlite/verify-file.ts";
import { echoManifest, serveEcho } from "./adapters/builtin/echo.ts";
import { findManifests } from "./adapters/files/manifest-files.ts";
import { inlined, readSource } from "./adapters/files/manifest-source.ts";
import { hubLimits } from "./config.ts";
import type { Chance, Clock, Log } from "./corridor/ports.ts";
import { readTool } from "./corridor/tools.ts";
import type { AuditVerdict } from "./ledger/audit.ts";
import type { Ledger } from "./ledger/port.ts";
import { createLog, type LogForm } from "./adapters/system/log.ts";
import { createRuntime, type Runtime } from "./runtime.ts";
import { Line } from "./schedule/line.ts";
import { makeKeyText } from "./tenancy/directory.ts";
import { platformTenant, type Grant, type Key, type Principal } from "./tenancy/types.ts";
import type { WorkerIdentity } from "./dispatch/types.ts";
import { manifestDigest } from "./registry/digest.ts";
import { version } from "./version.ts";

export interface DevOptions {
  readonly host: string;
  /** 0 takes a free port. */
  readonly httpPort: number;
  readonly grpcPort: number;
  readonly dataDir: string;
  /** Every tool.yaml below these folders is registered at start. */
  readonly toolsDirs: readonly string[];
  readonly drainMs?: number;
  readonly log?: LogForm;
}

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

const defaultTenant = "default";
const defaultProject = "default";
const adminPrincipal = "user:admin";
/** How long open HTTP requests and streams may still take once the calls are done. */
const closeGraceMs = 2_000;

/** The whole runtime in one process, on loopback, on SQLite. @throws Error that says what to do, e.g. when a port is taken */
export async function startDev(options: DevOptions): Promise<DevRuntime> {
  const folder = dataFolder(options.dataDir);
  makeFolder(folder);
  const firstStart = !existsSync(folder.ledgerFile);
  const clock = systemClock();
  const chance = systemChance();
  const log = createLog(options.log ?? "pretty");
  const meters = otelMeters();
  const replica = `${hostname()}-embedded`.slice(0, limits.nameCharsMax);
  const ledger = openLedger(folder, clock, log, (commit) => {
    meters.count("ledger_commits_total");
    meters.observe("ledger_commit_seconds", commit.ms / 1000);
    meters.observe("ledger_batch_size", commit.units);
  });
  try {
    const secret = await ensureTenant({ ledger, folder, clock, chance });
    await ensureEcho(ledger, clock);
    const runtime = createRuntime({
      replica,
      version,
      ledger,
      line: new Line(),
      clock,
      chance,
      hash: sha256,
      base64url,
      meters,
      log,
      limits: hubLimits,
    });
    const recovered = await runtime.recover();
    if (recovered > 0) log.info({ calls: recovered }, "open calls were found in the ledger and go on");
    const parts = await openDoors(runtime, options, log);
    const echo = serveEcho(runtime.driver, replica);
    const echoRuns = echo.run().catch((error: unknown) => log.error({ reason: String(error) }, "the built-in echo stopped"));
    const all = { runtime, ledger, echo, echoRuns, ...parts, folder, firstStart, drainMs: options.drainMs ?? limits.drainMs };
    try {
      const openUrl = `http://${hostPort(options.host, parts.httpPort)}`;
      writeClientFile(folder, { url: openUrl, key: secret, grpc: hostPort(options.host, parts.grpc.port) });
      await registerFolders(runtime, options.toolsDirs, log);
    } catch (error) {
      // Open doors would keep the process from ending.
      await running({ ...all, drainMs: 0 }).stop();
      throw error;
    }
    parts.grpc.setServing(true);
    return running(all);
  } catch (error) {
    await ledger.close();
    throw error;
  }
}

interface Parts {
  readonly http: HttpDoor;
  readonly httpPort: number;
  readonly grpc: GrpcServer;
}

function openLedger(
  folder: DataFolder,
  clock: Clock,
  log: Log,
  onCommit: (commit: { readonly units: number; readonly ms: number }) => void,
): SqliteLedger {
  return new SqliteLedger({
    path: folder.ledgerFile,
    auditKey: auditKey(folder),
    lane: "embedded",
    now: () => clock.now(),
    onError: (error) => log.error({ reason: String(error) }, "the ledger has trouble"),
    onCommit,
  });
}

async function openDoors(runtime: Runtime, options: DevOptions, log: Log): Promise<Parts> {
  const grpc = await startGrpcServer({
    host: options.host,
    port: options.grpcPort,
    services: [
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
    service: runtime.service,
    host: options.host,
    port: options.httpPort,
    // A line for every request is for machines to read; people get what needs them.
    log: options.log === "json" ? log : { info: () => undefined, error: (fields, message) => log.error({ ...fields }, message) },
    // The door refuses by itself; asking once more writes the refusal down.
    onForbidden: (asked, scope) => runtime.refusals.requireScope(asked.principal, scope, asked.requestId).catch(() => undefined),
  });
  try {
    const { port: httpPort } = await http.listen();
    return { http, httpPort, grpc };
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
    const principal = await runtime.service.authenticate(key, "");
    await runtime.refusals.requireScope(principal, "workers:connect", "");
    return { tenant: principal.tenant, principal: principal.name };
  } catch (error) {
    if (error instanceof SignalboxError) return { refused: { code: error.code, message: error.message } };
    throw error;
  }
}

function running(
  all: Parts & {
    readonly runtime: Runtime;
    readonly ledger: Ledger;
    readonly echo: Worker;
    readonly echoRuns: Promise<void>;
    readonly folder: DataFolder;
    readonly firstStart: boolean;
    readonly drainMs: number;
  },
): DevRuntime {
  const { runtime, ledger, echo, echoRuns, http, grpc, drainMs } = all;
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  let stopping: Promise<void> | undefined;
  const stop = async (): Promise<void> => {
    grpc.setServing(false);
    await runtime.drain(drainMs);
    await http.close(closeGraceMs);
    await echo.close();
    await echoRuns;
    runtime.driver.stop();
    await grpc.stop(closeGraceMs);
    await ledger.close();
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

interface Setting {
  readonly ledger: Ledger;
  readonly folder: DataFolder;
  readonly clock: Clock;
  readonly chance: Chance;
}

/** What the client file says until the doors are open: addresses at which nobody listens, never another runtime's. */
const noDoors = { url: "http://127.0.0.1:9", grpc: "127.0.0.1:9" };

/** First start: tenant, project, admin and its grant in one go. @returns the key that client.json holds; undefined when there is none */
async function ensureTenant(setting: Setting): Promise<string> {
  const { ledger, folder, clock } = setting;
  const tenants = await ledger.tenants();
  const now = clock.now();
  if (tenants.some((tenant) => tenant.tenant === defaultTenant)) return knownKey(setting);
  const { key, secret } = newAdminKey(setting);
  // The file first: a crash in between leaves a key that opens nothing, never a runtime that nobody can open.
  writeClientFile(folder, { ...noDoors, key: secret });
  const grant: Grant = {
    tenant: defaultTenant,
    grantId: makeId("grant", now, setting.chance.bytes(10)),
    subject: adminPrincipal,
    project: "",
    permissions: ["*"],
    roles: [],
    createdAt: now,
    createdBy: "service:signalbox",
    expiresAt: null,
    revokedAt: null,
  };
  await ledger.commit({
    writes: [
      { op: "insert_tenant", row: { tenant: defaultTenant, weight: 1, createdAt: now } },
      { op: "insert_project", row: { tenant: defaultTenant, project: defaultProject, environment: "development", createdAt: now } },
      { op: "insert_key", row: key },
      { op: "insert_grant", row: grant },
      { op: "append_audit", draft: setUpAudit(now, "tenant.created", { key_id: key.keyId, grant_id: grant.grantId }) },
    ],
  });
  return secret;
}

/** The key of the client file; where that is gone or damaged, a new one, as `keys reset --local` would make it. */
async function knownKey(setting: Setting): Promise<string> {
  const known = readClientFile(setting.folder)?.key;
  return known ?? (await addAdminKey(setting));
}

/** Whoever can write the data folder may have an admin key; that one was made is on record. */
async function addAdminKey(setting: Setting): Promise<string> {
  const { key, secret } = newAdminKey(setting);
  const draft = setUpAudit(setting.clock.now(), "key.created", { key_id: key.keyId, local: true });
  await setting.ledger.commit({
    writes: [
      { op: "insert_key", row: key },
      { op: "append_audit", draft },
    ],
  });
  return secret;
}

function setUpAudit(now: number, action: string, details: Readonly<Record<string, unknown>>) {
  const base = { ts: now, tenant: defaultTenant, project: defaultProject, principal: "service:signalbox", status: "done" };
  return { ...base, action, details };
}

function newAdminKey({ clock, chance }: Setting): { key: Key; secret: string } {
  const now = clock.now();
  const keyId = makeId("key", now, chance.bytes(10));
  const secret = makeKeyText(keyId.slice("key_".length), base64url(chance.bytes(32)));
  const key: Key = {
    tenant: defaultTenant,
    keyId,
    hash: sha256(secret),
    label: "first admin key",
    principal: adminPrincipal,
    project: defaultProject,
    scopes: ["*"],
    roles: [],
    createdAt: now,
    expiresAt: null,
    revokedAt: null,
  };
  return { key, secret };
}

/** The platform's own tool; a version that is there already stays as it is. */
async function ensureEcho(ledger: Ledger, clock: Clock): Promise<void> {
  const { manifest } = readTool(echoManifest);
  const { name: tool, version: toolVersion } = manifest.metadata;
  if ((await ledger.toolVersion(platformTenant, tool, toolVersion)) !== undefined) return;
  const row = {
    tenant: platformTenant,
    tool,
    version: toolVersion,
    metadata: manifest.metadata,
    spec: manifest.spec,
    manifestDigest: manifestDigest(echoManifest, sha256),
    trust: "first_party" as const,
    status: "active" as const,
    publishedAt: clock.now(),
    publishedBy: "service:signalbox",
  };
  await ledger.commit({ writes: [{ op: "insert_tool_version", row, activate: true }] });
}

const operator: Principal = {
  tenant: defaultTenant,
  project: defaultProject,
  name: "service:signalbox-dev",
  keyId: "",
  scopes: new Set(["tools:write"]),
  roles: [],
};

/** Registers the manifests below the folders; a bad one is told and does not keep the runtime from starting. */
async function registerFolders(runtime: Runtime, folders: readonly string[], log: Log): Promise<void> {
  if (folders.length === 0) return;
  for (const file of await findManifests(process.cwd(), folders)) {
    const read = await readSource(file);
    if (!read.ok) {
      log.error({ file: file.shown, problems: read.problems }, "a manifest cannot be read and was not registered");
      continue;
    }
    try {
      await runtime.service.registerTool({ principal: operator, requestId: "" }, inlined(read.source), {});
    } catch (error) {
      if (!(error instanceof SignalboxError)) throw error;
      log.error({ file: file.shown, reason: error.message, details: error.details }, "a manifest was refused and not registered");
    }
  }
}

/** Makes a new admin key for a stopped runtime. @throws LedgerUnavailable while the runtime runs */
export async function resetLocalKey(dataDir: string): Promise<{ readonly keyFile: string }> {
  const folder = existing(dataDir);
  const clock = systemClock();
  const ledger = openLedger(folder, clock, createLog("silent"), () => undefined);
  const setting: Setting = { folder, clock, chance: systemChance(), ledger };
  try {
    const secret = await addAdminKey(setting);
    const before = readClientFile(folder);
    writeClientFile(folder, { url: before?.url ?? "http://127.0.0.1:8080", key: secret, grpc: before?.grpc ?? "127.0.0.1:9090" });
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
