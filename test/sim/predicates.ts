// What must hold of every trace of several replicas, beside what holds of one.
import { isTerminal, type Call } from "../../packages/runtime/src/call/types.ts";
import { brokenRules } from "../walk/predicates.ts";
import { keyOf, type SimStore } from "../walk/sim-ledger.ts";
import type { Acknowledged, Entry } from "../walk/sim-worker.ts";
import { Spans } from "../walk/spans.ts";
import type { Answer } from "./callers.ts";
import type { SimReplica } from "./sim-replica.ts";

export interface SimTrace {
  readonly store: SimStore;
  readonly entries: readonly Entry[];
  readonly answers: readonly Answer[];
  readonly stored: readonly Acknowledged[];
  readonly replicas: readonly (SimReplica | undefined)[];
  readonly endedAt: number;
}

export function brokenInSim(trace: SimTrace): string[] {
  const { store, entries, answers, stored, endedAt } = trace;
  const told = answers.map(({ call }) => call);
  const acknowledged = told.map(keyOf);
  const none = { barred: new Spans(), frozen: new Spans() };
  const broken = brokenRules({ store, entries, acknowledged, told, stored, endedAt, ...none, skewMsMax: 4_000 });
  broken.push(...oneCallAKey(trace), ...oneEnd(told, store), ...noGhosts(trace), ...doorsOpen(trace));
  return broken;
}

/** Whoever asks under one key is told of one call, and there is one. */
function oneCallAKey({ store, answers }: SimTrace): string[] {
  const byKey = new Map<string, string>();
  const broken: string[] = [];
  for (const { idempotencyKey: key, callId } of store.calls.values()) {
    if (key === null || key === undefined) continue;
    const other = byKey.get(key);
    if (other !== undefined) broken.push(`${key}: has two calls, ${other} and ${callId}`);
    byKey.set(key, callId);
  }
  for (const { key, call } of answers)
    if (key !== "" && byKey.get(key) !== call.callId) broken.push(`${key}: was answered with ${call.callId}, its call is ${byKey.get(key)}`);
  return broken;
}

/** All who were told of an end were told of the same, and it is the stored one. */
function oneEnd(told: readonly Call[], store: SimStore): string[] {
  return told.flatMap((call) => {
    const row = store.calls.get(keyOf(call));
    if (!isTerminal(call.state) || row === undefined) return [];
    const same = row.state === call.state && row.outputJson === call.outputJson && row.settledAt === call.settledAt;
    return same ? [] : [`${call.callId}: somebody was told another end than the stored one`];
  });
}

/** After everything has come to rest no memory keeps a call that the ledger gives to another, or that has ended. */
function noGhosts({ store, replicas }: SimTrace): string[] {
  return replicas.flatMap((replica) => {
    if (replica === undefined) return [];
    const keeps = [...store.calls.values()].filter((row) => replica.hub.find(row.tenant, row.callId) !== undefined);
    const ghosts = keeps.map((row) => `${row.callId}: a ghost in the memory of ${replica.name}, the ledger says ${row.state} with ${row.replica}`);
    return ghosts.length === 0 && replica.hub.openCount() > 0 ? [`${replica.name}: keeps ${replica.hub.openCount()} calls that are not in the ledger`] : ghosts;
  });
}

function doorsOpen({ replicas }: SimTrace): string[] {
  return replicas.flatMap((replica, place) => (replica?.open === true ? [] : [`the replica at place ${place} is not up`]));
}
