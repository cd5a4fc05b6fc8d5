// What an answer that is on its way has become so far; each provider builds it from its own events.
import type { AssistantPart, StopReason } from "../../session/types.ts";
import type { ModelUsage } from "../../session/model.ts";

export interface Sofar {
  /** Calls only where they are whole, or the stop was told. */
  readonly parts: readonly AssistantPart[];
  /** Undefined until the provider has told why it stopped. */
  readonly stop: StopReason | undefined;
  /** Undefined where the provider told nothing. */
  readonly usage: ModelUsage | undefined;
}

export interface AnswerBuilder {
  /** @throws Malformed for an event that breaks the protocol */
  take(event: unknown): void;
  sofar(): Sofar;
}

/** Servers say "stop" of an answer with calls, and "tool_calls" of one without: what stands there decides. */
export function agreedStop(stop: StopReason, parts: readonly AssistantPart[]): StopReason {
  const asks = parts.some(({ type }) => type === "tool_call");
  if (stop === "tool_use" && !asks) return "end_turn";
  return asks && (stop === "end_turn" || stop === "stop_sequence") ? "tool_use" : stop;
}
