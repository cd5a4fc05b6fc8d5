// Asks the model for one completion, tells its pieces as they come, and stops it when somebody cancels or the turn's time is used up.
import type { AgentVersion, ModelChoice } from "../../registry/agents/types.ts";
import type { ModelOutcome, ShownTool } from "../../session/model.ts";
import type { Request } from "../../session/turn/types.ts";
import type { HistoryItem, Session } from "../../session/types.ts";
import { sessionKey } from "./signals.ts";
import type { SessionPorts } from "./ports.ts";
import { Suspended } from "./suspended.ts";

export type CompleteModelRequest = Extract<Request, { readonly type: "CompleteModel" }>;

export interface ModelHost {
  readonly ports: SessionPorts;
  readonly session: Session;
  readonly agent: AgentVersion;
  readonly history: readonly HistoryItem[];
  /** Tools that the model may name, as the agent was given them. */
  readonly tools: readonly ShownTool[];
  /** Hears of a cancel of the turn or the session; one that came before too. */
  onCancel(stop: () => void): void;
  readonly leaving: AbortSignal;
}

/** A timer cannot wait longer. */
const timerMsMax = 24 * 3_600_000;

/** @throws Suspended when the replica leaves: the model is asked again elsewhere, for nothing was recorded */
export async function completeModel(host: ModelHost, request: CompleteModelRequest, key: string): Promise<ModelOutcome> {
  const { ports, session, agent, history, tools, leaving } = host;
  const { clock, signals, meters, models } = ports;
  const { tenant, sessionId, turn } = session;
  const choice = agent.spec.model;
  const model = models(choice.provider);
  if (model === undefined) return unconfigured(choice);
  const given = new AbortController();
  let why: "cancelled" | "timeout" | "leaving" | undefined;
  const stop = (reason: NonNullable<typeof why>): void => {
    why ??= reason;
    given.abort();
  };
  const leave = (): void => stop("leaving");
  if (leaving.aborted) leave();
  leaving.addEventListener("abort", leave, { once: true });
  host.onCancel(() => stop("cancelled"));
  const leftMs = Math.min(request.activeMsLeft, session.deadlineAt === null ? timerMsMax : session.deadlineAt - clock.now(), timerMsMax);
  const takeBack = clock.after(Math.max(0, leftMs), () => stop("timeout"));
  const since = clock.monotonic();
  const { step } = request;
  try {
    const outcome = await model.complete(
      { choice, system: agent.spec.instructions, history: history.slice(0, request.historyLength), tools, key: `${sessionKey(tenant, sessionId).replace("\u0000", "/")}/${key}` },
      given.signal,
      (delta) => {
        if (why === undefined) signals.delta(tenant, sessionId, { turn, step, type: delta.type, text: delta.type === "tool_call" ? delta.name : delta.text });
      },
    );
    meters.count("model_completions_total", { provider: choice.provider, outcome: outcome.ok ? outcome.stop : outcome.code });
    meters.observe("model_completion_seconds", (clock.monotonic() - since) / 1_000, { provider: choice.provider });
    // An answer that was whole before anybody stopped it is an answer.
    if (why === undefined || outcome.ok) return outcome;
    if (why === "leaving") throw new Suspended("leaving", clock.monotonic() - since);
    return { ...outcome, code: why, message: why === "timeout" ? "the turn's time was used up" : "the completion was cancelled" };
  } finally {
    takeBack();
    leaving.removeEventListener("abort", leave);
  }
}

function unconfigured({ provider }: ModelChoice): ModelOutcome {
  const message = `no model provider ${provider} is configured here; name it in the file of --models`;
  return { ok: false, code: "unconfigured", message, retryAfterMs: null, parts: [], usage: { inputTokens: 0, outputTokens: 0 } };
}
