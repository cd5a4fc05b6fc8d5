// Publishing an agent: its manifest read, held against tools and policies, its child agents pinned, stored once and for ever.
import { makeId, SignalboxError } from "@signalbox/protocol";
import { agentBounds } from "../../registry/agents/bounds.ts";
import { agentText, readAgent } from "../../registry/agents/manifest.ts";
import type { AgentVersion } from "../../registry/agents/types.ts";
import type { Problem } from "../../document/problems.ts";
import type { PublishedAgent } from "../../service-agents.ts";
import type { Asked } from "../../tenancy/types.ts";
import { storable } from "../invoke.ts";
import { refusedProblems } from "../policy-admin-publish.ts";
import { checkAgentPolicies, checkBindings } from "./bindings.ts";
import { change } from "./change.ts";
import { pinChildren } from "./children.ts";
import { mayWrite, type AgentPorts } from "./ports.ts";

export async function publishAgent(
  ports: AgentPorts,
  asked: Asked,
  document: unknown,
  options: { readonly dryRun?: boolean; readonly comment?: string },
): Promise<PublishedAgent> {
  const { tenant, name: publishedBy } = asked.principal;
  await mayWrite(ports, asked);
  const read = readAgent(document);
  if (!read.ok) throw refusedProblems("the manifest", read.problems);
  const { metadata, spec } = read;
  const { name: agent, version } = metadata;
  const manifestDigest = ports.hash(agentText(document));
  // What is published already is no news, even where a policy that it names has been withdrawn since.
  const before = await storable(ports.ledger.agentVersion(tenant, agent, version));
  if (before !== undefined) return publishedBefore(ports, before, manifestDigest, read.warnings);
  const { bound, problems, warnings } = await checkBindings(ports, tenant, spec);
  const pinned = await pinChildren(ports, tenant, agent, bound);
  const all: readonly Problem[] = [...problems, ...checkAgentPolicies(ports, tenant, spec), ...pinned.problems];
  if (all.length > 0) throw refusedProblems("the manifest", all);
  await requireRoom(ports, tenant, agent);
  const now = ports.clock.now();
  const versionId = makeId("agv", now, ports.chance.bytes(10));
  const row: AgentVersion = {
    tenant,
    agent,
    version,
    versionId,
    metadata,
    spec,
    children: pinned.children,
    manifestDigest,
    status: "published",
    publishedAt: now,
    publishedBy,
  };
  const found = { alreadyThere: false, deployed: false, warnings: [...read.warnings, ...warnings] };
  if (options.dryRun === true) return { version: row, ...found };
  const details = { version_id: versionId, digest: manifestDigest, children: pinned.children };
  const stored = await change(ports, asked, { op: "insert_agent_version", row }, { action: "publish", agent, version, comment: options.comment ?? "", details });
  if (stored) return { version: row, ...found };
  const other = await storable(ports.ledger.agentVersion(tenant, agent, version));
  return publishedBefore(ports, other ?? row, manifestDigest, found.warnings);
}

/** The same manifest again is no error and nothing new; another one under the same version never takes its place. */
async function publishedBefore(ports: Pick<AgentPorts, "ledger">, version: AgentVersion, digest: string, warnings: readonly Problem[]): Promise<PublishedAgent> {
  const { tenant, agent } = version;
  if (version.manifestDigest !== digest) {
    const text = `${agent}@${version.version} is published already with other content; versions never change, publish a new one`;
    throw new SignalboxError("conflict", text, { details: { agent, version: version.version, published_digest: version.manifestDigest, digest } });
  }
  const record = await storable(ports.ledger.agent(tenant, agent));
  return { version, alreadyThere: true, deployed: record?.deployedVersion === version.version, warnings };
}

async function requireRoom({ ledger }: Pick<AgentPorts, "ledger">, tenant: string, agent: string): Promise<void> {
  const { length } = await storable(ledger.agentVersions(tenant, agent));
  if (length < agentBounds.versionsMax) return;
  throw new SignalboxError("conflict", `${agent} has ${length} versions, and no more are kept; publish it under a new name`, {
    details: { agent, versions: length, limit: agentBounds.versionsMax },
  });
}
