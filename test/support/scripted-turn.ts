// Drives a turn machine by a script: what each request is answered with, and everything that came out in between.
import type { ModelOutcome } from "../../packages/runtime/src/session/model.ts";
import type { AssistantPart, StopReason, ToldResult } from "../../packages/runtime/src/session/types.ts";
import type { TurnMachine } from "../../packages/runtime/src/session/turn/machine.ts";
import { turnFingerprint } from "../../packages/runtime/src/session/turn/snapshot.ts";
import type {
  BoundTool,
  Effect,
  Notice,
  PreparedCall,
  Request,
  Response,
  TurnConfig,
  UserMessage,
} from "../../packages/runtime/src/session/turn/types.ts";

type Of<T, K> = Extract<T, { readonly type: K }>;
type Limits = TurnConfig["limits"];

export const sessionId = "sess_01";
export const agentVersionId = "agv_01";

export function boundTool(alias: string): BoundTool {
  return { alias, tool: `acme.${alias}`, version: "1.0.0", scheduling: "parallel" };
}

/** Turn 1 of an agent with the tools `read`, `write` and `get_date`, and budgets that nobody reaches by accident. */
export function turnConfig(limits: Partial<Limits> = {}, more: Partial<TurnConfig> = {}): TurnConfig {
  return {
    sessionId,
    agentVersionId,
    fingerprint: turnFingerprint(agentVersionId),
    turn: 1,
    tools: [boundTool("read"), boundTool("write"), boundTool("get_date")],
    limits: {
      stepsMax: 50,
      tokensMax: 1_000_000,
      wallClockMsMax: 600_000,
      toolCallsMax: 1_000,
      approvalWaitMsMax: 60_000,
      concurrentCallsMax: 8,
      onLimit: "halt",
      ...limits,
    },
    ...more,
  };
}

export const message = (text: string, inboxSeq = 1): UserMessage => ({ by: "user:ann", text, inboxSeq });

/** A tool call as a model writes it. */
export function toolCall(name: string, argumentsText = "{}", providerId = `id_${name}`): AssistantPart {
  return { type: "tool_call", providerId, name, argumentsText };
}

/** A whole answer: 10 tokens in, 5 out. Its stop reason is that of its last part, unless it is given. */
export function answer(parts: readonly (AssistantPart | string)[], stop?: StopReason): ModelOutcome {
  const written = parts.map((part): AssistantPart => (typeof part === "string" ? { type: "text", text: part } : part));
  const asks = written.at(-1)?.type === "tool_call";
  return {
    ok: true,
    parts: written,
    stop: stop ?? (asks ? "tool_use" : "end_turn"),
    usage: { inputTokens: 10, outputTokens: 5 },
  };
}

export function failedAnswer(code: string, parts: readonly AssistantPart[] = []): ModelOutcome {
  return {
    ok: false,
    code,
    message: `it said ${code}`,
    retryAfterMs: null,
    parts,
    usage: { inputTokens: 10, outputTokens: 0 },
  };
}

/** What a call that ran is told by its row. Settled ones as they are. */
export function toldOf(call: PreparedCall, more: Partial<ToldResult> = {}): ToldResult {
  return (
    call.settled ?? {
      index: call.index,
      callId: call.callId,
      providerId: call.providerId,
      name: call.name,
      told: "row",
      status: "succeeded",
      text: `output of ${call.name}`,
      isError: false,
      errorCode: null,
      editedArgsJson: null,
      editedBy: null,
      durationMs: 7,
      ...more,
    }
  );
}

export function modelAnswers(request: Pick<Request, "id">, outcome: ModelOutcome, spentMs = 100): Response {
  return { type: "ModelCompleted", id: request.id, outcome, spentMs };
}

/** All calls of a batch ran; `each` says what was otherwise of one. */
export function toolsRan(
  request: Of<Request, "RunTools">,
  each: (call: PreparedCall) => Partial<ToldResult> = () => ({}),
  more: Partial<Of<Response, "ToolsRan">> = {},
): Of<Response, "ToolsRan"> {
  const results = request.calls.map((call) => toldOf(call, each(call)));
  const settled = results.map(({ index }) => index);
  return { type: "ToolsRan", id: request.id, results, settled, spentMs: 50, cancelled: null, stop: null, ...more };
}

export function kept(request: Pick<Request, "id">, messages: readonly UserMessage[] = [], cancelled = false): Response {
  return { type: "CheckpointKept", id: request.id, messages, cancelled };
}

export function limitAnswered(request: Pick<Request, "id">, granted: boolean, cancelled = false): Response {
  return { type: "LimitAnswered", id: request.id, granted, cancelled };
}

/** How the requests of each kind are answered; the nth entry answers the nth of its kind. What is left out goes well. */
export interface Script {
  readonly model?: readonly ModelOutcome[];
  readonly tools?: readonly ((request: Of<Request, "RunTools">) => Response)[];
  readonly checkpoint?: readonly ((request: Of<Request, "Checkpoint">) => Response)[];
  readonly limit?: readonly ((request: Of<Request, "AskLimit">) => Response)[];
}

export type Respond = (request: Request) => Response;

/** Past the end of its entries a model has nothing more to say, tools succeed, nobody writes, and no limit is extended. */
export function scripted(script: Script): Respond {
  const seen = { CompleteModel: 0, RunTools: 0, Checkpoint: 0, AskLimit: 0 };
  return (request) => {
    const nth = seen[request.type]++;
    switch (request.type) {
      case "CompleteModel":
        return modelAnswers(request, script.model?.[nth] ?? answer(["done"]));
      case "RunTools":
        return script.tools?.[nth]?.(request) ?? toolsRan(request);
      case "Checkpoint":
        return script.checkpoint?.[nth]?.(request) ?? kept(request);
      case "AskLimit":
        return script.limit?.[nth]?.(request) ?? limitAnswered(request, false);
    }
  };
}

export function isRequest(effect: Effect): effect is Request {
  return effect.type !== "Emit" && effect.type !== "Progress" && effect.type !== "Done";
}

/** Notices until the next request or the end; both are in the list. */
export function drain(machine: TurnMachine): readonly Effect[] {
  const effects: Effect[] = [];
  for (let effect = machine.poll(); effect !== undefined; effect = machine.poll()) effects.push(effect);
  return effects;
}

export interface Driven {
  readonly effects: readonly Effect[];
  readonly responses: readonly Response[];
  readonly done: Of<Notice, "Done">;
}

const effectsMax = 10_000;

/** Runs the turn to its end. @throws Error where a response is not taken, or the turn does not end. */
export function drive(machine: TurnMachine, respond: Respond): Driven {
  const effects: Effect[] = [];
  const responses: Response[] = [];
  while (effects.length < effectsMax) {
    const effect = machine.poll();
    if (effect === undefined) throw new Error("the machine says nothing and is not done");
    effects.push(effect);
    if (effect.type === "Done") return { effects, responses, done: effect };
    if (!isRequest(effect)) continue;
    const response = respond(effect);
    const handled = machine.handle(response);
    if (!handled.accepted) throw new Error(`${response.type} was not taken: ${handled.reason}`);
    responses.push(response);
  }
  throw new Error("the turn does not end");
}
