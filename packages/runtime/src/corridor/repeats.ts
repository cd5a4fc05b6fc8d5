// Gathers lines of the log that come once for every call, so that an outage is a handful of lines: how many, and which the first ones were.
import type { Clock, Log } from "./ports.ts";

const gatherMs = 1_000;
/** What goes on and on is said less and less often. */
const gatherMsMax = 60_000;
const idsMax = 5;

interface Line {
  readonly level: keyof Log;
  count: number;
  ids: string[];
  fields: Readonly<Record<string, unknown>>;
  windowMs: number;
  takeBack: () => void;
}

export class Repeats {
  readonly #clock: Pick<Clock, "after">;
  readonly #log: Log;
  readonly #lines = new Map<string, Line>();

  constructor({ clock, log }: { readonly clock: Pick<Clock, "after">; readonly log: Log }) {
    this.#clock = clock;
    this.#log = log;
  }

  /** Said after a second, with all that came meanwhile. @param fields the last ones are said */
  note(level: keyof Log, message: string, callId: string | undefined, fields: Readonly<Record<string, unknown>>): void {
    let line = this.#lines.get(message);
    if (line === undefined) {
      line = { level, count: 0, ids: [], fields, windowMs: gatherMs, takeBack: () => undefined };
      this.#lines.set(message, line);
      this.#arm(message, line);
    }
    line.count += 1;
    line.fields = fields;
    if (callId !== undefined && line.ids.length < idsMax && !line.ids.includes(callId)) line.ids.push(callId);
  }

  /** Says what was gathered. */
  stop(): void {
    for (const [message, line] of this.#lines) {
      line.takeBack();
      this.#say(message, line);
    }
    this.#lines.clear();
  }

  #arm(message: string, line: Line): void {
    line.takeBack = this.#clock.after(line.windowMs, () => {
      if (line.count === 0) {
        this.#lines.delete(message);
        return;
      }
      this.#say(message, line);
      line.windowMs = Math.min(line.windowMs * 2, gatherMsMax);
      this.#arm(message, line);
    });
  }

  #say(message: string, line: Line): void {
    if (line.count === 0) return;
    this.#log[line.level]({ ...line.fields, count: line.count, execution_ids: line.ids }, message);
    line.count = 0;
    line.ids = [];
  }
}
