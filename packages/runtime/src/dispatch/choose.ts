// Finds the worker for a call: who may run it and has a slot, and who of those is the best.
import type { HubState } from "./state.ts";
import type { Integrity, LiveCall, Session } from "./types.ts";

/** Above this load a worker's being near counts for nothing: others are idle, and near is not worth waiting for. */
const nearLoadMax = 0.85;

/** Whether this session has a slot for a call of this lane at all. */
export function hasSlot(state: HubState, session: Session, laneKey: string, now: number): boolean {
  if (state.draining || !session.registered || session.draining) return false;
  if (now - session.lastHeardAt >= state.limits.workerSilentMs) return false;
  const handler = session.handlers.get(laneKey);
  return handler !== undefined && handler.busy < handler.maxConcurrency && session.holding.size < session.capacity;
}

/** Whether this worker is one of those that may run the tool. Both lists that are given must name it. */
export function isTrusted({ identities, imageDigests }: Integrity, session: Pick<Session, "identity" | "imageDigest">): boolean {
  if (identities.length > 0 && !identities.includes(session.identity.principal)) return false;
  return imageDigests.length === 0 || imageDigests.includes(session.imageDigest);
}

/** Whether the call may be given to this worker at all: by its tool's integrity lists, and the labels that its tool asks for. */
export function mayRun({ facts }: LiveCall, session: Session): boolean {
  return isTrusted(facts.integrity, session) && hasLabels(session, facts.placement?.match ?? {});
}

function hasLabels({ labels }: Session, wanted: Readonly<Record<string, string>>): boolean {
  for (const [name, value] of Object.entries(wanted)) if (labels[name] !== value) return false;
  return true;
}

/**
 * Of those that may run it and have a slot: first those that say they have the memory, then the nearest, then the least loaded, then
 * by name. The same state always gives the same choice.
 */
export function chooseSession(state: HubState, entry: LiveCall, now: number): Session | undefined {
  const servers = state.servers.get(entry.laneKey);
  if (servers === undefined) return undefined;
  const wish = wishOf(entry);
  let best: Choice | undefined;
  let fallback: Choice | undefined;
  for (const session of servers) {
    if (!hasSlot(state, session, entry.laneKey, now) || session.holding.has(entry.live.call.callId)) continue;
    if (!mayRun(entry, session)) continue;
    const choice = weigh(session, wish);
    if (entry.avoid.has(session.workerId)) fallback = better(choice, fallback);
    else best = better(choice, best);
  }
  if (best !== undefined || fallback === undefined) return best?.session;
  return othersCouldTake(state, entry, now) ? undefined : fallback.session;
}

/** Whether anybody who may run it is connected; what separates "nobody could" from "nobody had room". */
export function isServed(state: HubState, entry: LiveCall): boolean {
  for (const session of state.servers.get(entry.laneKey) ?? []) if (mayRun(entry, session)) return true;
  return false;
}

/** A call waits for a worker that has not turned it down only while there is one that is alive. */
export function othersCouldTake(state: HubState, entry: LiveCall, now: number): boolean {
  for (const session of state.servers.get(entry.laneKey) ?? []) {
    if (session.draining || entry.avoid.has(session.workerId) || !mayRun(entry, session)) continue;
    if (now - session.lastHeardAt < state.limits.workerSilentMs) return true;
  }
  return false;
}

interface Wish {
  readonly near: Readonly<Record<string, string>>;
  readonly packageDigest: string | null;
  readonly memoryBytes: number;
}

/** What would be good of a worker, and none is refused for: labels of the tool and of the caller, the code at hand, memory to spare. */
function wishOf({ live: { call }, facts }: LiveCall): Wish {
  const near = { ...facts.placement?.prefer, ...localityOf(call.contextJson) };
  if (call.boxJson === null) return { near, packageDigest: null, memoryBytes: 0 };
  const box = JSON.parse(call.boxJson) as { readonly packageDigest?: string | null; readonly limits?: { readonly memoryBytes?: number } };
  return { near, packageDigest: box.packageDigest ?? null, memoryBytes: box.limits?.memoryBytes ?? 0 };
}

/** `context.locality` of the call: labels of a place, e.g. `{"zone": "a"}`. Whatever else stands there says nothing. */
function localityOf(contextJson: string): Readonly<Record<string, string>> {
  if (!contextJson.includes('"locality"')) return {};
  const { locality } = JSON.parse(contextJson) as { readonly locality?: unknown };
  if (typeof locality !== "object" || locality === null) return {};
  return Object.fromEntries(Object.entries(locality).filter((label): label is [string, string] => typeof label[1] === "string"));
}

interface Choice {
  readonly session: Session;
  readonly hasMemory: boolean;
  readonly nearness: number;
  readonly load: number;
}

function weigh(session: Session, { near, packageDigest, memoryBytes }: Wish): Choice {
  const load = session.holding.size / session.capacity;
  const hasCode = packageDigest !== null && session.ran.has(packageDigest);
  const isPlace = Object.keys(near).length > 0 && hasLabels(session, near);
  const nearness = load < nearLoadMax ? 2 * Number(hasCode) + Number(isPlace) : 0;
  return { session, load, nearness, hasMemory: session.freeMemoryBytes === null || session.freeMemoryBytes >= memoryBytes };
}

function better(candidate: Choice, best: Choice | undefined): Choice {
  if (best === undefined) return candidate;
  if (candidate.hasMemory !== best.hasMemory) return candidate.hasMemory ? candidate : best;
  if (candidate.nearness !== best.nearness) return candidate.nearness > best.nearness ? candidate : best;
  if (candidate.load !== best.load) return candidate.load < best.load ? candidate : best;
  return candidate.session.workerId < best.session.workerId ? candidate : best;
}

/** So many packages of code are remembered per worker; past it the first is forgotten. */
const ranMax = 256;

/** A worker that has run a package before has its files at hand. */
export function noteRan(session: Session, { live: { call } }: LiveCall): void {
  if (call.boxJson === null) return;
  const { packageDigest } = JSON.parse(call.boxJson) as { readonly packageDigest?: string | null };
  if (packageDigest === null || packageDigest === undefined) return;
  session.ran.add(packageDigest);
  if (session.ran.size > ranMax) session.ran.delete(session.ran.values().next().value ?? packageDigest);
}
