// Sessions and what belongs to them as a ledger in memory keeps them: the guards, the lists, and the leases.
import type { Unit, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { SessionClaim } from "../../packages/runtime/src/ledger/sessions.ts";
import { isEnded, type HistoryItem, type HostEvent, type InboxEntry, type JournalRow, type Session, type SessionEvent } from "../../packages/runtime/src/session/types.ts";
import { sessionSteps, stepOf, type SessionStep } from "../../packages/runtime/src/adapters/sqlite/session-plan.ts";
import { AgentShelf, isAgentWrite, type AgentWrite } from "./agent-shelf.ts";

type SessionOp =
  | "insert_session"
  | "update_session"
  | "put_inbox"
  | "claim_effect"
  | "complete_effect"
  | "append_history"
  | "append_session_event"
  | "put_host_event";
type SessionWrite = Extract<Write, { op: SessionOp }>;

const sessionOps: Readonly<Record<SessionOp, true>> = {
  insert_session: true,
  update_session: true,
  put_inbox: true,
  claim_effect: true,
  complete_effect: true,
  append_history: true,
  append_session_event: true,
  put_host_event: true,
};

export function isSessionWrite(write: Write): write is SessionWrite | AgentWrite {
  return write.op in sessionOps || isAgentWrite(write);
}

type Named = { readonly tenant: string; readonly sessionId: string };
export const sessionKey = ({ tenant, sessionId }: Named): string => `${tenant}/${sessionId}`;
const effectKey = (row: Named & { readonly key: string }): string => `${sessionKey(row)}/${row.key}`;
const hostKey = ({ tenant, callId, ordinal, type }: HostEvent): string => `${tenant}/${callId}/${ordinal}/${type}`;

export class SessionShelf {
  readonly agents = new AgentShelf();
  readonly rows = new Map<string, Session>();
  readonly history = new Map<string, readonly HistoryItem[]>();
  readonly inbox = new Map<string, readonly InboxEntry[]>();
  readonly events = new Map<string, readonly SessionEvent[]>();
  readonly effects = new Map<string, JournalRow>();
  readonly hostEvents = new Map<string, HostEvent>();
  /** False: fences are not asked, so that a simulator can show that it notices. */
  guards = true;
  #undo: (() => void)[] = [];

  /**
   * Writes what the unit has for sessions and agents.
   * @returns the index of the write whose guard did not hold, after which nothing of it is here; -1 = all is
   * @throws Error for a unit that contradicts itself
   */
  apply({ writes }: Unit): number {
    this.#undo = [];
    if (!writes.some(isSessionWrite)) return -1;
    const steps = sessionSteps(writes);
    const refused = writes.findIndex((write) => isSessionWrite(write) && !this.#write(write, steps));
    if (refused >= 0) this.takeBack();
    return refused;
  }

  /** As it was before the last {@link apply}. */
  takeBack(): void {
    for (const undo of this.#undo.toReversed()) undo();
    this.#undo = [];
  }

  #set<T>(map: Map<string, T>, key: string, value: T): true {
    const [there, before] = [map.has(key), map.get(key) as T];
    this.#undo.push(() => void (there ? map.set(key, before) : map.delete(key)));
    map.set(key, value);
    return true;
  }

  #write(write: SessionWrite | AgentWrite, steps: readonly SessionStep[]): boolean {
    if (isAgentWrite(write)) return this.agents.write(write, (map, key, value) => this.#set(map, key, value));
    switch (write.op) {
      case "insert_session":
        return !this.#isTaken(write.row) && this.#set(this.rows, sessionKey(write.row), write.row);
      case "update_session":
        return this.#update(write, stepOf(steps, write.row.tenant, write.row.sessionId));
      case "put_inbox":
        return this.#put(write.entry);
      case "claim_effect":
        return this.#hasFence(write.row) && this.#mayClaim(write.row, write.now) && this.#set(this.effects, effectKey(write.row), write.row);
      case "complete_effect":
        return this.#complete(write);
      case "append_history":
        return this.#append(this.history, sessionKey(write), write.item);
      case "append_session_event":
        return this.#append(this.events, sessionKey(write.event), write.event);
      case "put_host_event":
        return this.hostEvents.has(hostKey(write.row)) || this.#set(this.hostEvents, hostKey(write.row), write.row);
    }
  }

  #append<T>(map: Map<string, readonly T[]>, key: string, one: T): true {
    return this.#set(map, key, [...(map.get(key) ?? []), one]);
  }

  #isTaken(row: Session): boolean {
    return this.rows.has(sessionKey(row)) || (row.idempotencyKey !== null && this.byKey(row.tenant, row.project, row.idempotencyKey) !== undefined);
  }

  byKey(tenant: string, project: string, key: string): Session | undefined {
    return [...this.rows.values()].find((row) => row.tenant === tenant && row.project === project && row.idempotencyKey === key);
  }

  #update({ row, expect, release }: Extract<Write, { op: "update_session" }>, step: SessionStep | undefined): boolean {
    const stored = this.rows.get(sessionKey(row));
    if (stored === undefined || isEnded(stored.state)) return false;
    if (this.guards && (stored.fence !== expect.fence || (expect.inboxSeq ?? stored.inboxSeq) !== stored.inboxSeq)) return false;
    const { items = 0, events = 0 } = step ?? {};
    if (stored.historyLength !== row.historyLength - items || stored.eventSeq !== row.eventSeq - events) return false;
    const { state, reason, turn, historyLength, inboxTaken, eventSeq, snapshotJson, approvalId, usage, updatedAt, endedAt } = row;
    const progress = { state, reason, turn, historyLength, inboxTaken, eventSeq, snapshotJson, approvalId, usage, updatedAt, endedAt };
    const lease = release ? { replica: null, leaseExpiresAt: null } : {};
    return this.#set(this.rows, sessionKey(row), { ...stored, ...progress, ...lease });
  }

  #put(entry: Omit<InboxEntry, "seq">): boolean {
    const stored = this.rows.get(sessionKey(entry));
    if (stored === undefined || isEnded(stored.state)) return false;
    const entries = this.inbox.get(sessionKey(entry)) ?? [];
    if (entry.idempotencyKey !== null && entries.some(({ idempotencyKey }) => idempotencyKey === entry.idempotencyKey)) return false;
    const seq = stored.inboxSeq + 1;
    this.#set(this.rows, sessionKey(entry), { ...stored, inboxSeq: seq });
    return this.#append(this.inbox, sessionKey(entry), { ...entry, seq });
  }

  #hasFence(of: Named & { readonly fence: number }): boolean {
    const stored = this.rows.get(sessionKey(of));
    return stored !== undefined && (!this.guards || stored.fence === of.fence);
  }

  #mayClaim(row: JournalRow, now: number): boolean {
    const stored = this.effects.get(effectKey(row));
    return stored === undefined || (stored.state === "claimed" && (stored.fence < row.fence || stored.claimExpiresAt <= now));
  }

  #complete(write: Extract<Write, { op: "complete_effect" }>): boolean {
    const stored = this.effects.get(effectKey(write));
    if (!this.#hasFence(write) || stored?.state !== "claimed" || stored.fence !== write.fence) return false;
    return this.#set(this.effects, effectKey(write), { ...stored, state: "completed", completedAt: write.at, outcomeJson: write.outcomeJson });
  }

  claim({ tenant, sessionId, replica, now, leaseMs }: SessionClaim): Session | undefined {
    const stored = this.rows.get(sessionKey({ tenant, sessionId }));
    if (stored === undefined || isEnded(stored.state)) return undefined;
    if (stored.replica !== null && stored.replica !== replica && (stored.leaseExpiresAt ?? 0) > now) return undefined;
    const claimed = { ...stored, fence: stored.fence + 1, replica, leaseExpiresAt: now + leaseMs };
    this.rows.set(sessionKey(stored), claimed);
    return claimed;
  }

  renew(replica: string, sessions: readonly (Named & { readonly fence: number })[], leaseExpiresAt: number): Named[] {
    return sessions.flatMap(({ tenant, sessionId, fence }) => {
      const stored = this.rows.get(sessionKey({ tenant, sessionId }));
      if (stored === undefined || stored.replica !== replica || stored.fence !== fence || isEnded(stored.state)) return [];
      this.rows.set(sessionKey(stored), { ...stored, leaseExpiresAt });
      return [{ tenant, sessionId }];
    });
  }

  free(replica: string): number {
    const held = [...this.rows.values()].filter((row) => row.replica === replica && !isEnded(row.state));
    for (const row of held) this.rows.set(sessionKey(row), { ...row, replica: null, leaseExpiresAt: null });
    return held.length;
  }
}
