// `signalbox calls follow`: what one call says, from its beginning or from where somebody left off, to its end.
import type { Command } from "commander";
import { printEvents } from "../call-events.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError, Interrupted } from "../failure.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { tellEnd } from "./run.ts";

interface FollowOptions {
  readonly after?: string;
}

export function addFollow(calls: Command, runs: Runs): void {
  const follow = calls
    .command("follow")
    .description("what one call says: its output as it comes, and its end; with --json one event a line")
    .argument("<execution-id>")
    .option("--after <seq>", "go on behind this event");
  runs.online<FollowOptions>(follow, followCall);
}

async function followCall(
  session: OnlineSession,
  [id = ""]: readonly string[],
  { after }: FollowOptions,
): Promise<Outcome> {
  const printed = { seq: seqFlag(after) };
  try {
    const stream = session.client.follow(id, { afterSeq: printed.seq, signal: session.signal });
    const end = await printEvents(session, stream, printed);
    if (end !== undefined) return await tellEnd(session, end.data);
    session.remark(`there is nothing behind event ${printed.seq}\nnext:  signalbox calls show ${id}`);
    return exitCodes.ok;
  } catch (error) {
    if (!(error instanceof Interrupted)) throw error;
    throw new Interrupted(`interrupted; the call goes on\nnext:  signalbox calls follow ${id} --after ${printed.seq}`);
  }
}

function seqFlag(text: string | undefined): number {
  if (text === undefined) return 0;
  if (!/^\d{1,15}$/.test(text)) throw new CliError(`--after takes the number of an event, not "${text}"`);
  return Number(text);
}
