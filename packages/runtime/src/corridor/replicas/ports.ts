// What the parts of a replica that shares its ledger are given.
import type { Call } from "../../call/types.ts";
import type { Hub } from "../../dispatch/hub.ts";
import type { ToolFacts } from "../../dispatch/types.ts";
import type { SharedLedger } from "../../ledger/shared.ts";
import type { Driver } from "../driver.ts";
import type { Clock, Log, Meters } from "../ports.ts";

export interface ReplicaPorts {
  /** Of this incarnation. */
  readonly replica: string;
  /** `host:port` of the Work door, for workers that are sent elsewhere; empty while it is not open. */
  readonly grpcAddress: () => string;
  /** What the store's clock says, and the instants of this process's clock between which it said so. */
  readonly storeTime: (storeNow: number, asked: number, heard: number) => void;
  readonly ledger: SharedLedger;
  readonly hub: Hub;
  readonly driver: Driver;
  readonly clock: Clock;
  readonly log: Log;
  readonly meters: Meters;
  factsFor(call: Call): Promise<ToolFacts>;
  /** Where the numbers of its stream go on, before a call of another replica is taken up. */
  recoverStream(call: Call): Promise<void>;
  /** Its stream goes on at another replica: readers here are sent away and come back. */
  leaveStream(tenant: string, callId: string): void;
  /** Somebody reads the stream of a call that is elsewhere, and more of it was kept. */
  streamSaid(tenant: string, callId: string): void;
  /** Calls at work at once that somebody has capped. */
  caps(): readonly { readonly tenant: string; readonly project: string | null; readonly max: number }[];
  /** Rules, tools, keys, tenants, freezes or limits changed: reads them again. */
  reloadGovernance(): Promise<void>;
  sweepApprovals(): Promise<void>;
  /** Another replica stored something of a session. */
  sessionHeard?(tenant: string, sessionId: string): void;
  /** Delivers notices, if no other replica does. */
  deliver(): Promise<void>;
}

/** How often, and within what time, replicas learn of one another and of what was left behind. */
export const replicaTimes = {
  /** One beat costs one small transaction. */
  beatMs: 500,
  /** A replica that has not beaten so long lives no more, as far as queued calls go; leases have their own time. */
  livesMs: 2_000,
  /** Wake-ups may be lost: what they would have told is looked for this often. */
  pollMs: 500,
  /** Queued calls whose time is over, leases that nobody renews, approvals and deliveries that are due. */
  sweepMs: 1_000,
  /** A living replica sees to its own leases; only when it is late by so much does another one. */
  leaseGraceMs: 5_000,
  /** Taken at once by one claim or sweep. */
  claimMax: 64,
  /** For how long a call that was given back is left to others. */
  leaveAloneMs: 1_000,
  leftAloneMax: 256,
} as const;
