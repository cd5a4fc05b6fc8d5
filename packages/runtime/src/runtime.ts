// The corridor: takes a call from room to room, in order, and answers every front door with the same service.
import type { Call, CallState } from "./call/types.ts";
import { callStates, isTerminal } from "./call/types.ts";
import type { AdminPorts } from "./corridor/admin.ts";
import { admitWorker } from "./corridor/authenticate.ts";
import { warnOfUnaskable } from "./corridor/askable.ts";
import { Approvals } from "./corridor/approvals.ts";
import { argsOf } from "./corridor/args.ts";
import { Catalog } from "./corridor/catalog.ts";
import { pagingWith } from "./corridor/cursors.ts";
import { Driver } from "./corridor/driver.ts";
import type { Consult } from "./corridor/driver-ports.ts";
import type { ContentStore } from "./corridor/files-ports.ts";
import { lookAgain, type GovernorPorts } from "./corridor/governor.ts";
import { Limits } from "./corridor/limits.ts";
import { replicasOf } from "./corridor/replicas/plug.ts";
import type { Replicas } from "./corridor/replicas/replicas.ts";
import { Locks } from "./corridor/locks.ts";
import { PolicyBook } from "./corridor/policy-book.ts";
import type { Chance, Clock, Hash, Log, Meters } from "./corridor/ports.ts";
import type { SessionDriver } from "./corridor/sessions/driver.ts";
import { sessionsOf } from "./corridor/sessions/plug.ts";
import { reconsider } from "./corridor/reconsider.ts";
import { Refusals } from "./corridor/refusals.ts";
import { keptResult } from "./corridor/result-cache.ts";
import { AgentBook } from "./corridor/sessions/agent-book.ts";
import { Retention } from "./corridor/retention.ts";
import { serviceOf, type ServicePorts } from "./corridor/service.ts";
import { Streams } from "./corridor/streams.ts";
import type { Switches } from "./corridor/switches.ts";
import { triggersOf } from "./corridor/triggers.ts";
import { vet } from "./corridor/vet.ts";
import type { Seal, WebhookDoor } from "./corridor/webhook-ports.ts";
import { isOwnPart, isSeen } from "./corridor/workers.ts";
import { createWebhooks, type Webhooks } from "./corridor/webhooks.ts";
import { Hub } from "./dispatch/hub.ts";
import type { HubLimits, WaitingLine } from "./dispatch/types.ts";
import type { Ledger } from "./ledger/port.ts";
import type { Models } from "./session/model.ts";
import { isShared } from "./ledger/shared.ts";
import type { Calendar } from "./schedule/types.ts";
import type { RuntimeStatus, Service } from "./service.ts";
import { Directory } from "./tenancy/directory.ts";
import { platformTenant, type Asked, type Key, type Principal } from "./tenancy/types.ts";

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
  readonly calendar: Calendar;
  readonly limits: HubLimits;
  readonly webhookDoor: WebhookDoor;
  /** For what the ledger keeps shut. */
  readonly seal: Seal;
  /** For the cursors of lists. */
  readonly cursorSeal: Seal;
  readonly store: ContentStore;
  /** Where replicas share the ledger: `host:port` of the Work door, for workers that are sent here; empty while it is not open. */
  readonly grpcAddress?: () => string;
  /** The same: told what the store's clock says, and between which instants of the machine's own. */
  readonly storeTime?: (storeNow: number, asked: number, heard: number) => void;
  /** How long ended calls are kept; left out: for ever. */
  readonly retentionMs?: number;
  /** Left out: no privileged built-in tool is on, and none has a weaker box. */
  readonly switches?: Switches;
  /** Left out: no provider is configured, and no agent gets an answer. */
  readonly models?: Models;
}

export interface Runtime {
  readonly service: Service;
  readonly driver: Driver;
  readonly directory: Directory;
  readonly refusals: Refusals;
  readonly policies: PolicyBook;
  readonly approvals: Approvals;
  readonly sessions: SessionDriver;
  /** Whoever wants to open a Work stream. @throws SignalboxError */
  admitWorker(key: string): Promise<Principal>;
  /** Takes rules, freezes and the open calls of the ledger into memory; before any door opens. */
  recover(): Promise<number>;
  /** Tells the log of unsafe tools that nobody can be asked about. */
  warnOfUnaskable(): Promise<void>;
  /** No new work; waits at most `ms` for what workers hold; wakes everybody who waits. `elsewhere`: Work doors of other replicas. */
  drain(ms: number): Promise<{ readonly idle: boolean }>;
  /** Ends timers, streams and deliveries; the ledger can be closed then. */
  stop(): Promise<void>;
}

interface Ending {
  readonly driver: Driver;
  readonly streams: Streams;
  readonly approvals: Approvals;
  readonly webhooks: { stop(): Promise<void> };
  readonly leaving: AbortController;
  readonly retention: Retention | undefined;
  readonly replicas: Replicas | undefined;
  readonly sessions: SessionDriver;
}

export function createRuntime(ports: RuntimePorts): Runtime {
  const { ledger, clock, meters, log, hash } = ports;
  const startedAt = clock.now();
  const hub = new Hub(ports.replica, ports.limits, ports.line, startedAt);
  const changed = (): void => void hub.newEpoch();
  const catalog = new Catalog(ledger, hash, changed, ports.switches);
  const directory = new Directory(ledger, hash, { changed, used: (key, at) => keepUse(ports, key, at) });
  const policies = new PolicyBook(() => {
    changed();
    const current = policies.current();
    if (current.ok) hub.triggersAre(triggersOf(current.set));
  });
  const refusals = new Refusals({ ledger, clock, meters, log });
  const agents = new AgentBook(ledger);
  const governing: GovernorPorts = { hub, ledger, catalog, directory, policies, agents, clock };
  const limits = new Limits({ hub, ledger, clock, meters, calendar: ports.calendar });
  const webhooks = createWebhooks({ ...ports, base64url: (bytes) => ports.base64url(bytes), refusals, door: ports.webhookDoor, seal: ports.seal });
  const shared = isShared(ledger) ? ledger : undefined;
  const kept = shared === undefined ? {} : { kept: (tenant: string, callId: string) => shared.wake([{ type: "said", tenant, callId }]) };
  const streams = new Streams({ ledger, clock, log, find: (tenant, callId) => hub.find(tenant, callId), ...kept });
  const consult = consultOf({ ...ports, governing, streams, limits, approvals: () => approvals, sessions: () => sessions });
  const driver = new Driver({ hub, ledger, clock, meters, log, factsFor: (call) => catalog.factsFor(call), consult });
  const told = { chance: ports.chance, hash, meters, log };
  const approvals = new Approvals({ ...governing, ...told, driver, noticed: () => webhooks.poke(), closed: (approval) => sessions.closed(approval) });
  const replicas =
    shared === undefined ? undefined : replicasOf({ ...ports, ...governing, ledger: shared, grpcAddress: ports.grpcAddress ?? (() => ""), storeTime: ports.storeTime ?? (() => undefined), driver, streams, limits, approvals, webhooks, sessionHeard: (tenant, sessionId) => sessions.heard(tenant, sessionId) });
  const leaving = new AbortController();
  const retention = ports.retentionMs === undefined ? undefined : new Retention({ ...governing, store: ports.store, log, meters }, ports.retentionMs);
  const admin: AdminPorts = {
    ...governing,
    limits,
    driver,
    approvals,
    counting: new Locks(),
    store: ports.store,
    refusals,
    ...told,
    draining: leaving.signal,
    base64url: (bytes) => ports.base64url(bytes),
  };
  const { driver: sessions, parts: sessionParts } = sessionsOf({ admin, log, replica: ports.replica, models: ports.models, shared });
  const parts: ServicePorts = {
    ...admin,
    ...sessionParts,
    calendar: ports.calendar,
    webhooks: webhooks.service,
    streams,
    reconsider: () => reconsider({ ...governing, driver, approvals, log }),
    status: (asked) => statusOf({ ports, hub, driver, startedAt }, asked),
    paging: pagingWith(ports.cursorSeal),
  };
  return {
    service: serviceOf(parts),
    driver,
    directory,
    refusals,
    policies,
    approvals,
    sessions,
    admitWorker: (key) => admitWorker(parts, key, ""),
    async recover() {
      const open = await recover(parts, webhooks, replicas);
      sessions.start(shared === undefined);
      retention?.start();
      return open;
    },
    warnOfUnaskable: () => warnOfUnaskable(parts, log),
    ...endings({ driver, streams, approvals, webhooks, leaving, retention, replicas, sessions }),
  };
}

interface Consulted extends Pick<RuntimePorts, "ledger" | "clock" | "log" | "meters"> {
  readonly governing: GovernorPorts;
  readonly streams: Streams;
  readonly limits: Limits;
  /** They are made with the driver that asks them. */
  readonly approvals: () => Approvals;
  readonly sessions: () => SessionDriver;
}

function consultOf(parts: Consulted): Consult {
  const { governing, streams, limits, approvals, sessions } = parts;
  return {
    async recheck(call) {
      const look = await lookAgain(governing, call, argsOf(call));
      if (!look.ok) return { error: look.error };
      const answer = await keptResult(governing, call);
      return answer === null ? look.clearance : { ...look.clearance, answer };
    },
    endApproval: (call, happening) => approvals().endWithCall(call, happening),
    trigger: (call, outcome) => approvals().trigger(call, outcome),
    vet: (offer) => vet(parts, offer),
    said: (call, message) => streams.hear(call, message),
    given: (tenant, callId) => streams.given(tenant, callId),
    told(call) {
      limits.told(call);
      streams.told(call);
      sessions().told(call);
    },
  };
}

/** Nobody waits for it; one that is lost is told again a minute later. */
function keepUse({ ledger, log }: RuntimePorts, { tenant, keyId }: Key, at: number): void {
  ledger.commit({ lazy: true, writes: [{ op: "touch_key", tenant, keyId, at }] }).catch((error: unknown) => {
    log.warn({ reason: String(error) }, "when a key was last used could not be kept");
  });
}

function endings({ driver, streams, approvals, webhooks, leaving, retention, replicas, sessions }: Ending): Pick<Runtime, "drain" | "stop"> {
  return {
    async drain(ms) {
      await replicas?.drain();
      // They go on elsewhere, or at the next start; what they called goes on here.
      await sessions.stop();
      const drained = driver.drain(ms, replicas?.addresses());
      leaving.abort();
      const { idle } = await drained;
      // Only now: whoever follows a call that ends meanwhile hears its end here.
      streams.leave();
      return { idle };
    },
    async stop() {
      await sessions.stop();
      await retention?.stop();
      await replicas?.stop();
      approvals.stop();
      await webhooks.stop();
      driver.stop();
      await streams.stop();
    },
  };
}

interface StatusParts {
  readonly ports: RuntimePorts;
  readonly hub: Hub;
  readonly driver: Driver;
  readonly startedAt: number;
}

/** How busy others are is nobody's business but the operator's. */
function statusOf({ ports, hub, driver, startedAt }: StatusParts, asked: Asked | undefined): RuntimeStatus {
  const tenant = asked?.principal.tenant === platformTenant ? undefined : asked?.principal.tenant;
  const reasons: string[] = [];
  if (hub.draining) reasons.push("draining");
  if (driver.failing) reasons.push("ledger_unavailable");
  const calls: Partial<Record<CallState, number>> = {};
  for (const state of callStates) {
    if (isTerminal(state)) continue;
    const count = hub.countIn(state, tenant);
    if (count > 0) calls[state] = count;
  }
  let workers = 0;
  for (const session of hub.sessions()) if (session.registered && !isOwnPart(session) && isSeen(session.identity.tenant, tenant)) workers++;
  const { version, replica } = ports;
  return { version, replica, startedAt, ready: reasons.length === 0, draining: hub.draining, reasons, calls, workers };
}

/** Rules and brakes first, so that no call starts that they would hold; then the calls, and then what time has ended meanwhile. */
async function recover(parts: ServicePorts, webhooks: Webhooks, replicas: Replicas | undefined): Promise<number> {
  const { ledger, hub, catalog, policies, limits, approvals, driver, clock, streams } = parts;
  // Before anything is read: what changes from here on is heard of.
  await replicas?.start();
  await policies.load(ledger);
  await limits.load();
  for (const { tenant, tool } of await ledger.freezes()) hub.freeze(tenant, tool);
  for (const { tenant, weight, suspendedAt } of await ledger.tenants()) {
    hub.weigh(tenant, weight);
    if (suspendedAt !== null) hub.suspend(tenant);
  }
  let count = 0;
  // What waits is everybody's, and what an earlier process worked on is its workers' to bring, or the sweep's to find.
  if (replicas !== undefined) return count;
  const left: Call[] = [];
  for await (const row of ledger.openCalls()) {
    await streams.recover(row);
    hub.restore(row, await catalog.factsFor(row), clock.now());
    limits.found(row);
    count++;
    // What ran it here ended with the process; its session is found again.
    if (row.executor === "agent" && (row.state === "dispatched" || row.state === "running")) left.push(row);
  }
  for (const { tenant, callId, fence } of left) driver.happen(tenant, callId, { type: "missing", fence });
  driver.pump();
  await approvals.sweep();
  webhooks.start();
  return count;
}
