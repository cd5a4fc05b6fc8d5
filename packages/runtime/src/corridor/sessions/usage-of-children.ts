// What a session has used, with what the sessions have used that its calls ran.
import type { AgentVersion } from "../../registry/agents/types.ts";
import type { Session, SessionUsage } from "../../session/types.ts";
import { storable } from "../invoke.ts";
import { childSessionId } from "./child-id.ts";
import type { SessionPorts } from "./ports.ts";

interface Charged {
  readonly ports: Pick<SessionPorts, "ledger" | "hash">;
  readonly session: Session;
  readonly agent: AgentVersion;
}

/** Added once, when the batch of these calls ends; a child's own usage holds that of its children by then. */
export async function usageWithChildren({ ports, session, agent }: Charged, callIds: readonly string[]): Promise<SessionUsage> {
  // Most agents run no others, and nothing is read for them.
  if (Object.keys(agent.children).length === 0) return session.usage;
  const { ledger, hash } = ports;
  const { tenant } = session;
  const children = await storable(Promise.all(callIds.map((callId) => ledger.session(tenant, childSessionId(hash, tenant, callId)))));
  return children.reduce((sum, child) => (child === undefined ? sum : added(sum, child.usage)), session.usage);
}

function added(one: SessionUsage, other: SessionUsage): SessionUsage {
  return {
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
    modelCalls: one.modelCalls + other.modelCalls,
    toolCalls: one.toolCalls + other.toolCalls,
  };
}
