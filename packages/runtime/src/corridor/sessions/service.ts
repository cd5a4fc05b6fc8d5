// What callers can do with sessions: each wish goes into the inbox, and whoever drives the session takes it from there.
import { canonicalJson, isWellFormed, limits, makeId, SignalboxError, utf8Bytes } from "@signalbox/protocol";
import { isEnded, type InboxEntry, type Session, type Wish } from "../../session/types.ts";
import type { Ledger } from "../../ledger/port.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import type { CancelSession, SentMessage, SessionFollower, SessionQuery, SessionService, SessionView, StartSession } from "../../service-sessions.ts";
import type { Asked, Scope } from "../../tenancy/types.ts";
import type { Paging } from "../cursors.ts";
import { requireStillIn } from "../authenticate.ts";
import { maySee } from "../executions.ts";
import { storable } from "../invoke.ts";
import { placeOf } from "../place.ts";
import { hasScope } from "../refusals.ts";
import { SessionReader } from "./follow.ts";
import { sessionLimits, type SessionPorts } from "./ports.ts";
import { replyOf, turnEnd } from "./reply.ts";
import type { SessionDriver } from "./driver.ts";
import { timelineOf } from "./timeline.ts";
import { unbegun } from "./unbegun.ts";

export interface SessionServicePorts extends SessionPorts {
  readonly sessions: SessionDriver;
  readonly paging: Paging;
  /** Which version runs for this name; refuses what may not start. */
  agentToRun(tenant: string, agent: string, version: string | undefined): Promise<AgentVersion>;
}

export function sessionService(ports: SessionServicePorts): SessionService {
  return {
    startSession: (asked, start) => startSession(ports, asked, start),
    async getSession(asked, sessionId) {
      await requireRead(ports, asked);
      return viewOf(ports, await sessionOf(ports, asked, sessionId), false);
    },
    listSessions: (asked, query) => listSessions(ports, asked, query),
    sendMessage: (asked, sessionId, message) => sendMessage(ports, asked, sessionId, message),
    cancelSession: (asked, sessionId, cancel) => cancelSession(ports, asked, sessionId, cancel),
    completeSession: (asked, sessionId) => completeSession(ports, asked, sessionId),
    async listSessionEvents(asked, sessionId, afterSeq, limit) {
      await requireRead(ports, asked);
      await sessionOf(ports, asked, sessionId);
      return storable(ports.ledger.sessionEvents(asked.principal.tenant, sessionId, afterSeq, limit));
    },
    async followSession(asked, sessionId, afterSeq) {
      await requireRead(ports, asked);
      await sessionOf(ports, asked, sessionId);
      return stillIn(ports, asked, new SessionReader(ports, asked.principal.tenant, sessionId, afterSeq));
    },
    async sessionTimeline(asked, sessionId) {
      await requireRead(ports, asked);
      return timelineOf(ports, await sessionOf(ports, asked, sessionId));
    },
  };
}

/** What comes after the reader's key has ended, or its tenant was suspended, is not told. */
function stillIn(ports: SessionPorts, asked: Asked, reader: SessionReader): SessionFollower {
  return {
    get over() {
      return reader.over;
    },
    async next(ms) {
      const told = await storable(reader.next(ms));
      await requireStillIn(ports, asked);
      return told;
    },
    close: () => reader.close(),
  };
}

/** Unknown and foreign ids get the very same words. */
export function sessionNotFound(): SignalboxError {
  return new SignalboxError("session_not_found", "there is no such session; 'signalbox sessions list' shows those that there are");
}

async function requireRead(ports: SessionPorts, asked: Asked): Promise<void> {
  await ports.refusals.requireScope(asked.principal, "sessions:read", asked.requestId);
}

async function sessionOf(ports: SessionPorts, asked: Asked, sessionId: string): Promise<Session> {
  const session = await storable(ports.ledger.session(asked.principal.tenant, sessionId));
  if (session === undefined || !maySee(asked, session.project)) throw sessionNotFound();
  return session;
}

async function viewOf(ports: SessionPorts, session: Session, replayed: boolean): Promise<SessionView> {
  const [reply, approvalIds] = await storable(Promise.all([replyOf(ports.ledger, session), openQuestions(ports.ledger, session)]));
  return { session, reply, approvalIds, replayed };
}

async function openQuestions(ledger: Pick<Ledger, "sessionApprovals">, { tenant, sessionId, state }: Session): Promise<readonly string[]> {
  if (state !== "awaiting_approval" && state !== "awaiting_tool") return [];
  const all = await ledger.sessionApprovals(tenant, sessionId);
  return all.filter((one) => one.state === "pending").map(({ approvalId }) => approvalId);
}

async function startSession(ports: SessionServicePorts, asked: Asked, start: StartSession): Promise<SessionView> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "sessions:run", requestId);
  const project = await placeOf(ports, asked, { tool: start.agent, ...(start.project === undefined ? {} : { project: start.project }) });
  const fingerprint = ports.hash(canonicalJson({ agent: start.agent, version: start.version ?? "", message: start.message ?? null, context: start.context ?? {} }));
  const known = await sessionByKey(ports, asked, project, start.idempotencyKey, fingerprint);
  if (known !== undefined) return waited(ports, known, start, known.inboxSeq, true);
  if (ports.hub.draining) throw new SignalboxError("draining", "the runtime is shutting down; try again in a moment", { details: { retry_after_s: 1 } });
  const message = start.message === undefined ? undefined : checkedMessage(start.message);
  const agent = await storable(ports.agentToRun(principal.tenant, start.agent, start.version));
  const session = newSession(ports, asked, { start, project, agent, fingerprint });
  const { tenant, sessionId, createdAt } = session;
  const outcome = await storable(
    ports.ledger.commit({
      writes: [
        { op: "insert_session", row: session },
        ...(message === undefined ? [] : [{ op: "put_inbox", entry: { tenant, sessionId, at: createdAt, by: principal.name, wish: { type: "message", text: message }, idempotencyKey: null } } as const]),
        { op: "append_session_event", event: { tenant, sessionId, seq: 1, at: createdAt, type: "session.started", turn: 0, step: 0, dataJson: JSON.stringify({ agent: agent.agent, version: agent.version, principal: principal.name }) } },
        { op: "append_audit", draft: { ts: createdAt, tenant, project, principal: principal.name, action: "session.started", status: session.state, requestId, details: { session_id: sessionId, agent: `${agent.agent}@${agent.version}` } } },
      ],
    }),
  );
  if (!outcome.applied) {
    const winner = await sessionByKey(ports, asked, project, start.idempotencyKey, fingerprint);
    if (winner !== undefined) return waited(ports, winner, start, winner.inboxSeq, true);
    throw new SignalboxError("conflict", "another request with this idempotency key is being stored; try again");
  }
  const stored = { ...session, inboxSeq: message === undefined ? 0 : 1 };
  if (message !== undefined) poke(ports, stored);
  return waited(ports, stored, start, stored.inboxSeq, false);
}

function newSession(
  { clock, chance }: SessionPorts,
  { principal }: Asked,
  { start, project, agent, fingerprint }: { readonly start: StartSession; readonly project: string; readonly agent: AgentVersion; readonly fingerprint: string },
): Session {
  const now = clock.now();
  const contextJson = JSON.stringify({ fingerprint, context: start.context ?? {} });
  if (utf8Bytes(JSON.stringify(start.context ?? {})) > sessionLimits.contextBytesMax)
    throw new SignalboxError("payload_too_large", `the context is larger than ${sessionLimits.contextBytesMax} bytes`);
  return {
    tenant: principal.tenant,
    sessionId: makeId("sess", now, chance.bytes(10)),
    project,
    agent: agent.agent,
    agentVersion: agent.version,
    agentVersionId: agent.versionId,
    principal: principal.name,
    keyId: principal.keyId,
    parentSessionId: "",
    parentCallId: "",
    depth: 0,
    contextJson,
    idempotencyKey: start.idempotencyKey ?? null,
    createdAt: now,
    deadlineAt: start.deadlineMs === undefined ? null : now + start.deadlineMs,
    ...unbegun(start.message === undefined ? "awaiting_input" : "running", now),
  };
}

async function sessionByKey(ports: SessionPorts, asked: Asked, project: string, key: string | undefined, fingerprint: string): Promise<Session | undefined> {
  if (key === undefined) return undefined;
  const found = await storable(ports.ledger.sessionByKey(asked.principal.tenant, project, key));
  if (found === undefined) return undefined;
  const stored = (JSON.parse(found.contextJson) as { readonly fingerprint?: string }).fingerprint;
  if (stored === fingerprint && found.principal === asked.principal.name) return found;
  throw new SignalboxError("idempotency_conflict", "this idempotency key belongs to a session with another agent, message or context", {
    details: { session_id: found.sessionId },
  });
}

function checkedMessage(text: string): string {
  if (text.trim() === "") throw new SignalboxError("invalid_input", "the message is empty");
  if (utf8Bytes(text) > sessionLimits.messageBytesMax) throw new SignalboxError("payload_too_large", `the message is larger than ${sessionLimits.messageBytesMax} bytes`);
  if (!isWellFormed(text)) throw new SignalboxError("invalid_input", "the message is no well-formed text (a lone surrogate)");
  return text;
}

/**
 * What is said to a session is done with the rights of whoever started it: nobody else steers it, but for a key that may do everything
 * and, to stop it, one that may cancel calls.
 */
async function requireTheirs(ports: SessionPorts, { principal, requestId }: Asked, session: Session, instead?: Scope): Promise<void> {
  if (principal.name === session.principal || principal.scopes.has("*")) return;
  if (instead !== undefined && hasScope(principal, instead)) return;
  const { sessionId, project } = session;
  const error = new SignalboxError("forbidden", `the session acts for ${session.principal}, and ${principal.name} may not speak for them; start a session of your own`, {
    details: { session_id: sessionId, reason: "not_theirs" },
  });
  await ports.refusals.refuse(principal, requestId, error, { project, details: { session_id: sessionId, reason: "not_theirs" } });
}

async function sendMessage(ports: SessionServicePorts, asked: Asked, sessionId: string, sent: SentMessage): Promise<SessionView & { readonly entry: InboxEntry }> {
  await ports.refusals.requireScope(asked.principal, "sessions:run", asked.requestId);
  const session = await sessionOf(ports, asked, sessionId);
  await requireTheirs(ports, asked, session);
  const wish: Wish = { type: "message", text: checkedMessage(sent.text) };
  if (session.inboxSeq - session.inboxTaken >= sessionLimits.inboxWaitingMax)
    throw new SignalboxError("queue_full", `the session has ${sessionLimits.inboxWaitingMax} messages that wait; send more when it has taken some`, { details: { retry_after_s: 1 } });
  const { entry, replayed } = await put(ports, asked, session, wish, sent.idempotencyKey);
  const view = await waited(ports, session, sent, entry.seq, replayed);
  return { ...view, entry };
}

/** @throws SignalboxError conflict: it has ended, or the key belongs to another wish */
async function put(ports: SessionServicePorts, asked: Asked, session: Session, wish: Wish, key: string | undefined): Promise<{ readonly entry: InboxEntry; readonly replayed: boolean }> {
  const { tenant, sessionId } = session;
  const earlier = async (): Promise<InboxEntry | undefined> => {
    const found = key === undefined ? undefined : await storable(ports.ledger.inboxByKey(tenant, sessionId, key));
    if (found !== undefined && canonicalJson(found.wish) !== canonicalJson(wish))
      throw new SignalboxError("idempotency_conflict", "this idempotency key belongs to another message of this session", { details: { session_id: sessionId } });
    return found;
  };
  const before = await earlier();
  if (before !== undefined) return { entry: before, replayed: true };
  const entry = { tenant, sessionId, at: ports.clock.now(), by: asked.principal.name, wish, idempotencyKey: key ?? makeId("req", ports.clock.now(), ports.chance.bytes(10)) };
  const outcome = await storable(ports.ledger.commit({ writes: [{ op: "put_inbox", entry }] }));
  if (!outcome.applied) {
    const winner = await earlier();
    if (winner !== undefined) return { entry: winner, replayed: true };
    const now = await sessionOf(ports, asked, sessionId);
    throw new SignalboxError("conflict", `the session is ${now.state}; start a new one`, { details: { session_id: sessionId, status: now.state } });
  }
  poke(ports, session);
  const stored = await storable(ports.ledger.inboxByKey(tenant, sessionId, entry.idempotencyKey));
  if (stored === undefined) throw new SignalboxError("internal", "an entry of an inbox is missing from the ledger");
  return { entry: stored, replayed: false };
}

function poke(ports: SessionServicePorts, { tenant, sessionId }: Pick<Session, "tenant" | "sessionId">): void {
  ports.sessions.kick(tenant, sessionId);
  ports.wakeOthers?.(tenant, sessionId);
}

async function waited(ports: SessionServicePorts, session: Session, { waitMs = 0 }: { readonly waitMs?: number }, inboxSeq: number, replayed: boolean): Promise<SessionView> {
  const ms = Math.min(waitMs, limits.syncWaitMsMax);
  const now = ms === 0 ? await storable(ports.ledger.session(session.tenant, session.sessionId)) : await storable(turnEnd(ports, session, inboxSeq, ms));
  return viewOf(ports, now ?? session, replayed);
}

async function cancelSession(ports: SessionServicePorts, asked: Asked, sessionId: string, cancel: CancelSession): Promise<SessionView> {
  await ports.refusals.requireScope(asked.principal, "sessions:run", asked.requestId);
  const session = await sessionOf(ports, asked, sessionId);
  await requireTheirs(ports, asked, session, "calls:cancel");
  if (isEnded(session.state)) return viewOf(ports, session, false);
  const { scope, reason = "", callId = null } = cancel;
  if ((scope === "call") !== (callId !== null)) throw new SignalboxError("invalid_input", "call_id is given with scope call, and only then");
  if (callId !== null) {
    const call = await storable(ports.ledger.getCall(session.tenant, callId));
    // One of a batch that has not begun has no row yet, and its id says whose it will be.
    if (call === undefined ? !callId.startsWith(`${sessionId}:`) : call.sessionId !== sessionId) throw new SignalboxError("execution_not_found", "the session has made no such call");
  }
  const wish: Wish = { type: "cancel", scope, callId, reason: reason.slice(0, sessionLimits.reasonCharsMax) };
  try {
    await put(ports, asked, session, wish, undefined);
  } catch (error) {
    // It ended by itself meanwhile.
    if (!(error instanceof SignalboxError && error.code === "conflict")) throw error;
  }
  return viewOf(ports, await sessionOf(ports, asked, sessionId), false);
}

async function completeSession(ports: SessionServicePorts, asked: Asked, sessionId: string): Promise<SessionView> {
  await ports.refusals.requireScope(asked.principal, "sessions:run", asked.requestId);
  const session = await sessionOf(ports, asked, sessionId);
  await requireTheirs(ports, asked, session);
  if (session.state === "completed") return viewOf(ports, session, true);
  const { entry } = await put(ports, asked, session, { type: "complete" }, undefined);
  return waited(ports, session, { waitMs: completeWaitMs }, entry.seq, false);
}

/** A session that waits for input ends at once; whoever asks may as well see it. */
const completeWaitMs = 2_000;

async function listSessions(ports: SessionServicePorts, asked: Asked, query: SessionQuery) {
  await requireRead(ports, asked);
  const { limit, cursor, status, project, agent, principal, parent } = query;
  if (project !== undefined && !maySee(asked, project)) return { items: [], next: undefined };
  const where = asked.principal.scopes.has("*") ? project : asked.principal.project;
  const filter = {
    tenant: asked.principal.tenant,
    ...(status === undefined ? {} : { state: status }),
    ...(agent === undefined ? {} : { agent }),
    ...(principal === undefined ? {} : { principal }),
    ...(parent === undefined ? {} : { parentSessionId: parent }),
    ...(where === undefined ? {} : { project: where }),
  };
  return ports.paging(asked, "sessions", cursor, (opened) => storable(ports.ledger.listSessions(filter, limit, opened)));
}
