// What a session is before anybody has driven it.
import type { Session, SessionIdentity } from "../../session/types.ts";

/** Of a session that nobody drives yet; its first event tells that it started. */
export function unbegun(state: Session["state"], now: number): Omit<Session, keyof SessionIdentity> {
  return {
    state,
    reason: null,
    turn: 0,
    historyLength: 0,
    inboxTaken: 0,
    inboxSeq: 0,
    eventSeq: 1,
    snapshotJson: null,
    approvalId: null,
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0, toolCalls: 0 },
    updatedAt: now,
    endedAt: null,
    fence: 0,
    replica: null,
    leaseExpiresAt: null,
  };
}
