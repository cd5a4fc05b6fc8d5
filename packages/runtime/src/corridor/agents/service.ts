// Binds what a front door can ask about agents to the functions that do it.
import type { AgentService } from "../../service-agents.ts";
import type { Paging } from "../cursors.ts";
import { deployAgent, rollBackAgent } from "./deploy.ts";
import type { AgentPorts } from "./ports.ts";
import { publishAgent } from "./publish.ts";
import { agentHistory, agentVersions, diffAgent, getAgent, listAgents } from "./read.ts";
import { archiveAgent, deprecateAgent, retireAgent } from "./status.ts";

export function agentService(ports: AgentPorts & { readonly paging: Paging }): AgentService {
  return {
    publishAgent: (asked, document, options) => publishAgent(ports, asked, document, options),
    listAgents: (asked, limit, cursor) => ports.paging(asked, "agents", cursor, (opened) => listAgents(ports, asked, limit, opened)),
    getAgent: (asked, agent, version) => getAgent(ports, asked, agent, version),
    agentVersions: (asked, agent) => agentVersions(ports, asked, agent),
    deployAgent: (asked, agent, version, comment) => deployAgent(ports, asked, agent, version, comment),
    rollBackAgent: (asked, agent, version, comment) => rollBackAgent(ports, asked, agent, version, comment),
    deprecateAgent: (asked, agent, version, deprecated, comment) => deprecateAgent(ports, asked, agent, version, deprecated, comment),
    retireAgent: (asked, agent, version, comment) => retireAgent(ports, asked, agent, version, comment),
    archiveAgent: (asked, agent, archived, comment) => archiveAgent(ports, asked, agent, archived, comment),
    diffAgent: (asked, agent, from, to) => diffAgent(ports, asked, agent, from, to),
    agentHistory: (asked, agent) => agentHistory(ports, asked, agent),
  };
}
