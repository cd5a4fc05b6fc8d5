// Runs one command: gives it a client and a way to print, and turns whatever it throws into words and an exit code.
import type { Client } from "@signalbox/client";
import type { Command } from "commander";
import { findConnection } from "./config.ts";
import type { Connection, ConnectionFlags } from "./config.ts";
import { exitCodes } from "./exit-codes.ts";
import type { ExitCode } from "./exit-codes.ts";
import { CliError, Interrupted, reportFailure } from "./failure.ts";
import type { Io } from "./io.ts";
import { parseExact, prettyJson } from "./json.ts";
import { paintFor, withoutColour } from "./paint.ts";
import type { Paint } from "./paint.ts";
import { table } from "./table.ts";
import type { Column } from "./table.ts";

export interface About {
  tool?: string;
  approvalId?: string;
  /** The command that shows the policy which denied it. */
  policy?: string;
}

export interface Session {
  readonly io: Io;
  /** For stdout. */
  readonly paint: Paint;
  readonly json: boolean;
  /** What the command is about, for the next step after an error. */
  readonly about: About;
  /** Aborts at Ctrl-C. */
  readonly signal: AbortSignal;
  /** The API's object with `--json`, else what `human` says. */
  readonly print: (value: unknown, human: () => string) => void;
  /** A remark on stderr that no program reads. */
  readonly remark: (text: string) => void;
  /** @param indent columns that the caller leaves free on the left */
  readonly table: <Row>(rows: readonly Row[], columns: readonly Column<Row>[], indent?: number) => string;
}

export interface OnlineSession extends Session {
  readonly client: Client;
}

/** Nothing is 0. */
export type Outcome = ExitCode | undefined | void;

/** How the commands of one run get to work, and where its exit code ends up. */
export interface Runs {
  /** For commands that ask a runtime: adds `--url`, `--key` and `--json`. */
  online<Options>(
    command: Command,
    act: (session: OnlineSession, args: readonly string[], options: Options) => Promise<Outcome>,
  ): void;
  /** The same for commands that the platform's operator has, too: adds `--platform`. */
  operator<Options>(
    command: Command,
    act: (session: OnlineSession, args: readonly string[], options: Options) => Promise<Outcome>,
    how?: Operating,
  ): void;
  /** For commands that work without one: adds `--json`. */
  offline<Options>(
    command: Command,
    act: (session: Session, args: readonly string[], options: Options) => Promise<Outcome>,
  ): void;
  /** For commands that a flag turns from one kind into the other. */
  either<Options>(command: Command, acts: Either<Options>): void;
}

/** What `--platform` means for one command. */
export interface Operating {
  /** Everybody may read what is the platform's: without the operator's key the ordinary one asks for it. */
  readonly anybodyReads: boolean;
}

export interface Either<Options> {
  readonly offlineWhen: (options: Options) => boolean;
  readonly online: (session: OnlineSession, args: readonly string[], options: Options) => Promise<Outcome>;
  readonly offline: (session: Session, args: readonly string[], options: Options) => Promise<Outcome>;
}

/** People wait for the answer: fewer tries than a program would make. */
const retry = { attemptsMax: 3 };

export interface Result {
  exitCode: ExitCode;
}

export function runsWith(io: Io, result: Result): Runs {
  const online =
    <Options>(act: Either<Options>["online"], how?: Operating): Act =>
    async (session, args, options) => {
      const connection = await connectionFor(io, options as ConnectionFlags, how);
      const { createClient } = await import("@signalbox/client");
      return act(
        { ...session, client: createClient({ ...connection, parse: parseExact, retry }) },
        args,
        options as Options,
      );
    };
  const start = (command: Command, act: Act): void => {
    command.option("--no-color", "no colours, whatever the environment says");
    command.action((...given: unknown[]) => perform(io, result, given, act));
  };
  return {
    online(command, act) {
      start(connectionFlags(command), online(act));
    },
    operator(command, act, how) {
      const flag = "as the platform's operator: with platform_key of client.json, or SIGNALBOX_PLATFORM_KEY";
      start(connectionFlags(command).option("--platform", flag), online(act, how));
    },
    offline<Options>(command: Command, act: Either<Options>["offline"]) {
      start(command.option("--json", "print JSON"), (session, args, options) => act(session, args, options as Options));
    },
    either<Options>(command: Command, acts: Either<Options>) {
      start(connectionFlags(command), (session, args, options) => {
        if (acts.offlineWhen(options as Options)) return acts.offline(session, args, options as Options);
        return online(acts.online)(session, args, options);
      });
    },
  };
}

async function connectionFor(io: Io, flags: ConnectionFlags, how: Operating | undefined): Promise<Connection> {
  try {
    return await findConnection(io, flags);
  } catch (error) {
    const own = how?.anybodyReads === true && error instanceof CliError && error.code === "no_platform_key";
    if (!own) throw error;
    return findConnection(io, { ...flags, platform: false });
  }
}

function connectionFlags(command: Command): Command {
  return command
    .option("--url <url>", "where the runtime listens (SIGNALBOX_URL)")
    .option("--key <key>", "API key; better kept in SIGNALBOX_KEY (a process list shows flags)")
    .option("--json", "print the API's own JSON");
}

type Act = (session: Session, args: readonly string[], options: unknown) => Promise<Outcome>;

async function perform(around: Io, result: Result, given: readonly unknown[], act: Act): Promise<void> {
  // Commander hands over every argument (a list for a variadic one), then the options, then the command.
  const options = given.at(-2) as { readonly json?: boolean; readonly color: boolean };
  const io = options.color ? around : withoutColour(around);
  const args = given
    .slice(0, -2)
    .flatMap((one) => (Array.isArray(one) ? (one as string[]) : typeof one === "string" ? [one] : []));
  const json = options.json === true;
  const about: About = {};
  const stopping = new AbortController();
  const unlisten = io.onStop(() => {
    if (stopping.signal.aborted) io.exitNow(exitCodes.interrupted);
    else stopping.abort(new Interrupted("interrupted"));
  });
  try {
    result.exitCode = (await act(sessionFor(io, json, about, stopping.signal), args, options)) ?? exitCodes.ok;
  } catch (error) {
    result.exitCode = reportFailure(error, { io, paint: paintFor(io, io.errIsTTY), json, ...about });
  } finally {
    unlisten();
  }
}

function sessionFor(io: Io, json: boolean, about: About, signal: AbortSignal): Session {
  const paint = paintFor(io, io.isTTY);
  return {
    io,
    paint,
    json,
    about,
    signal,
    print(value, human) {
      io.stdout.write(json ? prettyJson(value) : human());
    },
    remark(text) {
      if (!json) io.stderr.write(`${text}\n`);
    },
    table: (rows, columns, indent = 0) => {
      const width = io.isTTY ? io.size()?.columns : undefined;
      return table(rows, columns, {
        columns: width === undefined ? undefined : width - indent,
        paintTitle: paint.bold,
      });
    },
  };
}

/** `tool`, or `tool@version`; a version given twice must agree. */
export function toolAndVersion(
  text: string,
  flag: string | undefined,
): { readonly tool: string; readonly version: string | undefined } {
  const { name, version } = nameAndVersion(text, flag, "tool@version", "payments.charge@1.2.0");
  return { tool: name, version };
}

/** The same for a policy. */
export function policyAndVersion(
  text: string,
  flag: string | undefined,
): { readonly name: string; readonly version: string | undefined } {
  return nameAndVersion(text, flag, "policy@version", "payments-need-a-person@1.0.0");
}

/** The same for an agent. */
export function agentAndVersion(text: string, flag: string | undefined): { readonly name: string; readonly version: string | undefined } {
  return nameAndVersion(text, flag, "agent@version", "support@1.0.0");
}

function nameAndVersion(
  text: string,
  flag: string | undefined,
  form: string,
  example: string,
): { readonly name: string; readonly version: string | undefined } {
  const at = text.indexOf("@");
  if (at < 0) return { name: text, version: flag };
  const version = text.slice(at + 1);
  if (version === "" || at === 0) throw new CliError(`"${text}" is not ${form}`, { next: `write it like ${example}` });
  if (flag !== undefined && flag !== version)
    throw new CliError(`two versions are given: ${version} and ${flag}`, { next: "leave one out" });
  return { name: text.slice(0, at), version };
}

/** For `--limit`. */
export function countFlag(text: string | undefined): { readonly limit?: number } {
  if (text === undefined) return {};
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new CliError(`--limit takes a whole number of at least 1, not "${text}"`);
  return { limit: Number(text) };
}

export interface PageFlags {
  readonly limit?: string;
  readonly cursor?: string;
}

/** For `--limit` and `--cursor`, as lists take them. */
export function pageFlags({ limit, cursor }: PageFlags): { readonly limit?: number; readonly cursor?: string } {
  return { ...countFlag(limit), ...givenOnly({ cursor }) };
}

/** Adds the two flags of every list. */
export function pageOptions(command: Command): Command {
  return command
    .option("--limit <count>", "how many (25, at most 100)")
    .option("--cursor <cursor>", "go on where another list ended");
}

/** Says how to see the rest of a list. */
export function remarkMore(session: Session, { next_cursor: next }: { readonly next_cursor: string | null }): void {
  if (next !== null) session.remark(`more:  add --cursor ${next}`);
}

/** Leaves out what was not given, as the API wants it. */
export function givenOnly<T extends object>(fields: T): { [Name in keyof T]?: Exclude<T[Name], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [Name in keyof T]?: Exclude<T[Name], undefined>;
  };
}
