// What is read of a session before it goes on: its agent's version, the tools it shows its model, and its history.
import type { AgentVersion } from "../../registry/agents/types.ts";
import { turnFingerprint } from "../../session/turn/snapshot.ts";
import type { TurnConfig } from "../../session/turn/types.ts";
import type { HistoryItem, Session } from "../../session/types.ts";
import { storable } from "../invoke.ts";
import type { SessionPorts } from "./ports.ts";
import { surfaceOf, type Surface } from "./surface.ts";

export interface Mind {
  readonly agent: AgentVersion;
  readonly surface: Surface;
  readonly history: readonly HistoryItem[];
}

/** Items of history that are read at once. */
const itemsAtOnce = 500;

export async function openMind({ agents, ledger }: Pick<SessionPorts, "agents" | "ledger">, session: Session): Promise<Mind> {
  const { tenant, sessionId, agent: name, agentVersion, historyLength } = session;
  const agent = await storable(agents.version(tenant, name, agentVersion));
  if (agent === undefined) throw new Error(`the agent ${name}@${agentVersion} of a session is not in the ledger`);
  const surface = await storable(surfaceOf(ledger, agent));
  const history: HistoryItem[] = [];
  while (history.length < historyLength) {
    const page = await storable(ledger.history(tenant, sessionId, history.length, itemsAtOnce));
    if (page.length === 0) throw new Error(`the history of session ${sessionId} lacks items that its row counts`);
    history.push(...page.slice(0, historyLength - history.length));
  }
  return { agent, surface, history };
}

export function configFor({ sessionId, agentVersionId }: Session, { agent, surface }: Mind, turn: number): TurnConfig {
  return { sessionId, agentVersionId, fingerprint: turnFingerprint(agentVersionId), turn, tools: surface.bound, limits: agent.spec.limits };
}
