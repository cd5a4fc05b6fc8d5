// Keeps agents: their versions, which of them is deployed, and what was done to them.
import type { SessionReads } from "../../ledger/sessions.ts";
import type { AgentChange, AgentRecord, AgentVersion } from "../../registry/agents/types.ts";
import { putAgentSql, recordOf } from "../sqlite/agent-store.ts";
import { encode, insertSql, selectList } from "../sqlite/columns.ts";
import { conditions, pageOf } from "../sqlite/paging.ts";
import { agentChangeColumns, agentColumns, agentVersionColumns, agentVersionOf, rowOfAgentVersion } from "../sqlite/session-columns.ts";
import { rowsOf } from "./call-reads.ts";
import { fittingCursor } from "./cursors.ts";
import { firstRow, type Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

type AgentOp = "insert_agent_version" | "set_agent_status" | "deploy_agent" | "archive_agent" | "append_agent_change";

const insertVersion = insertSql("agent_versions", agentVersionColumns, "ON CONFLICT DO NOTHING");
const setStatus = "UPDATE agent_versions SET status = ? WHERE tenant = ? AND agent = ? AND version = ? AND status = ?";
const isThere = "SELECT 1 FROM agent_versions WHERE tenant = ? AND agent = ? AND version = ?";
const deploy = "UPDATE agents SET deployed_version = ? WHERE tenant = ? AND agent = ? AND deployed_version IS NOT DISTINCT FROM ?";
const archive = "UPDATE agents SET archived_at = ? WHERE tenant = ? AND agent = ?";
const insertChange = insertSql("agent_changes", agentChangeColumns);

export const agentWriters: WritersOf<AgentOp> = {
  async insert_agent_version(tx, { row }) {
    if ((await tx.run(insertVersion, encode(agentVersionColumns, rowOfAgentVersion(row)))) !== 1) return false;
    await tx.run(putAgentSql, encode(agentColumns, recordOf(row)));
    return true;
  },
  set_agent_status: async (tx, { tenant, agent, version, from, status }) => (await tx.run(setStatus, [status, tenant, agent, version, from])) === 1,
  async deploy_agent(tx, { tenant, agent, from, version }) {
    // Versions are never removed: one that is there stays there.
    if (version !== null && (await firstRow(tx, isThere, [tenant, agent, version])) === undefined) return false;
    return (await tx.run(deploy, [version, tenant, agent, from])) === 1;
  },
  archive_agent: async (tx, { tenant, agent, at }) => (await tx.run(archive, [at, tenant, agent])) === 1,
  async append_agent_change(tx, { row }) {
    await tx.run(insertChange, encode(agentChangeColumns, row));
    return true;
  },
};

type AgentReads = Pick<SessionReads, "agent" | "agentVersion" | "agentVersions" | "listAgents" | "agentChanges">;

export function agentReads(db: Db): AgentReads {
  const versions = async (rest: string, ...params: string[]): Promise<AgentVersion[]> => {
    const rows = await db.rows(`SELECT ${selectList(agentVersionColumns)} FROM agent_versions WHERE ${rest}`, params);
    return rows.map(agentVersionOf);
  };
  return {
    agent: async (tenant, agent) => (await rowsOf<AgentRecord>(db, agentColumns, "agents WHERE tenant = ? AND agent = ?", tenant, agent)).at(0),
    agentVersion: async (tenant, agent, version) => (await versions("tenant = ? AND agent = ? AND version = ?", tenant, agent, version)).at(0),
    agentVersions: (tenant, agent) => versions("tenant = ? AND agent = ? ORDER BY published_at, version", tenant, agent),
    async listAgents(tenant, limit, cursor) {
      const where = conditions().equal("tenant", tenant).after(["agent"], fittingCursor(cursor, "text"));
      const found = await rowsOf<AgentRecord>(db, agentColumns, `agents WHERE ${where.sql()} ORDER BY agent LIMIT ?`, ...where.values(), limit + 1);
      return pageOf(found, limit, ({ agent }) => [agent]);
    },
    agentChanges: (tenant, agent, limit) =>
      rowsOf<AgentChange>(db, agentChangeColumns, "agent_changes WHERE tenant = ? AND agent = ? ORDER BY id DESC LIMIT ?", tenant, agent, limit),
  };
}
