// A corridor with an agent: a model that plays what a test hands it, a session, and workers by hand.
import { readScripts } from "../../packages/runtime/src/adapters/models/scripted/file.ts";
import { scriptedModel, type ScriptedTrace } from "../../packages/runtime/src/adapters/models/scripted/model.ts";
import type { AgentLimits, AgentSpec, AgentVersion, ToolBinding } from "../../packages/runtime/src/registry/agents/types.ts";
import type { Model } from "../../packages/runtime/src/session/model.ts";
import type { HistoryItem, Session, SessionEvent } from "../../packages/runtime/src/session/types.ts";
import type { SessionView } from "../../packages/runtime/src/service-sessions.ts";
import { at0 } from "./calls.ts";
import { asked } from "./corridor.ts";
import { Governed } from "./governed.ts";

export const limits: AgentLimits = {
  stepsMax: 10,
  tokensMax: 1_000_000,
  wallClockMsMax: 600_000,
  toolCallsMax: 50,
  approvalWaitMsMax: 86_400_000,
  concurrentCallsMax: 8,
  onLimit: "halt",
};

export function binding(tool: string, more: Partial<ToolBinding> = {}): ToolBinding {
  return { tool, version: "1.0.0", alias: tool.replaceAll(".", "_"), input: undefined, scheduling: undefined, sideEffectClass: undefined, policies: [], ...more };
}

/** `helper@1.0.0`, which may pay. */
export function agentRow(spec: Partial<AgentSpec> = {}, name = "helper", version = "1.0.0"): AgentVersion {
  return {
    tenant: "acme",
    agent: name,
    version,
    versionId: `agv_${name}_${version.replaceAll(".", "_")}`,
    metadata: { name, version, owner: "team-help", description: "Helps.", labels: {} },
    spec: {
      model: { provider: "scripted", name: "script", maxOutputTokens: 1_000, temperature: undefined },
      instructions: "Help.",
      tools: [binding("pay")],
      defaultPolicies: [],
      permissions: ["*"],
      limits,
      secrets: {},
      ...spec,
    },
    children: {},
    manifestDigest: `digest of ${name}@${version}`,
    status: "published",
    publishedAt: at0,
    publishedBy: "user:root",
  };
}

/** Ann talks to agents, and looks at what they do. */
export const talker = asked({ scopes: new Set(["sessions:run", "sessions:read", "calls:read"]) });

export class Sessions extends Governed {
  /** Every request to the model, in order. */
  readonly requests: ScriptedTrace[] = [];

  /** @param completions what the model says, one after the other, over the whole session */
  static async withScript(completions: readonly unknown[], spec: Partial<AgentSpec> = {}, before?: Sessions, model?: Model): Promise<Sessions> {
    const read = readScripts({ scripts: { script: { completions } } });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const made: { house?: Sessions } = {};
    const requests: ScriptedTrace[] = [];
    const played = model ?? scriptedModel({ scripts: read.scripts, clock: { after: (ms, ring) => made.house?.clock.after(ms, ring) ?? (() => undefined) }, onRequest: (trace) => void requests.push(trace) });
    const house = new Sessions({}, before, (provider) => (provider === "scripted" ? played : undefined));
    made.house = house;
    (house as { requests: ScriptedTrace[] }).requests = requests;
    await house.runtime.recover();
    if (before === undefined) {
      await house.project("acme", "shop", "production");
      await house.key("user:ann");
      await house.tool();
      await house.grant(["*"]);
      await house.agent(agentRow(spec));
    }
    return house;
  }

  async agent(row: AgentVersion): Promise<void> {
    const outcome = await this.ledger.commit({
      writes: [
        { op: "insert_agent_version", row },
        { op: "deploy_agent", tenant: row.tenant, agent: row.agent, from: null, version: row.version },
      ],
    });
    if (!outcome.applied) throw new Error("the agent could not be stored");
  }

  async start(message?: string): Promise<SessionView> {
    const view = await this.service.startSession(talker, { agent: "helper", ...(message === undefined ? {} : { message }) });
    await this.settle();
    return view;
  }

  /** Until nothing more happens without time or a worker. */
  async quiet(): Promise<void> {
    for (let turns = 0; turns < 10; turns++) await this.settle();
  }

  async session(id: string): Promise<Session> {
    const row = await this.ledger.session("acme", id);
    if (row === undefined) throw new Error(`there is no session ${id}`);
    return row;
  }

  async history(id: string): Promise<readonly HistoryItem[]> {
    return this.ledger.history("acme", id, 0, 1_000);
  }

  async told(id: string): Promise<readonly SessionEvent[]> {
    return this.ledger.sessionEvents("acme", id, 0, 1_000);
  }

  async toldWords(id: string): Promise<readonly string[]> {
    return (await this.told(id)).map(({ type, seq }, at) => (seq === at + 1 ? type : `${type} out of order (${seq})`));
  }
}

export const call = (input: unknown, tool = "pay"): unknown => ({ tool, input });
