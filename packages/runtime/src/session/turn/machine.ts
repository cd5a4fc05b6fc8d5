// The turn machine: what is asked next, and what an answer makes of the turn. It decides everything and does nothing.
import { cutText } from "@signalbox/protocol";
import type { ModelOutcome } from "../model.ts";
import type { HistoryItem, SessionReason } from "../types.ts";
import { keptParts, spokenParts } from "./kept.ts";
import {
  activeMsLeft,
  beforeCompletion,
  beforeTools,
  budgetOf,
  limitReason,
  sizeOf,
  type CountedLimit,
} from "./limits.ts";
import { namedCalls, prepareCalls } from "./prepare.ts";
import { warnOfRepeats } from "./repeats.ts";
import { faultOf } from "./shape.ts";
import { readSnapshot, writeSnapshot, type Reader } from "./snapshot.ts";
import { freshState, type Ending, type Pending, type TurnState } from "./state.ts";
import { cancelledResult, inCallOrder, refusedResult, toolCallsOf, unknownResult, type Settle } from "./told.ts";
import type { Effect, Handled, PreparedCall, Request, Response, TurnConfig, UserMessage } from "./types.ts";

type Of<T, K> = Extract<T, { readonly type: K }>;
type AssistantItem = Of<HistoryItem, "assistant">;
/** A pending request before it has its id. */
type Wanted = Pending extends infer P ? (P extends Pending ? Omit<P, "id"> : never) : never;

const cancelled: Ending = { end: "cancelled", reason: { code: "cancelled", message: "the turn was cancelled" } };

/** One turn of a session. Pure: equal responses in equal order always give equal effects, whoever holds it. */
export class TurnMachine {
  readonly #config: TurnConfig;
  readonly #history: HistoryItem[];
  #state: TurnState;
  /** Whether this instance has handed out its pending request. Not in the snapshot: whoever restores it asks again. */
  #asked = false;
  /** The calls of the last answer; a function of history and configuration, kept because polls repeat. */
  #calls: readonly PreparedCall[] | undefined;

  private constructor(config: TurnConfig, history: HistoryItem[], state: TurnState) {
    this.#config = config;
    this.#history = history;
    this.#state = state;
  }

  /** A new turn behind `history`, all of which was told before, beginning with these messages. */
  static start(config: TurnConfig, history: readonly HistoryItem[], messages: readonly UserMessage[]): TurnMachine {
    const machine = new TurnMachine(config, [...history], freshState(history.length));
    machine.#closeLeftOpen();
    machine.#hear(messages);
    machine.#nextCompletion();
    return machine;
  }

  /**
   * The turn of a snapshot, with the history that was stored with it.
   * @throws SnapshotRefused for another agent version, turn or length of history, and for a schema that is unknown here
   */
  static restore(
    snapshotJson: string,
    config: TurnConfig,
    history: readonly HistoryItem[],
    reader?: Reader,
  ): TurnMachine {
    return new TurnMachine(config, [...history], readSnapshot(snapshotJson, config, history.length, reader));
  }

  /** What came before, and what this turn has added. */
  get history(): readonly HistoryItem[] {
    return this.#history;
  }

  /**
   * JSON text, small: history stands there as a length. Taken when `poll` has nothing more to say, it goes with the
   * commit of what was said; a notice that was not polled yet is in it, and said by whoever restores it.
   */
  snapshot(): string {
    return writeSnapshot(this.#state, this.#config, this.#history.length);
  }

  /** The next effect; undefined while a request waits for its response, and after `Done`. */
  poll(): Effect | undefined {
    const { emits, reported, pending, ending } = this.#state;
    const added = this.#history.slice(reported);
    if (added.length > 0 && (ending === null || emits.length > 0)) {
      this.#move({ reported: this.#history.length });
      return { type: "Progress", added };
    }
    const [emit, ...later] = emits;
    if (emit !== undefined) {
      this.#move({ emits: later });
      return emit;
    }
    if (ending !== null) {
      if (ending.told) return undefined;
      this.#move({ reported: this.#history.length, ending: { ...ending, told: true } });
      return { type: "Done", end: ending.end, reason: ending.reason, added };
    }
    if (pending === null || this.#asked) return undefined;
    this.#asked = true;
    return this.#request(pending);
  }

  /** Takes the response to the outstanding request, or changes nothing and says why. */
  handle(response: Response): Handled {
    const { pending, ending } = this.#state;
    if (ending !== null || pending === null) return { accepted: false, reason: "over" };
    if (!this.#asked || response.id !== pending.id) return { accepted: false, reason: "wrong_id" };
    const fault = faultOf(response, this.#request(pending));
    if (fault !== undefined) return { accepted: false, reason: fault };
    this.#take(response, pending);
    return { accepted: true };
  }

  #take(response: Response, pending: Pending): void {
    switch (response.type) {
      case "ModelCompleted":
        return this.#onModel(response);
      case "ToolsRan":
        return this.#onTools(response);
      case "CheckpointKept":
        return this.#onCheckpoint(response, pending as Of<Pending, "Checkpoint">);
      case "LimitAnswered":
        return this.#onLimit(response, pending as Of<Pending, "AskLimit">);
      case "Broken":
        // Calls that were handed out may have run; those that wait for a budget have not.
        this.#closeCalls(pending.type === "RunTools" ? unknownResult : cancelledResult);
        return this.#end("failed", { code: response.code, message: cutText(response.message) });
    }
  }

  #onModel({ outcome, spentMs }: Of<Response, "ModelCompleted">): void {
    const { inputTokens, outputTokens } = outcome.usage;
    this.#use("wall_clock", spentMs);
    this.#use("tokens", inputTokens + outputTokens);
    const usage = { inputTokens, outputTokens };
    const here = this.#here();
    if (!outcome.ok) return this.#onModelFailure(outcome);
    const { stop } = outcome;
    const parts = keptParts(outcome.parts);
    if (parts.length > 0) this.#add({ type: "assistant", ...here, parts, stop, usage });
    if (stop === "refusal") {
      this.#closeCalls((call) => refusedResult(call, "refusal", "the model refused to go on in the same answer"));
      return this.#end("ended", { code: "refusal", message: "the model refused to answer" });
    }
    if (stop === "cancelled") {
      this.#closeCalls(cancelledResult);
      return this.#finish(cancelled);
    }
    if (toolCallsOf(parts).length > 0) return this.#nextTools();
    this.#ask({ type: "Checkpoint", when: "before_completion", cut: stop === "max_tokens" });
  }

  #onModelFailure({ code, message, parts, usage }: Extract<ModelOutcome, { readonly ok: false }>): void {
    // The time it was given was all that the turn had left.
    const outOfTime = code === "timeout" && this.#left() === 0;
    const spoken = spokenParts(parts);
    // Where the model is asked again, half of its last answer must not be the last word: providers refuse that.
    if (spoken.length > 0 && !(outOfTime && this.#escalates("wall_clock")))
      this.#add({ type: "assistant", ...this.#here(), parts: spoken, stop: "cancelled", usage });
    if (code === "cancelled") return this.#finish(cancelled);
    if (outOfTime) return this.#reach("wall_clock", "completion");
    this.#end("ended", { code: "model_failed", message: cutText(`the model failed (${code}): ${message}`) });
  }

  #onTools(response: Of<Response, "ToolsRan">): void {
    this.#use("wall_clock", response.spentMs);
    const calls = this.#prepared();
    this.#answer(inCallOrder(calls, response.results), response.settled);
    if (response.cancelled === "turn") return this.#finish(cancelled);
    const { stop } = response;
    if (stop !== null) return this.#end(stop.code.startsWith("limit_") ? "ended" : "failed", stop);
    this.#ask({ type: "Checkpoint", when: "after_work", cut: false });
  }

  #onCheckpoint(response: Of<Response, "CheckpointKept">, { when, cut }: Of<Pending, "Checkpoint">): void {
    this.#hear(response.messages);
    if (response.cancelled) return this.#finish(cancelled);
    if (when === "after_work" || response.messages.length > 0) return this.#nextCompletion();
    if (cut)
      return this.#end("ended", { code: "max_tokens", message: "the answer was cut off at the model's output limit" });
    this.#end("ended", { code: "end_turn", message: "the model has ended its turn" });
  }

  #onLimit(response: Of<Response, "LimitAnswered">, { limit, before }: Of<Pending, "AskLimit">): void {
    if (response.cancelled) {
      this.#closeCalls(cancelledResult);
      return this.#finish(cancelled);
    }
    if (!response.granted) return this.#halt(limit);
    const { granted } = this.#state;
    this.#move({ granted: { ...granted, [limit]: granted[limit] + 1 } });
    this.#emit("limit.extended", { limit, budget: budgetOf(this.#budgets(), limit) });
    if (before === "tools") this.#nextTools();
    else this.#nextCompletion();
  }

  #nextCompletion(): void {
    const limit = beforeCompletion(this.#budgets());
    if (limit !== undefined) return this.#reach(limit, "completion");
    this.#use("steps", 1);
    this.#ask({ type: "CompleteModel" });
  }

  #nextTools(): void {
    const wanted = this.#wanted();
    const limit = beforeTools(this.#budgets(), wanted);
    if (limit !== undefined) return this.#reach(limit, "tools");
    this.#use("tool_calls", wanted);
    this.#ask({ type: "RunTools" });
  }

  #reach(limit: CountedLimit, before: "completion" | "tools"): void {
    const budgets = this.#budgets();
    const { onLimit } = budgets.limits;
    this.#emit("limit.reached", {
      limit,
      used: budgets.used[limit],
      budget: budgetOf(budgets, limit),
      on_limit: onLimit,
    });
    if (this.#escalates(limit)) this.#ask({ type: "AskLimit", limit, before });
    else this.#halt(limit);
  }

  /** One more budget of nothing would be asked for without end. */
  #escalates(limit: CountedLimit): boolean {
    const { limits } = this.#config;
    return limits.onLimit === "escalate" && sizeOf(limits, limit) > 0;
  }

  #halt(limit: CountedLimit): void {
    const reason = limitReason(this.#budgets(), limit, this.#wanted());
    this.#closeCalls((call) => refusedResult(call, reason.code, `${reason.message}: the turn ends here`));
    this.#end("ended", reason);
  }

  /** Gives every call of the last answer that has none a result, so that the history can be gone on with. */
  #closeCalls(settle: Settle): void {
    const calls = this.#prepared();
    if (calls.length === 0) return;
    const results = calls.map((call) => call.settled ?? settle(call));
    this.#answer(
      results,
      results.map(({ index }) => index),
    );
  }

  /** What an earlier turn left without a result, whatever had happened to it. */
  #closeLeftOpen(): void {
    const last = this.#lastAnswer();
    if (last === undefined) return;
    const results = namedCalls(this.#config, last).map(unknownResult);
    if (results.length > 0)
      this.#answer(
        results,
        results.map(({ index }) => index),
        last,
      );
  }

  #answer(
    results: ReturnType<typeof inCallOrder>,
    settled: readonly number[],
    to: Pick<AssistantItem, "turn" | "step"> = this.#here(),
  ): void {
    const told = warnOfRepeats(this.#history, to.turn, results);
    this.#add({ type: "results", turn: to.turn, step: to.step, results: told, settled: [...settled] });
  }

  #hear(messages: readonly UserMessage[]): void {
    const { turn } = this.#config;
    for (const { by, text, inboxSeq } of messages) this.#add({ type: "user", turn, by, text, inboxSeq });
  }

  #request(pending: Pending): Request {
    const { step } = this.#here();
    const budgets = this.#budgets();
    switch (pending.type) {
      case "CompleteModel":
        return {
          type: "CompleteModel",
          id: pending.id,
          step,
          historyLength: this.#history.length,
          activeMsLeft: this.#left(),
        };
      case "RunTools":
        return { type: "RunTools", id: pending.id, step, calls: this.#prepared(), activeMsLeft: this.#left() };
      case "Checkpoint":
        return { type: "Checkpoint", id: pending.id, step, when: pending.when };
      case "AskLimit": {
        const { id, limit } = pending;
        return { type: "AskLimit", id, step, limit, used: budgets.used[limit], budget: budgetOf(budgets, limit) };
      }
    }
  }

  /** The answer that the history ends with, if it ends with one. */
  #lastAnswer(): AssistantItem | undefined {
    const last = this.#history.at(-1);
    return last?.type === "assistant" ? last : undefined;
  }

  /** The calls that wait for their results: those of the answer that the history ends with. */
  #prepared(): readonly PreparedCall[] {
    const last = this.#lastAnswer();
    this.#calls ??= last === undefined ? [] : prepareCalls(this.#config, last);
    return this.#calls;
  }

  /** How many of them are to be run. */
  #wanted(): number {
    return this.#prepared().filter(({ settled }) => settled === null).length;
  }

  #budgets() {
    return { limits: this.#config.limits, used: this.#state.used, granted: this.#state.granted };
  }

  #left(): number {
    return activeMsLeft(this.#budgets());
  }

  #here() {
    return { turn: this.#config.turn, step: this.#state.used.steps };
  }

  #add(item: HistoryItem): void {
    this.#history.push(item);
    this.#calls = undefined;
  }

  #use(limit: CountedLimit, amount: number): void {
    const { used } = this.#state;
    this.#move({ used: { ...used, [limit]: used[limit] + amount } });
  }

  #emit(event: string, data: Readonly<Record<string, unknown>>): void {
    const { step } = this.#here();
    this.#move({ emits: [...this.#state.emits, { type: "Emit", event, step, data }] });
  }

  #ask(wanted: Wanted): void {
    const id = this.#state.requests + 1;
    this.#asked = false;
    this.#move({ requests: id, pending: { ...wanted, id } });
  }

  #end(end: Ending["end"], reason: SessionReason): void {
    this.#finish({ end, reason });
  }

  #finish(ending: Ending): void {
    this.#move({ pending: null, ending: { ...ending, told: false } });
  }

  #move(change: Partial<TurnState>): void {
    this.#state = { ...this.#state, ...change };
  }
}
