// One call in one box, with a scripted backend: when it counts as started, and what the worker says of each end.
import type { Invoke } from "@signalbox/protocol";
import type { BoxRunEnd, ToolContext } from "@signalbox/worker";
import { expect, test } from "vitest";
import type { BoxOrder } from "../corridor/boxes.ts";
import type { BoxEnd, BoxIo, BoxResult, BoxSpec, Sandbox, SandboxBackend } from "../sandbox/types.ts";
import { runCall, type CallBoxes } from "./run-call.ts";

const MiB = 1_048_576;
const order: BoxOrder = {
  backend: "native",
  runtime: "node",
  entry: "main.mjs",
  packageDigest: "sha256:aa",
  toolTenant: "acme",
  limits: {
    cpu: 1,
    cpuSeconds: 1,
    memoryBytes: MiB,
    diskBytes: MiB,
    pids: 4,
    fds: 16,
    outputBytes: 1_000,
    egressBytes: 0,
  },
  graceMs: 100,
  resultBytes: MiB,
  resultFrom: "fd3",
  events: [],
  report: "result",
  env: {},
};

const invoke: Invoke = {
  type: "invoke",
  callId: "exec_1",
  fence: 1,
  attempt: 1,
  idempotencyKey: "exec_1",
  tenant: "acme",
  project: "shop",
  principal: "user:ann",
  tool: "sums",
  version: "1.0.0",
  argsJson: `{"n":1}`,
  contextJson: "{}",
  files: [],
  timeoutMs: 2_000,
  deadlineAtMs: 0,
  sideEffectClass: "read_only",
  needsGo: false,
  traceparent: "",
};

const usage = { startMs: 1, durationMs: 2, cpuMs: 3, peakMemoryBytes: 4, egressBytes: 0 };
const ended = (end: BoxEnd, resultText: string | null = null): BoxResult => ({
  end,
  resultText,
  truncated: [],
  stderrTail: "",
  usage,
});

interface Scene {
  readonly order?: Partial<BoxOrder>;
  /** What the box says and how it ends. */
  readonly run?: (io: BoxIo) => BoxResult | Promise<BoxResult>;
  readonly provision?: (spec: BoxSpec, signal: AbortSignal) => void;
  readonly openPackage?: CallBoxes["openPackage"];
  readonly after?: CallBoxes["after"];
  readonly abort?: AbortController;
}

interface Played {
  readonly end: BoxRunEnd;
  /** What happened, in order. */
  readonly log: readonly string[];
}

async function play(scene: Scene = {}): Promise<Played> {
  const log: string[] = [];
  const { abort = new AbortController(), run = () => ended({ reason: "exited", code: 0 }, "1") } = scene;
  const sandbox: Sandbox = {
    boxId: "b1",
    warm: false,
    async run(_invocation, io) {
      log.push("run");
      return run(io);
    },
    destroy: async () => void log.push("destroy"),
  };
  const backend: SandboxBackend = {
    name: "native",
    probe: async () => ({ ok: true, rank: 10, limitsBy: "", notes: [] }),
    async provision(spec, signal) {
      scene.provision?.(spec, signal);
      log.push(`provision ${spec.limits.resultBytes}`);
      return sandbox;
    },
    close: async () => undefined,
  };
  const boxes: CallBoxes = {
    backends: new Map([["native", backend]]),
    openPackage: scene.openPackage ?? (async (_, digest) => ({ path: "/store/p", digest })),
    openFile: async () => "/store/f",
    newBoxId: () => "b1",
    after: scene.after ?? (() => new AbortController().signal),
    onError: (error) => void log.push(error.message),
  };
  const unused = (): never => {
    throw new Error("nobody says this here");
  };
  const ctx: ToolContext = {
    signal: abort.signal,
    callId: "exec_1",
    attempt: 1,
    idempotencyKey: "exec_1",
    deadline: new Date(0),
    invoke: { ...invoke, boxJson: JSON.stringify({ ...order, ...scene.order }) },
    log: unused,
    output: (channel, chunk) => void log.push(`${channel} ${Buffer.from(chunk).toString()}`),
    flushed: async () => undefined,
    progress: unused,
    emit: unused,
    emitJson: unused,
    secrets: unused,
  };
  const end = await runCall(boxes, ctx, () => void log.push("started"));
  return { end, log };
}

test("it has started once its box stands, and before its code runs; the box is always destroyed", async () => {
  expect(await play()).toEqual({
    end: { status: "succeeded", outputJson: "1", illFormed: false, usage: { cpuMs: 3, peakMemoryBytes: 4, warm: false } },
    log: ["provision 1048576", "started", "run", "destroy"],
  });
});

const throwing = (message: string) => () => {
  throw new Error(message);
};
test.each<[string, Scene, string]>([
  ["a backend that fails", { provision: throwing("no room") }, "no room"],
  ["a backend that is not there", { order: { backend: "gvisor" } }, "this worker offers no gvisor box"],
  ["a package that is damaged", { openPackage: async () => throwing("damaged")() }, "damaged"],
])("nothing has started: %s", async (_, scene, message) => {
  const { end, log } = await play(scene);
  expect(end).toEqual({ status: "not_started", code: "box_not_provisioned", message });
  expect(log).not.toContain("started");
});

test("a call that was stopped while its box was made does not start, and its box goes", async () => {
  const abort = new AbortController();
  const { end, log } = await play({ abort, provision: () => abort.abort() });
  expect([end.status, log]).toEqual(["not_started", ["provision 1048576", "destroy"]]);
});

test("the making of a box is given up in time for the call to be handed back", async () => {
  const late = new AbortController();
  const waits: number[] = [];
  const after = (ms: number): AbortSignal => (waits.push(ms), late.signal);
  const provision = (_: BoxSpec, signal: AbortSignal): void => {
    late.abort(new Error("too late"));
    signal.throwIfAborted();
  };
  expect((await play({ after, provision })).end).toEqual({
    status: "not_started",
    code: "box_not_provisioned",
    message: "too late",
  });
  expect(waits).toEqual([8_000]);
});

test("a box that is lost is no result", async () => {
  expect((await play({ run: () => ended({ reason: "lost", message: "the box ended without telling" }) })).end).toEqual({
    status: "lost",
    message: "the box ended without telling",
  });
});

test.each<[BoxEnd, object]>([
  [{ reason: "timeout" }, { code: "timeout", message: expect.stringContaining("own clock") as string }],
  [{ reason: "cancelled" }, { code: "stopped", message: expect.stringContaining("had to leave") as string }],
  [
    { reason: "exited", code: 3 },
    { code: "exited", message: "the tool ended with exit code 3" },
  ],
])("%o", async (end, error) => {
  expect((await play({ run: () => ended(end) })).end).toMatchObject({ status: "failed", error });
});

test("code.run's output has what was printed beside the value, and leaves it room", async () => {
  const { end, log } = await play({
    order: { report: "run" },
    async run(io) {
      await io.stdout(Buffer.from("hi\n"));
      await io.stderr(Buffer.from("oh\n"));
      return ended({ reason: "exited", code: 0 }, "[1]");
    },
  });
  expect(end).toMatchObject({ outputJson: `{"result":[1],"stdout":"hi\\n","stderr":"oh\\n","truncated":[]}` });
  expect(log).toEqual(["provision 654336", "started", "run", "stdout hi\n", "stderr oh\n", "destroy"]);
});
