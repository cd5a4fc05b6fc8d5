// What the fair line is built of: lanes of stands, stands of queues, queues of calls, each in the order in which it is served.
import type { Priority } from "../call/types.ts";
import { IndexedHeap } from "./indexed-heap.ts";
import type { TenantTurns } from "./tenant-turns.ts";
import type { CallPlace, Waiting } from "./types.ts";

/** By how much virtual time a tenant's turn is put off for a call of the class: dispatches of a tenant that weighs 1. */
export const classRanks: Readonly<Record<Priority, number>> = { interactive: 0, normal: 1, batch: 2 };
/** After each such time in line a call counts as one of the class above. */
export const classAgeMs = 30_000;

/** Calls of one tenant, project, tool version and class in one lane: whatever holds one of them back holds them all. */
export interface Queue {
  readonly stand: Stand;
  readonly key: string;
  readonly place: CallPlace;
  readonly classRank: number;
  /** All of them, those that wait for an instant too. */
  size: number;
  /** Without those that wait for an instant. */
  readonly calls: IndexedHeap<Waiting>;
  /** Of its first call, as far as that has aged. */
  rank: number;
  /** The instant at which that changes by itself; Infinity = it does not. */
  agesAt: number;
  /** Out of its stand till it is woken. */
  held: boolean;
}

/** What one tenant has waiting in one lane. */
export interface Stand {
  readonly lane: Lane;
  readonly turns: TenantTurns;
  readonly queues: IndexedHeap<Queue>;
  readonly byKey: Map<string, Queue>;
  /** The virtual time of its tenant's turn. */
  start: number;
  /** Of its first call: the turn, put off by the class of the call. */
  key: number;
  held: boolean;
}

export interface Lane {
  readonly laneKey: string;
  readonly stands: IndexedHeap<Stand>;
  readonly byTenant: Map<string, Stand>;
}

export function newLane(laneKey: string): Lane {
  return { laneKey, stands: new IndexedHeap(isStandBefore), byTenant: new Map() };
}

export function newStand(lane: Lane, turns: TenantTurns): Stand {
  return { lane, turns, queues: new IndexedHeap(isQueueBefore), byKey: new Map(), start: 0, key: 0, held: false };
}

export function newQueue(stand: Stand, key: string, of: Waiting): Queue {
  const [calls, classRank] = [new IndexedHeap(isCallBefore), classRanks[of.priority]];
  return { stand, key, place: of, classRank, size: 0, calls, rank: classRank, agesAt: Number.POSITIVE_INFINITY, held: false };
}

/** Where a call belongs within its stand. No id holds the separator. */
export function queueKeyOf({ project, toolTenant, tool, version, priority }: Waiting): string {
  return [project, toolTenant, tool, version, priority].join("\u0000");
}

/** The rank of a call's class at an instant: one less for each full time that it has waited, never less than 0. */
export function rankAt(classRank: number, admittedAt: number, now: number): number {
  return Math.max(0, classRank - Math.max(0, Math.floor((now - admittedAt) / classAgeMs)));
}

/** The next instant at which the call's rank falls; Infinity when it cannot any more. */
export function agesAt(classRank: number, admittedAt: number, rank: number): number {
  return rank === 0 ? Number.POSITIVE_INFINITY : admittedAt + classAgeMs * (classRank - rank + 1);
}

/** Of one class and tenant: by admission. A call that is queued again was admitted before those behind it. */
export function isCallBefore(one: Waiting, other: Waiting): boolean {
  if (one.admittedAt !== other.admittedAt) return one.admittedAt < other.admittedAt;
  if (one.startTag !== other.startTag) return one.startTag < other.startTag;
  return one.callId < other.callId;
}

function isQueueBefore(one: Queue, other: Queue): boolean {
  if (one.rank !== other.rank) return one.rank < other.rank;
  return isCallBefore(one.calls.first() as Waiting, other.calls.first() as Waiting);
}

function isStandBefore(one: Stand, other: Stand): boolean {
  return one.key === other.key ? one.turns.order < other.turns.order : one.key < other.key;
}
