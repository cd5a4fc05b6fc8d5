// Cancels of a session that is driven here: each is carried out once, by whatever effect is under way, and its scope says what it reaches.
import type { CancelScope } from "../../session/batch/types.ts";
import type { Clock } from "../ports.ts";
import type { CancelEntry, Wishes } from "./wishes.ts";

export class Cancels {
  /** Those that were there before count from when they were stored; the others from when they were heard. */
  readonly #since: number;
  readonly #clock: Clock;
  readonly #open: CancelEntry[] = [];
  #taken: number;
  #carriedOut: CancelEntry | undefined;
  #hear: ((entry: CancelEntry) => void) | undefined;

  constructor(wishes: Wishes, cancelTaken: number, clock: Clock) {
    this.#clock = clock;
    this.#since = clock.now();
    this.#taken = cancelTaken;
    wishes.onCancel((entry) => {
      if (entry.seq <= this.#taken) return;
      this.#open.push(entry);
      this.#hear?.(entry);
    });
  }

  /** The last one that is done with. */
  get taken(): number {
    return this.#taken;
  }

  /** The one that ends the turn, once it has one. */
  get carriedOut(): CancelEntry | undefined {
    return this.#carriedOut;
  }

  /** Whether the turn is to end. */
  get ofTurn(): CancelEntry | undefined {
    const entry = this.#open.find(({ wish }) => reachesTurn(wish.scope));
    this.#carriedOut = entry ?? this.#carriedOut;
    return entry;
  }

  /** Hears those that are open and those that come, while one effect is under way; the next one takes its place. */
  during(hear: (entry: CancelEntry, at: number) => void): void {
    this.#hear = (entry) => {
      // A session's cancel outlives one of its turn.
      if (reachesTurn(entry.wish.scope) && this.#carriedOut?.wish.scope !== "session") this.#carriedOut = entry;
      hear(entry, entry.at >= this.#since ? this.#clock.now() : entry.at);
    };
    for (const entry of this.#open) this.#hear(entry);
  }

  /** It came when there was nothing to cancel. */
  drop(seq: number): void {
    const at = this.#open.findIndex((entry) => entry.seq === seq);
    if (at !== -1) this.#open.splice(at, 1);
    this.#taken = Math.max(this.#taken, seq);
  }

  /**
   * The effect is over, and what was heard is done with; but where the turn goes on all the same, one that means the turn came too late for
   * this effect, and the next one hears it. @returns the last one that is done with
   */
  done(turn: "goes_on" | "is_over"): number {
    const last = this.#open.at(-1)?.seq ?? this.#taken;
    const left = turn === "is_over" ? [] : this.#open.filter(({ wish }) => reachesTurn(wish.scope));
    this.#taken = Math.max(this.#taken, (left[0]?.seq ?? last + 1) - 1);
    this.#open.splice(0, this.#open.length, ...left);
    this.#carriedOut = undefined;
    this.#hear = undefined;
    return this.#taken;
  }
}

export function reachesTurn(scope: CancelEntry["wish"]["scope"]): boolean {
  return scope === "turn" || scope === "session";
}

/** What it means to a batch; undefined where it means another call. */
export function batchScope({ wish }: CancelEntry, callIds: readonly string[]): CancelScope | undefined {
  if (reachesTurn(wish.scope)) return { scope: "turn" };
  if (wish.scope === "batch") return { scope: "batch" };
  const index = callIds.indexOf(wish.callId ?? "");
  return index === -1 ? undefined : { scope: "call", index };
}
