// Agents and their versions as a ledger in memory keeps them.
import type { Write } from "../../packages/runtime/src/ledger/port.ts";
import type { AgentChange, AgentRecord, AgentVersion } from "../../packages/runtime/src/registry/agents/types.ts";

export type AgentWrite = Extract<Write, { op: "insert_agent_version" | "set_agent_status" | "deploy_agent" | "archive_agent" | "append_agent_change" }>;

const agentOps: readonly Write["op"][] = ["insert_agent_version", "set_agent_status", "deploy_agent", "archive_agent", "append_agent_change"];

export function isAgentWrite(write: Write): write is AgentWrite {
  return agentOps.includes(write.op);
}

/** Sets, and can take it back. */
type Set = <T>(map: Map<string, T>, key: string, value: T) => true;

export class AgentShelf {
  readonly records = new Map<string, AgentRecord>();
  readonly versions = new Map<string, AgentVersion>();
  readonly changes = new Map<string, readonly AgentChange[]>();

  /** @returns whether the write's guard held */
  write(write: AgentWrite, set: Set): boolean {
    switch (write.op) {
      case "insert_agent_version":
        return this.#insert(write.row, set);
      case "set_agent_status": {
        const key = `${write.tenant}/${write.agent}/${write.version}`;
        const stored = this.versions.get(key);
        return stored?.status === write.from && set(this.versions, key, { ...stored, status: write.status });
      }
      case "deploy_agent": {
        const stored = this.records.get(`${write.tenant}/${write.agent}`);
        if (stored === undefined || stored.deployedVersion !== write.from) return false;
        if (write.version !== null && !this.versions.has(`${write.tenant}/${write.agent}/${write.version}`)) return false;
        return set(this.records, `${write.tenant}/${write.agent}`, { ...stored, deployedVersion: write.version });
      }
      case "archive_agent": {
        const stored = this.records.get(`${write.tenant}/${write.agent}`);
        return stored !== undefined && set(this.records, `${write.tenant}/${write.agent}`, { ...stored, archivedAt: write.at });
      }
      case "append_agent_change": {
        const key = `${write.row.tenant}/${write.row.agent}`;
        return set(this.changes, key, [write.row, ...(this.changes.get(key) ?? [])]);
      }
    }
  }

  #insert(row: AgentVersion, set: Set): boolean {
    const { tenant, agent, version, metadata, publishedAt } = row;
    if (this.versions.has(`${tenant}/${agent}/${version}`)) return false;
    set(this.versions, `${tenant}/${agent}/${version}`, row);
    const { description, owner } = metadata;
    const texts = { latestVersion: version, description, owner };
    const fresh = { tenant, agent, deployedVersion: null, createdAt: publishedAt, archivedAt: null };
    return set(this.records, `${tenant}/${agent}`, { ...(this.records.get(`${tenant}/${agent}`) ?? fresh), ...texts });
  }
}
