// The corridor: takes a call from room to room, in order, and answers every front door with the same service.
import type { CallState } from "./call/types.ts";
import { callStates, isTerminal } from "./call/types.ts";
import { createGrant, createKey, listAudit, listGrants, listKeys, revokeGrant, revokeKey, verifyAudit, type AdminPorts } from "./corridor/admin.ts";
import { Catalog } from "./corridor/catalog.ts";
import { Driver } from "./corridor/driver.ts";
import { cancel, getExecution, listEvents, listExecutions, resolve } from "./corridor/executions.ts";
import { invoke, storable } from "./corridor/invoke.ts";
import type { Chance, Clock, Hash, Log, Meters } from "./corridor/ports.ts";
import { Refusals } from "./corridor/refusals.ts";
import { activateTool, getTool, listTools, registerTool } from "./corridor/tools.ts";
import { workerViews } from "./corridor/workers.ts";
import { Hub } from "./dispatch/hub.ts";
import type { HubLimits, WaitingLine } from "./dispatch/types.ts";
import type { Ledger } from "./ledger/port.ts";
import type { RuntimeStatus, Service } from "./service.ts";
import { Directory } from "./tenancy/directory.ts";
import { errorTable, SignalboxError } from "@signalbox/protocol";

export interface RuntimePorts {
  readonly replica: string;
  readonly version: string;
  readonly ledger: Ledger;
  readonly line: WaitingLine;
  readonly clock: Clock;
  readonly chance: Chance;
  readonly hash: Hash;
  base64url(bytes: Uint8Array): string;
  readonly meters: Meters;
  readonly log: Log;
  readonly limits: HubLimits;
}

export interface Runtime {
  readonly service: Service;
  readonly driver: Driver;
  readonly directory: Directory;
  readonly refusals: Refusals;
  /** Takes the open calls of the ledger into memory; before any door opens. */
  recover(): Promise<number>;
  /** No new work; waits at most `ms` for what workers hold; wakes everybody who waits. */
  drain(ms: number): Promise<{ readonly idle: boolean }>;
}

export function createRuntime(ports: RuntimePorts): Runtime {
  const { ledger, clock, meters, log } = ports;
  const startedAt = clock.now();
  const hub = new Hub(ports.replica, ports.limits, ports.line, startedAt);
  const catalog = new Catalog(ledger, ports.hash);
  const directory = new Directory(ledger, ports.hash);
  const refusals = new Refusals({ ledger, clock, meters, log });
  const driver = new Driver({ hub, ledger, clock, meters, log, checkFor: (call) => catalog.checkFor(call) });
  const leaving = new AbortController();
  const admin: AdminPorts = {
    hub,
    driver,
    ledger,
    catalog,
    directory,
    refusals,
    clock,
    chance: ports.chance,
    hash: ports.hash,
    meters,
    draining: leaving.signal,
    base64url: (bytes) => ports.base64url(bytes),
  };
  const status = (): RuntimeStatus => statusOf(ports, hub, driver, startedAt);
  return {
    service: serviceOf(admin, status),
    driver,
    directory,
    refusals,
    recover: () => recover(ledger, hub, catalog, driver, clock),
    async drain(ms) {
      const drained = driver.drain(ms);
      leaving.abort();
      return drained;
    },
  };
}

function serviceOf(ports: AdminPorts, status: () => RuntimeStatus): Service {
  return {
    async authenticate(token, requestId) {
      try {
        return await storable(ports.directory.authenticate(token, ports.clock.now()));
      } catch (error) {
        if (error instanceof SignalboxError && errorTable[error.code].http === 401) ports.refusals.loginRefused(error.code, requestId);
        throw error;
      }
    },
    invoke: (asked, request) => invoke(ports, asked, request),
    getExecution: (asked, id) => getExecution(ports, asked, id),
    listEvents: (asked, id, afterSeq, limit) => listEvents(ports, asked, id, afterSeq, limit),
    listExecutions: (asked, query) => listExecutions(ports, asked, query),
    cancel: (asked, id) => cancel(ports, asked, id),
    resolve: (asked, id, answer) => resolve(ports, asked, id, answer),
    registerTool: (asked, document, options) => registerTool(ports, asked, document, options),
    listTools: (asked, limit, cursor) => listTools(ports, asked, limit, cursor),
    getTool: (asked, tool, version) => getTool(ports, asked, tool, version),
    activateTool: (asked, tool, version) => activateTool(ports, asked, tool, version),
    createKey: (asked, key) => createKey(ports, asked, key),
    listKeys: (asked) => listKeys(ports, asked),
    revokeKey: (asked, keyId) => revokeKey(ports, asked, keyId),
    createGrant: (asked, grant) => createGrant(ports, asked, grant),
    listGrants: (asked) => listGrants(ports, asked),
    revokeGrant: (asked, grantId) => revokeGrant(ports, asked, grantId),
    listAudit: (asked, filter, limit, cursor) => listAudit(ports, asked, filter, limit, cursor),
    verifyAudit: (asked) => verifyAudit(ports, asked),
    async listWorkers(asked) {
      await ports.refusals.requireScope(asked.principal, "calls:read", asked.requestId);
      return workerViews(ports.hub.sessions(), asked.principal, ports.clock.now());
    },
    status,
    metrics: () => ports.meters.text(),
  };
}

function statusOf(ports: RuntimePorts, hub: Hub, driver: Driver, startedAt: number): RuntimeStatus {
  const reasons: string[] = [];
  if (hub.draining) reasons.push("draining");
  if (driver.failing) reasons.push("ledger_unavailable");
  const calls: Partial<Record<CallState, number>> = {};
  for (const state of callStates) {
    if (isTerminal(state)) continue;
    const count = hub.countIn(state);
    if (count > 0) calls[state] = count;
  }
  let workers = 0;
  for (const session of hub.sessions()) if (session.registered) workers++;
  const { version, replica } = ports;
  return { version, replica, startedAt, ready: reasons.length === 0, draining: hub.draining, reasons, calls, workers };
}

async function recover(ledger: Ledger, hub: Hub, catalog: Catalog, driver: Driver, clock: Clock): Promise<number> {
  let count = 0;
  for await (const row of ledger.openCalls()) {
    hub.restore(row, await catalog.checkFor(row), clock.now());
    count++;
  }
  driver.pump();
  return count;
}
