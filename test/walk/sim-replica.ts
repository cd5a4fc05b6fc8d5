// One control-plane process of the walk: the real hub, driver, governor and approvals over the store that outlives them.
import { limits } from "@signalbox/protocol";
import { argsOf } from "../../packages/runtime/src/corridor/args.ts";
import { AgentBook } from "../../packages/runtime/src/corridor/sessions/agent-book.ts";
import { Approvals } from "../../packages/runtime/src/corridor/approvals.ts";
import { resultCheck } from "../../packages/runtime/src/corridor/check-result.ts";
import { Driver } from "../../packages/runtime/src/corridor/driver.ts";
import type { Consult } from "../../packages/runtime/src/corridor/driver-ports.ts";
import { lookAgain, type GovernorPorts } from "../../packages/runtime/src/corridor/governor.ts";
import type { PolicyBook } from "../../packages/runtime/src/corridor/policy-book.ts";
import { triggersOf } from "../../packages/runtime/src/corridor/triggers.ts";
import { Hub } from "../../packages/runtime/src/dispatch/hub.ts";
import type { CapBook, HubLimits, ToolFacts } from "../../packages/runtime/src/dispatch/types.ts";
import { LedgerUnavailable, type Ledger } from "../../packages/runtime/src/ledger/port.ts";
import { FairLine } from "../../packages/runtime/src/schedule/fair-line.ts";
import { isTerminal } from "../../packages/runtime/src/call/types.ts";
import type { Random } from "./random.ts";
import { keyOf, type SimStore } from "./sim-ledger.ts";
import { BarredCatalog, hash, openDirectory, tenant, toolReads } from "./sim-rules.ts";
import type { SimTime } from "./sim-time.ts";
import type { Spans } from "./spans.ts";

export const hubLimits: HubLimits = {
  queueWaitMs: limits.queueWaitMs,
  startDeadlineMs: limits.startDeadlineMs,
  leaseMs: limits.leaseMs,
  stopMarginMs: 1_000,
  lostAttemptsMax: limits.lostAttemptsMax,
  placementsMax: limits.placementsMax,
  workerSilentMs: limits.workerSilentMs,
  heartbeatMs: limits.heartbeatMs,
  heartbeatsMissedMax: limits.heartbeatsMissedMax,
  lazyWriteMs: limits.lazyWriteMs,
  queueDepthPerTenantMax: limits.queueDepthPerTenantMax,
  workerCapacityMax: limits.workerCapacityMax,
  handlersPerWorkerMax: limits.handlersPerWorkerMax,
  workersPerTenantMax: limits.workersPerTenantMax,
};

export const facts: ToolFacts = { check: resultCheck(undefined, (text) => `h${text.length}`), integrity: { identities: [], imageDigests: [] } };

/** The same of tools that are left alone when they fail too often. */
export const fragile: ToolFacts = { ...facts, breaker: { failures: 3, coolDownMs: 5_000 } };

export interface Replica {
  readonly driver: Driver;
  readonly hub: Hub;
  readonly approvals: Approvals;
  readonly governing: GovernorPorts;
  readonly life: { alive: boolean };
}

export interface ReplicaParts {
  readonly name: string;
  readonly time: SimTime;
  readonly random: Random;
  readonly store: SimStore;
  readonly policies: PolicyBook;
  /** Tools that may not run at the moment, and tools whose dispatch is stopped (empty name: all). */
  readonly barred: Spans;
  readonly frozen: Spans;
  readonly caps: CapBook;
  readonly facts: ToolFacts;
  /** Errors that the process logs. */
  heard(fields: object, message: string): void;
}

export function startReplica(parts: ReplicaParts): Replica {
  const { time, store, random, policies } = parts;
  const life = { alive: true };
  const clock = time.clock(() => life.alive);
  const hub = new Hub(parts.name, hubLimits, new FairLine(), clock.now());
  const ledger = ledgerOf(parts, life);
  const meters = { count() {}, observe() {}, text: async () => "" };
  const log = { info() {}, warn() {}, error: (fields: object, message: string) => parts.heard(fields, message) };
  const catalog = new BarredCatalog((tool) => parts.barred.holds(tool));
  const governing: GovernorPorts = { hub, ledger, catalog, directory: openDirectory, policies, agents: new AgentBook(ledger), clock };
  const consult: Consult = {
    async recheck(call) {
      const look = await lookAgain(governing, call, argsOf(call));
      return look.ok ? look.clearance : { error: look.error };
    },
    endApproval: (call, happening) => approvals.endWithCall(call, happening),
    trigger: (call, outcome) => approvals.trigger(call, outcome),
    said: () => undefined,
    given: () => undefined,
    told: () => undefined,
    vet: async () => [],
  };
  const driver = new Driver({ hub, ledger, clock, meters, log, factsFor: async () => parts.facts, consult });
  const chance = { bytes: (count: number) => Uint8Array.from({ length: count }, () => random.below(256)) };
  const approvals = new Approvals({ ...governing, driver, chance, hash, meters, log, noticed: () => undefined });
  const current = policies.current();
  if (current.ok) hub.triggersAre(triggersOf(current.set));
  hub.capsAre(parts.caps, clock.now());
  for (const tool of parts.frozen.names) hub.freeze(tenant, tool);
  for (const row of store.calls.values()) if (!isTerminal(row.state)) hub.restore(row, parts.facts, clock.now());
  driver.pump();
  void approvals.sweep();
  return { driver, hub, approvals, governing, life };
}

/** What a process sees of the store: its writes come late, some of its reads too, and after its death it hears nothing. */
function ledgerOf({ store, time, random }: ReplicaParts, life: { alive: boolean }): Ledger {
  const read = <T>(value: T): Promise<T> => {
    if (!random.chance(0.1)) return Promise.resolve(value);
    const { promise, resolve } = Promise.withResolvers<T>();
    time.after(random.below(4), () => life.alive && resolve(value));
    return promise;
  };
  const ledger: Pick<Ledger, "commit" | "flush" | "probe" | "getCall" | "attempts" | "approval" | "dueApprovals" | "nextApprovalAt"> = {
    commit: (unit) => store.commit(unit, life),
    flush: async () => void (await store.commit({ writes: [] }, life)),
    probe: async () => {
      if (store.failing) throw new LedgerUnavailable("the disk is full");
    },
    getCall: (of, callId) => read(store.calls.get(keyOf({ tenant: of, callId }))),
    attempts: (of, callId) => read(store.attemptsOf(of, callId)),
    approval: (of, approvalId) => read(store.shelf.approval(of, approvalId)),
    dueApprovals: (until, limit) => read(store.shelf.pending().filter(({ expiresAt }) => expiresAt <= until).slice(0, limit)),
    nextApprovalAt: () => read(store.shelf.pending()[0]?.expiresAt),
  };
  const ofTools: typeof toolReads = { ...toolReads, toolVersion: async (...of) => read(await toolReads.toolVersion(...of)) };
  return { ...ledger, ...ofTools } as unknown as Ledger;
}
