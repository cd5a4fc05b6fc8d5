// What a ledger that several replicas share does beside the ledger's port: who lives, who has which call, who is next, and wake-ups.
import type { Call, CallState } from "../call/types.ts";
import type { Ledger } from "./port.ts";

/** One living control-plane process, as the others see it. The id is of one incarnation: a restart has another. */
export interface Peer {
  readonly replica: string;
  /** `host:port` of its Work door, for workers that look for somebody else; empty when it takes none. */
  readonly grpcAddress: string;
  readonly draining: boolean;
  /** Lanes that its connected workers serve. */
  readonly lanes: readonly string[];
}

export interface Beat extends Peer {
  /** How long it counts as living from now on, unless it beats again. */
  readonly livesMs: number;
}

export interface Fleet {
  /** Living replicas, the asking one among them, by id. */
  readonly peers: readonly Peer[];
  /** Grows in the commit of every change of rules, tools, keys, grants, tenants, freezes and limits. */
  readonly revision: number;
  /** What the store's clock said, ms since 1970. */
  readonly storeNow: number;
  /** Queued calls by tenant. */
  readonly queued: Readonly<Record<string, number>>;
}

/** Calls at work at once, at most; absent = as many as there are. */
export interface ClaimCap {
  readonly tenant: string;
  /** Null: of the whole tenant. */
  readonly project: string | null;
  readonly max: number;
}

export interface ClaimQuery {
  readonly replica: string;
  readonly lanes: readonly string[];
  /** How many calls at most; how many slots are free. */
  readonly limit: number;
  readonly now: number;
  readonly caps: readonly ClaimCap[];
  /** Ids of calls that this replica has just given back: not those. */
  readonly not: readonly string[];
}

export interface Claimed {
  /** In the order in which they are to be dispatched, whole. */
  readonly calls: readonly Call[];
  /** The earliest instant at which a call of these lanes that is held back by its back-off may go; undefined = there is none. */
  readonly nextAt: number | undefined;
}

/** Coalesced and never part of a commit; any of them may be lost, and what reads them looks for itself at intervals. */
export type Wake =
  /** Calls wait in these lanes. */
  | { readonly type: "queued"; readonly lanes: readonly string[] }
  /** The row of this call is another than its replica's memory has it. */
  | { readonly type: "touched"; readonly replica: string; readonly tenant: string; readonly callId: string }
  /** It ended, or it parked. */
  | { readonly type: "told"; readonly tenant: string; readonly callId: string }
  /** Something of its stream was kept. */
  | { readonly type: "said"; readonly tenant: string; readonly callId: string }
  /** Something was put into its inbox, or it told something. */
  | { readonly type: "session"; readonly tenant: string; readonly sessionId: string }
  /** Rules, tools, keys, grants, tenants, freezes or limits changed. */
  | { readonly type: "governance" }
  | { readonly type: "approvals" }
  | { readonly type: "notices" };

/**
 * A call is *with* the replica that its row names: with it alone is it in a hub's memory. A queued call that is with nobody waits for
 * whoever claims it. All of these are one transaction each, and reject with LedgerUnavailable.
 */
export interface SharedLedger extends Ledger {
  /** Says that this replica lives, and learns who else does. */
  beat(beat: Beat): Promise<Fleet>;
  /** It lives no more. What is with it can be had by everybody at once. */
  leave(replica: string): Promise<void>;
  /**
   * Takes queued calls of these lanes that are with nobody, or with a replica that lives no more: smallest fair tag first, none
   * that is frozen, whose tenant is suspended, that waits for its back-off, or that a cap holds back.
   */
  claim(query: ClaimQuery): Promise<Claimed>;
  /** Takes one open call, unless a living replica has it (here and below: a lease that comes from another replica counts as one whose handler may have run); undefined when it is not to be had. */
  claimOne(tenant: string, callId: string, replica: string): Promise<Call | undefined>;
  /**
   * Takes what nobody looks after: queued calls whose time is over (of nobody, of a dead replica, or of this one, which may have lost sight
   * of them), calls that wait for people and whose total deadline has passed (likewise), leased ones of a dead replica whose lease is over, and leased ones whose lease is over by `graceMs` whoever has them.
   */
  claimDue(query: {
    readonly replica: string;
    readonly now: number;
    readonly graceMs: number;
    /** False: none that a worker may have. */
    readonly leasesToo: boolean;
    readonly limit: number;
  }): Promise<readonly Call[]>;
  /** Takes all calls that this worker incarnation has under a lease, whoever has them: its stream is here now. */
  claimHeld(query: { readonly replica: string; readonly workerTenant: string; readonly workerId: string; readonly incarnation: string }): Promise<readonly Call[]>;
  /** Gives queued calls back that are with this replica. */
  release(replica: string, calls: readonly { readonly tenant: string; readonly callId: string }[]): Promise<void>;
  /** Queued calls that are with this replica, some hundred of them: among them those that a claim gave it whose answer was lost. */
  queuedWith(replica: string): Promise<readonly { readonly tenant: string; readonly callId: string }[]>;
  /** States (and fences) of calls that somebody waits for; ones that are unknown are left out. */
  statesOf(calls: readonly { readonly tenant: string; readonly callId: string }[]): Promise<readonly { readonly tenant: string; readonly callId: string; readonly state: CallState }[]>;
  /** Has this role till then, or has it still; false when another living replica does. */
  hold(role: string, replica: string, ms: number): Promise<boolean>;
  /** Sends these to all replicas, this one left out; never rejects. */
  wake(wakes: readonly Wake[]): void;
  /** Hears what others sent. `lost`: some may have been missed (the connection was away): look for yourself. */
  onWake(hear: (wake: Wake | { readonly type: "lost" }) => void): void;
}

/** Whether replicas may share this ledger. */
export function isShared(ledger: Ledger): ledger is SharedLedger {
  return "claim" in ledger;
}
