// Which version of an agent new sessions run: deployed, or back to the one before.
import { SignalboxError } from "@signalbox/protocol";
import type { AgentRecord } from "../../registry/agents/types.ts";
import type { Asked } from "../../tenancy/types.ts";
import { storable } from "../invoke.ts";
import { change } from "./change.ts";
import { agentOf, agentVersionOf, changedMeanwhile, mayWrite, type AgentPorts } from "./ports.ts";

/** How far back an agent's changes are looked at. */
export const changesMax = 1_000;

/** What runs goes on with its version; the next session that names none runs this one. Doing it again changes nothing. */
export async function deployAgent(ports: AgentPorts, asked: Asked, agent: string, version: string, comment: string): Promise<AgentRecord> {
  await mayWrite(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  return moveTo(ports, asked, record, { version, comment, action: "deploy" });
}

export async function rollBackAgent(
  ports: AgentPorts,
  asked: Asked,
  agent: string,
  to: string | undefined,
  comment: string,
): Promise<{ readonly record: AgentRecord; readonly from: string }> {
  await mayWrite(ports, asked);
  const record = await agentOf(ports, asked.principal.tenant, agent);
  const from = record.deployedVersion;
  if (from === null) throw notDeployed(record);
  const version = to ?? (await versionBefore(ports, record, from));
  return { record: await moveTo(ports, asked, record, { version, comment, action: "roll_back" }), from };
}

interface Move {
  readonly version: string;
  readonly comment: string;
  readonly action: "deploy" | "roll_back";
}

async function moveTo(ports: AgentPorts, asked: Asked, record: AgentRecord, { version, comment, action }: Move): Promise<AgentRecord> {
  const { tenant, agent, deployedVersion: from } = record;
  if (record.archivedAt !== null) throw archived(agent);
  const { status } = await agentVersionOf(ports, record, version);
  if (status !== "published") {
    const way = status === "deprecated" ? `signalbox agents deprecate ${agent} ${version} --undo` : `choose another: signalbox agents versions ${agent}`;
    throw new SignalboxError("conflict", `${agent}@${version} is ${status}, and no session starts with it; ${way}`, { details: { agent, version, status } });
  }
  if (from === version) return record;
  const guard = { op: "deploy_agent", tenant, agent, from, version } as const;
  if (!(await change(ports, asked, guard, { action, agent, version, comment, details: { from } }))) throw changedMeanwhile(agent);
  return { ...record, deployedVersion: version };
}

/** The last version that was deployed before this one and may still start sessions. */
async function versionBefore({ ledger }: Pick<AgentPorts, "ledger">, { tenant, agent }: AgentRecord, deployed: string): Promise<string> {
  const past = (await storable(ledger.agentChanges(tenant, agent, changesMax))).filter(({ action }) => action === "deploy" || action === "roll_back");
  const earlier = [...new Set(past.map(({ version }) => version))].filter((version) => version !== deployed);
  const statuses = new Map((await storable(ledger.agentVersions(tenant, agent))).map(({ version, status }) => [version, status]));
  const found = earlier.find((version) => statuses.get(version) === "published");
  if (found !== undefined) return found;
  const why = earlier.length === 0 ? "no other version of it was deployed before" : `none that was deployed before may start sessions (${earlier.join(", ")})`;
  throw new SignalboxError("conflict", `${agent} cannot be rolled back: ${why}; name the version: signalbox agents rollback ${agent} --to <version>`, {
    details: { agent, deployed_version: deployed, earlier },
  });
}

export function notDeployed({ agent, latestVersion }: Pick<AgentRecord, "agent" | "latestVersion">): SignalboxError {
  return new SignalboxError("conflict", `no version of ${agent} is deployed; deploy one: signalbox agents deploy ${agent} ${latestVersion}`, {
    details: { agent, latest_version: latestVersion },
  });
}

export function archived(agent: string): SignalboxError {
  return new SignalboxError("conflict", `${agent} is archived; bring it back first: signalbox agents unarchive ${agent}`, { details: { agent, archived: true } });
}
