// What the administration of agents needs, and how it finds the agent that a request is about.
import { SignalboxError } from "@signalbox/protocol";
import { agentBounds } from "../../registry/agents/bounds.ts";
import type { AgentRecord, AgentVersion } from "../../registry/agents/types.ts";
import type { Asked } from "../../tenancy/types.ts";
import type { AdminPorts } from "../admin.ts";
import { storable } from "../invoke.ts";
import { hasScope } from "../refusals.ts";

export type AgentPorts = Pick<AdminPorts, "ledger" | "catalog" | "policies" | "refusals" | "clock" | "chance" | "hash">;

/** Versions that a message names. */
const versionsNamedMax = 5;

export async function mayRead({ refusals }: Pick<AgentPorts, "refusals">, { principal, requestId }: Asked): Promise<void> {
  // Whoever may look at sessions may know what they run.
  if (!hasScope(principal, "sessions:read")) await refusals.requireScope(principal, "tools:read", requestId);
}

export function mayWrite({ refusals }: Pick<AgentPorts, "refusals">, { principal, requestId }: Asked): Promise<void> {
  return refusals.requireScope(principal, "tools:write", requestId);
}

/** @throws SignalboxError agent_not_found */
export async function agentOf({ ledger }: Pick<AgentPorts, "ledger">, tenant: string, agent: string): Promise<AgentRecord> {
  const record = await storable(ledger.agent(tenant, agent));
  if (record !== undefined) return record;
  throw new SignalboxError("agent_not_found", `there is no agent ${agent}; 'signalbox agents list' shows what there is`, { details: { agent } });
}

/** @throws SignalboxError agent_not_found with the newest versions there are */
export async function agentVersionOf({ ledger }: Pick<AgentPorts, "ledger">, { tenant, agent }: Pick<AgentRecord, "tenant" | "agent">, version: string): Promise<AgentVersion> {
  const row = await storable(ledger.agentVersion(tenant, agent, version));
  if (row !== undefined) return row;
  const all = await storable(ledger.agentVersions(tenant, agent));
  const newest = all.slice(-versionsNamedMax).map((one) => one.version).reverse();
  throw new SignalboxError("agent_not_found", `there is no version ${version} of ${agent}; the newest are ${newest.join(", ")}`, {
    details: { agent, version, versions: newest },
  });
}

/** @throws SignalboxError invalid_input */
export function boundedComment(comment: string): string {
  if (comment.length <= agentBounds.commentCharsMax) return comment;
  throw new SignalboxError("invalid_input", `a comment has at most ${agentBounds.commentCharsMax} characters`);
}

export function changedMeanwhile(agent: string): SignalboxError {
  return new SignalboxError("conflict", `somebody else changed ${agent} at the same moment; look at it and try again`, { details: { agent } });
}
