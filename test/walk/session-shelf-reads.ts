// What a ledger in memory reads of sessions: the session part of the ledger's port over a shelf, its calls and its approvals.
import { isParked, type Call } from "../../packages/runtime/src/call/types.ts";
import type { Page } from "../../packages/runtime/src/ledger/page.ts";
import { SessionLedger, type StoredSessions } from "../../packages/runtime/src/ledger/session-reads.ts";
import type { SessionFilter } from "../../packages/runtime/src/ledger/sessions.ts";
import type { Approval } from "../../packages/runtime/src/policy/approval/types.ts";
import { isEnded, type Session } from "../../packages/runtime/src/session/types.ts";
import { byEffectNumber } from "../../packages/runtime/src/adapters/sqlite/session-columns.ts";
import { pageOf, readCursor } from "../../packages/runtime/src/adapters/sqlite/paging.ts";
import { sessionKey, type SessionShelf } from "./session-shelf.ts";

export interface Shelved {
  readonly sessions: SessionShelf;
  readonly calls: ReadonlyMap<string, Call>;
  readonly shelf: { readonly approvals: ReadonlyMap<string, Approval> };
}

type Named = { readonly tenant: string; readonly sessionId: string };
const byPlace = (a: Call, b: Call): number => a.turn - b.turn || a.step - b.step || a.index - b.index;
const inOrder = (...keys: readonly (readonly [string | number, string | number])[]): number => {
  for (const [a, b] of keys) if (a !== b) return a < b ? -1 : 1;
  return 0;
};
const of = <T>(map: ReadonlyMap<string, readonly T[]>, tenant: string, sessionId: string): readonly T[] => map.get(sessionKey({ tenant, sessionId })) ?? [];

const callsOf = (store: Shelved, { tenant, sessionId }: Named): Call[] =>
  [...store.calls.values()].filter((call) => call.sessionId === sessionId && call.tenant === tenant && sessionId !== "");
const approvalsOf = (store: Shelved, { tenant, sessionId }: Named): Approval[] =>
  [...store.shelf.approvals.values()].filter((approval) => approval.subject.sessionId === sessionId && approval.tenant === tenant);

function isIdle(store: Shelved, row: Session, now: number): boolean {
  if (isEnded(row.state) || (row.replica !== null && (row.leaseExpiresAt ?? 0) > now)) return false;
  if (row.state === "running" || row.state === "awaiting_tool") return true;
  const waiting = of(store.sessions.inbox, row.tenant, row.sessionId).slice(row.inboxTaken);
  if (row.state === "awaiting_approval" ? waiting.some(({ wish }) => wish.type === "cancel") : waiting.length > 0) return true;
  const asked = approvalsOf(store, row).some(({ subject, state }) => subject.kind === "limit" && state === "pending");
  return row.state === "awaiting_approval" && !asked && !callsOf(store, row).some(isParked);
}

function listed(store: Shelved, filter: SessionFilter, limit: number, cursor: string | undefined): Page<Session> {
  const [at, id] = cursor === undefined ? [] : readCursor(cursor, 2);
  const found = [...store.sessions.rows.values()]
    .filter((row) => Object.entries(filter).every(([field, value]) => value === undefined || row[field as keyof Session] === value))
    .filter((row) => at === undefined || id === undefined || inOrder([row.createdAt, at], [row.sessionId, id]) < 0)
    .toSorted((a, b) => inOrder([b.createdAt, a.createdAt], [b.sessionId, a.sessionId]));
  const rows = found.slice(0, limit + 1).map((row) => ({ ...row, snapshotJson: null }));
  return pageOf(rows, limit, ({ createdAt, sessionId }) => [createdAt, sessionId]);
}

function agentReads({ sessions: { agents } }: Shelved): Pick<StoredSessions, "agent" | "agentVersion" | "agentVersions" | "listAgents" | "agentChanges"> {
  return {
    agent: (tenant, agent) => agents.records.get(`${tenant}/${agent}`),
    agentVersion: (tenant, agent, version) => agents.versions.get(`${tenant}/${agent}/${version}`),
    agentVersions: (tenant, agent) =>
      [...agents.versions.values()]
        .filter((row) => row.tenant === tenant && row.agent === agent)
        .toSorted((a, b) => inOrder([a.publishedAt, b.publishedAt], [a.version, b.version])),
    listAgents(tenant, limit, cursor) {
      const after = cursor === undefined ? "" : String(readCursor(cursor, 1)[0]);
      const rows = [...agents.records.values()].filter((row) => row.tenant === tenant && row.agent > after);
      return pageOf(rows.toSorted((a, b) => inOrder([a.agent, b.agent])), limit, ({ agent }) => [agent]);
    },
    agentChanges: (tenant, agent, limit) => (agents.changes.get(`${tenant}/${agent}`) ?? []).slice(0, limit),
  };
}

/** @param store answers as it stands when it is asked */
export function shelfReads(store: Shelved): StoredSessions {
  const { sessions } = store;
  return {
    ...agentReads(store),
    session: (tenant, sessionId) => sessions.rows.get(sessionKey({ tenant, sessionId })),
    sessionByKey: (...asked) => sessions.byKey(...asked),
    listSessions: (filter, limit, cursor) => listed(store, filter, limit, cursor),
    history: (tenant, sessionId, from, limit) => of(sessions.history, tenant, sessionId).slice(from, from + limit),
    inbox: (tenant, sessionId, afterSeq, limit) => of(sessions.inbox, tenant, sessionId).slice(afterSeq, afterSeq + limit),
    inboxByKey: (tenant, sessionId, key) => of(sessions.inbox, tenant, sessionId).find(({ idempotencyKey }) => idempotencyKey === key),
    sessionEvents: (tenant, sessionId, afterSeq, limit) => of(sessions.events, tenant, sessionId).slice(afterSeq, afterSeq + limit),
    effect: (tenant, sessionId, key) => sessions.effects.get(`${sessionKey({ tenant, sessionId })}/${key}`),
    journal: (tenant, sessionId) =>
      [...sessions.effects.values()].filter((row) => row.tenant === tenant && row.sessionId === sessionId).toSorted(byEffectNumber),
    hostEvents: (tenant, callIds) =>
      [...sessions.hostEvents.values()]
        .filter((row) => row.tenant === tenant && callIds.includes(row.callId))
        .toSorted((a, b) => inOrder([a.callId, b.callId], [a.ordinal, b.ordinal], [a.type, b.type])),
    sessionCalls: (tenant, sessionId) => callsOf(store, { tenant, sessionId }).toSorted(byPlace),
    sessionApprovals: (tenant, sessionId) =>
      approvalsOf(store, { tenant, sessionId })
        .toSorted((a, b) => inOrder([a.openedAt, b.openedAt], [a.approvalId, b.approvalId]))
        .map((approval) => ({ ...approval, argsJson: "" })),
    claimSession: (claim) => sessions.claim(claim),
    renewSessions: (...asked) => sessions.renew(...asked),
    freeSessions: (replica) => sessions.free(replica),
    idleSessions: (now, limit) =>
      [...sessions.rows.values()]
        .filter((row) => isIdle(store, row, now))
        .toSorted((a, b) => inOrder([a.updatedAt, b.updatedAt], [a.tenant, b.tenant], [a.sessionId, b.sessionId]))
        .slice(0, limit)
        .map(({ tenant, sessionId }) => ({ tenant, sessionId })),
  };
}

/** The session part of a ledger over a shelf, each question asked in the way that a simulator asks. */
export class ShelfSessions extends SessionLedger {
  readonly #read: <T>(look: () => T) => Promise<T>;
  readonly #stored: StoredSessions;

  constructor(store: Shelved, read: <T>(look: () => T) => Promise<T>) {
    super();
    this.#read = read;
    this.#stored = shelfReads(store);
  }

  protected override async ask<T>(look: (stored: StoredSessions) => T | Promise<T>): Promise<T> {
    return this.#read(() => look(this.#stored));
  }
}

/** As plain functions, for a ledger that is put together from parts. */
export function sessionPart(store: Shelved, read: <T>(look: () => T) => Promise<T>) {
  const part = new ShelfSessions(store, read);
  const names = Object.getOwnPropertyNames(SessionLedger.prototype).filter((name) => name !== "constructor");
  return Object.fromEntries(names.map((name) => [name, (part[name as keyof ShelfSessions] as (...asked: unknown[]) => unknown).bind(part)])) as unknown as SessionLedger;
}
