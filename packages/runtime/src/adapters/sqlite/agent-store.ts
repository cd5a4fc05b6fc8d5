// Keeps agents: their versions, which of them is deployed, and what was done to them.
import type { DatabaseSync } from "node:sqlite";
import type { Page } from "../../ledger/page.ts";
import type { AgentChange, AgentRecord, AgentVersion } from "../../registry/agents/types.ts";
import { encode, insertSql, selectList } from "./columns.ts";
import { conditions, pageOf } from "./paging.ts";
import { rowReader, type Prepared } from "./reads.ts";
import { agentChangeColumns, agentColumns, agentVersionColumns, agentVersionOf, rowOfAgentVersion } from "./session-columns.ts";
import type { WritersOf } from "./writers-of.ts";

type AgentOp = "insert_agent_version" | "set_agent_status" | "deploy_agent" | "archive_agent" | "append_agent_change";

export const putAgentSql = insertSql(
  "agents",
  agentColumns,
  `ON CONFLICT (tenant, agent) DO UPDATE SET latest_version = excluded.latest_version, description = excluded.description, owner = excluded.owner`,
);

/** The record that the first version makes; of a later one only the newest version and the texts count. */
export function recordOf({ tenant, agent, version, metadata, publishedAt }: AgentVersion): AgentRecord {
  const { description, owner } = metadata;
  return { tenant, agent, deployedVersion: null, latestVersion: version, description, owner, createdAt: publishedAt, archivedAt: null };
}

export function agentWriters(db: DatabaseSync): WritersOf<AgentOp> {
  const insertVersion = db.prepare(insertSql("agent_versions", agentVersionColumns, "ON CONFLICT DO NOTHING"));
  const putAgent = db.prepare(putAgentSql);
  const setStatus = db.prepare("UPDATE agent_versions SET status = ? WHERE tenant = ? AND agent = ? AND version = ? AND status = ?");
  const isThere = db.prepare("SELECT 1 FROM agent_versions WHERE tenant = ? AND agent = ? AND version = ?");
  const deploy = db.prepare("UPDATE agents SET deployed_version = ? WHERE tenant = ? AND agent = ? AND deployed_version IS ?");
  const archive = db.prepare("UPDATE agents SET archived_at = ? WHERE tenant = ? AND agent = ?");
  const insertChange = db.prepare(insertSql("agent_changes", agentChangeColumns));
  return {
    insert_agent_version({ row }) {
      if (insertVersion.run(...encode(agentVersionColumns, rowOfAgentVersion(row))).changes !== 1) return false;
      putAgent.run(...encode(agentColumns, recordOf(row)));
      return true;
    },
    set_agent_status: ({ tenant, agent, version, from, status }) => setStatus.run(status, tenant, agent, version, from).changes === 1,
    deploy_agent({ tenant, agent, from, version }) {
      if (version !== null && isThere.get(tenant, agent, version) === undefined) return false;
      return deploy.run(version, tenant, agent, from).changes === 1;
    },
    archive_agent: ({ tenant, agent, at }) => archive.run(at, tenant, agent).changes === 1,
    append_agent_change({ row }) {
      insertChange.run(...encode(agentChangeColumns, row));
      return true;
    },
  };
}

export function agentReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  const versions = (rest: string, ...values: string[]): AgentVersion[] =>
    prepared(`SELECT ${selectList(agentVersionColumns)} FROM agent_versions WHERE ${rest}`)
      .all(...values)
      .map(agentVersionOf);
  return {
    agent: (tenant: string, agent: string) => rows<AgentRecord>(agentColumns, "agents WHERE tenant = ? AND agent = ?", tenant, agent).at(0),
    agentVersion: (tenant: string, agent: string, version: string) => versions("tenant = ? AND agent = ? AND version = ?", tenant, agent, version).at(0),
    agentVersions: (tenant: string, agent: string): readonly AgentVersion[] =>
      versions("tenant = ? AND agent = ? ORDER BY published_at, version", tenant, agent),
    listAgents(tenant: string, limit: number, cursor?: string): Page<AgentRecord> {
      const where = conditions().equal("tenant", tenant).after(["agent"], cursor);
      const found = rows<AgentRecord>(agentColumns, `agents WHERE ${where.sql()} ORDER BY agent LIMIT ?`, ...where.values(), limit + 1);
      return pageOf(found, limit, ({ agent }) => [agent]);
    },
    agentChanges: (tenant: string, agent: string, limit: number): readonly AgentChange[] =>
      rows<AgentChange>(agentChangeColumns, "agent_changes WHERE tenant = ? AND agent = ? ORDER BY id DESC LIMIT ?", tenant, agent, limit),
  };
}
