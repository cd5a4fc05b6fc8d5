// What sessions need of the runtime and of the world.
import type { Models } from "../../session/model.ts";
import type { InvokePorts } from "../invoke.ts";
import type { Log } from "../ports.ts";
import type { SessionSignals } from "./signals.ts";

export interface SessionPorts extends InvokePorts {
  readonly replica: string;
  readonly models: Models;
  readonly log: Log;
  readonly signals: SessionSignals;
  /** Tells the other replicas that the session has something new; absent where there are none. */
  readonly wakeOthers?: (tenant: string, sessionId: string) => void;
}

export const sessionTimes = {
  /** How long a replica has a session before others may take it, unless it renews. */
  leaseMs: 15_000,
  renewMs: 3_000,
  /** How often somebody looks for sessions that nobody looks after. */
  sweepMs: 1_000,
  /** Sessions that one sweep takes up. */
  sweepMax: 100,
  /** All running calls of a cancelled batch have this long, together. */
  cancelGraceMs: 50,
  /** Before a ledger that could not write is tried again. */
  againMs: 1_000,
} as const;

export const sessionLimits = {
  messageBytesMax: 256 * 1024,
  /** Agent, version and session stand beside it in the context of every call, which may have 16 KiB. */
  contextBytesMax: 15 * 1024,
  reasonCharsMax: 1_000,
  /** Parents above a session. */
  depthMax: 5,
  /** Entries of the inbox that wait. */
  inboxWaitingMax: 100,
  /** Of history, calls and events that a timeline shows. */
  timelineItemsMax: 1_000,
  /** Children, and theirs, that a timeline shows. */
  timelineChildrenMax: 50,
  /** Pieces of an answer that wait for a slow reader, in characters. */
  deltaCharsMax: 256 * 1024,
} as const;
