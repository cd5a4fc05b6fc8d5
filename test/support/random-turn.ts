// Random but well-formed responses for a turn machine, and others that belong nowhere; chance comes in as dice.
import type { ModelOutcome } from "../../packages/runtime/src/session/model.ts";
import type { AssistantPart, StopReason } from "../../packages/runtime/src/session/types.ts";
import type { Request, Response, TurnConfig } from "../../packages/runtime/src/session/turn/types.ts";
import { kept, limitAnswered, message, modelAnswers, toolCall, toolsRan, turnConfig } from "./scripted-turn.ts";

/** A number from 0 to `sides` - 1. */
export type Dice = (sides: number) => number;

/** Rolls what the list says and nothing but zeros behind its end, so that every walk comes to an end. */
export function diceOf(numbers: readonly number[]): Dice {
  let next = 0;
  return (sides) => (numbers[next++] ?? 0) % sides;
}

function pick<T>(dice: Dice, of: readonly [T, ...T[]]): T {
  return of[dice(of.length)] ?? of[0];
}

/** Small budgets, which walks reach. */
export function randomConfig(dice: Dice): TurnConfig {
  return turnConfig({
    stepsMax: 1 + dice(5),
    tokensMax: pick(dice, [1_000, 40, 15]),
    wallClockMsMax: pick(dice, [10_000, 300, 100]),
    toolCallsMax: pick(dice, [100, 0, 1, 3]),
    onLimit: pick(dice, ["halt", "escalate"]),
  });
}

function randomPart(dice: Dice): AssistantPart {
  switch (dice(8)) {
    case 0:
      return { type: "text", text: pick(dice, ["well", "", "  "]) };
    case 1:
      return { type: "thought", text: "", metadata: { signature: "abc" } };
    case 2:
      return { type: "thought", text: "hm" };
    default: {
      const name = pick(dice, ["read", "write", "get_dat", ""]);
      const args = pick(dice, ["{}", "", '{"n":12345678901234567890}', '{"a":', "[1]", '{"a":1,"a":2}']);
      return toolCall(name, args, pick(dice, ["a", "b", "c", "d", ""]));
    }
  }
}

const stops = ["tool_use", "end_turn", "max_tokens", "stop_sequence", "tool_use", "refusal", "cancelled"] as const;

function randomOutcome(dice: Dice): ModelOutcome {
  const parts = Array.from({ length: dice(5) }, () => randomPart(dice));
  const usage = { inputTokens: dice(20), outputTokens: dice(10) };
  if (dice(12) === 1) {
    const code = pick(dice, ["rate_limited", "cut_off", "cancelled", "timeout"]);
    return { ok: false, code, message: "it broke off", retryAfterMs: null, parts, usage };
  }
  const stop: StopReason = dice(3) === 0 ? "tool_use" : pick(dice, stops);
  return { ok: true, parts, stop, usage };
}

/** Has the form that the request asks for, whatever it says. */
export function randomResponse(request: Request, dice: Dice): Response {
  if (dice(40) === 1)
    return { type: "Broken", id: request.id, code: "tool_surface_resolution_failed", message: "gone" };
  switch (request.type) {
    case "CompleteModel":
      return modelAnswers(request, randomOutcome(dice), dice(120));
    case "RunTools": {
      const statuses = ["succeeded", "failed", "denied", "timed_out", "cancelled", "indeterminate"] as const;
      const ran = toolsRan(request, () => {
        const status = pick(dice, statuses);
        return { status, isError: status !== "succeeded", text: `it ${status}` };
      });
      const turned = dice(ran.results.length + 1);
      const results = [...ran.results.slice(turned), ...ran.results.slice(0, turned)];
      const stop =
        dice(15) === 1 ? { code: pick(dice, ["approval_rejected", "limit_approval_wait"]), message: "no" } : null;
      const cancelled = pick<"turn" | "batch" | null>(dice, [null, null, null, null, null, null, "turn", "batch"]);
      return { ...ran, results, settled: results.map(({ index }) => index), spentMs: dice(120), stop, cancelled };
    }
    case "Checkpoint": {
      const messages = Array.from({ length: Math.max(0, dice(5) - 2) }, (_, n) => message(`and ${n}`, n));
      return kept(request, messages, dice(20) === 1);
    }
    case "AskLimit":
      return limitAnswered(request, dice(2) === 1, dice(10) === 1);
  }
}

/** Belongs nowhere: another id, another type, or a form that nobody asked for. */
export function strayResponse(request: Request | undefined, dice: Dice): Response {
  const id = request?.id ?? 1;
  const wrong: readonly [Response, ...Response[]] = [
    kept({ id: id + 1 }),
    modelAnswers({ id: id - 1 }, randomOutcome(dice)),
    limitAnswered({ id: id + 7 }, true),
    { type: "Broken", id: id + 1, code: "internal", message: "elsewhere" },
    ...(request?.type === "Checkpoint" ? [] : [kept({ id })]),
    ...(request?.type === "AskLimit" ? [] : [limitAnswered({ id }, true)]),
    ...(request?.type === "CompleteModel" ? [] : [modelAnswers({ id }, randomOutcome(dice))]),
    ...(request?.type === "RunTools"
      ? [
          toolsRan({ ...request, calls: request.calls.slice(1) }),
          toolsRan(request, () => ({}), { spentMs: Number.NaN }),
        ]
      : [toolsRan({ type: "RunTools", id, step: 1, calls: [], activeMsLeft: 0 })]),
  ];
  return pick(dice, wrong);
}
