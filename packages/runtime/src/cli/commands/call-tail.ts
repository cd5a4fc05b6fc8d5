// `signalbox calls tail`: calls as they are admitted and as they end, until Ctrl-C.
import type { Execution, ExecutionStatus } from "@signalbox/client";
import { Option } from "commander";
import type { Command } from "commander";
import { callStates } from "../../call/types.ts";
import { CallTail } from "../call-tail.ts";
import { tookText } from "../call-words.ts";
import { CliError } from "../failure.ts";
import { follow, intervalFlag } from "../follow.ts";
import { paintStatus } from "../paint.ts";
import { givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { tell } from "../watch.ts";

interface TailOptions {
  readonly tool?: string;
  readonly status?: ExecutionStatus;
  readonly principal?: string;
  readonly project?: string;
  readonly lines: string;
  readonly interval?: string;
}

const linesMax = 100;
/** Of the longest one, `awaiting_approval`. */
const statusWidth = 17;

export function addTail(calls: Command, runs: Runs): void {
  runs.online<TailOptions>(
    intervalFlag(
      calls
        .command("tail")
        .description("calls as they come and as they end, until Ctrl-C; with --json one record a line")
        .option("--tool <tool>", "calls of this tool only")
        .addOption(new Option("--status <status>", "tell only what is in this status").choices(callStates))
        .option("--principal <principal>", "calls of this principal only, like service:checkout")
        .option("--project <project>", "calls of this project only")
        .option("--lines <count>", "how many of the calls before to begin with", "10"),
    ),
    tailCalls,
  );
}

async function tailCalls(session: OnlineSession, _args: readonly string[], options: TailOptions): Promise<Outcome> {
  const { tool, principal, project, status } = options;
  const tail = new CallTail(session.client, givenOnly({ tool, principal, project }));
  const lines = linesFlag(options.lines);
  let begun = false;
  await follow(session, { watch: true, ...givenOnly({ interval: options.interval }) }, async () => {
    const news = begun ? await tail.look(session) : await tail.begin(lines, session);
    begun = true;
    for (const call of news) if (status === undefined || call.status === status) tellCall(session, call);
    return false;
  });
}

function linesFlag(text: string): number {
  const count = /^\d{1,3}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count <= linesMax)) throw new CliError(`--lines takes a whole number from 0 to ${linesMax}, not "${text}"`);
  return count;
}

/** The time is that of the news: of the end, or else of the beginning. A terminal has no room for its date. */
function tellCall(session: OnlineSession, call: Execution): void {
  const at = call.settled_at ?? call.created_at;
  const error = call.error === undefined ? "" : `${call.error.code}: ${call.error.message}`;
  const facts = [
    session.io.isTTY ? at.slice("2026-01-31T".length, -".000Z".length) : at,
    call.status.padEnd(statusWidth),
    call.execution_id,
    `${call.tool}@${call.version}`,
    call.principal,
    tookText(call),
    error,
  ];
  const line = facts.filter((fact) => fact !== "").join("  ");
  tell(session, { row: call, line, paint: paintStatus(session.paint, call.status) });
}
