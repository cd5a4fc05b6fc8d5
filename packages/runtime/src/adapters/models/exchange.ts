// One completion over the wire: reads a library's stream until it ends, is cut off, falls silent or is cancelled, and says how it went.
import type { Clock } from "../../corridor/ports.ts";
import type { ModelOutcome, ModelRequest } from "../../session/model.ts";
import type { AnswerBuilder } from "./answer.ts";
import { modelBounds } from "./bounds.ts";
import { factsOf, failureOf, type Failure } from "./failures.ts";
import { Malformed } from "./loose.ts";
import { roughUsage } from "./usage.ts";
import { watchFetch, type Watched } from "./watched-fetch.ts";

export interface Exchange {
  /** The provider, as it is configured: for messages. */
  readonly name: string;
  readonly clock: Clock;
  readonly timeoutMs: number;
  readonly idleMs: number;
  readonly request: ModelRequest;
  readonly signal: AbortSignal;
  readonly answer: AnswerBuilder;
  /** Asks by the library; its request ends with the signal. */
  readonly open: (fetch: typeof globalThis.fetch, signal: AbortSignal) => Promise<AsyncIterable<unknown>>;
}

type End = "read" | "cancelled" | "silent" | "too_large" | { readonly broke: unknown };

export async function exchange(setting: Exchange): Promise<ModelOutcome> {
  const { clock, signal } = setting;
  const controller = new AbortController();
  const { promise: stopped, resolve: stop } = Promise.withResolvers<End>();
  const watch = watchFetch({
    clock,
    timeoutMs: setting.timeoutMs,
    idleMs: setting.idleMs,
    onSilence: () => stop("silent"),
    onTooLarge: () => stop("too_large"),
  });
  const cancel = (): void => stop("cancelled");
  signal.addEventListener("abort", cancel);
  if (signal.aborted) cancel();
  try {
    // The libraries take their time when they are stopped; nobody waits for them.
    const end = await Promise.race([stopped, read(setting, watch, controller.signal)]);
    return outcomeOf(setting, end, watch);
  } finally {
    signal.removeEventListener("abort", cancel);
    watch.close();
    controller.abort();
  }
}

/** Rejects for a defect of ours only. */
async function read({ open, answer }: Exchange, watch: Watched, signal: AbortSignal): Promise<End> {
  let events: AsyncIterator<unknown>;
  try {
    events = (await open(watch.fetch, signal))[Symbol.asyncIterator]();
  } catch (broke) {
    return { broke };
  }
  for (;;) {
    let step: IteratorResult<unknown>;
    try {
      step = await events.next();
    } catch (broke) {
      return { broke };
    }
    if (step.done === true || signal.aborted) return "read";
    try {
      answer.take(step.value);
    } catch (broke) {
      if (broke instanceof Malformed) return { broke };
      throw broke;
    }
  }
}

function outcomeOf(setting: Exchange, end: End, watch: Watched): ModelOutcome {
  const { parts, stop, usage } = setting.answer.sofar();
  const known = usage ?? (parts.length === 0 ? { inputTokens: 0, outputTokens: 0 } : roughUsage(setting.request, parts));
  const failure = failureAt(setting, end, watch);
  // Once the stop was told the answer is whole, whatever became of the line afterwards.
  if (stop !== undefined && (failure === undefined || failure.code === "cut_off" || failure.code === "timeout"))
    return { ok: true, parts, stop, usage: usage ?? roughUsage(setting.request, parts) };
  return { ok: false, ...(failure ?? cutOff(setting.name)), parts, usage: known };
}

/** Undefined: the stream came to its end. */
function failureAt(setting: Exchange, end: End, watch: Watched): Failure | undefined {
  const { name, answer, clock } = setting;
  const { parts, usage } = answer.sofar();
  const begun = parts.length > 0 || usage !== undefined;
  if (end === "cancelled") return plain("cancelled", "the request was cancelled");
  if (end === "silent") return plain("timeout", `${name} fell silent: ask again, or configure a longer timeout or idle_timeout`);
  if (end === "too_large") return plain("malformed", `${name} answered with more than ${modelBounds.answerBytesMax} bytes`);
  if (end === "read") return begun || watch.streamed() ? undefined : plain("malformed", `${name} did not answer with a stream of events: check its base_url`);
  const { broke } = end;
  if (broke instanceof Malformed) return plain("malformed", `${name} answered with an event that breaks its protocol: ${broke.message}`);
  if (broke instanceof SyntaxError) return watch.endedInside() ? cutOff(name) : plain("malformed", `${name} answered with an event that is no JSON`);
  const facts = factsOf(broke);
  if (facts !== undefined) return failureOf(name, facts, clock.now());
  return begun || watch.streamed() ? cutOff(name) : plain("unreachable", `${name} cannot be reached: check its base_url and the network`);
}

const plain = (code: string, message: string): Failure => ({ code, message, retryAfterMs: null });
const cutOff = (name: string): Failure => plain("cut_off", `the answer of ${name} was cut off before its end`);
