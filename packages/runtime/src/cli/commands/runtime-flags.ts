// The flags that `dev` and `serve` have in common, and the runtime options that they stand for.
import type { Command } from "commander";
import { resolve } from "node:path";
import { exactOrigin } from "../../adapters/http/cors.ts";
import type { DevOptions } from "../../compose.ts";
import { privilegedTools } from "../../corridor/switches.ts";
import { CliError } from "../failure.ts";
import type { Io } from "../io.ts";
import { parseSpanMs } from "../times.ts";

export interface RuntimeFlags {
  readonly port: string;
  readonly grpcPort: string;
  readonly host: string;
  readonly data: string;
  readonly tools: readonly string[];
  readonly policies: readonly string[];
  readonly agents: readonly string[];
  readonly models?: string;
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
export const switches: readonly string[] = privilegedTools;

/** @param data what the data folder is for */
export function addRuntimeFlags(command: Command, data: string): Command {
  return command
    .option("--port <port>", "HTTP; 0 takes a free one", "8080")
    .option("--grpc-port <port>", "gRPC, where workers connect; 0 takes a free one", "9090")
    .option("--host <host>", "the address to listen on", "127.0.0.1")
    .option("--data <folder>", data, ".signalbox")
    .option("--tools <folder>", "register every tool.yaml below it at start; can be given again", collect, [])
    .option(
      "--policies <folder>",
      "publish every policy below it at start, those of level platform too; can be given again",
      collect,
      [],
    )
    .option("--agents <folder>", "publish every agent.yaml below it at start, and deploy those of which no version is; can be given again", collect, [])
    .option("--models <file>", "where agents' models come from: providers by name, keys by reference; without it those whose keys stand in the environment")
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
}

function collect(value: string, before: readonly string[]): readonly string[] {
  return [...before, value];
}

/** @throws CliError for a flag that cannot be read */
export function runtimeOptions(io: Io, flags: RuntimeFlags): DevOptions & { readonly enable: readonly string[] } {
  return {
    host: flags.host,
    httpPort: portFlag("--port", flags.port),
    grpcPort: portFlag("--grpc-port", flags.grpcPort),
    dataDir: resolve(io.cwd, flags.data),
    toolsDirs: flags.tools.map((folder) => resolve(io.cwd, folder)),
    policiesDirs: flags.policies.map((folder) => resolve(io.cwd, folder)),
    ...(flags.models === undefined ? {} : { modelsFile: resolve(io.cwd, flags.models) }),
    agentsDirs: flags.agents.map((folder) => resolve(io.cwd, folder)),
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

export function enableFlag(text: string): readonly string[] {
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
