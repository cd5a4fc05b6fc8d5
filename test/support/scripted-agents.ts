// Fixed answers about agents, for tests of the doors.
import type { AgentChange, AgentRecord, AgentVersion } from "../../packages/runtime/src/registry/agents/types.ts";
import type { AgentService } from "../../packages/runtime/src/service-agents.ts";
import { scriptedAt } from "./scripted-call.ts";

const record: AgentRecord = {
  tenant: "acme",
  agent: "support",
  deployedVersion: "1.0.0",
  latestVersion: "1.1.0",
  description: "Helps.",
  owner: "team-help",
  createdAt: scriptedAt,
  archivedAt: null,
};

const version: AgentVersion = {
  tenant: "acme",
  agent: "support",
  version: "1.0.0",
  versionId: "agv_1",
  metadata: { name: "support", version: "1.0.0", owner: "team-help", description: "Helps.", labels: { team: "help" } },
  spec: {
    model: { provider: "scripted", name: "turns", maxOutputTokens: 4_096, temperature: 0.5 },
    instructions: "Be kind.",
    tools: [
      { tool: "echo", version: "1.2.0", alias: "echo", input: { type: "object" }, scheduling: "exclusive", sideEffectClass: undefined, policies: ["house@1.0.0"] },
      { tool: "pay", version: "1.0.0", alias: "pay", input: undefined, scheduling: undefined, sideEffectClass: "irreversible_action", policies: [] },
    ],
    defaultPolicies: ["house@1.0.0"],
    permissions: ["*"],
    limits: { stepsMax: 20, tokensMax: 200_000, wallClockMsMax: 600_000, toolCallsMax: 50, approvalWaitMsMax: 86_400_000, concurrentCallsMax: 8, onLimit: "halt" },
    secrets: { STRIPE: "secret://stripe" },
  },
  children: { helper: "2.0.0" },
  manifestDigest: "ab".repeat(32),
  status: "published",
  publishedAt: scriptedAt,
  publishedBy: "user:alice",
};

const change: AgentChange = { tenant: "acme", agent: "support", action: "deploy", version: "1.0.0", at: scriptedAt, by: "user:alice", comment: "first" };

export function scriptedAgents(): AgentService {
  return {
    publishAgent: async () => ({ version, alreadyThere: false, deployed: true, warnings: [{ path: "spec.tools[0].tool", message: "is old", hint: "look" }] }),
    listAgents: async () => ({ items: [record], next: "more" }),
    getAgent: async () => ({ record, version, versions: ["1.0.0", "1.1.0"] }),
    agentVersions: async () => ({ record, versions: [version] }),
    deployAgent: async (_asked, _agent, deployedVersion) => ({ ...record, deployedVersion }),
    rollBackAgent: async () => ({ record, from: "1.1.0" }),
    deprecateAgent: async () => ({ version: { ...version, status: "deprecated" }, deployed: true }),
    retireAgent: async () => ({ version: { ...version, status: "retired" }, deployed: false }),
    archiveAgent: async (_asked, _agent, archived) => ({ ...record, archivedAt: archived ? scriptedAt : null }),
    diffAgent: async () => ({ from: version, to: { ...version, version: "1.1.0" }, differences: [{ path: "spec.instructions", before: "Be kind.", after: null }], more: 0 }),
    agentHistory: async () => [change, { ...change, action: "archive", version: "" }],
  };
}
