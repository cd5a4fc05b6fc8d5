// Agents and their versions as callers see them.
import { iso } from "../../../call/view.ts";
import { toldSpec } from "../../../registry/agents/told.ts";
import type { AgentChange, AgentRecord, AgentVersion } from "../../../registry/agents/types.ts";
import type { AgentDiff, AgentView, ChangedVersion, PublishedAgent } from "../../../service-agents.ts";

export function agentView(record: AgentRecord): Record<string, unknown> {
  return {
    agent: record.agent,
    deployed_version: record.deployedVersion,
    latest_version: record.latestVersion,
    description: record.description,
    owner: record.owner,
    created_at: iso(record.createdAt),
    archived_at: record.archivedAt === null ? null : iso(record.archivedAt),
  };
}

export function agentVersionView({ version, deployed }: ChangedVersion): Record<string, unknown> {
  const { metadata } = version;
  return {
    agent: version.agent,
    version: version.version,
    version_id: version.versionId,
    owner: metadata.owner,
    description: metadata.description,
    labels: metadata.labels,
    status: version.status,
    deployed,
    manifest_digest: version.manifestDigest,
    children: version.children,
    published_at: iso(version.publishedAt),
    published_by: version.publishedBy,
    spec: toldSpec(version.spec),
  };
}

/** The agent, all its versions' names, and one version whole. */
export function agentDetailView({ record, version, versions }: AgentView): Record<string, unknown> {
  const deployed = record.deployedVersion === version.version;
  return { ...agentView(record), versions, version: agentVersionView({ version, deployed }) };
}

export function publishedAgentView(published: PublishedAgent, dryRun: boolean): Record<string, unknown> {
  const { alreadyThere, warnings } = published;
  return { ...agentVersionView(published), already_there: alreadyThere, dry_run: dryRun, warnings };
}

/** One line of a list of versions: without what makes them long. */
export function agentLineView({ deployedVersion }: AgentRecord, one: AgentVersion): Record<string, unknown> {
  return {
    agent: one.agent,
    version: one.version,
    version_id: one.versionId,
    status: one.status,
    deployed: one.version === deployedVersion,
    manifest_digest: one.manifestDigest,
    model: `${one.spec.model.provider}/${one.spec.model.name}`,
    tools: one.spec.tools.length,
    published_at: iso(one.publishedAt),
    published_by: one.publishedBy,
  };
}

export function agentChangeView({ agent, action, version, at, by, comment }: AgentChange): Record<string, unknown> {
  return { agent, action, version: version === "" ? null : version, at: iso(at), by, comment };
}

export function agentDiffView({ from, to, differences, more }: AgentDiff): Record<string, unknown> {
  return { agent: from.agent, from: from.version, to: to.version, differences, more };
}
