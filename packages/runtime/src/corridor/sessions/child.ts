// Runs an agent as a tool: finds the session that belongs to a call, or makes it, and waits until it has ended.
import type { Call } from "../../call/types.ts";
import { isTerminal } from "../../call/types.ts";
import { isEnded, type Session } from "../../session/types.ts";
import { storable } from "../invoke.ts";
import { ChildFailed } from "./child-failed.ts";
import { childSessionId } from "./child-id.ts";
import { newChild } from "./child-new.ts";
import type { SessionPorts } from "./ports.ts";
import { replyOf, sessionWhen } from "./reply.ts";

export interface ChildPorts extends SessionPorts {
  readonly sessions: { kick(tenant: string, sessionId: string): void };
  /** Aborts when this replica lets go of its sessions, and of those who wait for them. */
  readonly leaving: AbortSignal;
}

export interface ChildOrder {
  readonly tenant: string;
  readonly callId: string;
  /** Nobody waits for the answer any more after it; wall clock, ms since 1970. */
  readonly deadlineAt: number;
  /** The call is to end, or its lease is over. */
  readonly signal: AbortSignal;
  /** Whether the signal means that the session is to end as well. */
  endsSession(): boolean;
}

/** What the tool gives back, as its output. */
export interface ChildAnswer {
  /** What the agent said last. */
  readonly reply: string;
  readonly session_id: string;
  readonly status: "completed";
}

/** Nobody here waits for the session any more: it goes on, and whoever runs the call again finds it. */
export class ChildLeft extends Error {
  override readonly name = "ChildLeft";
}

/**
 * @throws ChildFailed when the session failed, was cancelled or cannot be begun; ChildLeft, LedgerUnavailable: the call is to be run
 *   again
 */
export async function runChild(ports: ChildPorts, order: ChildOrder): Promise<ChildAnswer> {
  const { tenant, callId, signal } = order;
  const call = await storable(ports.ledger.getCall(tenant, callId));
  if (call === undefined) throw new ChildLeft(`the call ${callId} is not in the ledger`);
  const begun = await findOrMake(ports, call, order.deadlineAt);
  poke(ports, begun);
  const told = (): void => void (order.endsSession() && endChild(ports, call).catch((error: unknown) => notTold(ports, call, error)));
  if (signal.aborted) told();
  else signal.addEventListener("abort", told, { once: true });
  try {
    const ended = await untilEnded(ports, begun, order);
    return await answerOf(ports, ended);
  } finally {
    signal.removeEventListener("abort", told);
  }
}

async function findOrMake(ports: ChildPorts, call: Call, deadlineAt: number): Promise<Session> {
  const { tenant, callId } = call;
  const sessionId = childSessionId(ports.hash, tenant, callId);
  const find = async (): Promise<Session | undefined> => {
    const found = await storable(ports.ledger.session(tenant, sessionId));
    if (found !== undefined && found.parentCallId !== callId) throw new ChildFailed("agent_failed", `the session ${sessionId} belongs to another call`, {});
    return found;
  };
  const found = await find();
  if (found !== undefined) return found;
  if (ports.leaving.aborted) throw new ChildLeft("the runtime leaves");
  const writes = await newChild(ports, call, sessionId, deadlineAt);
  await storable(ports.ledger.commit({ writes }));
  const made = await find();
  if (made === undefined) throw new ChildLeft(`the session ${sessionId} could not be stored`);
  return made;
}

async function untilEnded(ports: ChildPorts, session: Session, { signal, endsSession }: ChildOrder): Promise<Session> {
  const left = (): boolean => ports.leaving.aborted || (signal.aborted && !endsSession());
  const now = await storable(sessionWhen(ports, session, ({ state }) => isEnded(state) || left(), { ms: Number.POSITIVE_INFINITY, wakes: [signal, ports.leaving] }));
  if (now !== undefined && isEnded(now.state)) return now;
  throw new ChildLeft(now === undefined ? "its session is not in the ledger" : "the runtime leaves, or its lease is over");
}

async function answerOf({ ledger }: ChildPorts, session: Session): Promise<ChildAnswer> {
  const { state, sessionId, agent, agentVersion, reason } = session;
  if (state === "completed") return { reply: (await storable(replyOf(ledger, session))) ?? "", session_id: sessionId, status: "completed" };
  const why = reason === null ? "" : `: ${reason.message}`;
  throw new ChildFailed(state === "cancelled" ? "agent_cancelled" : "agent_failed", `${agent}@${agentVersion} ended ${state}${why}`, {
    session_id: sessionId,
    status: state,
    ...(reason === null ? {} : { reason: reason.code }),
  });
}

/** The call is over, or is to be: what it began ends too. Idempotent; without a session, or with one that has ended, nothing happens. */
async function endChild(ports: ChildPorts, { tenant, callId }: Call): Promise<void> {
  const { ledger, hash, clock } = ports;
  const sessionId = childSessionId(hash, tenant, callId);
  const [session, call] = await storable(Promise.all([ledger.session(tenant, sessionId), ledger.getCall(tenant, callId)]));
  if (session === undefined || call === undefined || isEnded(session.state)) return;
  const timedOut = call.stopReason === "timeout" || call.stopReason === "total_deadline";
  const reason = timedOut ? `the call ${callId} has run out of time` : `the call ${callId} was cancelled`;
  const wish = { type: "cancel", scope: "session", callId: null, reason } as const;
  const entry = { tenant, sessionId, at: clock.now(), by: call.cancelRequestedBy ?? call.principal, wish, idempotencyKey: "its call ended" };
  await storable(ledger.commit({ writes: [{ op: "put_inbox", entry }] }));
  poke(ports, session);
}

/** A call that ended without its session: cancelled while it waited to be run again, out of time, or refused meanwhile. */
export function callEnded(ports: ChildPorts, call: Call): void {
  if (call.executor !== "agent" || !isTerminal(call.state) || call.state === "succeeded") return;
  endChild(ports, call).catch((error: unknown) => notTold(ports, call, error));
}

/** Whoever takes up a session whose call has ended meanwhile, unheard, ends it. */
export async function endOrphan(ports: ChildPorts, { tenant, parentCallId }: Session): Promise<void> {
  if (parentCallId === "") return;
  const call = await storable(ports.ledger.getCall(tenant, parentCallId));
  if (call !== undefined && isTerminal(call.state)) await endChild(ports, call);
}

function notTold({ log }: ChildPorts, { callId }: Call, error: unknown): void {
  log.warn({ reason: String(error), execution_id: callId }, "the session of a call that has ended could not be told to end; whoever takes it up next will");
}

function poke(ports: ChildPorts, { tenant, sessionId }: Session): void {
  ports.sessions.kick(tenant, sessionId);
  ports.wakeOthers?.(tenant, sessionId);
}
