// `signalbox serve`: one of any number of replicas on one PostgreSQL ledger, until it is told to stop.
import type { Command } from "commander";
import { resolve } from "node:path";
import type { DevRuntime } from "../../compose.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { Io } from "../io.ts";
import { paintFor } from "../paint.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { facts } from "../table.ts";
import { parseSpanMs } from "../times.ts";
import { hostPort, httpUrl, untilStopped } from "./dev.ts";
import { addRuntimeFlags, runtimeOptions, type RuntimeFlags } from "./runtime-flags.ts";

interface ServeFlags extends RuntimeFlags {
  readonly ledger?: string;
  readonly replica?: string;
  readonly auditKeyFile?: string;
  readonly advertise?: string;
  readonly ledgerWait?: string;
}

export const ledgerVariable = "SIGNALBOX_LEDGER";

export function addServe(program: Command, runs: Runs): void {
  const data = "a folder of this replica alone: the audit's anchor, packages and files, and on the first replica the keys";
  const serve = addRuntimeFlags(program.command("serve").description("start a replica on a shared PostgreSQL ledger"), data)
    .option("--ledger <url>", `postgres://user:password@host:port/database; by default what ${ledgerVariable} says, where no list of processes shows it`)
    .option("--ledger-wait <duration>", "how long the start waits for a database that does not answer (60s); 0s does not wait")
    .option("--replica <name>", "its name among the replicas, the same over restarts; the host's by default")
    .option("--audit-key-file <file>", "the key of the audit chain, the same for all replicas; audit.key in the data folder by default")
    .option("--advertise <host:port>", "where workers reach this replica's gRPC door, when that is not where it listens");
  runs.offline<ServeFlags>(serve, runServe);
}

async function runServe(session: Session, _args: readonly string[], flags: ServeFlags): Promise<Outcome> {
  const { io } = session;
  const { startServe } = await io.compose();
  const runtime = await startServe({
    ...runtimeOptions(io, flags),
    ledgerUrl: ledgerOf(io, flags.ledger),
    ...(flags.replica === undefined ? {} : { replica: flags.replica }),
    ...(flags.auditKeyFile === undefined ? {} : { auditKeyFile: resolve(io.cwd, flags.auditKeyFile) }),
    ...(flags.advertise === undefined ? {} : { advertise: flags.advertise }),
    ...ledgerWaitFlag(flags.ledgerWait),
    signal: session.signal,
  });
  const data = resolve(io.cwd, flags.data);
  const grpc = hostPort(flags.host, runtime.grpcPort);
  const ready = { ready: true, url: httpUrl(flags, runtime.httpPort), grpc, data, key_file: runtime.keyFile, first_start: runtime.firstStart };
  io.stdout.write(session.json ? `${JSON.stringify(ready)}\n` : welcome(io, flags, runtime, grpc));
  await untilStopped(session, runtime);
  return exitCodes.ok;
}

function ledgerOf(io: Io, flag: string | undefined): string {
  const url = flag ?? io.env[ledgerVariable];
  if (url === undefined || url === "") throw new CliError("no ledger was named", { next: `signalbox serve --ledger postgres://user:password@host:port/database, or set ${ledgerVariable}` });
  if (!/^postgres(ql)?:\/\//.test(url)) throw new CliError("--ledger takes an address that begins with postgres://; on SQLite there is one process: signalbox dev");
  return url;
}

function ledgerWaitFlag(text: string | undefined): { readonly ledgerWaitMs?: number } {
  if (text === undefined) return {};
  const ledgerWaitMs = parseSpanMs(text);
  if (ledgerWaitMs === undefined) throw new CliError(`--ledger-wait takes a duration like 30s or 5m, or 0s, not "${text}"`);
  return { ledgerWaitMs };
}

function welcome(io: Io, flags: ServeFlags, runtime: DevRuntime, grpc: string): string {
  const paint = paintFor(io, io.isTTY);
  const where = facts(
    [
      ["http", `${httpUrl(flags, runtime.httpPort)}  (REST, health, metrics)`],
      ["grpc", `${grpc}  (workers connect here)`],
      ["key", runtime.firstStart ? `${runtime.keyFile}  (made just now: the first on this ledger)` : "as the ledger knows them; 'signalbox keys create' makes more"],
    ],
    paint.dim,
  );
  return `${paint.bold("this replica serves")}   Ctrl-C drains and stops it\n\n${where.replace(/^(?=.)/gm, "  ")}\n`;
}
