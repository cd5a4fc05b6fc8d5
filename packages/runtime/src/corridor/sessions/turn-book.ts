// The turn that is under way: the machine, what it asks for next, and what it said that is not stored yet.
import { TurnMachine } from "../../session/turn/machine.ts";
import type { Notice, Request, Response, TurnConfig, UserMessage } from "../../session/turn/types.ts";
import type { HistoryItem } from "../../session/types.ts";
import { eventsOf } from "./notices.ts";
import type { NewEvent } from "./row.ts";

export type Done = Extract<Notice, { readonly type: "Done" }>;

export class TurnBook {
  readonly #machine: TurnMachine;
  readonly #turn: number;
  #items: HistoryItem[] = [];
  #events: NewEvent[] = [];
  #request: Request | undefined;
  #done: Done | undefined;

  private constructor(machine: TurnMachine, turn: number) {
    this.#machine = machine;
    this.#turn = turn;
    this.#poll();
  }

  static begin(config: TurnConfig, history: readonly HistoryItem[], messages: readonly UserMessage[]): TurnBook {
    return new TurnBook(TurnMachine.start(config, history, messages), config.turn);
  }

  /** @throws SnapshotRefused */
  static restore(snapshotJson: string, config: TurnConfig, history: readonly HistoryItem[]): TurnBook {
    return new TurnBook(TurnMachine.restore(snapshotJson, config, history), config.turn);
  }

  /** What is to be done next; undefined when the turn is over. */
  get request(): Request | undefined {
    return this.#request;
  }

  get done(): Done | undefined {
    return this.#done;
  }

  get history(): readonly HistoryItem[] {
    return this.#machine.history;
  }

  snapshot(): string {
    return this.#machine.snapshot();
  }

  take(response: Response): void {
    const handled = this.#machine.handle(response);
    if (!handled.accepted) throw new Error(`the turn machine does not take a ${response.type} for effect ${response.id}: ${handled.reason}`);
    this.#poll();
  }

  /** What was said since it was asked last. */
  collect(): { readonly items: readonly HistoryItem[]; readonly events: readonly NewEvent[] } {
    const said = { items: this.#items, events: this.#events };
    [this.#items, this.#events] = [[], []];
    return said;
  }

  #poll(): void {
    this.#request = undefined;
    for (let effect = this.#machine.poll(); effect !== undefined; effect = this.#machine.poll()) {
      if (effect.type === "Emit") this.#events.push({ type: effect.event, turn: this.#turn, step: effect.step, data: effect.data });
      else if (effect.type === "Progress" || effect.type === "Done") {
        this.#items.push(...effect.added);
        this.#events.push(...eventsOf(effect.added));
        if (effect.type === "Done") this.#done = effect;
      } else {
        this.#request = effect;
        return;
      }
    }
  }
}
