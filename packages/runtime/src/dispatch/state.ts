// The hub's memory: connected workers, open calls and what waits for the ledger.
import type { Lease } from "@signalbox/protocol";
import type { Effect } from "../call/machine.ts";
import type { Call, RoutingOutcome } from "../call/types.ts";
import type { Breaker } from "./breaker.ts";
import { DueHeap } from "./heap.ts";
import { noCaps, Occupancy, utcDay } from "./occupancy.ts";
import { laneKeyOf, type CapBook, type Flight, type HubLimits, type HubOutput, type LiveCall, type Session, type Sharing, type WaitingLine } from "./types.ts";

/** What goes out once a unit is stored. */
export interface Ticket {
  readonly entry: LiveCall | null;
  /** The call as this unit stores it; memory may be further by the time it is stored. */
  readonly call: Call | null;
  readonly callId: string;
  readonly effects: readonly Effect[];
  /** Where an acknowledgement goes; 0 = to the worker of the lease. */
  readonly session: number;
  readonly admission: boolean;
}

export interface HubState {
  readonly replica: string;
  readonly limits: HubLimits;
  readonly line: WaitingLine;
  readonly sessions: Map<number, Session>;
  /** By worker tenant, id and incarnation. */
  readonly byWorker: Map<string, Session>;
  /** Sessions that serve a lane. */
  readonly servers: Map<string, Set<Session>>;
  readonly calls: Map<string, LiveCall>;
  readonly due: DueHeap<string>;
  readonly unsaved: Set<LiveCall>;
  /** Calls that came (back) to the line and have not been offered to anybody yet. */
  unplaced: LiveCall[];
  readonly tickets: Map<number, Ticket>;
  /** Leases taken away in memory and not yet in the ledger, by {@link leaseKey}: until it is stored, nobody may be told of the loss. */
  readonly losing: Map<string, LiveCall>;
  /** Late results on their way to the ledger, so that a repeat does not queue up behind itself while the ledger cannot write. */
  readonly keeping: Set<string>;
  /** Orders for the driver, in order. */
  out: HubOutput[];
  nextTicket: number;
  draining: boolean;
  /** While it drains: where its workers are to go, `host:port` each; empty = they come back to whoever listens next. */
  elsewhere: readonly string[];
  sentAwayCount: number;
  /** Grows with every change of rules, grants, keys and tools; a clearance of another epoch is over. */
  epoch: number;
  /** Scopes of which nothing is dispatched, by {@link freezeKey}. */
  readonly frozen: Set<string>;
  /** Tenants that are suspended: nothing of theirs is dispatched. Apart from freezes, so that lifting one leaves the other. */
  readonly suspended: Set<string>;
  /** Routing outcomes on which some rule may have a say. */
  triggers: ReadonlySet<RoutingOutcome>;
  /** Open calls whose result their twins wait for, by tenant and cache key. */
  readonly flights: Map<string, Flight>;
  /** Runs that ended under a key; bounded. */
  readonly flightsEnded: Map<string, number>;
  caps: CapBook;
  readonly occupancy: Occupancy;
  /** By {@link breakerKey}; what is not here is closed and has not failed. */
  readonly breakers: Map<string, Breaker>;
  /** Keys of breakers that have just opened: what waits under them is to be told. */
  opened: string[];
  /** A call has made room under a cap that held others back, and they have not been offered to anybody yet. */
  roomUnderCap: boolean;
  /** The day of a tenant in which an instant lies; what ended calls are counted under. */
  dayOf: (tenant: string, at: number) => string;
  /** Before this instant no lease of an absent worker ends: a starting replica lets workers return first. */
  sweepFrom: number;
  /** Set where replicas share the ledger. */
  sharing: Sharing | null;
}

export function newState(replica: string, limits: HubLimits, line: WaitingLine, startedAt: number): HubState {
  return {
    replica,
    limits,
    line,
    sessions: new Map(),
    byWorker: new Map(),
    servers: new Map(),
    calls: new Map(),
    due: new DueHeap(),
    unsaved: new Set(),
    unplaced: [],
    tickets: new Map(),
    losing: new Map(),
    keeping: new Set(),
    out: [],
    nextTicket: 1,
    draining: false,
    elsewhere: [],
    sentAwayCount: 0,
    epoch: 0,
    frozen: new Set(),
    suspended: new Set(),
    triggers: new Set(),
    flights: new Map(),
    flightsEnded: new Map(),
    caps: noCaps,
    occupancy: new Occupancy(),
    breakers: new Map(),
    opened: [],
    roomUnderCap: false,
    dayOf: utcDay,
    sweepFrom: startedAt + limits.leaseMs,
    sharing: null,
  };
}

export function callKey(tenant: string, callId: string): string {
  return `${tenant}\u0000${callId}`;
}

export function workerKey(tenant: string, workerId: string, incarnation: string): string {
  return `${tenant}\u0000${workerId}\u0000${incarnation}`;
}

/** The session that holds the call's lease now, if its worker is connected. */
export function sessionOf(state: HubState, entry: LiveCall): Session | undefined {
  const { workerId, incarnation } = entry.live.call;
  if (workerId === null || incarnation === null) return undefined;
  return state.byWorker.get(workerKey(workerTenantOf(entry.live.call), workerId, incarnation));
}

/** Whose workers run the call: those of the tool's owner, or for a box or an agent the platform's. */
export function workerTenantOf(call: Pick<Call, "executor" | "sandbox" | "toolTenant">): string {
  return backendOf(call) === null ? call.toolTenant : "platform";
}

/** The call of a lease that this session holds a slot for; of any other lease, current or not, it has nothing to say. */
export function heldCall(state: HubState, session: Session, lease: Lease): LiveCall | undefined {
  const held = session.holding.get(lease.callId);
  return held?.fence === lease.fence ? state.calls.get(callKey(held.tenant, held.callId)) : undefined;
}

/** Names one lease by its worker, for what a worker says without naming a tenant. */
export function leaseKey(worker: string, { callId, fence }: Lease): string {
  return `${worker}\u0000${callId}\u0000${fence}`;
}

export function laneOf(call: Pick<Call, "executor" | "sandbox" | "toolTenant" | "tool" | "version">): string {
  const backend = backendOf(call);
  return backend === null ? laneKeyOf(call.toolTenant, call.tool, call.version) : boxLaneOf(backend);
}

/** Stands for the part of every replica that runs agents as tools: it serves all of them, as a sandbox worker serves all tools of its boxes. */
export const agentBackend = "agent";

function backendOf({ executor, sandbox }: Pick<Call, "executor" | "sandbox">): string | null {
  return executor === "agent" ? agentBackend : sandbox;
}

/** Where calls wait that need a box of this backend; no tool has such a name. */
export function boxLaneOf(backend: string): string {
  return laneKeyOf("platform", "", backend);
}

/** `tenant` may be `platform`, which stands for all of them; an empty tool for all tools. */
export function freezeKey(tenant: string, tool: string): string {
  return `${tenant}\u0000${tool}`;
}

/** Whether it waits for nobody who could be late: a freeze, or a twin that runs for it. */
export function isHeld(state: HubState, entry: LiveCall): boolean {
  return entry.lineKey !== entry.laneKey || isFrozen(state, entry.live.call);
}

/** A freeze, or its tenant's suspension, keeps the call from workers. */
export function isFrozen({ frozen, suspended }: HubState, { tenant, tool }: Pick<Call, "tenant" | "tool">): boolean {
  if (suspended.size > 0 && suspended.has(tenant)) return true;
  if (frozen.size === 0) return false;
  return [tenant, "platform"].some((whose) => frozen.has(freezeKey(whose, "")) || frozen.has(freezeKey(whose, tool)));
}
