// Reads agents: listed, one with a version, two versions held side by side, what was done to one, and which version a session runs.
import { SignalboxError } from "@signalbox/protocol";
import type { Page } from "../../ledger/port.ts";
import { differencesOf } from "../../registry/agents/diff.ts";
import type { AgentChange, AgentRecord, AgentVersion } from "../../registry/agents/types.ts";
import type { AgentDiff, AgentView } from "../../service-agents.ts";
import type { Asked } from "../../tenancy/types.ts";
import { storable } from "../invoke.ts";
import { archived, notDeployed } from "./deploy.ts";
import { agentOf, agentVersionOf, mayRead, type AgentPorts } from "./ports.ts";

/** How far back an agent's changes are shown. */
const changesShownMax = 100;

type ReadPorts = Pick<AgentPorts, "ledger" | "refusals">;

export async function listAgents(ports: ReadPorts, asked: Asked, limit: number, cursor?: string): Promise<Page<AgentRecord>> {
  await mayRead(ports, asked);
  return storable(ports.ledger.listAgents(asked.principal.tenant, limit, cursor));
}

export async function getAgent(ports: ReadPorts, asked: Asked, agent: string, version?: string): Promise<AgentView> {
  await mayRead(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  const shown = await agentVersionOf(ports, record, version ?? record.deployedVersion ?? record.latestVersion);
  const all = await storable(ports.ledger.agentVersions(record.tenant, agent));
  return { record, version: shown, versions: all.map((one) => one.version) };
}

export async function agentVersions(ports: ReadPorts, asked: Asked, agent: string): Promise<{ readonly record: AgentRecord; readonly versions: readonly AgentVersion[] }> {
  await mayRead(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  return { record, versions: await storable(ports.ledger.agentVersions(record.tenant, agent)) };
}

export async function diffAgent(ports: ReadPorts, asked: Asked, agent: string, from: string, to: string): Promise<AgentDiff> {
  await mayRead(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  const [before, after] = [await agentVersionOf(ports, record, from), await agentVersionOf(ports, record, to)];
  return { from: before, to: after, ...differencesOf(before, after) };
}

export async function agentHistory(ports: ReadPorts, asked: Asked, agent: string): Promise<readonly AgentChange[]> {
  await mayRead(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  return storable(ports.ledger.agentChanges(record.tenant, agent, changesShownMax));
}

/**
 * The version that a new session runs: the one that is named, else the deployed one.
 * @throws SignalboxError agent_not_found; conflict, with the next step, for an archived agent, one without a deployed version, and a
 *   version that is deprecated or retired
 */
export async function agentToRun(ports: Pick<AgentPorts, "ledger">, tenant: string, agent: string, version?: string): Promise<AgentVersion> {
  const record = await agentOf(ports, tenant, agent);
  if (record.archivedAt !== null) throw archived(agent);
  const chosen = version ?? record.deployedVersion;
  if (chosen === null) throw notDeployed(record);
  const row = await agentVersionOf(ports, record, chosen);
  if (row.status === "published") return row;
  const next = version === undefined ? `deploy another version: signalbox agents deploy ${agent} <version>` : `name another version: signalbox agents versions ${agent}`;
  throw new SignalboxError("conflict", `${agent}@${chosen} is ${row.status}, and no session starts with it; ${next}`, {
    details: { agent, version: chosen, status: row.status },
  });
}
