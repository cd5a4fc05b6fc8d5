// Looks at something again and again until it has come to its end, or somebody presses Ctrl-C.
import { SignalboxApiError } from "@signalbox/client";
import type { Command } from "commander";
import { CliError, Interrupted } from "./failure.ts";
import { pause } from "./pause.ts";
import type { Session } from "./session.ts";
import { plainLine } from "./text.ts";
import { parseSpanMs } from "./times.ts";

export interface FollowOptions {
  readonly watch?: boolean;
  readonly interval?: string;
}

/** Closer looks would be load without news: nobody reads faster. */
const intervalMsMin = 100;

export function followFlags(command: Command, what: string): Command {
  return command
    .option("--watch", what)
    .option("--interval <duration>", "between two looks of --watch, like 5s (1s, at least 100ms)");
}

/** @throws CliError for an interval that is none, or that nothing waits for */
function intervalMs(session: Session, { watch, interval }: FollowOptions): number {
  if (interval === undefined) return session.io.delays.followMs;
  if (watch !== true) throw new CliError("--interval goes with --watch");
  const ms = parseSpanMs(interval);
  if (ms === undefined || ms < intervalMsMin)
    throw new CliError(`--interval takes a duration of at least ${intervalMsMin}ms, like 5s, not "${interval}"`);
  return ms;
}

/**
 * Resolves when `look` says that it was the last, or at Ctrl-C: whoever watches has seen what there was to see.
 * The first look fails like any other command; later ones outlive a runtime that is away for a while.
 * @param look tells what is new; true = there will be nothing more
 * @throws what `look` throws, unless trying again can help
 */
export async function follow(session: Session, options: FollowOptions, look: () => Promise<boolean>): Promise<void> {
  const pauseMs = intervalMs(session, options);
  let away = false;
  try {
    if (await look()) return;
    for (;;) {
      await pause(pauseMs, session.signal);
      try {
        if (await look()) return;
        away = false;
      } catch (error) {
        if (!(error instanceof SignalboxApiError) || !error.retryable) throw error;
        if (!away) session.io.stderr.write(`warning: ${plainLine(error.message)}; trying again\n`);
        away = true;
      }
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  }
}
