// Sample rows of agents and sessions for the ledger's conformance suite: complete, and with every field overridable.
import type { AgentVersion } from "../../packages/runtime/src/registry/agents/types.ts";
import type { HistoryItem, HostEvent, InboxEntry, JournalRow, Session, SessionEvent } from "../../packages/runtime/src/session/types.ts";
import type { Write } from "../../packages/runtime/src/ledger/port.ts";
import { dayStart } from "./ledger-rows.ts";

export function sampleAgentVersion(fields: Partial<AgentVersion> = {}): AgentVersion {
  const { agent = "clerk", version = "1.0.0" } = fields;
  return {
    tenant: "acme",
    agent,
    version,
    versionId: `agv_${agent}_${version}`,
    metadata: { name: agent, version, owner: "team-orders", description: `Answers about orders — ${version}`, labels: { tier: "1", "größe": "☂" } },
    spec: {
      model: { provider: "scripted", name: "plain", maxOutputTokens: 4_096, temperature: undefined },
      instructions: "Be brief.\nAnswer in the customer's language.",
      tools: [
        {
          tool: "orders.find",
          version: "2.1.0",
          alias: "find",
          input: { type: "object", properties: { id: { const: "9007199254740993" } } },
          scheduling: "serial(customer)",
          sideEffectClass: undefined,
          policies: ["small@1.0.0"],
        },
        { tool: "mail.send", version: "1.0.0", alias: "mail", input: undefined, scheduling: undefined, sideEffectClass: "external", policies: [] },
      ],
      defaultPolicies: ["reads@1.0.0"],
      permissions: ["tool:invoke:orders.find"],
      limits: {
        stepsMax: 10,
        tokensMax: 100_000,
        wallClockMsMax: 600_000,
        toolCallsMax: 40,
        approvalWaitMsMax: 86_400_000,
        concurrentCallsMax: 8,
        onLimit: "escalate",
      },
      secrets: { MAIL: "env:MAIL_KEY" },
    },
    children: { helper: "3.0.0" },
    manifestDigest: "d1".repeat(32),
    status: "published",
    publishedAt: dayStart,
    publishedBy: "user:ada",
    ...fields,
  };
}

/** New: nothing said, nobody has it. */
export function sampleSession(fields: Partial<Session> = {}): Session {
  return {
    tenant: "acme",
    sessionId: "sess_1",
    project: "shop",
    agent: "clerk",
    agentVersion: "1.0.0",
    agentVersionId: "agv_clerk_1.0.0",
    principal: "agent:clerk",
    keyId: "key_1",
    parentSessionId: "",
    parentCallId: "",
    depth: 0,
    contextJson: '{"customer":9007199254740993.10,"name":"Ærø ☂"}',
    idempotencyKey: null,
    createdAt: dayStart,
    deadlineAt: null,
    state: "running",
    reason: null,
    turn: 0,
    historyLength: 0,
    inboxTaken: 0,
    inboxSeq: 0,
    eventSeq: 0,
    snapshotJson: null,
    approvalId: null,
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0, toolCalls: 0 },
    updatedAt: dayStart,
    endedAt: null,
    fence: 1,
    replica: "r1",
    leaseExpiresAt: dayStart + 15_000,
    ...fields,
  };
}

export const userItem = (text: string, turn = 1): HistoryItem => ({ type: "user", turn, by: "user:ann", text, inboxSeq: turn });

export const assistantItem: HistoryItem = {
  type: "assistant",
  turn: 1,
  step: 1,
  parts: [
    { type: "thought", text: "hm", metadata: { signature: "c2ln", deep: { of: [1, null] } } },
    { type: "text", text: "Ich schaue nach ☂" },
    { type: "tool_call", providerId: "tu_1", name: "find", argumentsText: '{"id": 9007199254740993.10, "id": 2' },
  ],
  stop: "tool_use",
  usage: { inputTokens: 12, outputTokens: 3 },
};

export const resultsItem: HistoryItem = {
  type: "results",
  turn: 1,
  step: 1,
  results: [
    {
      index: 0,
      callId: "exec_1",
      providerId: "tu_1",
      name: "find",
      told: "row",
      status: "succeeded",
      text: '{"n":9007199254740993}',
      isError: false,
      errorCode: null,
      editedArgsJson: '{"id":1.10}',
      editedBy: "user:bo",
      durationMs: 12,
    },
  ],
  settled: [0],
};

export function samplePut(fields: Partial<InboxEntry> = {}): Write {
  const entry = { tenant: "acme", sessionId: "sess_1", at: dayStart + 1, by: "user:ann", wish: { type: "message", text: "Hallo ☂" }, idempotencyKey: null, ...fields } as const;
  return { op: "put_inbox", entry };
}

export function sampleTold(seq: number, fields: Partial<SessionEvent> = {}): SessionEvent {
  return { tenant: "acme", sessionId: "sess_1", seq, at: dayStart + seq, type: "message", turn: 1, step: 0, dataJson: `{"n":${seq}.10}`, ...fields };
}

export function sampleEffect(fields: Partial<JournalRow> = {}): JournalRow {
  return {
    tenant: "acme",
    sessionId: "sess_1",
    key: "t1.e1",
    kind: "complete_model",
    hash: "h1".repeat(32),
    envelopeJson: '{"kind":"complete_model","n":1.10}',
    state: "claimed",
    fence: 1,
    claimedAt: dayStart,
    claimExpiresAt: dayStart + 60_000,
    completedAt: null,
    outcomeJson: null,
    ...fields,
  };
}

export function sampleHostEvent(ordinal: number, fields: Partial<HostEvent> = {}): HostEvent {
  return { tenant: "acme", callId: "exec_1", ordinal, type: "card.shown", payloadJson: '{"x":1.10}', at: dayStart + 5, ...fields };
}

/** The row as whoever holds it hands it over next; counts what comes with it. */
export function movedOn(row: Session, fields: Partial<Session> = {}, more: readonly Write[] = []): Write[] {
  const items = more.filter(({ op }) => op === "append_history").length;
  const told = more.filter(({ op }) => op === "append_session_event").length;
  const next = { ...row, historyLength: row.historyLength + items, eventSeq: row.eventSeq + told, updatedAt: row.updatedAt + 10, ...fields };
  return [{ op: "update_session", expect: { fence: row.fence }, release: false, row: next }, ...more];
}
