// The hub's memory: connected workers, open calls and what waits for the ledger.
import type { Effect } from "../call/machine.ts";
import { DueHeap } from "./heap.ts";
import { laneKeyOf, type HubLimits, type HubOutput, type LiveCall, type Session, type WaitingLine } from "./types.ts";

/** What goes out once a unit is stored. */
export interface Ticket {
  readonly entry: LiveCall | null;
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
  /** Orders for the driver, in order. */
  out: HubOutput[];
  nextTicket: number;
  draining: boolean;
  /** Before this instant no lease of an absent worker ends: a starting replica lets workers return first. */
  sweepFrom: number;
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
    out: [],
    nextTicket: 1,
    draining: false,
    sweepFrom: startedAt + limits.leaseMs,
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
  const { toolTenant, workerId, incarnation } = entry.live.call;
  if (workerId === null || incarnation === null) return undefined;
  return state.byWorker.get(workerKey(toolTenant, workerId, incarnation));
}

export function findCall(state: HubState, session: Session, callId: string): LiveCall | undefined {
  const held = session.holding.get(callId);
  return held === undefined ? undefined : state.calls.get(callKey(held.tenant, callId));
}

export function laneOf(call: { toolTenant: string; tool: string; version: string }): string {
  return laneKeyOf(call.toolTenant, call.tool, call.version);
}
