// `signalbox calls`: lists calls, tells one call's story, follows its events, cancels and resolves it.
import type { CallEvent, ExecutionQuery, ExecutionStatus } from "@signalbox/client";
import { Argument, Option } from "commander";
import type { Command } from "commander";
import { callStates } from "../../call/types.ts";
import { callsTable, tookText } from "../call-words.ts";
import { CliError } from "../failure.ts";
import { followFlags, refuseInterval } from "../follow.ts";
import type { FollowOptions } from "../follow.ts";
import { readJsonText } from "../json-input.ts";
import { paintStatus } from "../paint.ts";
import { countFlag, givenOnly, pageOptions, remarkMore } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { addFollow } from "./call-follow.ts";
import { addSettling } from "./call-settling.ts";
import { addTail } from "./call-tail.ts";
import { callStory, eventData } from "../story.ts";
import { parseSpanMs } from "../times.ts";
import { watch } from "../watch.ts";

interface ListOptions extends FollowOptions {
  readonly tool?: string;
  readonly status?: ExecutionStatus;
  readonly principal?: string;
  readonly project?: string;
  readonly since?: string;
  readonly limit?: string;
  readonly cursor?: string;
}

interface ResolveOptions {
  readonly output?: string;
  readonly comment?: string;
}

type Verdict = "confirm" | "retry" | "fail";

/** Events of one call that are read for its story; a call that was retried for ever must not fill the memory. */
const storyEventsMax = 1_000;

export function addCalls(program: Command, runs: Runs): void {
  const calls = program.command("calls").description("look at calls, cancel and resolve them");
  runs.online<ListOptions>(
    followFlags(
      pageOptions(
        calls
          .command("list")
          .description("the newest calls")
          .option("--tool <tool>", "calls of this tool only")
          .addOption(new Option("--status <status>", "calls in this status only").choices(callStates))
          .option("--principal <principal>", "calls of this principal only, like service:checkout")
          .option("--project <project>", "calls of this project only")
          .option("--since <duration>", "calls of the last 30m, 2h, 7d … only"),
      ),
      "go on and show what changes; Ctrl-C ends it",
    ),
    listCalls,
  );
  addTail(calls, runs);
  const id = "<execution-id>";
  runs.online(calls.command("show").description("one call's whole story").argument(id), showCall);
  runs.online(calls.command("events").description("one call's events, in order").argument(id), showEvents);
  addFollow(calls, runs);
  runs.online(
    calls.command("cancel").description("ask for a stop; a call that has ended stays as it is").argument(id),
    cancelCall,
  );
  runs.online<ResolveOptions>(
    calls
      .command("resolve")
      .description("say how an indeterminate call really ended")
      .argument(id)
      .addArgument(
        new Argument("<verdict>", "confirm: it happened; retry: it did not, run it; fail: give it up").choices([
          "confirm",
          "retry",
          "fail",
        ]),
      )
      .option("--output <json>", "with confirm: its result, as JSON, @file or -; without it the late result")
      .option("--comment <text>", "why; kept in the audit"),
    resolveCall,
  );
  addSettling(calls, runs);
}

function queryOf(session: OnlineSession, options: ListOptions): ExecutionQuery {
  const { tool, status, principal, project, cursor, since } = options;
  const from = since === undefined ? undefined : sinceInstant(session, since);
  return { ...givenOnly({ tool, status, principal, project, cursor, from }), ...countFlag(options.limit) };
}

async function listCalls(session: OnlineSession, _args: readonly string[], options: ListOptions): Promise<Outcome> {
  if (options.watch === true) return watchCalls(session, options);
  refuseInterval(options);
  const page = await session.client.list(queryOf(session, options), session);
  session.print(page, () => callsTable(session, page.items));
  remarkMore(session, page);
}

/** The newest page; `tail` is for who must not miss one. */
async function watchCalls(session: OnlineSession, options: ListOptions): Promise<Outcome> {
  if (options.cursor !== undefined) throw new CliError("--watch shows the newest calls, so it takes no --cursor");
  await watch(session, options, {
    look: async () => (await session.client.list(queryOf(session, options), session)).items,
    idOf: (call) => call.execution_id,
    news: (call, before) => {
      if (call.status === before?.status) return undefined;
      const line = `${call.execution_id}  ${call.status.padEnd(17)}  ${call.tool}@${call.version}  ${call.principal}  ${tookText(call)}`;
      return { line, paint: paintStatus(session.paint, call.status) };
    },
    picture: (calls) => callsTable(session, calls),
  });
}

function sinceInstant(session: OnlineSession, since: string): string {
  const ms = parseSpanMs(since);
  if (ms === undefined) throw new CliError(`--since takes a duration like 30m, 2h or 7d, not "${since}"`);
  return new Date(session.io.now() - ms).toISOString();
}

async function showCall(session: OnlineSession, [id = ""]: readonly string[]): Promise<Outcome> {
  const { outputText, ...call } = await session.client.get(id, session);
  session.about.tool = call.tool;
  if (session.json) return session.print(call, () => "");
  const events = await allEvents(session, id);
  session.print(call, () =>
    callStory({ call, events, outputText, now: session.io.now(), paint: session.paint, table: session.table }),
  );
}

async function allEvents(session: OnlineSession, id: string): Promise<readonly CallEvent[]> {
  const events: CallEvent[] = [];
  let afterSeq: number | null = 0;
  while (afterSeq !== null && events.length < storyEventsMax) {
    const page = await session.client.events(id, { after_seq: afterSeq, limit: 100 }, session);
    events.push(...page.items);
    afterSeq = page.next_after_seq;
  }
  return events;
}

async function showEvents(session: OnlineSession, [id = ""]: readonly string[]): Promise<Outcome> {
  const events = await allEvents(session, id);
  session.print(
    { items: events, next_after_seq: events.length < storyEventsMax ? null : (events.at(-1)?.seq ?? null) },
    () =>
      session.table(events, [
        { title: "SEQ", cell: (event) => String(event.seq), align: "right" },
        { title: "TIME", cell: (event) => event.ts },
        { title: "EVENT", cell: (event) => event.type },
        { title: "DATA", cell: eventData, shrinks: true },
      ]),
  );
}

async function cancelCall(session: OnlineSession, [id = ""]: readonly string[]): Promise<Outcome> {
  const call = await session.client.cancel(id, session);
  session.print(call, () => `${call.execution_id} is ${call.status}\n`);
  if (call.settled_at === null)
    session.remark(`the worker has yet to confirm that it stopped\nnext:  signalbox calls show ${call.execution_id}`);
}

async function resolveCall(session: OnlineSession, args: readonly string[], options: ResolveOptions): Promise<Outcome> {
  const [id = "", verdict = "fail"] = args;
  if (options.output !== undefined && verdict !== "confirm")
    throw new CliError("--output goes with confirm only", { next: "leave --output out" });
  const outputText =
    options.output === undefined ? undefined : await readJsonText(session.io, "--output", options.output);
  const answer = { verdict: verdict as Verdict, ...givenOnly({ outputText, comment: options.comment }) };
  const call = await session.client.resolve(id, answer, session);
  session.print(call, () => `${call.execution_id} is ${call.status}\n`);
}
