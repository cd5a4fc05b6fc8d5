// What the chapters play on: a project folder, the real runtime, workers, the real command line, and REST.
import { cpSync, mkdirSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import type { ExecutionDetail } from "@signalbox/client";
import { runToEnd, type Child, type Children, type Finished } from "./children.ts";
import { StoryFailed, type Telling } from "./telling.ts";

export interface Receipt {
  readonly payment_id: string;
  readonly call_id: string;
  readonly attempt: number;
  readonly amount: number;
}

/** What a worker is told beside its key and its address: `DEMO_…` variables of examples/demo/worker.js. */
export type WorkerSettings = Readonly<Record<`DEMO_${string}`, string>>;

/** A key, and the variable that a person would keep it in. */
export interface Somebody {
  readonly variable: string;
  readonly key: string;
}

export interface CliOptions {
  /** 0 by default; `null` takes any. */
  readonly exitCode?: number | null;
  /** Asks with this key; without it with the administrator's that the command line finds by itself. */
  readonly as?: Somebody;
  readonly linesMax?: number;
  /** The variable that a person would keep the printed secret in; the telling names it in the secret's place. */
  readonly keepAs?: string;
}

export interface RestAnswer {
  readonly status: number;
  readonly body: Record<string, unknown>;
}

interface Ports {
  readonly http: number;
  readonly grpc: number;
}

export const repo = join(import.meta.dirname, "../..");
export const cliFile = join(repo, "packages/runtime/bin/signalbox.js");
const workerFile = join(import.meta.dirname, "worker.js");
/** Guards against a demo that hangs: a start, a stop, a worker that registers. */
const patienceMs = 15_000;
const lookMs = 60;
/** A record is longer than a reader's patience; its first lines say what it is. */
const restLinesMax = 16;

export class Stage {
  /** The project folder: `.signalbox/`, `tools/`, `policies/`, `data/`, `receipts.jsonl`, `logs/`. */
  readonly folder: string;
  readonly telling: Telling;
  /** Aborts when the demo is interrupted. */
  readonly signal: AbortSignal;
  readonly #children: Children;
  #ports: Ports | undefined;
  #runtime: Child | undefined;
  #worker: Child | undefined;
  #workerKey: Somebody | undefined;
  #workerCount = 0;

  constructor(parts: { folder: string; telling: Telling; signal: AbortSignal; children: Children }) {
    this.folder = parts.folder;
    this.telling = parts.telling;
    this.signal = parts.signal;
    this.#children = parts.children;
  }

  /** Fills the project folder: the tools' manifests, the policies, and the order file. */
  furnish(): void {
    mkdirSync(join(this.folder, "logs"));
    cpSync(join(import.meta.dirname, "data"), join(this.folder, "data"), { recursive: true });
    cpSync(join(repo, "examples/policies"), join(this.folder, "policies"), { recursive: true });
    for (const tool of ["files.summarize", "payments.charge", "reports.build"])
      cpSync(join(repo, "examples/tools", tool), join(this.folder, "tools", tool), { recursive: true });
  }

  // --- the runtime

  /** @param more flags beside those that every start has */
  async startRuntime(more: readonly string[] = []): Promise<Record<string, unknown>> {
    this.#ports ??= { http: await freePort(), grpc: await freePort() };
    const { http, grpc } = this.#ports;
    const args = ["dev", "--port", String(http), "--grpc-port", String(grpc), ...more, "--json"];
    this.telling.command(`signalbox ${args.join(" ")} &`);
    // A line for every request, for the end of the log that a story which goes wrong shows.
    const quietly = [cliFile, ...args, "--log", "json"];
    const runtime = this.#children.start({ name: "runtime", ...this.#place("runtime"), args: quietly });
    this.#runtime = runtime;
    const line = await this.#within(runtime.nextLine());
    if (line === undefined) throw new StoryFailed("the runtime did not come up");
    this.telling.output(line);
    this.telling.command(`URL=${this.url} KEY=$(node -p 'require("./.signalbox/client.json").key')`);
    return JSON.parse(line) as Record<string, unknown>;
  }

  /** Ends the runtime by SIGTERM; says how it ended. */
  async stopRuntime(): Promise<string> {
    const runtime = this.#runtime;
    if (runtime === undefined) throw new StoryFailed("there is no runtime to stop");
    this.#runtime = undefined;
    this.telling.command(`kill -TERM ${runtime.pid}`);
    runtime.kill("SIGTERM");
    return (await this.#within(runtime.ended)) ?? "still running";
  }

  /** Pulls its plug: it gets no chance to say anything. */
  async killRuntime(): Promise<void> {
    const runtime = this.#runtime;
    if (runtime === undefined) throw new StoryFailed("there is no runtime to kill");
    this.#runtime = undefined;
    this.telling.command(`kill -KILL ${runtime.pid}`);
    runtime.kill("SIGKILL");
    this.telling.check("the runtime is dead", await this.#within(runtime.ended), "SIGKILL");
  }

  get running(): boolean {
    return this.#runtime !== undefined;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#ports?.http ?? 0}`;
  }

  // --- workers

  /** Starts the application's worker, with a key of its own, and waits until the runtime knows it. */
  async startWorker(settings: WorkerSettings = {}): Promise<Child> {
    const sentence = "The worker gets a key that lets it connect and do nothing else.";
    this.#workerKey ??= await this.makeKey(sentence, "service:demo-worker", ["workers:connect"], "WORKER_KEY");
    const workerId = `demo-worker-${++this.#workerCount}`;
    const shown = Object.entries(settings).map(([name, value]) => `${name}=${value} `);
    this.telling.command(`${shown.join("")}SIGNALBOX_KEY=$WORKER_KEY node ${workerFile} &`);
    const { env, ...place } = this.#place(workerId);
    const worker = this.#children.start({
      name: workerId,
      ...place,
      args: [workerFile],
      env: { ...env, ...settings, SIGNALBOX_KEY: this.#workerKey.key, DEMO_WORKER_ID: workerId },
    });
    await this.until(
      () => `${workerId} to connect`,
      async () => {
        const { body } = await this.ask("GET", "/v1/workers");
        const items = body["items"] as readonly { readonly worker_id: string }[];
        return items.some(({ worker_id }) => worker_id === workerId);
      },
    );
    this.#worker = worker;
    return worker;
  }

  /** Waits until the sandbox worker that the runtime has started itself is there. */
  async boxWorker(): Promise<void> {
    const there = async (): Promise<boolean> => {
      const { body } = await this.ask("GET", "/v1/workers");
      return (body["items"] as readonly { readonly boxes: readonly string[] }[]).some(({ boxes }) => boxes.length > 0);
    };
    await this.until(() => "the sandbox worker to connect", there);
  }

  /** The worker that serves the story at this point; started where a chapter is played alone. */
  async worker(): Promise<Child> {
    return this.#worker ?? this.startWorker();
  }

  /** Lets the worker finish and leave. */
  async stopWorker(): Promise<void> {
    const worker = this.#worker;
    if (worker === undefined) return;
    this.#worker = undefined;
    this.telling.sentence("The worker is told to leave.");
    this.telling.command(`kill -TERM ${worker.pid}`);
    worker.kill("SIGTERM");
    this.telling.check(`${worker.name} left in good order`, await this.#within(worker.ended), "exit code 0");
  }

  /** Pulls the plug: the process gets no chance to say anything. */
  async killWorker(worker: Child): Promise<void> {
    this.telling.command(`kill -KILL ${worker.pid}`);
    worker.kill("SIGKILL");
    this.telling.check(`${worker.name} is dead`, await this.#within(worker.ended), "SIGKILL");
    if (this.#worker === worker) this.#worker = undefined;
  }

  // --- asking

  /**
   * Runs the real command line in the project folder and shows what it said.
   * @throws StoryFailed when it ends with another exit code than expected
   */
  async cli(sentence: string, args: readonly string[], options: CliOptions = {}): Promise<Finished> {
    const { exitCode = 0, as, linesMax, keepAs } = options;
    const { cwd, env } = this.#place("cli");
    this.telling.sentence(sentence);
    const who = as === undefined ? "" : `SIGNALBOX_KEY=$${as.variable} `;
    this.telling.command(`${who}signalbox ${args.map(quoted).join(" ")}`);
    const withKey = as === undefined ? env : { ...env, SIGNALBOX_KEY: as.key };
    const finished = await runToEnd([cliFile, ...args], { cwd, env: withKey, signal: this.signal });
    const said = `${finished.stdout}${finished.stderr}`;
    this.telling.output(
      keepAs === undefined ? said : said.replaceAll(new RegExp(secretPattern, "g"), `(kept as ${keepAs})`),
      linesMax,
    );
    if (exitCode !== null && finished.exitCode !== exitCode)
      throw new StoryFailed(
        `signalbox ${args.join(" ")}\n  expected: exit code ${exitCode}\n  found:    exit code ${finished.exitCode}`,
      );
    return finished;
  }

  /** Writes into a database file, past the runtime. */
  async sql(file: string, statement: string): Promise<void> {
    const script = `new (require("node:sqlite").DatabaseSync)("${file}").exec("${statement}")`;
    const { cwd, env } = this.#place("sql");
    this.telling.command(`node -e ${quoted(script)}`);
    const quiet = "--disable-warning=ExperimentalWarning";
    const { exitCode, stderr } = await runToEnd([quiet, "-e", script], { cwd, env, signal: this.signal });
    if (exitCode !== 0) throw new StoryFailed(`the statement failed: ${stderr}`);
  }

  async makeKey(
    sentence: string,
    principal: string,
    scopes: readonly string[],
    variable: string,
    roles: readonly string[] = [],
  ): Promise<Somebody> {
    const label = principal.slice(principal.indexOf(":") + 1);
    const holds = roles.length === 0 ? [] : ["--role", ...roles];
    const args = ["--label", label, "--principal", principal, "--scope", ...scopes, ...holds];
    const { stdout } = await this.cli(sentence, ["keys", "create", ...args], { keepAs: variable });
    const key = secretPattern.exec(stdout)?.[0];
    if (key === undefined) throw new StoryFailed("the key's secret was not told");
    return { variable, key };
  }

  /** One request over REST, shown as the curl command that a person would type. */
  async rest(sentence: string, method: "GET" | "POST", path: string, body?: unknown): Promise<RestAnswer> {
    this.telling.sentence(sentence);
    const data = body === undefined ? "" : ` -H 'content-type: application/json' -d ${quoted(JSON.stringify(body))}`;
    this.telling.command(`curl -sS -X ${method} "$URL${path}" -H "authorization: Bearer $KEY"${data}`);
    const answer = await this.ask(method, path, body);
    this.telling.output(`HTTP ${answer.status}\n${JSON.stringify(answer.body, null, 2)}`, restLinesMax);
    return answer;
  }

  /** The same behind the scenes, for checks. */
  async ask(method: "GET" | "POST", path: string, body?: unknown): Promise<RestAnswer> {
    const { key } = JSON.parse(readFileSync(join(this.folder, ".signalbox/client.json"), "utf8")) as { key: string };
    const answer = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { "content-type": "application/json" }),
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: this.signal,
    });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  }

  async call(executionId: string): Promise<ExecutionDetail> {
    const { body } = await this.ask("GET", `/v1/executions/${executionId}`);
    return body as unknown as ExecutionDetail;
  }

  /** Waits until a call has a status, and gives the call. */
  async callIn(executionId: string, status: string, atMostMs = patienceMs): Promise<ExecutionDetail> {
    let call: ExecutionDetail | undefined;
    const there = async (): Promise<boolean> => (call = await this.call(executionId)).status === status;
    const what = (): string => `${executionId} to be ${status}; it is ${call?.status}`;
    await this.until(what, there, atMostMs);
    return call ?? this.call(executionId);
  }

  /** Everything that the bank has done so far. */
  receipts(): readonly Receipt[] {
    let text: string;
    try {
      text = readFileSync(join(this.folder, "receipts.jsonl"), "utf8");
    } catch {
      return [];
    }
    return text.split("\n").flatMap((line) => (line === "" ? [] : [JSON.parse(line) as Receipt]));
  }

  /** Looks again and again, as somebody outside of the runtime has to. */
  async until(what: () => string, holds: () => Promise<boolean> | boolean, atMostMs = patienceMs): Promise<void> {
    const giveUpAt = performance.now() + atMostMs;
    while (!(await holds())) {
      if (performance.now() > giveUpAt) throw new StoryFailed(`waited ${atMostMs} ms in vain for ${what()}`);
      await wait(lookMs, undefined, { signal: this.signal });
    }
  }

  /** Undefined where it takes longer than the demo has patience. */
  async #within<T>(promise: Promise<T>): Promise<T | undefined> {
    const done = new AbortController();
    const signal = AbortSignal.any([done.signal, this.signal]);
    try {
      return await Promise.race([promise, wait(patienceMs, undefined, { signal })]);
    } finally {
      done.abort();
    }
  }

  #place(name: string): { cwd: string; env: NodeJS.ProcessEnv; logFile: string } {
    // What the person's own shell knows of a runtime must not lead the demo to it.
    const { SIGNALBOX_URL: _url, SIGNALBOX_KEY: _key, SIGNALBOX_WORKER_ADDRESS: _address, ...env } = process.env;
    return { cwd: this.folder, env: { ...env, NO_COLOR: "1" }, logFile: join(this.folder, "logs", `${name}.log`) };
  }
}

const secretPattern = /sbk_[\w-]+/;

const ids = { exec: /exec_[0-9A-HJKMNP-TV-Z]{26}/, apr: /apr_[0-9A-HJKMNP-TV-Z]{26}/ } as const;

/** The id that a command told: of a call, or of an approval. */
export function idIn(text: string, kind: keyof typeof ids = "exec"): string {
  const found = ids[kind].exec(text)?.[0];
  if (found === undefined) throw new StoryFailed(`no ${kind}_… in: ${text}`);
  return found;
}

function quoted(arg: string): string {
  return /^[\w@%+=:,./-]+$/.test(arg) ? arg : `'${arg.replaceAll("'", `'\\''`)}'`;
}

/**
 * Below the range that systems give to outgoing connections: the port is still free when the runtime comes back to it
 * after its restart.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
    const free = await new Promise<boolean>((resolve) => {
      const probe = createServer()
        .once("error", () => resolve(false))
        .listen(port, "127.0.0.1", () => probe.close(() => resolve(true)));
    });
    if (free) return port;
  }
}
