// `signalbox chat`: a conversation with an agent at a terminal, or one message and its answer in a pipe.
import type { Session, SessionEvent } from "@signalbox/client";
import type { Command } from "commander";
import { Chat } from "../chat/chat.ts";
import { talkOnce } from "../chat/once.ts";
import type { ToldEvent } from "../chat/told.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import { readText } from "../json-input.ts";
import { agentAndVersion, givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { paintSession, reasonText } from "../session-words.ts";
import { plainLine } from "../text.ts";
import { isAtRest } from "./session-waits.ts";

interface ChatOptions {
  readonly version?: string;
  readonly session?: string;
  readonly message?: string;
  readonly project?: string;
}

/** Events before the end of a session that is gone on with, from which its last words are shown. */
const tailEvents = 200;
/** Of those: turns that are shown. */
const tailTurns = 3;

export function addChat(program: Command, runs: Runs): void {
  const chat = program
    .command("chat")
    .description("talk with an agent; approvals are answered in place, Ctrl-C ends its turn")
    .argument("[agent]", "its name, or name@version; with --session not needed")
    .option("--session <session-id>", "go on with this session")
    .option("--message <text>", "the first message: text, @file or -; where nobody sits at a terminal the only one, else read from standard input")
    .option("--version <version>", "an exact version; without it the deployed one")
    .option("--project <project>", "the project to run it in; without it the key's");
  runs.online<ChatOptions>(chat, talk);
}

async function talk(session: OnlineSession, args: readonly string[], options: ChatOptions): Promise<Outcome> {
  checkLine(args, options);
  const keyboard = session.json ? undefined : await session.io.openConsole();
  try {
    // Read before anything is started: an empty message starts nothing.
    const written = options.message ?? (keyboard === undefined ? "-" : undefined);
    const message = written === undefined ? undefined : await readText(session.io, "--message", written);
    const found = await sessionFor(session, args, options);
    if (keyboard === undefined) return await talkOnce(session, found, message ?? "");
    session.io.stdout.write(greeting(session, found));
    const tail = options.session === undefined ? [] : await tailOf(session, found);
    const seq = tail.at(-1)?.seq ?? found.event_seq;
    const { code, over } = await Chat.run(session, keyboard, { id: found.session_id, seq, works: !isAtRest(found) || found.status === "awaiting_approval", before: tail, message });
    if (over) session.remark(`next:  signalbox sessions inspect ${plainLine(found.session_id)}`);
    else session.remark(`the session goes on\nnext:  signalbox chat --session ${plainLine(found.session_id)}`);
    return code;
  } finally {
    keyboard?.close();
  }
}

function checkLine([agent]: readonly string[], { session, version, project }: ChatOptions): void {
  if (agent === undefined && session === undefined)
    throw new CliError("chat needs an agent, or a session to go on with", { next: "see which there are: signalbox agents list, signalbox sessions list" });
  if (session !== undefined && (version !== undefined || project !== undefined))
    throw new CliError("a session that is gone on with has its version and project already", { next: "leave --version and --project out" });
}

/** A new one waits for its first message, so that nothing of the answer is said before somebody listens. */
async function sessionFor(session: OnlineSession, [written]: readonly string[], options: ChatOptions): Promise<Session> {
  const { sessions } = session.client;
  if (options.session === undefined) {
    const { name: agent, version } = agentAndVersion(written ?? "", options.version);
    const key = `cli-${session.io.newId()}`;
    return sessions.start({ agent, ...givenOnly({ version, project: options.project }), idempotency_key: key }, session);
  }
  const found = await sessions.get(options.session, session);
  if (written !== undefined && agentAndVersion(written, undefined).name !== found.agent)
    throw new CliError(`${found.session_id} is a session of ${found.agent}, not of ${written}`, { next: `signalbox chat --session ${found.session_id}` });
  if (found.ended_at !== null) {
    const why = reasonText(found);
    throw new CliError(`${found.session_id} is ${found.status}${why === undefined ? "" : `: ${why}`}`, {
      code: "conflict",
      exitCode: exitCodes.failed,
      next: `signalbox sessions inspect ${found.session_id}; a new one: signalbox chat ${found.agent}`,
    });
  }
  return found;
}

function greeting({ paint }: OnlineSession, found: Session): string {
  const status = paintSession(paint, found.status)(found.status);
  return `${paint.bold(plainLine(`${found.agent}@${found.version}`))}  ${plainLine(found.session_id)}  ${status}\n${paint.dim("/help tells what there is beside words; Ctrl-D leaves")}\n`;
}

/** What was said last, up to the session's last event. */
async function tailOf(session: OnlineSession, { session_id: id, event_seq: last }: Session): Promise<readonly ToldEvent[]> {
  const events: SessionEvent[] = [];
  for (let after: number | null = Math.max(0, last - tailEvents); after !== null && after < last; ) {
    const page = await session.client.sessions.events(id, { after_seq: after, limit: 100 }, session);
    events.push(...page.items);
    after = page.next_after_seq;
  }
  const from = (events.at(-1)?.turn ?? 0) - tailTurns;
  return events.filter(({ turn }) => turn > from).map((event) => ({ ...event, kind: "event" }));
}
