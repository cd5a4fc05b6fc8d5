// `signalbox dev`: the whole runtime in one process, for one machine, until Ctrl-C.
import type { Command } from "commander";
import { join, relative } from "node:path";
import { exitCodes } from "../exit-codes.ts";
import type { DevRuntime } from "../../compose.ts";
import type { Io } from "../io.ts";
import { paintFor } from "../paint.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { facts } from "../table.ts";
import { addRuntimeFlags, enableFlag, runtimeOptions, switches, type RuntimeFlags } from "./runtime-flags.ts";

export function addDev(program: Command, runs: Runs): void {
  const dev = addRuntimeFlags(program.command("dev").description("start a runtime on this machine"), "where the ledger and the keys are kept");
  runs.offline<RuntimeFlags>(dev, runDev);
}

async function runDev(session: Session, _args: readonly string[], flags: RuntimeFlags): Promise<Outcome> {
  const { io } = session;
  const options = runtimeOptions(io, flags);
  const { startDev } = await io.compose();
  const runtime = await startDev(options);
  const dataDir = options.dataDir;
  const ready = {
    ready: true,
    url: httpUrl(flags, runtime.httpPort),
    grpc: hostPort(flags.host, runtime.grpcPort),
    data: dataDir,
    key_file: runtime.keyFile,
    first_start: runtime.firstStart,
    enabled: options.enable,
  };
  if (session.json) io.stdout.write(`${JSON.stringify(ready)}\n`);
  else io.stdout.write(welcome(io, flags, runtime, dataDir));
  await untilStopped(session, runtime);
  return exitCodes.ok;
}

/** Resolves when the runtime has stopped, by a signal or by itself. The second signal is the session's: it ends the process. */
export async function untilStopped(session: Session, runtime: DevRuntime): Promise<void> {
  const { signal } = session;
  const stopped = new Promise<void>((resolved, rejected) => {
    const stop = (): void => {
      session.remark("draining… (Ctrl-C again to stop at once)");
      runtime.stop().then(resolved, rejected);
    };
    if (signal.aborted) stop();
    else signal.addEventListener("abort", stop, { once: true });
  });
  await Promise.race([stopped, runtime.closed]);
  if (signal.aborted) await stopped;
}

export function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address that means "all of them" is not one to connect to. */
export function httpUrl({ host, tls }: RuntimeFlags, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tls === undefined || tls === "upstream" ? "http" : "https"}://${hostPort(reachable, port)}`;
}

function enabledText(on: readonly string[]): string {
  const off = switches.filter((name) => !on.includes(name));
  const named = on.length === 0 ? "no privileged tool" : on.join(", ");
  return off.length === 0 ? named : `${named}  (off: ${off.join(", ")}; --enable ${switches.join(",")} switches all on)`;
}

function welcome(io: Io, flags: RuntimeFlags, runtime: DevRuntime, dataDir: string): string {
  const paint = paintFor(io, io.isTTY);
  const where = facts(
    [
      ["http", `${httpUrl(flags, runtime.httpPort)}  (REST, health, metrics)`],
      ["grpc", `${hostPort(flags.host, runtime.grpcPort)}  (workers connect here)`],
      ["data", dataDir],
      ["on", enabledText(enableFlag(flags.enable))],
      [
        "key",
        `${runtime.keyFile}  (${runtime.firstStart ? "made just now; " : ""}commands below this folder find it by themselves)`,
      ],
    ],
    paint.dim,
  );
  const example = relative(io.cwd, join(dataDir, "..", "hello")) || "hello";
  return [
    `${paint.bold("signalbox is running")}   Ctrl-C stops it\n\n`,
    where.replace(/^(?=.)/gm, "  "),
    `\n${paint.bold("next")}, in another terminal:\n`,
    `  signalbox init ${example} && signalbox tools register ${example}\n`,
    `  node ${example}/worker.js\n`,
    `  signalbox run hello.greet --input '{"name":"Ada"}'\n`,
  ].join("");
}
