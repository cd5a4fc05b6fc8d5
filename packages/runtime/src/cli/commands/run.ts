// `signalbox run`: runs one tool and waits for its end, or says where to look for it.
import { SignalboxApiError } from "@signalbox/client";
import type { Client, Execution, ExecutionEdit, WithOutputText } from "@signalbox/client";
import type { Command } from "commander";
import { printEvents } from "../call-events.ts";
import { exitCodeOf, exitCodes } from "../exit-codes.ts";
import { CliError, Interrupted } from "../failure.ts";
import { readJsonText } from "../json-input.ts";
import { prettyJson } from "../json.ts";
import { pause } from "../pause.ts";
import { withProgress } from "../progress.ts";
import { putInputFiles } from "./files.ts";
import { denials, ruleText, showDenial } from "../rules.ts";
import { givenOnly, toolAndVersion } from "../session.ts";
import type { OnlineSession, Outcome, Runs } from "../session.ts";
import { plainLine } from "../text.ts";
import { durationText, parseSpanMs } from "../times.ts";

interface RunOptions {
  readonly input: string;
  readonly file?: readonly string[];
  readonly version?: string;
  readonly project?: string;
  readonly idempotencyKey?: string;
  readonly async?: boolean;
  readonly follow?: boolean;
  readonly wait?: string;
  readonly timeout?: string;
}

type RunRecord = WithOutputText<Execution>;

/** The runtime answers a waiting caller after this at the latest; longer waits go on by looking again. */
const firstWaitMs = 30_000;
const parked: readonly string[] = ["awaiting_approval", "indeterminate"];
const ended: readonly string[] = ["succeeded", "failed", "timed_out", "cancelled", "denied"];

export function addRun(program: Command, runs: Runs): void {
  const run = program
    .command("run")
    .description("run a tool and print its output")
    .argument("<tool>", "its name, or name@version")
    .option("--input <json>", "the input: JSON, @file, or - for standard input", "{}")
    .option("--file <path...>", "for tools that run in a box: a file for its workspace; name=path puts it under another name")
    .option("--version <version>", "a version or a range; without it the active one")
    .option("--project <project>", "the project to run it in; without it the key's")
    .option("--idempotency-key <text>", "run at most once for this text; a repeat answers with the first call")
    .option("--async", "do not wait: print the call's id")
    .option("--follow", "print what it says while it runs; with --json one event a line")
    .option("--wait <duration>", "wait at most this long for the end, like 90s; without it until the end")
    .option("--timeout <duration>", "how long the tool may run, like 10s; may only lower the tool's own");
  runs.online<RunOptions>(run, runTool);
}

async function runTool(session: OnlineSession, args: readonly string[], options: RunOptions): Promise<Outcome> {
  const { tool, version } = toolAndVersion(args[0] ?? "", options.version);
  session.about.tool = tool;
  if (options.follow === true && (options.async === true || options.wait !== undefined))
    throw new CliError("--follow goes on to the end, so it takes neither --async nor --wait");
  const timeoutMs = spanFlag("--timeout", options.timeout);
  const waitMs = options.async === true ? 0 : (spanFlag("--wait", options.wait) ?? Number.POSITIVE_INFINITY);
  const inputText = await readJsonText(session.io, "--input", options.input);
  const files = options.file === undefined ? undefined : await putInputFiles(session, options.file);
  const asked = {
    ...givenOnly({ version, project: options.project }),
    ...(timeoutMs === undefined ? {} : { limits: { timeout_ms: timeoutMs } }),
    ...(files === undefined ? {} : { files }),
    tool,
    inputText,
    // With a key of its own the request can be sent again after a broken connection and still runs once.
    idempotency_key: options.idempotencyKey ?? `cli-${session.io.newId()}`,
  };
  if (options.follow === true) return followRun(session, asked);
  const request = {
    ...asked,
    ...(options.async === true
      ? { mode: "async" as const }
      : { mode: "sync" as const, wait_ms: Math.min(waitMs, firstWaitMs) }),
  };
  const startedAt = session.io.now();
  let record: RunRecord | undefined;
  try {
    record = await withProgress(session.io, `waiting for ${plainLine(tool)}`, async () => {
      record = await session.client.invoke(request, session);
      return untilEnd(session, record, startedAt + waitMs);
    });
  } catch (error) {
    if (!(error instanceof Interrupted)) {
      tellDenial(session, error);
      throw error;
    }
    const look =
      record === undefined ? `signalbox calls list --tool ${tool}` : `signalbox calls show ${record.execution_id}`;
    throw new Interrupted(`interrupted; the call is not cancelled by that\nnext:  ${look}`);
  }
  return tell(session, record, options.async === true);
}

async function followRun(session: OnlineSession, asked: Parameters<Client["stream"]>[0]): Promise<Outcome> {
  const printed = { seq: 0 };
  try {
    const end = await printEvents(session, session.client.stream(asked, session), printed);
    return end === undefined ? exitCodes.ok : await tellEnd(session, end.data);
  } catch (error) {
    if (!(error instanceof Interrupted)) {
      tellDenial(session, error);
      throw error;
    }
    throw new Interrupted(`interrupted; the call is not cancelled by that\nnext:  signalbox calls list --tool ${asked.tool}`);
  }
}

/** The end of a call that was followed: its output, or its error. With `--json` it has been printed. */
export async function tellEnd(session: OnlineSession, record: RunRecord): Promise<Outcome> {
  session.about.tool = record.tool;
  if (!session.json) return tell(session, record, false);
  if (record.status === "succeeded") return exitCodes.ok;
  const { code, httpStatus } = await failureOf(record);
  return exitCodeOf(code, httpStatus);
}

function spanFlag(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const ms = parseSpanMs(text);
  if (ms === undefined) throw new CliError(`${flag} takes a duration like 500ms, 30s or 5m, not "${text}"`);
  return ms;
}

/** Looks again, less and less often, until the call has ended, waits for a person, or `until` has come. */
async function untilEnd(session: OnlineSession, first: RunRecord, until: number): Promise<RunRecord> {
  const { lookFirstMs, lookMsMax } = session.io.delays;
  let record = first;
  for (let pauseMs = lookFirstMs; !ended.includes(record.status) && !parked.includes(record.status); pauseMs *= 2) {
    const leftMs = until - session.io.now();
    if (leftMs <= 0) break;
    await pause(Math.min(pauseMs, lookMsMax, leftMs), session.signal);
    record = await session.client.get(record.execution_id, session);
  }
  return record;
}

async function tell(session: OnlineSession, { outputText, ...record }: RunRecord, async: boolean): Promise<Outcome> {
  if (ended.includes(record.status) && record.status !== "succeeded") {
    const failure = await failureOf(record);
    tellDenial(session, failure, record);
    throw failure;
  }
  if (record.status === "succeeded") {
    session.print(record, () => (outputText === null ? "" : prettyJson(record.output)));
    if (record.edited !== undefined) session.remark(editText(record.edited));
    session.remark(session.paint.dim(summary(record)));
    return exitCodes.ok;
  }
  session.print(record, () => `${record.execution_id}\n`);
  session.remark(openText(record));
  return async ? exitCodes.ok : exitCodes.unsettled;
}

/** Where the call is, or who is asked about it. */
function openText({ status, approval_id: approvalId, execution_id: id }: Execution): string {
  if (status === "awaiting_approval" && approvalId !== null)
    return (
      plainLine(`the call waits for people: approval ${approvalId}`) + `\nnext:  signalbox approvals show ${approvalId}`
    );
  return `the call is ${status}\nnext:  signalbox calls show ${id}`;
}

/** A result of other arguments than those that were sent would read like a mistake. */
function editText({ by, args }: ExecutionEdit): string {
  const ran = args === undefined ? "" : `; it ran with\n${prettyJson(args).trimEnd()}`;
  return `${plainLine(by)} changed the arguments${ran}`;
}

/** Names the rules that denied a call: all of them where its record is known, else the one that the error names. */
function tellDenial(session: OnlineSession, error: unknown, known?: Execution): void {
  const denied = error instanceof SignalboxApiError && ["forbidden", "policy_error"].includes(error.code);
  if (!denied || session.json) return;
  if (known !== undefined) {
    const rules = known.policy?.rules ?? [];
    for (const rule of denials(rules)) session.remark(`denied by ${ruleText(rule)}`);
    const next = showDenial(rules);
    if (next !== undefined) session.about.policy = next;
    return;
  }
  // Not asked for: whoever may run a tool need not have the right to read calls, and that would be a refusal on record.
  const { policy, level } = error.details;
  if (typeof policy !== "string" || typeof level !== "string") return;
  session.remark(plainLine(`denied by ${policy} (${level})`));
  session.about.policy = plainLine(`signalbox policies show ${policy}${level === "platform" ? " --platform" : ""}`);
}

function summary({ tool, version, execution, execution_id }: Execution): string {
  const took = execution.duration_ms === null ? "" : ` in ${durationText(execution.duration_ms)}`;
  return plainLine(`succeeded${took} · ${tool} ${version} · ${execution_id}`);
}

/** A call that was still open when we first heard of it ends like one that we waited for in one go. */
async function failureOf(record: Execution): Promise<SignalboxApiError> {
  const { errorTable, isErrorCode } = await import("@signalbox/protocol");
  const code = record.error?.code ?? "internal";
  return new SignalboxApiError({
    code,
    message: record.error?.message ?? `the call ended as ${record.status}`,
    httpStatus: isErrorCode(code) ? errorTable[code].http : 500,
    retryable: record.error?.retryable ?? false,
    details: record.error?.details ?? {},
    executionId: record.execution_id,
    requestId: record.request_id,
    bodyText: JSON.stringify(record),
  });
}
