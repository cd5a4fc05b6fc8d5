// A real runtime for tests: the built `signalbox dev` as a child process in a folder of its own, with keys, workers and a clean end.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Worker, type ToolHandler, type WorkerOptions } from "@signalbox/worker";
import { closeCallers, createGrpcRest } from "./grpc-rest.ts";
import { policyDocument, type RuleText } from "./manifests.ts";
import { startNode, type Child, type End } from "./processes.ts";
import { createRest, type Reply, type Rest } from "./rest.ts";
import { startTcpProxy, type TcpProxy } from "./tcp-proxy.ts";
import type { WorkerChildConfig, WorkerChildMessage } from "./worker-child.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
export const signalboxBin = join(root, "packages/runtime/bin/signalbox.js");
const builtMain = join(root, "packages/runtime/dist/cli/main.js");
const workerChildFile = fileURLToPath(new URL("worker-child.ts", import.meta.url));

export interface StackOptions {
  /** Where its data goes; a fresh folder, removed at the end, by default. */
  readonly dataDir?: string;
  /** Boxes at once; absent = no sandbox worker, which few tests need. */
  readonly boxes?: number;
  /** Further arguments of `signalbox dev`. */
  readonly args?: readonly string[];
  /** Another build of the runtime than this repository's. */
  readonly bin?: string;
  /** What Node itself is started with, e.g. a file that is loaded first, and the environment that this file reads. */
  readonly nodeArgs?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

export interface NewKey {
  readonly principal: string;
  readonly scopes: readonly string[];
  /** For routes of approvals. */
  readonly roles?: readonly string[];
  /** Permissions of one grant to the principal; none = no grant. */
  readonly grants?: readonly string[];
  readonly project?: string;
  readonly expires_at?: string;
}

export interface MadeKey {
  readonly principal: string;
  readonly keyId: string;
  readonly secret: string;
  readonly grantId: string | undefined;
  readonly rest: Rest;
}

export interface OfferedTool {
  readonly tool: string;
  readonly version?: string;
  readonly maxConcurrency?: number;
  readonly handler: ToolHandler<never>;
}

/** What a command left behind. */
export interface CommandEnd {
  readonly code: number | null;
  readonly out: string;
  readonly err: string;
}

export interface LocalWorker {
  readonly worker: Worker;
  /** Drains and leaves. */
  close(): Promise<void>;
}

export interface ChildWorker {
  readonly child: Child;
  /** Resolves with the first message that `match` takes, also one that came before. */
  said(match: (message: WorkerChildMessage) => boolean): Promise<WorkerChildMessage>;
  messages(): readonly WorkerChildMessage[];
  /** Lets the handlers that wait at the gate return. */
  open(gate: string): void;
}

export interface Stack {
  /** The folder of this stack; the data folder is inside it by default. */
  readonly folder: string;
  readonly dataDir: string;
  /** As the admin of first start. */
  readonly admin: Rest;
  readonly adminKey: string;
  /** As whoever runs the machine: the key of tenant `platform` in the client file. */
  readonly operator: Rest;
  readonly operatorKey: string;
  /** The running runtime, or the last one. */
  readonly runtime: Child;
  url(): string;
  grpc(): string;
  as(key: string): Rest;
  makeKey(wanted: NewKey): Promise<MadeKey>;
  /** Somebody who may decide approvals, in these roles, and do nothing else. */
  person(name: string, ...roles: readonly string[]): Promise<MadeKey>;
  /** A command of the real command line, in the folder of this stack, where it finds the runtime and the admin's key by itself. */
  startCli(args: readonly string[], env?: Readonly<Record<string, string>>): Child;
  cli(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<CommandEnd>;
  /** @throws Error with the answer when it is not taken */
  register(manifest: Readonly<Record<string, unknown>>, query?: string): Promise<Reply>;
  /** @throws Error with the answer when it is not taken */
  publish(rule: RuleText, by?: Rest): Promise<Reply>;
  /**
   * Runs in this process, over real gRPC; resolves once the runtime has registered it.
   * @param seenBy who looks for it there, where it is another tenant's than the admin's
   */
  startWorker(
    workerId: string,
    tools: readonly OfferedTool[],
    options?: Partial<WorkerOptions>,
    seenBy?: Rest,
  ): Promise<LocalWorker>;
  /** A process of its own, which can be killed and stopped; resolves once the runtime has registered it. */
  startChildWorker(
    config: Omit<WorkerChildConfig, "address" | "key" | "folder"> & { address?: WorkerChildConfig["address"] },
  ): Promise<ChildWorker>;
  /** A proxy in front of the gRPC port that follows the runtime over restarts. */
  startProxy(): Promise<TcpProxy>;
  /** The incarnations of this worker id that the runtime lists as ready. */
  ready(workerId: string, by?: Rest): Promise<readonly string[]>;
  /** Resolves once one of them was not there before. */
  untilNew(workerId: string, before: readonly string[], by?: Rest): Promise<void>;
  /** After `stop` or `kill`: the same data, new ports. */
  start(): Promise<void>;
  stop(signal?: NodeJS.Signals): Promise<End>;
  kill(): Promise<End>;
  /** stderr of every runtime so far. */
  logs(): string;
  /** Stops everything; the data folder is still there. */
  close(): Promise<void>;
  remove(): void;
}

/** For `expect.poll`: a busy machine takes its time. */
export const slowly = { timeout: 10_000 } as const;

const readyMsMax = 20_000;
/** Together less than a hook may take, so that a test that went wrong still cleans up. */
const closeMsMax = 8_000;
const stopMsMax = 15_000;
const lookEveryMs = 20;

/** @throws Error that says to build first, or with the runtime's own words when it does not come up */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  if (!existsSync(builtMain)) throw new Error("these tests run the built runtime: run `npm run build` first");
  const folder = mkdtempSync(join(tmpdir(), "signalbox-e2e-"));
  const dataDir = options.dataDir ?? join(folder, ".signalbox");
  const closers: (() => Promise<unknown>)[] = [];
  const proxies = new Set<TcpProxy>();
  let runtime: Child | undefined;
  let pastLogs = "";
  let where = { url: "", grpc: "" };
  const current = (): Child => {
    if (runtime === undefined) throw new Error("no runtime was started");
    return runtime;
  };

  const start = async (): Promise<void> => {
    if (runtime !== undefined) pastLogs += runtime.stderr();
    runtime = startNode(
      [
        ...(options.nodeArgs ?? []),
        options.bin ?? signalboxBin,
        "dev",
        "--port",
        "0",
        "--grpc-port",
        "0",
        "--data",
        dataDir,
        "--json",
        "--log",
        "json",
        "--boxes",
        String(options.boxes ?? 0),
        ...(options.args ?? []),
      ],
      { cwd: folder, ...(options.env === undefined ? {} : { env: options.env }) },
    );
    const ready = readyOf(await within(readyMsMax, runtime.nextLine(), "the runtime is ready"));
    if (ready === undefined) throw new Error(`the runtime did not come up: ${(await runtime.ended, runtime.stdout())}`);
    where = ready;
    for (const proxy of proxies) proxy.aimAt(ready.grpc);
  };
  await start();
  const url = (): string => where.url;
  const keys = JSON.parse(readFileSync(join(dataDir, "client.json"), "utf8")) as { key: string; platform_key: string };
  const { key: adminKey, platform_key: operatorKey } = keys;
  const as = (key: string): Rest => {
    const web = createRest(url, key);
    return process.env["SIGNALBOX_TEST_DOOR"] === "gRPC" ? createGrpcRest(() => where.grpc, key, web) : web;
  };
  const admin = as(adminKey);

  const ready: Stack["ready"] = async (workerId, by = admin) => {
    const { items = [] } = (await by.get("/v1/workers?limit=100")).body;
    const those = items.filter((worker) => worker["worker_id"] === workerId && worker["state"] === "ready");
    return those.map((worker) => String(worker["incarnation"]));
  };
  const untilNew: Stack["untilNew"] = async (workerId, before, by) => {
    while ((await ready(workerId, by)).every((incarnation) => before.includes(incarnation)))
      await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
  };

  const self: Stack = {
    folder,
    dataDir,
    admin,
    adminKey,
    operator: as(operatorKey),
    operatorKey,
    get runtime() {
      return current();
    },
    url,
    grpc: () => where.grpc,
    as,
    async makeKey({ grants, ...wanted }) {
      const made = await admin.post("/v1/keys", { label: `key of ${wanted.principal}`, ...wanted });
      if (made.status !== 201) throw new Error(`no key was made: ${made.text}`);
      const secret = String(made.body["secret"]);
      const grant =
        grants === undefined
          ? undefined
          : await admin.post("/v1/grants", { subject: wanted.principal, permissions: grants });
      if (grant !== undefined && grant.status !== 201) throw new Error(`no grant was made: ${grant.text}`);
      return {
        principal: wanted.principal,
        keyId: String(made.body["key_id"]),
        secret,
        grantId: grant === undefined ? undefined : String(grant.body["grant_id"]),
        rest: as(secret),
      };
    },
    person: (name, ...roles) =>
      self.makeKey({ principal: `user:${name}`, scopes: ["approvals:decide", "calls:read"], roles }),
    startCli(args, env) {
      const child = command(folder, args, env);
      closers.push(() => child.kill());
      return child;
    },
    async cli(args, env) {
      const child = command(folder, args, env);
      const { code } = await child.ended;
      return { code, out: child.stdout(), err: child.stderr() };
    },
    async register(manifest, query = "") {
      const answer = await admin.put(`/v1/tools${query}`, manifest);
      if (answer.status !== 201) throw new Error(`the tool was not taken: ${answer.status} ${answer.text}`);
      return answer;
    },
    async publish(rule, by = admin) {
      const answer = await by.put("/v1/policies", policyDocument(rule));
      if (answer.status !== 201) throw new Error(`the policy was not taken: ${answer.status} ${answer.text}`);
      return answer;
    },
    async startWorker(workerId, tools, more = {}, seenBy = admin) {
      const worker = new Worker({
        address: where.grpc,
        key: adminKey,
        workerId,
        signals: false,
        log: () => undefined,
        drainMs: 1_000,
        ...more,
      });
      for (const { tool, version = "1.0.0", handler, maxConcurrency } of tools)
        worker.tool(tool, { version, ...(maxConcurrency === undefined ? {} : { maxConcurrency }) }, handler);
      const before = await ready(workerId, seenBy);
      const running = worker.run();
      running.catch(() => undefined);
      closers.push(() => worker.close());
      await Promise.race([untilNew(workerId, before, seenBy), running]);
      return { worker, close: () => worker.close() };
    },
    async startChildWorker(config) {
      const full: WorkerChildConfig = { address: where.grpc, key: adminKey, folder, ...config };
      const before = await ready(config.workerId);
      const child = startNode([workerChildFile, JSON.stringify(full)], { ipc: true });
      closers.push(() => child.kill());
      const ended = child.ended.then(() => Promise.reject(new Error(`the worker ended: ${child.stderr()}`)));
      ended.catch(() => undefined);
      await Promise.race([untilNew(config.workerId, before), ended]);
      return childWorker(child, config.blocking === true ? join(folder, `said-${child.pid}`) : undefined);
    },
    async startProxy() {
      const proxy = await startTcpProxy(where.grpc);
      proxies.add(proxy);
      closers.push(() => proxy.close());
      return proxy;
    },
    ready,
    untilNew,
    start,
    async stop(signal = "SIGTERM") {
      current().signal(signal);
      return current().ended;
    },
    kill: () => current().kill(),
    logs: () => pastLogs + (runtime?.stderr() ?? ""),
    async close() {
      try {
        // Workers first: a runtime that drains would wait for what they hold.
        await within(closeMsMax, Promise.all(closers.map((close) => close())), "workers and proxies close");
        if (isGone(runtime)) return;
        const { code } = await within(stopMsMax, self.stop(), "the runtime stops on SIGTERM");
        if (code !== 0) throw new Error(`the runtime ended with ${code}: ${current().stderr().slice(-2_000)}`);
      } finally {
        closeCallers();
        if (!isGone(runtime)) await current().kill();
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
  return self;
}

/** What the shell of whoever runs the tests says of runtimes and keys is not meant. */
const nowhere = { SIGNALBOX_URL: "", SIGNALBOX_KEY: "", SIGNALBOX_PLATFORM_KEY: "" };

function command(cwd: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Child {
  return startNode([signalboxBin, ...args], { cwd, env: { ...nowhere, ...env } });
}

function isGone(child: Child | undefined): boolean {
  return child === undefined || child.process.exitCode !== null || child.process.signalCode !== null;
}

function readyOf(line: string): { readonly url: string; readonly grpc: string } | undefined {
  try {
    const said = JSON.parse(line) as { readonly ready?: boolean; readonly url: string; readonly grpc: string };
    return said.ready === true ? said : undefined;
  } catch {
    return undefined;
  }
}

/** `saidFile`: where a process that cannot send messages writes them. */
function childWorker(child: Child, saidFile: string | undefined): ChildWorker {
  const sent: WorkerChildMessage[] = [];
  child.process.on("message", (message) => void sent.push(message as WorkerChildMessage));
  const messages = (): readonly WorkerChildMessage[] => {
    if (saidFile === undefined || !existsSync(saidFile)) return sent;
    const lines = readFileSync(saidFile, "utf8").split("\n").slice(0, -1);
    return lines.map((line) => JSON.parse(line) as WorkerChildMessage);
  };
  return {
    child,
    messages,
    open: (gate) => void child.process.send({ open: gate }),
    async said(match) {
      for (;;) {
        const found = messages().find(match);
        if (found !== undefined) return found;
        if (child.process.exitCode !== null) throw new Error(`the worker ended: ${child.stderr()}`);
        await new Promise((resolve) => setTimeout(resolve, lookEveryMs));
      }
    },
  };
}

/** @throws Error that names what did not happen in time */
export async function within<T>(ms: number, work: Promise<T>, what: string): Promise<T> {
  const { promise: late, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => reject(new Error(`not within ${ms} ms: ${what}`)), ms);
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
