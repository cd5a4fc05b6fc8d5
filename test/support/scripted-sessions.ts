// The part of a scripted service that answers about sessions: one session of `support@1.0.0` that has said one thing.
import type { Session, SessionEvent } from "../../packages/runtime/src/session/types.ts";
import type { SessionService, SessionView, Timeline } from "../../packages/runtime/src/service-sessions.ts";

const at = Date.UTC(2026, 0, 2, 3, 4, 5);

export const scriptedSession: Session = {
  tenant: "acme",
  sessionId: "sess_01KDYQ3M4PXJ9V2H6S8T0W1Y3Z",
  project: "default",
  agent: "support",
  agentVersion: "1.0.0",
  agentVersionId: "agv_01KDYQ3M4PXJ9V2H6S8T0W1Y3Z",
  principal: "user:alice",
  keyId: "key_1",
  parentSessionId: "",
  parentCallId: "",
  depth: 0,
  contextJson: '{"context":{"ticket":7},"fingerprint":"f"}',
  idempotencyKey: null,
  createdAt: at,
  deadlineAt: null,
  state: "awaiting_input",
  reason: { code: "end_turn", message: "the model has ended its turn" },
  turn: 1,
  historyLength: 2,
  inboxTaken: 1,
  inboxSeq: 1,
  eventSeq: 2,
  snapshotJson: null,
  approvalId: null,
  usage: { inputTokens: 12, outputTokens: 5, modelCalls: 1, toolCalls: 0 },
  updatedAt: at + 1_000,
  endedAt: null,
  fence: 1,
  replica: null,
  leaseExpiresAt: null,
};

export const scriptedSessionEvents: readonly SessionEvent[] = [
  { tenant: "acme", sessionId: scriptedSession.sessionId, seq: 1, at, type: "session.started", turn: 0, step: 0, dataJson: '{"agent":"support","version":"1.0.0","principal":"user:alice"}' },
  { tenant: "acme", sessionId: scriptedSession.sessionId, seq: 2, at: at + 900, type: "assistant", turn: 1, step: 1, dataJson: '{"text":"Hello.","calls":[],"stop":"end_turn","input_tokens":12,"output_tokens":5}' },
];

const view: SessionView = { session: scriptedSession, reply: "Hello.", approvalIds: [], replayed: false };
const timeline: Timeline = {
  session: scriptedSession,
  history: [
    { type: "user", turn: 1, by: "user:alice", text: "hello", inboxSeq: 1 },
    { type: "assistant", turn: 1, step: 1, parts: [{ type: "text", text: "Hello." }], stop: "end_turn", usage: { inputTokens: 12, outputTokens: 5 } },
  ],
  calls: [],
  approvals: [],
  events: scriptedSessionEvents,
  children: [],
  cut: false,
};

export const scriptedSessions: SessionService = {
  startSession: async () => view,
  getSession: async () => view,
  listSessions: async () => ({ items: [scriptedSession], next: "more" }),
  sendMessage: async (_asked, sessionId, { text }) => ({
    ...view,
    entry: { tenant: "acme", sessionId, seq: 2, at, by: "user:alice", wish: { type: "message", text }, idempotencyKey: "k" },
  }),
  cancelSession: async () => view,
  completeSession: async () => ({ ...view, session: { ...scriptedSession, state: "completed", endedAt: at + 2_000 } }),
  listSessionEvents: async (_asked, _id, afterSeq) => scriptedSessionEvents.filter(({ seq }) => seq > afterSeq),
  followSession: async (_asked, _id, afterSeq) => {
    let over = false;
    return {
      get over() {
        return over;
      },
      async next() {
        over = true;
        return scriptedSessionEvents.filter(({ seq }) => seq > afterSeq).map((event) => ({ kind: "event", event }));
      },
      close: () => undefined,
    };
  },
  sessionTimeline: async () => timeline,
};
