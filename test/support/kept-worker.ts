// A worker that outlives the runtime: it keeps what it holds, says so when it comes back, and counts how often each body was entered.
import type { InFlightState, Result, RuntimeMessage } from "@signalbox/protocol";
import type { Corridor } from "./corridor.ts";
import type { HandStream } from "./hand-stream.ts";

interface Held {
  readonly fence: number;
  readonly amount: number;
  state: InFlightState;
  result: Result | undefined;
}

export class KeptWorker {
  /** How often the body of a call was entered, by its id. */
  readonly entered = new Map<string, number>();
  readonly #held = new Map<string, Held>();
  readonly #tools: Readonly<Record<string, number>>;
  #stream: HandStream | undefined;
  #read = 0;

  constructor(tools: Readonly<Record<string, number>>) {
    this.#tools = tools;
  }

  attach(house: Corridor): void {
    const inFlight = [...this.#held].map(([callId, { fence, state }]) => ({ callId, fence, state }));
    this.#stream = house.worker("w1", { tools: this.#tools, inFlight });
    this.#read = 0;
  }

  /** Hears what was said since it listened last. @returns whether there was anything */
  listen(): boolean {
    const said = this.#stream?.sent.slice(this.#read) ?? [];
    this.#read += said.length;
    for (const message of said) this.#hear(message);
    return said.some(({ type }) => type !== "heartbeat_ack");
  }

  /** Amounts whose bodies run now, and those whose results wait to be stored. */
  get running(): readonly number[] {
    return this.#amounts("running");
  }
  get unacknowledged(): readonly number[] {
    return this.#amounts("done");
  }

  /** The body that was given this amount comes to its end. */
  finish(amount: number, status: "succeeded" | "cancelled" = "succeeded"): void {
    for (const [callId, held] of this.#held) {
      if (held.amount !== amount || held.state !== "running") continue;
      held.state = "done";
      held.result = { type: "result", callId, fence: held.fence, status, ...(status === "succeeded" ? { outputJson: `{"paid":${amount}}` } : {}), usage: { durationMs: 3 } };
      this.#stream?.say(held.result);
    }
  }

  #amounts(state: InFlightState): readonly number[] {
    return [...this.#held.values()].flatMap((held) => (held.state === state ? [held.amount] : []));
  }

  #hear(message: RuntimeMessage): void {
    if (message.type === "registered") {
      for (const { callId, verdict } of message.resync) {
        const held = this.#held.get(callId);
        if (verdict !== "keep") this.#held.delete(callId);
        else if (held?.result !== undefined) this.#stream?.say(held.result);
      }
    } else if (message.type === "invoke") {
      const { callId, fence, argsJson, needsGo } = message;
      this.#held.set(callId, { fence, amount: (JSON.parse(argsJson) as { readonly amount: number }).amount, state: "accepted", result: undefined });
      this.#stream?.say({ type: "accepted", callId, fence });
      if (!needsGo) this.#enter(callId, fence);
    } else if (message.type === "go") this.#enter(message.callId, message.fence);
    else if (message.type === "result_ack" || (message.type === "cancel" && message.reason === "lost")) this.#held.delete(message.callId);
  }

  #enter(callId: string, fence: number): void {
    const held = this.#held.get(callId);
    if (held?.fence !== fence || held.state !== "accepted") return;
    held.state = "running";
    this.entered.set(callId, (this.entered.get(callId) ?? 0) + 1);
    this.#stream?.say({ type: "started", callId, fence });
  }
}
