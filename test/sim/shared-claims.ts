// Who gets which call, as the shared ledger's transactions decide it: over rows in memory, each in one go.
import { isTerminal, type Call } from "../../packages/runtime/src/call/types.ts";
import { laneOf, workerTenantOf } from "../../packages/runtime/src/dispatch/state.ts";
import type { Claimed, ClaimQuery, SharedLedger } from "../../packages/runtime/src/ledger/shared.ts";
import { keyOf } from "../walk/sim-ledger.ts";
import type { SharedStore } from "./shared-store.ts";

const inOrder = (a: Call, b: Call): number => a.startTag - b.startTag;
const works = ({ state }: Call): boolean => state === "dispatched" || state === "running";
const isPast = (at: number | null, now: number): boolean => at !== null && at <= now;

export function isStopped({ freezes }: SharedStore, { tenant, tool }: Pick<Call, "tenant" | "tool">): boolean {
  return freezes.has(`${tenant} ${tool}`) || freezes.has(`${tenant} `);
}

export function claim(store: SharedStore, { replica, lanes, limit, now, caps, not }: ClaimQuery): Claimed {
  store.freeOfTheDead();
  const all = [...store.rows.calls.values()];
  const waiting = all.filter((row) => row.state === "queued" && row.replica === null && lanes.includes(laneOf(row)));
  const nextAt = Math.min(...waiting.filter(({ notBefore }) => notBefore > now).map(({ notBefore }) => notBefore));
  const taken: Call[] = [];
  const used = caps.map(({ tenant, project }) => {
    const place = all.filter((row) => row.tenant === tenant && (project === null || row.project === project));
    return place.filter((row) => works(row) || (row.state === "queued" && row.replica !== null && row.notBefore <= now)).length;
  });
  for (const row of waiting.toSorted(inOrder)) {
    if (taken.length >= limit) break;
    if (row.notBefore > now || not.includes(row.callId) || isStopped(store, row)) continue;
    const own = caps.flatMap(({ tenant, project }, at) => (row.tenant === tenant && (project === null || row.project === project) ? [at] : []));
    if (own.some((at) => (used[at] ?? 0) >= (caps[at]?.max ?? 0))) continue;
    for (const at of own) used[at] = (used[at] ?? 0) + 1;
    taken.push(store.give(row, replica));
  }
  return { calls: taken, nextAt: Number.isFinite(nextAt) ? nextAt : undefined };
}

export function claimOne(store: SharedStore, tenant: string, callId: string, replica: string): Call | undefined {
  const row = store.rows.calls.get(keyOf({ tenant, callId }));
  if (row === undefined || isTerminal(row.state)) return undefined;
  return row.replica === replica || !store.lives(row.replica) ? store.give(row, replica) : undefined;
}

export function claimDue(store: SharedStore, { replica, now, graceMs, leasesToo, limit }: Parameters<SharedLedger["claimDue"]>[0]): readonly Call[] {
  store.freeOfTheDead();
  const due = [...store.rows.calls.values()].filter((row) => {
    if (works(row) && !leasesToo) return false;
    if (works(row)) return isPast(row.leaseExpiresAt, now - graceMs) || (isPast(row.leaseExpiresAt, now) && !store.lives(row.replica));
    if (row.replica !== replica && store.lives(row.replica)) return false;
    if (row.state === "queued") return isPast(row.queueDeadlineAt, now) || isPast(row.totalDeadlineAt, now);
    return row.state === "awaiting_approval" && isPast(row.totalDeadlineAt, now);
  });
  return due.slice(0, limit).map((row) => store.give(row, replica));
}

export function claimHeld(store: SharedStore, { replica, workerTenant, workerId, incarnation }: Parameters<SharedLedger["claimHeld"]>[0]): readonly Call[] {
  const held = [...store.rows.calls.values()].filter(
    (row) => works(row) && row.workerId === workerId && row.incarnation === incarnation && workerTenantOf(row) === workerTenant,
  );
  return held.map((row) => store.give(row, replica));
}

export function release(store: SharedStore, replica: string, calls: readonly { readonly tenant: string; readonly callId: string }[]): void {
  for (const named of calls) {
    const row = store.rows.calls.get(keyOf(named));
    if (row?.state === "queued" && row.replica === replica) store.give(row, null);
  }
}

export function queuedWith(store: SharedStore, replica: string) {
  return [...store.rows.calls.values()].filter((row) => row.state === "queued" && row.replica === replica);
}

export function statesOf(store: SharedStore, calls: readonly { readonly tenant: string; readonly callId: string }[]) {
  return calls.flatMap(({ tenant, callId }) => {
    const row = store.rows.calls.get(keyOf({ tenant, callId }));
    return row === undefined ? [] : [{ tenant, callId, state: row.state }];
  });
}
