// `signalbox sessions`: starts sessions, lists them, talks to one, stops it, and tells what it did.
import type { SessionState } from "@signalbox/client";
import { Option } from "commander";
import type { Command } from "commander";
import { readJsonText, readText } from "../json-input.ts";
import { parseExact } from "../json.ts";
import { CliError } from "../failure.ts";
import { agentAndVersion, givenOnly, pageFlags, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, PageFlags, Runs } from "../session.ts";
import { nextWithSession, replyText, sessionHead, sessionStatuses, sessionsTable } from "../session-words.ts";
import { sessionStory } from "../session-story.ts";
import { plainLine } from "../text.ts";
import { parseSpanMs } from "../times.ts";
import { addSessionEvents } from "./session-events.ts";
import { settle, waitFlags, waitMsOf, waitedFor } from "./session-waits.ts";
import type { WaitFlags } from "./session-waits.ts";

interface StartOptions extends WaitFlags {
  readonly message: string;
  readonly version?: string;
  readonly project?: string;
  readonly context?: string;
  readonly deadline?: string;
  readonly idempotencyKey?: string;
}

interface ListOptions extends PageFlags {
  readonly agent?: string;
  readonly status?: SessionState;
  readonly project?: string;
  readonly principal?: string;
  readonly parent?: string;
}

interface CancelOptions {
  readonly scope?: "session" | "turn" | "batch" | "call";
  readonly call?: string;
  readonly reason?: string;
}

const id = "<session-id>";

export function addSessions(program: Command, runs: Runs): void {
  const sessions = program.command("sessions").description("start sessions of agents, and look at what they do");
  addStart(sessions, runs);
  runs.online<ListOptions>(
    pageOptions(
      sessions
        .command("list")
        .description("the newest sessions")
        .option("--agent <agent>", "sessions of this agent only")
        .addOption(new Option("--status <status>", "sessions in this status only").choices(sessionStatuses))
        .option("--project <project>", "sessions of this project only")
        .option("--principal <principal>", "sessions that this principal started only")
        .option("--parent <session-id>", "children of this session only"),
    ),
    listSessions,
  );
  runs.online(sessions.command("show").alias("get").description("where one session stands, and what it said last").argument(id), showSession);
  addSend(sessions, runs);
  addEnds(sessions, runs);
  addSessionEvents(sessions, runs);
  runs.online(
    sessions.command("inspect").description("everything that a session and its children did, with times, people and tokens").argument(id),
    inspectSession,
  );
}

function addStart(sessions: Command, runs: Runs): void {
  runs.online<StartOptions>(
    waitFlags(
      sessions
        .command("start")
        .description("start a session with a message, and print what it answers")
        .argument("<agent>", "its name, or name@version")
        .requiredOption("--message <text>", "the first message: text, @file, or - for standard input")
        .option("--version <version>", "an exact version; without it the deployed one")
        .option("--project <project>", "the project to run it in; without it the key's")
        .option("--context <json>", "kept with the session and told to policies: JSON, @file or -")
        .option("--deadline <duration>", "how long the whole session may last, like 1h")
        .option("--idempotency-key <text>", "start at most once for this text; a repeat answers with the first session"),
    ),
    startSession,
  );
}

function addSend(sessions: Command, runs: Runs): void {
  runs.online<WaitFlags & { readonly idempotencyKey?: string }>(
    waitFlags(
      sessions
        .command("send")
        .description("send a session a message, and print what it answers")
        .argument(id)
        .argument("<message>", "text, @file, or - for standard input")
        .option("--idempotency-key <text>", "send at most once for this text"),
    ),
    sendMessage,
  );
}

function addEnds(sessions: Command, runs: Runs): void {
  runs.online<CancelOptions>(
    sessions
      .command("cancel")
      .description("stop what a session does; one that has ended stays as it is")
      .argument(id)
      .addOption(new Option("--scope <scope>", "what is stopped: the session for good, its turn, the calls that run together, or one call").choices(["session", "turn", "batch", "call"]))
      .option("--call <execution-id>", "stop this call only")
      .option("--reason <text>", "for people and the audit"),
    cancelSession,
  );
  runs.online(sessions.command("complete").description("end a session that has done its work; one that works ends when its turn does").argument(id), completeSession);
}

async function startSession(session: OnlineSession, args: readonly string[], options: StartOptions): Promise<Outcome> {
  const { name: agent, version } = agentAndVersion(args[0] ?? "", options.version);
  const message = await readText(session.io, "--message", options.message);
  const context = options.context === undefined ? undefined : (parseExact(await readJsonText(session.io, "--context", options.context)) as Readonly<Record<string, unknown>>);
  const asked = {
    ...givenOnly({ version, project: options.project, context, deadline_ms: spanFlag("--deadline", options.deadline) }),
    agent,
    message,
    // With a key of its own the request can be sent again after a broken connection and still starts one session.
    idempotency_key: options.idempotencyKey ?? `cli-${session.io.newId()}`,
  };
  const waitMs = waitMsOf(options);
  const started = await session.client.sessions.start({ ...asked, wait_ms: waitedFor(waitMs) }, session);
  return settle(session, started, waitMs);
}

function spanFlag(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseSpanMs(text);
  if (ms === undefined) throw new CliError(`${flag} takes a duration like 30s, 5m or 2h, not "${text}"`);
  return ms;
}

async function listSessions(session: OnlineSession, _args: readonly string[], options: ListOptions): Promise<Outcome> {
  const { agent, status, project, principal, parent } = options;
  const page = await session.client.sessions.list({ ...givenOnly({ agent, status, project, principal, parent }), ...pageFlags(options) }, session);
  session.print(page, () => sessionsTable(session, page.items));
  if (page.items.length === 0) session.remark("no sessions\nnext:  signalbox chat <agent>");
  remarkMore(session, page);
}

async function showSession(session: OnlineSession, [sessionId = ""]: readonly string[]): Promise<Outcome> {
  const found = await session.client.sessions.get(sessionId, session);
  session.print(found, () => {
    const reply = replyText(found.reply, true);
    return sessionHead(session.paint, found, session.io.now()) + (reply === "" ? "" : `\n${reply}`);
  });
  const next = nextWithSession(found);
  if (next !== undefined) session.remark(`next:  ${plainLine(next)}`);
}

async function sendMessage(session: OnlineSession, args: readonly string[], options: WaitFlags & { readonly idempotencyKey?: string }): Promise<Outcome> {
  const [sessionId = "", written = ""] = args;
  const text = await readText(session.io, "the message", written);
  const waitMs = waitMsOf(options);
  const key = options.idempotencyKey ?? `cli-${session.io.newId()}`;
  const sent = await session.client.sessions.send(sessionId, text, { idempotency_key: key, wait_ms: waitedFor(waitMs) }, session);
  return settle(session, sent, waitMs);
}

async function cancelSession(session: OnlineSession, [sessionId = ""]: readonly string[], options: CancelOptions): Promise<Outcome> {
  const { call, reason } = options;
  if (call !== undefined && options.scope !== undefined && options.scope !== "call")
    throw new CliError(`--call stops one call, and --scope ${options.scope} does not`, { next: "leave one out" });
  if (call === undefined && options.scope === "call") throw new CliError("--scope call needs --call", { next: `signalbox sessions inspect ${sessionId}` });
  const scope = call === undefined ? options.scope : "call";
  const found = await session.client.sessions.cancel(sessionId, givenOnly({ scope, execution_id: call, reason }), session);
  session.print(found, () => `${plainLine(found.session_id)} is ${found.status}\n`);
  if (found.ended_at === null) session.remark(`the stop is carried out where the session runs\nnext:  signalbox sessions show ${plainLine(found.session_id)}`);
}

async function completeSession(session: OnlineSession, [sessionId = ""]: readonly string[]): Promise<Outcome> {
  const found = await session.client.sessions.complete(sessionId, session);
  session.print(found, () => `${plainLine(found.session_id)} is ${found.status}\n`);
  if (found.status !== "completed") session.remark(`it ends when its turn does\nnext:  signalbox sessions show ${plainLine(found.session_id)}`);
}

async function inspectSession(session: OnlineSession, [sessionId = ""]: readonly string[]): Promise<Outcome> {
  const { io, paint, client } = session;
  const timeline = await client.sessions.timeline(sessionId, session);
  session.print(timeline, () => sessionStory(timeline, { now: io.now(), paint, columns: io.isTTY ? io.size()?.columns : undefined }));
}
