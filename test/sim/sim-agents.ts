// The agents of the simulator and their model: what it says hangs on what it has heard, and on a chance of its own.
import type { AgentLimits, AgentSpec, AgentVersion, ToolBinding } from "../../packages/runtime/src/registry/agents/types.ts";
import type { Model, ModelOutcome, ModelRequest } from "../../packages/runtime/src/session/model.ts";
import type { AssistantPart, HistoryItem } from "../../packages/runtime/src/session/types.ts";
import { seeded, type Random } from "../walk/random.ts";
import type { SimStore } from "../walk/sim-ledger.ts";
import { someAmount } from "../walk/sim-people.ts";
import { tenant, tools } from "../walk/sim-rules.ts";
import type { SimTime } from "../walk/sim-time.ts";
import type { SimProcess } from "./sim-process.ts";

const limits: AgentLimits = {
  stepsMax: 4,
  tokensMax: 1_000_000,
  wallClockMsMax: 120_000,
  toolCallsMax: 50,
  approvalWaitMsMax: 30_000,
  concurrentCallsMax: 8,
  onLimit: "halt",
};

function bindings(scheduling: Readonly<Record<string, string>>): readonly ToolBinding[] {
  return Object.keys(tools).map((tool) => ({ tool, version: "1.0.0", alias: tool, input: undefined, scheduling: scheduling[tool], sideEffectClass: undefined, policies: [] }));
}

function agent(name: string, spec: Pick<AgentSpec, "tools" | "limits">): AgentVersion {
  return {
    tenant,
    agent: name,
    version: "1.0.0",
    versionId: `agv_${name}`,
    metadata: { name, version: "1.0.0", owner: "sim", description: "An agent of the simulator.", labels: {} },
    spec: { ...spec, model: { provider: "sim", name: "sim", maxOutputTokens: 1_000, temperature: undefined }, instructions: "", defaultPolicies: [], permissions: ["*"], secrets: {} },
    children: {},
    manifestDigest: name,
    status: "published",
    publishedAt: 1,
    publishedBy: "user:sim",
  };
}

/** One lets its calls run beside one another; the other one by one, with few steps, and asks people for more. */
export const agents: readonly AgentVersion[] = [
  agent("hasty", { tools: bindings({}), limits }),
  agent("careful", {
    tools: bindings({ put: "serial({args.amount})", pay: "serial", launch: "exclusive" }),
    limits: { ...limits, stepsMax: 2, approvalWaitMsMax: 15_000, concurrentCallsMax: 2, onLimit: "escalate" },
  }),
];

/** Published and deployed, as an administrator would have done it. */
export function publishAgents({ sessions }: SimStore): void {
  for (const row of agents)
    sessions.apply({
      writes: [
        { op: "insert_agent_version", row },
        { op: "deploy_agent", tenant, agent: row.agent, from: null, version: row.version },
      ],
    });
}

export interface ModelWorld {
  readonly time: SimTime;
  readonly random: Random;
  readonly process: SimProcess;
  /** The request has left the process. */
  asked(request: ModelRequest): void;
}

/** Another word each time that it is asked, so that an answer which was not recorded shows. */
export function simModel({ time, random, process, asked }: ModelWorld): Model {
  return {
    complete(request, signal, onDelta) {
      const { promise, resolve } = Promise.withResolvers<ModelOutcome>();
      const stopped = (): void => resolve({ ok: false, code: "cancelled", message: "stopped", retryAfterMs: null, parts: [], usage: { inputTokens: 1, outputTokens: 0 } });
      signal.addEventListener("abort", () => time.after(random.below(3), () => process.pass(stopped)), { once: true });
      process.effect(() => {
        asked(request);
        const own = seeded(random.below(1_000_000_000));
        const quick = random.chance(0.85);
        time.after(quick ? 5 + random.below(400) : random.below(25_000), () =>
          process.pass(() => {
            onDelta({ type: "text", text: "…" });
            resolve(answerTo(request.history, own));
          }),
        );
      });
      return promise;
    },
  };
}

function answerTo(history: readonly HistoryItem[], random: Random): ModelOutcome {
  const usage = { inputTokens: 10 + history.length, outputTokens: 5 };
  if (random.chance(0.04)) return { ok: false, code: "overloaded", message: "not now", retryAfterMs: null, parts: [], usage };
  const turn = history.at(-1)?.turn ?? 0;
  const answers = history.filter((item) => item.type === "assistant" && item.turn === turn).length;
  const word = `word ${random.below(1_000_000)} of ${history.length}`;
  if (random.chance(0.2 + 0.2 * answers)) return { ok: true, parts: [{ type: "text", text: word }], stop: "end_turn", usage };
  const calls = Array.from({ length: 1 + random.below(3) }, (): AssistantPart => someCall(random));
  const text: readonly AssistantPart[] = random.chance(0.5) ? [{ type: "text", text: word }] : [];
  return { ok: true, parts: [...text, ...calls], stop: "tool_use", usage };
}

/** Names that are no tool's, arguments that are no JSON, ids that are used twice: models do all of it. */
function someCall(random: Random): AssistantPart {
  const name = random.chance(0.04) ? "nothing" : random.pick(Object.keys(tools));
  const argumentsText = random.chance(0.04) ? '{"amount":' : random.chance(0.04) ? "{}" : someAmount(random);
  return { type: "tool_call", providerId: random.chance(0.1) ? "same" : `call_${random.below(1_000_000)}`, name, argumentsText };
}
