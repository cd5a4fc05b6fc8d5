// What the ledger keeps of agents and sessions: the writes and reads that every store of them must have.
import type { Call } from "../call/types.ts";
import type { Approval } from "../policy/approval/types.ts";
import type { AgentChange, AgentRecord, AgentStatus, AgentVersion } from "../registry/agents/types.ts";
import type { HistoryItem, HostEvent, InboxEntry, JournalRow, Session, SessionEvent, SessionState } from "../session/types.ts";
import type { Page } from "./page.ts";

/** Guards of a unit, like those of the ledger's port. */
export type SessionGuard =
  /** Refused when this (tenant, agent, version) exists. Creates the agent's record when it is the first; else its latest version and texts follow. */
  | { readonly op: "insert_agent_version"; readonly row: AgentVersion }
  /** Refused when the version is unknown or has another status than `from`. */
  | { readonly op: "set_agent_status"; readonly tenant: string; readonly agent: string; readonly version: string; readonly from: AgentStatus; readonly status: AgentStatus }
  /** Refused unless `from` is deployed now (null: none); `version` null takes the deployment away. */
  | { readonly op: "deploy_agent"; readonly tenant: string; readonly agent: string; readonly from: string | null; readonly version: string | null }
  /** Refused when the agent is unknown. Null brings it back. */
  | { readonly op: "archive_agent"; readonly tenant: string; readonly agent: string; readonly at: number | null }
  /** Refused when (tenant, sessionId) or (tenant, project, idempotencyKey) exists. Its lease is as the row says. */
  | { readonly op: "insert_session"; readonly row: Session }
  /**
   * Refused unless the stored row has this fence and has not ended; `inboxSeq`: nor unless no further entry came. Stores the row's
   * progress; lease, inboxSeq and identity stay as they are, but for `release`, which gives the lease up.
   */
  | {
      readonly op: "update_session";
      readonly expect: { readonly fence: number; readonly inboxSeq?: number };
      readonly release: boolean;
      readonly row: Session;
    }
  /** Refused when the session is unknown, has ended (a cancel of what has ended too), or this key was put before. Its seq is the next one; that of `entry` is not read. */
  | { readonly op: "put_inbox"; readonly entry: Omit<InboxEntry, "seq"> }
  /**
   * Refused unless the session has this fence, and the effect is not there, or is claimed under an older fence or an expired claim.
   * A completed one is never claimed.
   */
  | { readonly op: "claim_effect"; readonly row: JournalRow; readonly now: number }
  /** Refused unless the session has this fence and the effect is claimed under it. */
  | { readonly op: "complete_effect"; readonly tenant: string; readonly sessionId: string; readonly key: string; readonly fence: number; readonly at: number; readonly outcomeJson: string };

export type SessionWrite =
  | { readonly op: "append_agent_change"; readonly row: AgentChange }
  /** At this place of the history, from 0; it is not there yet. In a unit whose guard is the session's fence. */
  | { readonly op: "append_history"; readonly tenant: string; readonly sessionId: string; readonly at: number; readonly item: HistoryItem }
  /** Numbered from 1 without a gap; in a unit whose guard is the session's fence. */
  | { readonly op: "append_session_event"; readonly event: SessionEvent }
  /** In the unit that settles the call; one that is there already is left alone. */
  | { readonly op: "put_host_event"; readonly row: HostEvent };

export interface SessionFilter {
  readonly tenant: string;
  readonly project?: string;
  readonly agent?: string;
  readonly state?: SessionState;
  readonly parentSessionId?: string;
  readonly principal?: string;
}

export interface SessionClaim {
  readonly tenant: string;
  readonly sessionId: string;
  readonly replica: string;
  readonly now: number;
  readonly leaseMs: number;
}

export interface SessionReads {
  agent(tenant: string, agent: string): Promise<AgentRecord | undefined>;
  agentVersion(tenant: string, agent: string, version: string): Promise<AgentVersion | undefined>;
  /** In the order in which they were published, without their specs' worth of work: whole all the same. */
  agentVersions(tenant: string, agent: string): Promise<readonly AgentVersion[]>;
  /** By name. */
  listAgents(tenant: string, limit: number, cursor?: string): Promise<Page<AgentRecord>>;
  /** Newest first. */
  agentChanges(tenant: string, agent: string, limit: number): Promise<readonly AgentChange[]>;

  session(tenant: string, sessionId: string): Promise<Session | undefined>;
  sessionByKey(tenant: string, project: string, idempotencyKey: string): Promise<Session | undefined>;
  /** Newest first (createdAt, then id); rows come without `snapshotJson`. */
  listSessions(filter: SessionFilter, limit: number, cursor?: string): Promise<Page<Session>>;
  /** By place, from `from` (inclusive). */
  history(tenant: string, sessionId: string, from: number, limit: number): Promise<readonly HistoryItem[]>;
  inbox(tenant: string, sessionId: string, afterSeq: number, limit: number): Promise<readonly InboxEntry[]>;
  inboxByKey(tenant: string, sessionId: string, idempotencyKey: string): Promise<InboxEntry | undefined>;
  sessionEvents(tenant: string, sessionId: string, afterSeq: number, limit: number): Promise<readonly SessionEvent[]>;
  effect(tenant: string, sessionId: string, key: string): Promise<JournalRow | undefined>;
  /** Of one turn's effects, by the number behind `e`. */
  journal(tenant: string, sessionId: string): Promise<readonly JournalRow[]>;
  /** By call and ordinal, of these calls. */
  hostEvents(tenant: string, callIds: readonly string[]): Promise<readonly HostEvent[]>;
  /** All calls that this session made, by turn, step and index, whole. */
  sessionCalls(tenant: string, sessionId: string): Promise<readonly Call[]>;
  /** All approvals about its calls and its limits, oldest first, without `argsJson`. */
  sessionApprovals(tenant: string, sessionId: string): Promise<readonly Approval[]>;

  /** Takes the lease, unless another replica holds one that runs still or the session has ended: the fence grows by one. One transaction. */
  claimSession(claim: SessionClaim): Promise<Session | undefined>;
  /** Of those that are held by this replica under these fences still; answers with those that were renewed. */
  renewSessions(replica: string, sessions: readonly { readonly tenant: string; readonly sessionId: string; readonly fence: number }[], leaseExpiresAt: number): Promise<readonly { readonly tenant: string; readonly sessionId: string }[]>;
  /** Gives up every lease of this replica: what an earlier process of its name held. To be asked before it claims any. @returns how many */
  freeSessions(replica: string): Promise<number>;
  /**
   * Sessions that nobody looks after and that have something to do: not ended, no lease that runs, and one of: `running` or `awaiting_tool`,
   * entries in the inbox that were not taken (in `awaiting_approval`: cancels, for nothing else reaches what waits for people),
   * `awaiting_approval` with no parked call and no pending approval of a limit. Oldest change first.
   */
  idleSessions(now: number, limit: number): Promise<readonly { readonly tenant: string; readonly sessionId: string }[]>;
}
