// `signalbox calls`: lists calls, tells one call's story, follows its events, cancels and resolves it.
import type { CallEvent, Execution, ExecutionStatus } from "@signalbox/client";
import { Argument } from "commander";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { readJsonText } from "../json-input.ts";
import { paintStatus } from "../paint.ts";
import { countFlag, givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { addFollow } from "./call-follow.ts";
import { callStory, eventData } from "../story.ts";
import { durationText, parseSpanMs, relativeText } from "../times.ts";

interface ListOptions {
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
    calls
      .command("list")
      .description("the newest calls")
      .option("--tool <tool>", "calls of this tool only")
      .option("--status <status>", "queued, running, indeterminate, succeeded, failed …")
      .option("--principal <principal>", "calls of this principal only, like service:checkout")
      .option("--project <project>", "calls of this project only")
      .option("--since <duration>", "calls of the last 30m, 2h, 7d … only")
      .option("--limit <count>", "how many (25, at most 100)")
      .option("--cursor <cursor>", "go on where another list ended"),
    listCalls,
  );
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
}

async function listCalls(session: OnlineSession, _args: readonly string[], options: ListOptions): Promise<Outcome> {
  const { tool, status, principal, project, cursor, since } = options;
  const from = since === undefined ? undefined : sinceInstant(session, since);
  const page = await session.client.list(
    { ...givenOnly({ tool, status, principal, project, cursor, from }), ...countFlag(options.limit) },
    session,
  );
  const now = session.io.now();
  session.print(page, () =>
    session.table(page.items, [
      { title: "EXECUTION", cell: (call) => call.execution_id },
      { title: "TOOL", cell: (call) => `${call.tool}@${call.version}`, shrinks: true },
      {
        title: "STATUS",
        cell: (call) => call.status,
        paint: (text, call) => paintStatus(session.paint, call.status)(text),
      },
      { title: "PRINCIPAL", cell: (call) => call.principal, shrinks: true },
      { title: "CREATED", cell: (call) => relativeText(Date.parse(call.created_at), now) },
      { title: "TOOK", cell: tookText, align: "right" },
    ]),
  );
  if (page.next_cursor !== null) session.remark(`more:  add --cursor ${page.next_cursor}`);
}

function sinceInstant(session: OnlineSession, since: string): string {
  const ms = parseSpanMs(since);
  if (ms === undefined) throw new CliError(`--since takes a duration like 30m, 2h or 7d, not "${since}"`);
  return new Date(session.io.now() - ms).toISOString();
}

function tookText({ created_at, settled_at }: Execution): string {
  return settled_at === null ? "" : durationText(Math.max(0, Date.parse(settled_at) - Date.parse(created_at)));
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
