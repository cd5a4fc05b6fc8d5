// How a command fails: its own errors, and what is printed and returned for any error.
import { SignalboxApiError } from "@signalbox/client";
import { NoManifests } from "../adapters/files/manifest-files.ts";
import { LedgerUnavailable } from "../ledger/port.ts";
import { exitCodeOf, exitCodes } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import type { Io } from "./io.ts";
import { jsonLine, parseExact } from "./json.ts";
import { nextStep } from "./next-steps.ts";
import { plain, plainLine } from "./text.ts";
import type { Paint } from "./paint.ts";

/** The command line's own refusal, before anything was asked of a runtime. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly exitCode: ExitCode;
  readonly code: string | undefined;
  readonly next: string | undefined;

  constructor(message: string, more: { exitCode?: ExitCode; code?: string; next?: string } = {}) {
    super(message);
    this.exitCode = more.exitCode ?? exitCodes.usage;
    this.code = more.code;
    this.next = more.next;
  }
}

/** The caller pressed Ctrl-C while a command waited. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";
}

export interface FailureContext {
  readonly io: Io;
  readonly paint: Paint;
  readonly json: boolean;
  readonly tool?: string | undefined;
  readonly approvalId?: string | undefined;
  readonly policy?: string | undefined;
  /** The file that it is about, where a command goes through several. */
  readonly file?: string;
}

const faultsShownMax = 20;

/** Prints the error on stderr, for people or with `--json` as one line of JSON; gives the exit code. */
export function reportFailure(error: unknown, context: FailureContext): ExitCode {
  const { io, paint, json, file } = context;
  if (error instanceof SignalboxApiError) return reportApiError(error, context);
  if (error instanceof NoManifests) {
    const { message, next } = error;
    return reportFailure(new CliError(message, next === undefined ? {} : { next }), context);
  }
  if (error instanceof LedgerUnavailable) {
    return reportFailure(
      new CliError(error.message, {
        code: "ledger_unavailable",
        exitCode: exitCodes.unavailable,
        ...(error.next === undefined ? {} : { next: error.next }),
      }),
      context,
    );
  }
  const { message, code, next, exitCode } = ownFailure(error);
  if (file !== undefined && !json) io.stderr.write(`${file}\n`);
  if (json) writeJsonError(io, { ...about(file), error: ownError(code ?? "cli_error", message) }, next);
  else if (error instanceof Interrupted) io.stderr.write(`${message}\n`);
  else writeError(io, paint, message, code === "usage" ? undefined : code, next);
  return exitCode;
}

const about = (file: string | undefined): object => (file === undefined ? {} : { file });

interface OwnFailure {
  readonly message: string;
  readonly code: string | undefined;
  readonly next: string | undefined;
  readonly exitCode: ExitCode;
}

/** Of what failed on this side of the line. */
function ownFailure(error: unknown): OwnFailure {
  const message = error instanceof Error ? error.message : String(error);
  if (error instanceof Interrupted)
    return { message, code: "interrupted", next: undefined, exitCode: exitCodes.interrupted };
  if (!(error instanceof CliError)) return { message, code: undefined, next: undefined, exitCode: exitCodes.failed };
  const { code, exitCode } = error;
  const next = error.next ?? (code === undefined ? undefined : nextStep(code, { details: {} }));
  return { message, code: code ?? "usage", next, exitCode };
}

/** An error that no runtime made, in the shape in which runtimes tell theirs. */
function ownError(code: string, message: string, retryable = false, details: object = {}): object {
  return { code, message, type: "client", retryable, details };
}

/** On one line, so that whoever reads a log finds it whole; `next` stands beside what the API says. */
function writeJsonError(io: Io, told: object, next: string | undefined): void {
  io.stderr.write(jsonLine(next === undefined ? told : { ...told, next: plain(next) }));
}

/** What is wrong with a command line, as `--json` tells it. */
export function reportUsage(io: Io, message: string, next: string): void {
  writeJsonError(io, { error: ownError("usage", message) }, next);
}

function writeError(io: Io, paint: Paint, message: string, code: string | undefined, next: string | undefined): void {
  io.stderr.write(`${paint.red("error:")} ${plain(message)}${code === undefined ? "" : ` (${plainLine(code)})`}\n`);
  if (next !== undefined) io.stderr.write(`${paint.bold("next:")}  ${plain(next)}\n`);
}

function reportApiError(error: SignalboxApiError, context: FailureContext): ExitCode {
  const { io, paint, json, tool, approvalId, policy, file } = context;
  const exitCode = exitCodeOf(error.code, error.httpStatus);
  const { executionId, idempotencyKey, details } = error;
  const next = nextStep(error.code, { tool, approvalId, policy, executionId, idempotencyKey, details });
  if (json) {
    writeJsonError(io, { ...about(file), ...errorObject(error) }, next);
    return exitCode;
  }
  if (file !== undefined) io.stderr.write(`${file}\n`);
  writeError(io, paint, error.message, error.code, next);
  for (const line of [...faultLines(error.details), ...stderrLines(error.details)]) io.stderr.write(`  ${line}\n`);
  if (error.executionId !== undefined) io.stderr.write(paint.dim(`call: ${plainLine(error.executionId)}\n`));
  if (error.requestId !== undefined) io.stderr.write(paint.dim(`request: ${plainLine(error.requestId)}\n`));
  return exitCode;
}

/** The API's own object where there is one; the same shape where no answer came. */
function errorObject(error: SignalboxApiError): object {
  const { code, message, retryable, bodyText, executionId, idempotencyKey, details } = error;
  const open = details["may_have_executed"] === true && executionId === undefined;
  // What an earlier try left open, the answer to the last one cannot know.
  if (bodyText !== undefined && code !== "unreadable_answer" && !open) return parseExact(bodyText) as object;
  const told = { error: ownError(code, message, retryable, details) };
  return open && idempotencyKey !== undefined ? { ...told, idempotency_key: idempotencyKey } : told;
}

/** Of an invalid request: `fields` that the door refused, `errors` that the tool's schema found, `problems` of a document. */
function faultLines(details: Readonly<Record<string, unknown>>): readonly string[] {
  const lists = [details["fields"], details["errors"], details["problems"]].filter((list) => Array.isArray(list));
  const fields: readonly unknown[] = lists.flat();
  const lines = fields.slice(0, faultsShownMax).flatMap((field) => {
    if (typeof field !== "object" || field === null || !("message" in field)) return [];
    const pointer = "pointer" in field ? String(field.pointer) : "path" in field ? String(field.path) : "";
    const hint = "hint" in field ? ` (${String(field.hint)})` : "";
    return [plainLine(`${pointer === "" ? "(whole)" : pointer}: ${String(field.message)}${hint}`)];
  });
  return fields.length > faultsShownMax ? [...lines, `and ${fields.length - faultsShownMax} more`] : lines;
}

const stderrLinesMax = 10;

/** Of a tool that ended badly in its box: the last that it said. */
function stderrLines(details: Readonly<Record<string, unknown>>): readonly string[] {
  const { tool_details: more } = details;
  const text = typeof more === "object" && more !== null && "stderr" in more ? String(more.stderr) : "";
  const lines = text.trimEnd().split("\n").slice(-stderrLinesMax);
  return text.trim() === "" ? [] : lines.map((line) => plainLine(line));
}
