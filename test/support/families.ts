// A house of agents that run agents: one script for each agent, and the part of a replica that runs them as tools.
import type { Worker, World } from "@signalbox/worker";
import { readScripts } from "../../packages/runtime/src/adapters/models/scripted/file.ts";
import { scriptedModel, type ScriptedTrace } from "../../packages/runtime/src/adapters/models/scripted/model.ts";
import { serveAgents } from "../../packages/runtime/src/adapters/builtin/agents.ts";
import type { AgentVersion } from "../../packages/runtime/src/registry/agents/types.ts";
import type { Session } from "../../packages/runtime/src/session/types.ts";
import type { HandClock } from "./hand-clock.ts";
import { settled } from "./hand-clock.ts";
import type { HandStream } from "./hand-stream.ts";
import { agentRow, binding, Sessions, talker } from "./sessions.ts";

export interface Member {
  readonly agent: string;
  /** Names of agents that it may ask, each by a tool `ask-<agent>`. */
  readonly asks?: readonly string[];
  readonly completions: readonly unknown[];
}

/** The tool by which an agent is asked. */
export const askTool = (agent: string): string => `ask-${agent}`;

export class Family extends Sessions {
  #agents: Worker | undefined;

  /**
   * Those who ask come before those who are asked.
   * @param before a house that was killed: its ledger and its clock go on
   */
  static async of(members: readonly Member[], before?: Family, { serve = true }: { readonly serve?: boolean } = {}): Promise<Family> {
    const scripts = Object.fromEntries(members.map(({ agent, completions }) => [agent, { completions }]));
    const read = readScripts({ scripts });
    if (!read.ok) throw new Error(JSON.stringify(read.problems));
    const made: { house?: Family } = {};
    const requests: ScriptedTrace[] = [];
    const played = scriptedModel({ scripts: read.scripts, clock: { after: (ms, ring) => made.house?.clock.after(ms, ring) ?? (() => undefined) }, onRequest: (trace) => void requests.push(trace) });
    const house = new Family({}, before, (provider) => (provider === "scripted" ? played : undefined));
    made.house = house;
    (house as { requests: ScriptedTrace[] }).requests = requests;
    await house.runtime.recover();
    if (serve) house.serve();
    if (before !== undefined) return house;
    await house.project("acme", "shop", "production");
    await house.key("user:ann");
    await house.tool();
    await house.grant(["*"]);
    for (const member of members.toReversed()) await house.join(member);
    return house;
  }

  async join({ agent, asks = [] }: Member, version = "1.0.0"): Promise<AgentVersion> {
    const tools = [...asks.map((asked) => binding(askTool(asked))), binding("pay")];
    const model = { provider: "scripted", name: agent, maxOutputTokens: 1_000, temperature: undefined };
    const children = Object.fromEntries(asks.map((asked) => [asked, "1.0.0"]));
    const row = { ...agentRow({ tools, model }, agent, version), children };
    await this.agent(row);
    await this.askable(agent);
    return row;
  }

  /** Registers the tool by which this agent is asked. */
  async askable(agent: string, spec: Readonly<Record<string, unknown>> = {}, tenant = "acme"): Promise<void> {
    const input = { type: "object", properties: { message: { type: "string" } }, required: ["message"] };
    await this.tool({ name: askTool(agent), spec: { executor: { type: "agent", agent }, input, timeout: "1h", ...spec } }, tenant);
  }

  /** The part of this process that runs agents as tools. */
  serve(): void {
    const worker = serveAgents({ driver: this.runtime.driver, name: "r1", runChild: (order) => this.runtime.sessions.runChild(order), world: worldOf(this.clock) });
    this.#agents = worker;
    void worker.run();
  }

  override async kill(): Promise<void> {
    await super.kill();
    // Its stream is closed; what it might still wait for, a dead process does not.
    void this.#agents?.close();
  }

  async ask(agent: string, message: string): Promise<Session> {
    const { session } = await this.service.startSession(talker, { agent, message });
    await this.quiet();
    return session;
  }

  /** Those that sessions' calls began, the first one first. */
  async children(parent: Session): Promise<readonly Session[]> {
    return (await this.ledger.listSessions({ tenant: parent.tenant, parentSessionId: parent.sessionId }, 10)).items.toReversed();
  }

  async child(parent: Session): Promise<Session> {
    const [one, ...more] = await this.children(parent);
    if (one === undefined || more.length > 0) throw new Error(`there are ${more.length + (one === undefined ? 0 : 1)} children, not one`);
    return one;
  }
}

/** Does the call that the worker was offered last. */
export async function payNow(house: Sessions, worker: HandStream, outputJson = '{"receipt":"r-1"}'): Promise<string> {
  await house.quiet();
  const invoke = worker.last("invoke");
  if (invoke === undefined) throw new Error("nothing was invoked");
  const { callId, fence } = invoke;
  worker.say({ type: "accepted", callId, fence });
  await house.quiet();
  worker.say({ type: "started", callId, fence });
  worker.say({ type: "result", callId, fence, status: "succeeded", outputJson, usage: { durationMs: 3 } });
  await house.quiet();
  return callId;
}

/** The hand's clock for the worker in this process; its ticks are a second apart, for tests let hours pass. */
function worldOf(clock: HandClock): World {
  let chance = 0;
  return {
    monotonicMs: () => clock.monotonic(),
    wallMs: () => clock.now(),
    chance: () => 0.5,
    randomBytes: (count) => Uint8Array.from({ length: count }, () => ++chance % 256),
    after: (ms, ring) => clock.after(ms, ring),
    every(ms, ring) {
      let stopped = false;
      let takeBack = (): void => undefined;
      const again = (): void => {
        takeBack = clock.after(Math.max(ms, 1_000), () => {
          ring();
          if (!stopped) again();
        });
      };
      again();
      return () => {
        stopped = true;
        takeBack();
      };
    },
    soon: (ring) => void settled().then(ring),
    log: () => undefined,
  };
}
