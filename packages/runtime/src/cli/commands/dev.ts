// `signalbox dev`: the whole runtime in one process, for one machine, until Ctrl-C.
import type { Command } from "commander";
import { join, relative, resolve } from "node:path";
import { exactOrigin } from "../../adapters/http/cors.ts";
import { exitCodes } from "../exit-codes.ts";
import { CliError } from "../failure.ts";
import type { DevOptions, DevRuntime } from "../../compose.ts";
import { privilegedTools } from "../../corridor/switches.ts";
import type { Io } from "../io.ts";
import { paintFor } from "../paint.ts";
import type { Outcome, Runs, Session } from "../session.ts";
import { facts } from "../table.ts";
import { parseSpanMs } from "../times.ts";

interface DevFlags {
  readonly port: string;
  readonly grpcPort: string;
  readonly host: string;
  readonly data: string;
  readonly tools: readonly string[];
  readonly policies: readonly string[];
  readonly boxes: string;
  readonly enable: string;
  readonly acceptWatchedLimits?: boolean;
  readonly allowPrivateWebhooks?: boolean;
  readonly corsOrigin: readonly string[];
  readonly queueWait?: string;
  readonly drain?: string;
  readonly retention?: string;
  readonly tls?: string;
  readonly insecure?: boolean;
  readonly log?: string;
}

const logs = ["json", "pretty", "silent"] as const;
const switches: readonly string[] = privilegedTools;

export function addDev(program: Command, runs: Runs): void {
  const dev = program
    .command("dev")
    .description("start a runtime on this machine")
    .option("--port <port>", "HTTP; 0 takes a free one", "8080")
    .option("--grpc-port <port>", "gRPC, where workers connect; 0 takes a free one", "9090")
    .option("--host <host>", "the address to listen on", "127.0.0.1")
    .option("--data <folder>", "where the ledger and the keys are kept", ".signalbox")
    .option("--tools <folder>", "register every tool.yaml below it at start; can be given again", collect, [])
    .option(
      "--policies <folder>",
      "publish every policy below it at start, those of level platform too; can be given again",
      collect,
      [],
    )
    .option("--boxes <count>", "boxes at once for sandbox tools; 0 starts no sandbox worker", "16")
    .option(
      "--enable <names>",
      "privileged built-in tools that are on, separated by commas: code.run (its Python), fs.list, fs.read, fs.write, shell.run; none for none",
      "code.run",
    )
    .option("--accept-watched-limits", "take boxes whose limits are watched, not enforced, where there are no control groups")
    .option("--allow-private-webhooks", "let webhooks go to this machine and to private networks")
    .option(
      "--cors-origin <origin>",
      "let web pages of this origin ask, like https://app.example.com; can be given again",
      collect,
      [],
    )
    .option("--queue-wait <duration>", "how long a call may wait for a worker (30s)")
    .option("--drain <duration>", "how long a stop waits for calls that run")
    .option("--tls <files>", "a certificate and its key (cert.pem,key.pem) for both doors; or upstream, where an ingress in front ends TLS")
    .option("--insecure", "let keys travel in clear text beyond this machine")
    .option("--retention <duration>", "how long ended calls are kept, with their idempotency keys (7d); off keeps them for ever")
    .option(
      "--log <form>",
      "on stderr: json (also a line for every request), pretty (what needs a person; the default), silent",
    );
  runs.offline<DevFlags>(dev, runDev);
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

async function runDev(session: Session, _args: readonly string[], flags: DevFlags): Promise<Outcome> {
  const { io } = session;
  const options = {
    host: flags.host,
    httpPort: portFlag("--port", flags.port),
    grpcPort: portFlag("--grpc-port", flags.grpcPort),
    dataDir: resolve(io.cwd, flags.data),
    toolsDirs: flags.tools.map((folder) => resolve(io.cwd, folder)),
    policiesDirs: flags.policies.map((folder) => resolve(io.cwd, folder)),
    boxes: boxesFlag(flags.boxes),
    enable: enableFlag(flags.enable),
    acceptWatchedLimits: flags.acceptWatchedLimits === true,
    allowPrivateWebhooks: flags.allowPrivateWebhooks === true,
    corsOrigins: flags.corsOrigin.map(originFlag),
    ...drainFlag(flags.drain),
    ...queueWaitFlag(flags.queueWait),
    ...retentionFlag(flags.retention),
    ...tlsFlag(io.cwd, flags.tls),
    ...(flags.insecure === true ? { insecure: true } : {}),
    ...logFlag(flags.log),
  };
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

function portFlag(flag: string, text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port <= 65_535)) throw new CliError(`${flag} takes a port from 0 to 65535, not "${text}"`);
  return port;
}

function boxesFlag(text: string): number {
  const count = /^\d{1,4}$/.test(text) ? Number(text) : Number.NaN;
  if (!(count <= 1_000)) throw new CliError(`--boxes takes a whole number from 0 to 1000, not "${text}"`);
  return count;
}

function enableFlag(text: string): readonly string[] {
  if (text === "none") return [];
  const names = [...new Set(text.split(",").map((name) => name.trim()))];
  const unknown = names.find((name) => !switches.includes(name));
  if (unknown !== undefined) throw new CliError(`--enable takes ${switches.join(", ")} or none, not "${unknown}"`);
  return names;
}

function originFlag(text: string): string {
  const origin = exactOrigin(text);
  if (origin !== undefined) return origin;
  throw new CliError(`--cors-origin takes one exact origin, not "${text}"`, {
    next: "write it as browsers send it, without a path or a slash at its end: https://app.example.com",
  });
}

function queueWaitFlag(text: string | undefined): { readonly queueWaitMs?: number } {
  if (text === undefined) return {};
  const queueWaitMs = parseSpanMs(text);
  if (queueWaitMs === undefined || queueWaitMs < 1) throw new CliError(`--queue-wait takes a duration like 10s, not "${text}"`);
  return { queueWaitMs };
}

function tlsFlag(cwd: string, text: string | undefined): Pick<DevOptions, "tls"> {
  if (text === undefined) return {};
  if (text === "upstream") return { tls: "upstream" };
  const [certFile, keyFile, ...more] = text.split(",").map((path) => path.trim());
  if (certFile === undefined || keyFile === undefined || certFile === "" || keyFile === "" || more.length > 0)
    throw new CliError(`--tls takes two files, cert.pem,key.pem, or upstream, not "${text}"`);
  return { tls: { certFile: resolve(cwd, certFile), keyFile: resolve(cwd, keyFile) } };
}

function retentionFlag(text: string | undefined): { readonly retentionMs?: number } {
  if (text === undefined) return {};
  if (text === "off") return { retentionMs: 0 };
  const retentionMs = parseSpanMs(text);
  if (retentionMs === undefined || retentionMs < 1_000) throw new CliError(`--retention takes a duration of at least 1s, like 7d or 12h, or off, not "${text}"`);
  return { retentionMs };
}

function drainFlag(text: string | undefined): { readonly drainMs?: number } {
  if (text === undefined) return {};
  const drainMs = parseSpanMs(text);
  if (drainMs === undefined) throw new CliError(`--drain takes a duration like 5s or 1m, not "${text}"`);
  return { drainMs };
}

function logFlag(text: string | undefined): { readonly log?: (typeof logs)[number] } {
  if (text === undefined) return {};
  const log = logs.find((one) => one === text);
  if (log === undefined) throw new CliError(`--log takes ${logs.join(", ")}, not "${text}"`);
  return { log };
}

/** Resolves when the runtime has stopped, by a signal or by itself. The second signal is the session's: it ends the process. */
async function untilStopped(session: Session, runtime: DevRuntime): Promise<void> {
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

function hostPort(host: string, port: number): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** An address that means "all of them" is not one to connect to. */
function httpUrl({ host, tls }: DevFlags, port: number): string {
  const reachable = host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host;
  return `${tls === undefined || tls === "upstream" ? "http" : "https"}://${hostPort(reachable, port)}`;
}

function enabledText(on: readonly string[]): string {
  const off = switches.filter((name) => !on.includes(name));
  const named = on.length === 0 ? "no privileged tool" : on.join(", ");
  return off.length === 0 ? named : `${named}  (off: ${off.join(", ")}; --enable ${switches.join(",")} switches all on)`;
}

function welcome(io: Io, flags: DevFlags, runtime: DevRuntime, dataDir: string): string {
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
