// Looks at something again and again until it has come to its end, or somebody presses Ctrl-C.
import { SignalboxApiError } from "@signalbox/client";
import type { Command } from "commander";
import { CliError, Interrupted } from "./failure.ts";
import { jsonLine } from "./json.ts";
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
  return intervalFlag(command.option("--watch", what));
}

export function intervalFlag(command: Command): Command {
  return command.option("--interval <duration>", "between two looks, like 5s (1s, at least 100ms)");
}

/** @throws CliError for an interval that is none, or that nothing waits for */
function intervalMs(session: Session, { watch, interval }: FollowOptions): number {
  if (interval === undefined) return session.io.delays.followMs;
  if (watch !== true) refuseInterval({ interval });
  const ms = parseSpanMs(interval);
  if (ms === undefined || ms < intervalMsMin)
    throw new CliError(`--interval takes a duration of at least ${intervalMsMin}ms, like 5s, not "${interval}"`);
  return ms;
}

/**
 * Resolves when `look` says that it was the last, or at Ctrl-C: whoever watches has seen what there was to see.
 * The first look fails like any other command; later ones outlive a runtime that is away for a while.
 * @param look tells what is new; true = there will be nothing more
 * @param tellAway told once for each time that the runtime is away; without it a line on stderr says so
 * @throws what `look` throws, unless trying again can help
 */
export async function follow(
  session: Session,
  options: FollowOptions,
  look: () => Promise<boolean>,
  tellAway?: (text: string) => void,
): Promise<void> {
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
        const text = `${plainLine(error.message)}; trying again`;
        if (!away) (tellAway ?? onStderr(session, error.code))(text);
        away = true;
      }
    }
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
  }
}

function onStderr({ io, json }: Session, code: string): (text: string) => void {
  return (text) => io.stderr.write(json ? jsonLine({ warning: { code, message: text } }) : `warning: ${text}\n`);
}

/** A list that is shown once has nothing to wait for. */
export function refuseInterval({ interval }: FollowOptions): void {
  if (interval !== undefined) throw new CliError("--interval goes with --watch");
}
