// The session part of a ledger as a class has it: each read goes through the one door by which that ledger reads.
import type { SessionClaim, SessionFilter, SessionReads } from "./sessions.ts";

type Answer<Name extends keyof SessionReads> = Awaited<ReturnType<SessionReads[Name]>>;

/** What a store must have for it; it may answer at once. Limits have been cut already. */
export type StoredSessions = {
  readonly [Name in keyof SessionReads]: (...asked: Parameters<SessionReads[Name]>) => Answer<Name> | Promise<Answer<Name>>;
};

const rowsPerReadMax = 1_000;

/** @throws RangeError */
export function atMost(limit: number): number {
  if (!Number.isInteger(limit) || limit < 1) throw new RangeError(`a limit is a whole number from 1, not ${limit}`);
  return Math.min(limit, rowsPerReadMax);
}

export abstract class SessionLedger implements SessionReads {
  /** Runs what reads, with the errors of the port. */
  protected abstract ask<T>(look: (stored: StoredSessions) => T | Promise<T>): Promise<T>;

  agent(tenant: string, agent: string) {
    return this.ask((stored) => stored.agent(tenant, agent));
  }

  agentVersion(tenant: string, agent: string, version: string) {
    return this.ask((stored) => stored.agentVersion(tenant, agent, version));
  }

  agentVersions(tenant: string, agent: string) {
    return this.ask((stored) => stored.agentVersions(tenant, agent));
  }

  listAgents(tenant: string, limit: number, cursor?: string) {
    return this.ask((stored) => stored.listAgents(tenant, atMost(limit), cursor));
  }

  agentChanges(tenant: string, agent: string, limit: number) {
    return this.ask((stored) => stored.agentChanges(tenant, agent, atMost(limit)));
  }

  session(tenant: string, sessionId: string) {
    return this.ask((stored) => stored.session(tenant, sessionId));
  }

  sessionByKey(tenant: string, project: string, idempotencyKey: string) {
    return this.ask((stored) => stored.sessionByKey(tenant, project, idempotencyKey));
  }

  listSessions(filter: SessionFilter, limit: number, cursor?: string) {
    return this.ask((stored) => stored.listSessions(filter, atMost(limit), cursor));
  }

  history(tenant: string, sessionId: string, from: number, limit: number) {
    return this.ask((stored) => stored.history(tenant, sessionId, from, atMost(limit)));
  }

  inbox(tenant: string, sessionId: string, afterSeq: number, limit: number) {
    return this.ask((stored) => stored.inbox(tenant, sessionId, afterSeq, atMost(limit)));
  }

  inboxByKey(tenant: string, sessionId: string, idempotencyKey: string) {
    return this.ask((stored) => stored.inboxByKey(tenant, sessionId, idempotencyKey));
  }

  sessionEvents(tenant: string, sessionId: string, afterSeq: number, limit: number) {
    return this.ask((stored) => stored.sessionEvents(tenant, sessionId, afterSeq, atMost(limit)));
  }

  effect(tenant: string, sessionId: string, key: string) {
    return this.ask((stored) => stored.effect(tenant, sessionId, key));
  }

  journal(tenant: string, sessionId: string) {
    return this.ask((stored) => stored.journal(tenant, sessionId));
  }

  hostEvents(tenant: string, callIds: readonly string[]) {
    return this.ask((stored) => stored.hostEvents(tenant, callIds));
  }

  sessionCalls(tenant: string, sessionId: string) {
    return this.ask((stored) => stored.sessionCalls(tenant, sessionId));
  }

  sessionApprovals(tenant: string, sessionId: string) {
    return this.ask((stored) => stored.sessionApprovals(tenant, sessionId));
  }

  claimSession(claim: SessionClaim) {
    return this.ask((stored) => stored.claimSession(claim));
  }

  renewSessions(...of: Parameters<SessionReads["renewSessions"]>) {
    return this.ask((stored) => stored.renewSessions(...of));
  }

  freeSessions(replica: string) {
    return this.ask((stored) => stored.freeSessions(replica));
  }

  idleSessions(now: number, limit: number) {
    return this.ask((stored) => stored.idleSessions(now, atMost(limit)));
  }
}
