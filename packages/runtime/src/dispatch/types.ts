// What the hub takes in and gives out: live calls, connected workers, and orders for the driver.
import type { Emit, Output, Progress, Result, RuntimeMessage } from "@signalbox/protocol";
import type { CachedResult, CheckedResult, Happening, Live, MachineLimits } from "../call/machine.ts";
import type { Call, RoutingOutcome } from "../call/types.ts";
import type { Unit } from "../ledger/port.ts";
import type { Gate, Waiting } from "../schedule/types.ts";
import type { BreakerRule } from "./breaker.ts";

/** Who is at the other end of a Work stream, from its credential. */
export interface WorkerIdentity {
  /** `platform` for a worker that serves the shared tools. */
  readonly tenant: string;
  readonly principal: string;
  /** It is part of this process, and ends with it: it is never sent elsewhere. */
  readonly inProcess?: boolean;
}

/** Checks what a worker sent against size, JSON and the tool's output schema. Pure and synchronous. */
export type ResultCheck = (call: Call, result: Result, workerId: string) => CheckedResult;

export interface Handler {
  readonly tool: string;
  readonly version: string;
  readonly maxConcurrency: number;
  busy: number;
}

/** A call that a worker holds, as the hub counts slots: released by the worker's word, not by the call's state. */
export interface Held {
  readonly tenant: string;
  readonly callId: string;
  readonly fence: number;
  readonly laneKey: string;
  missed: number;
}

/**
 * What a call was found to be allowed under: the state of rules, grants and tools that was looked at, and until when that
 * look is good. A call that waits longer, or meets another state, is looked at again before a worker hears of it.
 */
export interface Clearance {
  readonly epoch: number;
  /** Wall clock, ms since 1970. */
  readonly until: number;
}

/** Of no epoch that ever was. */
export const noClearance: Clearance = { epoch: -1, until: 0 };

/** What a look has found: it may run till then; or it need not, for an earlier result answers it. */
export interface Cleared extends Clearance {
  readonly answer?: CachedResult;
}

/** What the hub must know of a call's tool beside the call itself. */
export interface ToolFacts {
  readonly check: ResultCheck;
  readonly integrity: Integrity;
  /** Types of events that its manifest declares; absent = none. */
  readonly events?: readonly string[];
  /** How many calls of the tool, of one tenant, may work at once; absent = as many as there are slots. */
  readonly concurrentMax?: number | undefined;
  /** When calls of a tool that is down are refused at once; null or absent: never. */
  readonly breaker?: BreakerRule | null;
  /** Labels that its workers must have, and that are good to have. */
  readonly placement?: { readonly match: Readonly<Record<string, string>>; readonly prefer: Readonly<Record<string, string>> };
}

/** Who may run a tool; empty lists = anybody of its tenant. */
export interface Integrity {
  /** Names of principals. */
  readonly identities: readonly string[];
  readonly imageDigests: readonly string[];
}

/** One connected worker. */
export interface Session {
  readonly id: number;
  readonly identity: WorkerIdentity;
  workerId: string;
  incarnation: string;
  capacity: number;
  labels: Readonly<Record<string, string>>;
  imageDigest: string;
  /** Isolation backends; of the platform's workers alone. */
  backends: readonly string[];
  /** As it last said; null = it does not say. */
  freeMemoryBytes: number | null;
  /** Digests of packages that it has run. */
  readonly ran: Set<string>;
  readonly handlers: Map<string, Handler>;
  /** By call id; one session never holds two calls of the same id, not even of two tenants. */
  readonly holding: Map<string, Held>;
  registered: boolean;
  draining: boolean;
  /** It has been told to go to another replica. */
  sentAway: boolean;
  connectedAt: number;
  lastHeardAt: number;
}

/** An open call in memory. The ledger's row is the truth; this is what the next event meets. */
export interface LiveCall {
  live: Live;
  readonly laneKey: string;
  /** Where it stands in line: in its own lane, or in one that nobody serves while a twin runs for it, or while it waits for its back-off. */
  lineKey: string;
  /** What a twin has brought, until it is known whether it may be given out. */
  answer: CachedResult | null;
  readonly facts: ToolFacts;
  clearance: Clearance;
  /** Somebody looks at whether it may still run. */
  lookedAt: boolean;
  /** Its time in the queue is over, and rules are being asked what becomes of it. */
  askedAbout: boolean;
  /** Nobody can look at it before this instant (wall clock, ms): till then others go first. */
  heldUntil: number;
  /** The ledger's row is another than memory's and is being read: till then nothing is decided about the call. */
  overtaken: boolean;
  /** The row that the ledger holds once everything handed to it is written: the next guard, and what the next update differs from. */
  stored: Call;
  /** Lazy events and the instant by which they must be on their way; null = nothing waits. */
  unsaved: { writes: Unit["writes"][number][]; since: number } | null;
  storedLeaseAt: number;
  /** The session on which the current lease's Invoke went out; -1 = waits for its commit, 0 = unknown (restored). */
  invokedOn: number;
  readonly avoid: Set<string>;
  dueAt: number;
  /** What it has emitted, as far as memory knows; null = nothing. */
  emitted: Emitted | null;
}

/** Events that an open call has emitted, over all its attempts. */
export interface Emitted {
  /** By ordinal and type. */
  readonly keys: Set<string>;
  bytes: number;
}

/** Told in the stream of its call in place of an event that is not kept. */
export interface DroppedEvent {
  readonly type: "dropped_event";
  readonly eventType: string;
  /** In words, for whoever wrote the tool. */
  readonly reason: string;
}

/** What a hub knows of the others where replicas share the ledger. */
export interface Sharing {
  /** Lanes in which calls wait that are with nobody, as far as is known. */
  readonly waiting: Set<string>;
  /** Lanes that other living replicas serve. */
  servedElsewhere: ReadonlySet<string>;
  /** Calls in queue by tenant: as the ledger counted last, and what was added here since. */
  readonly depth: Map<string, number>;
  /** Calls that were taken out of the ledger to be dispatched, or to be decided on, and by when they are to be gone again. */
  readonly guests: Map<LiveCall, number>;
}

/** The open call that runs for all of its twins. */
export interface Flight {
  readonly leader: LiveCall;
  readonly followers: Set<LiveCall>;
}

export type HubOutput =
  /** Hand the unit to the ledger; report back with `stored` or keep trying. */
  | { readonly type: "commit"; readonly ticket: number; readonly unit: Unit; readonly admission: boolean }
  | { readonly type: "send"; readonly session: number; readonly message: RuntimeMessage }
  | { readonly type: "close"; readonly session: number; readonly reason: string }
  /** A call came to an end or parked, and that is stored. */
  | { readonly type: "tell"; readonly call: Call }
  /** The ledger's row is another than memory's: read it and hand it to `reloaded`. */
  | { readonly type: "reload"; readonly tenant: string; readonly callId: string }
  /** A result for a call that is not open here: read its row and hand both to `strayResult`. */
  | { readonly type: "stray"; readonly session: number; readonly tenant: string; readonly result: Result }
  /** What a worker tells of a call while it runs it. */
  | { readonly type: "said"; readonly call: Call; readonly message: Output | Progress | Emit | DroppedEvent }
  /** A slot is free for a call whose clearance is over: look again and say `cleared`. */
  | { readonly type: "recheck"; readonly call: Call }
  /**
   * Something wants to end a call that people are asked about. The approval must end in the same unit: do that with
   * `decide`, or not at all.
   */
  | { readonly type: "approval"; readonly call: Call; readonly happening: Happening }
  /** Rules have a say on this outcome: ask them. A queued call waits for `triggered`; a parked one is asked about. */
  | { readonly type: "trigger"; readonly call: Call; readonly outcome: RoutingOutcome }
  /** A worker offers these tools: who may run them is checked with `vetted`. */
  | { readonly type: "vet"; readonly session: number; readonly identity: WorkerIdentity; readonly imageDigest: string; readonly handlers: readonly Pick<Handler, "tool" | "version">[] }
  /** A call waits in this lane and is with nobody: whoever has a worker for it claims it. Only where replicas share the ledger, as the next. */
  | { readonly type: "queued"; readonly lane: string; readonly notBefore: number }
  /** Nothing became of these: they are everybody's again. */
  | { readonly type: "release"; readonly calls: readonly { readonly tenant: string; readonly callId: string }[] }
  /** A tool that was down for a tenant is not asked any more, or is well again. */
  | { readonly type: "breaker"; readonly tool: string; readonly version: string; readonly to: "open" | "closed" }
  /** One of the four routing outcomes happened, to a call or to one attempt of it. */
  | { readonly type: "routed"; readonly outcome: RoutingOutcome };

export interface HubLimits extends MachineLimits {
  readonly workerSilentMs: number;
  readonly heartbeatMs: number;
  readonly heartbeatsMissedMax: number;
  readonly lazyWriteMs: number;
  readonly queueDepthPerTenantMax: number;
  readonly workerCapacityMax: number;
  readonly handlersPerWorkerMax: number;
  readonly workersPerTenantMax: number;
}

/** How many calls of a tenant or a project may work (be with a worker) at once; Infinity where nobody said. */
export interface CapBook {
  /** False: nobody said anything for anybody. */
  readonly any: boolean;
  concurrentMax(tenant: string): number;
  concurrentMaxOfProject(tenant: string, project: string): number;
}

/** The waiting line behind the hub: who is next for a tool version. `now` is wall clock, ms since 1970, and never goes back. */
export interface WaitingLine {
  add(laneKey: string, entry: Waiting): void;
  remove(laneKey: string, entry: Pick<Waiting, "tenant" | "callId" | "startTag">): void;
  /** First entries of a lane in order, at most `lookAheadMax`, without those that the gate holds back; good until the line next changes. */
  peek(laneKey: string, lookAheadMax: number, now: number, gate: Gate): Iterable<Waiting>;
  /** Which of two calls, of any lanes, is next. */
  isBefore(one: Waiting, other: Waiting, now: number): boolean;
  /** What the gate held back may be held back no more: of this tenant, project and tool, or everywhere. */
  wake(place?: Pick<Waiting, "tenant" | "project" | "tool">): void;
  depth(tenant: string): number;
  /** Whether anything waits in this lane. */
  waits(laneKey: string): boolean;
  /** The tag a call of this tenant gets that is admitted now. */
  nextTag(tenant: string): number;
  /** The tag of the turn in which a call would be served now. */
  turnOf(call: Pick<Waiting, "tenant" | "startTag">): number;
  /** A call of this tenant goes to a worker. */
  takeTurn(tenant: string): void;
  /** A call was found in the ledger, waiting or with a worker; told in the order of the queue, before anything is asked. */
  saw(call: Pick<Waiting, "tenant" | "startTag">, leased: boolean): void;
  weigh(tenant: string, weight: number): void;
}

/** `tool@version` in the tenant that owns the tool: what a handler serves and a lane waits for. */
export function laneKeyOf(toolTenant: string, tool: string, version: string): string {
  // Workers choose the names they offer: the separator is one that no tenant's name holds, so none can reach into another's lane.
  return `${toolTenant}\u0000${tool}\u0000${version}`;
}
