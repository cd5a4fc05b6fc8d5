// `signalbox calls resolve-all` and `signalbox calls replay`: one word on many calls, and an ended call made once more.
import type { ResolvedMany, ResolveManyRequest, UnknownEnd } from "@signalbox/client";
import { Option } from "commander";
import type { Command } from "commander";
import { CliError } from "../failure.ts";
import { countFlag, givenOnly } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { parseSpanMs, relativeText } from "../times.ts";

interface ResolveAllOptions {
  readonly verdict: "confirm" | "retry" | "fail";
  readonly tool?: string;
  readonly project?: string;
  readonly outcome?: "lease_expired" | "indeterminate";
  readonly worker?: string;
  readonly olderThan?: string;
  readonly comment?: string;
  readonly limit?: string;
  readonly yes?: boolean;
}

interface ReplayOptions {
  readonly acknowledge?: boolean;
  readonly async?: boolean;
  readonly idempotencyKey?: string;
}

export function addSettling(calls: Command, runs: Runs): void {
  runs.online<ResolveAllOptions>(
    calls
      .command("resolve-all")
      .description("say the same of many indeterminate calls; without --yes it only shows them")
      .addOption(new Option("--verdict <verdict>", "confirm: each with its late result; retry; fail").choices(["confirm", "retry", "fail"]).makeOptionMandatory())
      .option("--tool <tool>", "calls of this tool only")
      .option("--project <project>", "calls of this project only")
      .addOption(new Option("--outcome <outcome>", "calls that were lost in this way only").choices(["lease_expired", "indeterminate"]))
      .option("--worker <worker>", "calls that this worker had last only")
      .option("--older-than <duration>", "calls that were made 30m, 2h, 7d … ago or earlier only")
      .option("--comment <text>", "why; kept in the audit of each")
      .option("--limit <count>", "at most so many")
      .option("--yes", "do it"),
    resolveAll,
  );
  runs.online<ReplayOptions>(
    calls
      .command("replay")
      .description("make an ended call once more, as a new call")
      .argument("<execution-id>")
      .option("--acknowledge", "it may have had its effect, and is wanted again")
      .option("--async", "do not wait for the end")
      .option("--idempotency-key <key>", "an idempotency key for the new call"),
    replayCall,
  );
}

async function resolveAll(session: OnlineSession, _args: readonly string[], options: ResolveAllOptions): Promise<Outcome> {
  const { tool, project, worker, verdict, comment, outcome, olderThan } = options;
  const older = olderThan === undefined ? undefined : spanMs(olderThan);
  const filter = givenOnly({ tool, project, worker, routing_outcome: outcome, older_than_ms: older });
  const request: ResolveManyRequest = { filter, verdict, ...givenOnly({ comment }), ...countFlag(options.limit), dry_run: options.yes !== true };
  const found = await session.client.resolveMany(request, session);
  session.print(found, () => (found.dry_run ? shownText(session, found) : doneText(session, found)));
  if (found.dry_run && found.matched > 0) session.remark(`nothing was resolved\nnext:  the same with --yes`);
  if (!found.dry_run && found.remaining > 0) session.remark(`${found.remaining} are left\nnext:  the same once more`);
}

function spanMs(text: string): number {
  const ms = parseSpanMs(text);
  if (ms === undefined) throw new CliError(`--older-than takes a duration like 30m, 2h or 7d, not "${text}"`);
  return ms;
}

function shownText({ table, io }: OnlineSession, { matched, shown }: ResolvedMany): string {
  const rows = table(shown, [
    { title: "EXECUTION", cell: (call) => call.execution_id },
    { title: "TOOL", cell: (call) => `${call.tool}@${call.version}`, shrinks: true },
    { title: "CREATED", cell: (call) => relativeText(Date.parse(call.created_at), io.now()) },
    { title: "ATTEMPTS", cell: attemptsText, shrinks: true },
    { title: "LAST OUTPUT", cell: lastOutputText, shrinks: true },
    { title: "LATE RESULT", cell: (call) => call.late_results.at(-1)?.status ?? "none" },
  ]);
  return `${rows}${matched} ${matched === 1 ? "call matches" : "calls match"}\n`;
}

/** One line a call; `--json` has the others. */
function lastOutputText({ last_output: { lines, missing } }: UnknownEnd): string {
  const line = lines.findLast(({ text }) => text.trim() !== "");
  const rest = missing === null ? "" : missing === "lost" ? "(some is lost)" : "(more is with another replica)";
  const words = [line?.text.trim() ?? "", rest].filter((text) => text !== "");
  return words.length === 0 ? "none kept" : words.join(" ");
}

const attemptsText = ({ attempts }: UnknownEnd): string => attempts.map(({ attempt, worker, end_reason }) => `${attempt} ${worker} ${end_reason ?? "open"}`).join(", ");

function doneText({ table }: OnlineSession, { resolved, failed }: ResolvedMany): string {
  const rows = [
    ...resolved.map(({ execution_id, status }) => ({ id: execution_id, end: status })),
    ...failed.map(({ execution_id, code, message }) => ({ id: execution_id, end: `${code}: ${message}` })),
  ];
  const columns = [
    { title: "EXECUTION", cell: ({ id }: (typeof rows)[number]) => id },
    { title: "IS NOW", cell: ({ end }: (typeof rows)[number]) => end, shrinks: true },
  ];
  return `${table(rows, columns)}${resolved.length} resolved, ${failed.length} not\n`;
}

async function replayCall(session: OnlineSession, [id = ""]: readonly string[], options: ReplayOptions): Promise<Outcome> {
  const { acknowledge, idempotencyKey } = options;
  const mode = options.async === true ? "async" : "sync";
  const call = await session.client.replay(id, { mode, ...givenOnly({ acknowledge_may_have_executed: acknowledge, idempotency_key: idempotencyKey }) }, session);
  session.print(call, () => `${call.execution_id} is ${call.status}\n`);
}
