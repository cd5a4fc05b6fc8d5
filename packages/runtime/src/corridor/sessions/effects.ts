// Does what the turn machine asks for, and says what came of it; and names each effect by all that makes it what it is.
import type { AgentVersion } from "../../registry/agents/types.ts";
import type { ShownTool } from "../../session/model.ts";
import type { CancelScope } from "../../session/batch/types.ts";
import type { EffectEnvelope } from "../../session/effects/types.ts";
import type { Request, Response } from "../../session/turn/types.ts";
import type { Projected } from "../../session/projection.ts";
import type { HistoryItem, Session } from "../../session/types.ts";
import { storable } from "../invoke.ts";
import { askLimit } from "./ask-limit.ts";
import { batchScope, reachesTurn, type Cancels } from "./cancels.ts";
import { completeModel } from "./complete.ts";
import { drainHostEvents } from "./host-events.ts";
import type { Mind } from "./mind.ts";
import { projectSession } from "./projecting.ts";
import type { SessionPorts } from "./ports.ts";
import type { NewEvent, RowChange, SessionRow } from "./row.ts";
import { Suspended } from "./suspended.ts";
import { BatchRun } from "./tools.ts";
import { usageWithChildren } from "./usage-of-children.ts";
import type { Wishes } from "./wishes.ts";

export interface EffectHost {
  readonly ports: SessionPorts;
  readonly row: SessionRow;
  readonly cancels: Cancels;
  readonly wishes: Wishes;
  readonly leaving: AbortSignal;
  readonly agent: AgentVersion;
  readonly shown: readonly ShownTool[];
  /** Names of tools that are given the session's projection. */
  readonly projecting: ReadonlySet<string>;
  readonly history: readonly HistoryItem[];
  /** Spent in this effect by earlier stretches. */
  readonly spentMs: number;
  tell(events: readonly NewEvent[]): void;
}

export interface Performed {
  readonly response: Response;
  /** What changes beside the response. */
  readonly change: RowChange;
}

type Of<K> = Extract<Request, { readonly type: K }>;

/** @throws Suspended, EffectFailure, LedgerUnavailable */
export async function performRequest(host: EffectHost, request: Request, key: string): Promise<Performed> {
  switch (request.type) {
    case "CompleteModel":
      return { response: await complete(host, request, key), change: {} };
    case "RunTools":
      return runTools(host, request, key);
    case "Checkpoint":
      return checkpoint(host, request);
    case "AskLimit": {
      const answer = await askLimit({ ...host, cancelledBy: () => host.cancels.ofTurn?.by ?? null }, request);
      return { response: { type: "LimitAnswered", id: request.id, ...answer }, change: {} };
    }
  }
}

async function complete(host: EffectHost, request: Of<"CompleteModel">, key: string): Promise<Response> {
  const { ports, row, agent, history, shown, leaving, cancels, spentMs } = host;
  const since = ports.clock.monotonic();
  const onCancel = (stop: () => void): void => cancels.during(({ wish }) => (reachesTurn(wish.scope) ? stop() : undefined));
  const left = { ...request, activeMsLeft: Math.max(0, request.activeMsLeft - spentMs) };
  const outcome = await completeModel({ ports, session: row.session, agent, history, tools: shown, onCancel, leaving }, left, key);
  return { type: "ModelCompleted", id: request.id, outcome, spentMs: Math.round(ports.clock.monotonic() - since) + spentMs };
}

async function runTools(host: EffectHost, request: Of<"RunTools">, key: string): Promise<Performed> {
  const { ports, row, agent, history, projecting, leaving, cancels, spentMs, tell } = host;
  const callIds = request.calls.map(({ callId }) => callId);
  const onCancel = (hear: (scope: CancelScope, at: number) => void): void =>
    cancels.during((entry, at) => {
      const scope = batchScope(entry, callIds);
      if (scope !== undefined) hear(scope, at);
    });
  const projected = once(() => projectSession(ports.ledger, row.session.tenant, history));
  const projectionFor = async (tool: string | null): Promise<readonly Projected[] | undefined> => (tool !== null && projecting.has(tool) ? projected() : undefined);
  const left = { ...request, activeMsLeft: Math.max(0, request.activeMsLeft - spentMs) };
  const { results, settled, cancelled, stop, activeMs } = await BatchRun.run({ ports, session: row.session, agent, tell, onCancel, projectionFor, leaving }, left);
  // In the unit of the completion: whoever redrives the batch before it tells them for the first time.
  const { refs, events } = await drainHostEvents(ports, row.session, { step: request.step, key }, { results, settled });
  const emitted = refs.length === 0 ? {} : { hostEvents: refs };
  const response = { type: "ToolsRan", id: request.id, results, settled, ...emitted, spentMs: Math.round(activeMs) + spentMs, cancelled: stop === null ? cancelled : null, stop } as const;
  const usage = await usageWithChildren({ ports, session: row.session, agent }, callIds);
  return { response, change: { events, progress: { usage } } };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => (made ??= make());
}

/** Where a turn is safely down, and what people said meanwhile is heard. */
async function checkpoint({ row, wishes, cancels, leaving }: EffectHost, { id }: Of<"Checkpoint">): Promise<Performed> {
  if (leaving.aborted) throw new Suspended("leaving", 0);
  await storable(wishes.look());
  const cancelled = cancels.ofTurn !== undefined;
  const { messages, inboxTaken } = cancelled ? { messages: [], inboxTaken: row.session.inboxTaken } : wishes.messages(row.session.inboxTaken, cancels.taken);
  return { response: { type: "CheckpointKept", id, messages, cancelled }, change: { progress: { inboxTaken } } };
}

/** Deadlines and spent time are left out: they differ from one try to the next, and the effect is the same. */
export function envelopeOf(session: Session, { agent }: Mind, request: Request, key: string): EffectEnvelope {
  const { tenant, sessionId, turn } = session;
  const { step } = request;
  const base = { scope: { tenant, sessionId, turn, step }, kind: request.type, cause: null, key };
  switch (request.type) {
    case "CompleteModel":
      return { ...base, subject: `${agent.spec.model.provider}/${agent.spec.model.name}`, payload: { history_length: request.historyLength, agent_version: agent.versionId } };
    case "RunTools": {
      const calls = request.calls.map(({ callId, tool, version, argsJson, settled }) => ({ call_id: callId, tool, version, args: argsJson, settled: settled?.errorCode ?? null }));
      return { ...base, subject: "batch", payload: { calls } };
    }
    case "Checkpoint":
      return { ...base, subject: request.when, payload: {} };
    case "AskLimit":
      return { ...base, subject: request.limit, payload: { used: request.used, budget: request.budget } };
  }
}
