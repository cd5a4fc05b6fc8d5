// Takes versions of an agent, or all of it, out of use: deprecated, retired, archived.
import { SignalboxError } from "@signalbox/protocol";
import type { AgentRecord, AgentStatus } from "../../registry/agents/types.ts";
import type { ChangedVersion } from "../../service-agents.ts";
import type { Asked } from "../../tenancy/types.ts";
import { change, type Done } from "./change.ts";
import { agentOf, agentVersionOf, changedMeanwhile, mayWrite, type AgentPorts } from "./ports.ts";

/** Sessions that run it go on, and none starts. */
export function deprecateAgent(ports: AgentPorts, asked: Asked, agent: string, version: string, deprecated: boolean, comment: string): Promise<ChangedVersion> {
  const [status, action] = deprecated ? (["deprecated", "deprecate"] as const) : (["published", "undeprecate"] as const);
  return setStatus(ports, asked, { status, action, agent, version, comment });
}

/** The same, and for good. */
export function retireAgent(ports: AgentPorts, asked: Asked, agent: string, version: string, comment: string): Promise<ChangedVersion> {
  return setStatus(ports, asked, { status: "retired", action: "retire", agent, version, comment });
}

async function setStatus(ports: AgentPorts, asked: Asked, wish: Done & { readonly status: AgentStatus }): Promise<ChangedVersion> {
  await mayWrite(ports, asked);
  const { agent, version, status } = wish;
  const record = await agentOf(ports, asked.principal.tenant, agent);
  const row = await agentVersionOf(ports, record, version);
  const deployed = record.deployedVersion === version;
  if (row.status === status) return { version: row, deployed };
  if (row.status === "retired") {
    throw new SignalboxError("conflict", `${agent}@${version} is retired, and that is for good; publish a new version`, { details: { agent, version, status: row.status } });
  }
  const guard = { op: "set_agent_status", tenant: row.tenant, agent, version, from: row.status, status } as const;
  if (!(await change(ports, asked, guard, wish))) throw changedMeanwhile(agent);
  return { version: { ...row, status }, deployed };
}

/** An archived agent starts no sessions and stays in the list. */
export async function archiveAgent(ports: AgentPorts, asked: Asked, agent: string, archived: boolean, comment: string): Promise<AgentRecord> {
  await mayWrite(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  if ((record.archivedAt !== null) === archived) return record;
  const at = archived ? ports.clock.now() : null;
  const guard = { op: "archive_agent", tenant: record.tenant, agent, at } as const;
  const done = { action: archived ? "archive" : "unarchive", agent, version: "", comment } as const;
  if (!(await change(ports, asked, guard, done))) throw changedMeanwhile(agent);
  return { ...record, archivedAt: at };
}
