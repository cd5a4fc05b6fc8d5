// A worker and the runtime's end of its stream: the same conversations over gRPC and over the in-memory pipe.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, connect, type AddressInfo, type Socket } from "node:net";
import { createPipe, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import { ToolError, Worker, type CallStopped, type WorkerOptions } from "@signalbox/worker";
import { afterEach, describe, expect, test } from "vitest";
import { startGrpcServer } from "./server.ts";
import { ScriptedRuntime, invokeOf, registered } from "./scripted-runtime.ts";
import { addWorkService } from "./work-door.ts";

interface Transport {
  readonly options: WorkerOptions;
  /** Breaks the connection without a word; the next one works. */
  cut(): void;
  stop(): Promise<void>;
}

async function overGrpc(runtime: ScriptedRuntime): Promise<Transport> {
  const server = await startGrpcServer({
    host: "127.0.0.1",
    port: 0,
    services: [
      (grpc) =>
        addWorkService(grpc, {
          authenticate: async (key) => ({ worker: key }),
          onConnect: (stream) => runtime.accept(stream),
        }),
    ],
  });
  const sockets = new Set<Socket>();
  const wire = createServer((near) => {
    const far = connect(server.port, "127.0.0.1");
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on("error", () => {}).on("close", () => sockets.delete(socket));
    }
    near.pipe(far).pipe(near);
  });
  await once(wire.listen(0, "127.0.0.1"), "listening");
  const cut = (): void => sockets.forEach((socket) => socket.destroy());
  return {
    options: { address: `127.0.0.1:${(wire.address() as AddressInfo).port}`, key: "k" },
    cut,
    async stop() {
      cut();
      wire.close();
      await server.stop(0);
    },
  };
}

async function overPipe(runtime: ScriptedRuntime): Promise<Transport> {
  let cut = (): void => {};
  return {
    options: {
      connect() {
        const [worker, end] = createPipe<WorkerMessage, FromRuntime>();
        runtime.accept(end);
        cut = () => end.close("cut");
        return worker;
      },
    },
    cut: () => cut(),
    stop: async () => {},
  };
}

describe.each([
  ["gRPC", overGrpc],
  ["the pipe", overPipe],
])("over %s", (_, open) => {
  const cleanups: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  });

  /** A worker with these tools, connected and registered. */
  async function meet(tools: (worker: Worker) => void, more: WorkerOptions = {}) {
    const runtime = new ScriptedRuntime();
    const transport = await open(runtime);
    const worker = new Worker({ ...transport.options, signals: false, drainMs: 20, log: () => {}, ...more });
    tools(worker);
    const run = worker.run();
    cleanups.push(
      () => transport.stop(),
      () => worker.close(),
    );
    const register = await runtime.hear("register");
    return { runtime, transport, worker, run, register };
  }

  test("a call: accepted, started, done, acknowledged; digits and text survive both ways", async () => {
    const { runtime } = await meet((worker) =>
      worker.tool("echo", { version: "1.0.0" }, (args: { n: bigint; who: string }, ctx) => ({
        twice: args.n * 2n,
        who: args.who,
        key: ctx.idempotencyKey,
      })),
    );
    runtime.say(invokeOf("echo", { argsJson: '{"n":9007199254740993,"who":"Zoë 🦊"}' }));
    const result = await runtime.hear("result");
    expect(result.outputJson).toBe('{"twice":18014398509481986,"who":"Zoë 🦊","key":"c1"}');
    expect(result.status).toBe("succeeded");
    expect(runtime.heard.map(({ type }) => type)).toEqual(["register", "accepted", "started", "result"]);
    runtime.say({ type: "result_ack", callId: "c1", fence: 1, verdict: "stored" });
    runtime.say({ type: "drain" });
    expect(await runtime.hear("draining")).toEqual({ type: "draining" });
  });

  test("an unsafe call is accepted, and entered on Go only", async () => {
    let entered = 0;
    const { runtime } = await meet((worker) => worker.tool("charge", { version: "1.0.0" }, () => ++entered));
    runtime.say(invokeOf("charge", { sideEffectClass: "non_idempotent_write", needsGo: true }));
    await runtime.hear("accepted");
    runtime.say(invokeOf("charge", { callId: "c2" }));
    await runtime.hear("result", "c2"); // a later, safe call overtakes it
    expect(entered).toBe(1);
    runtime.say({ type: "go", callId: "c1", fence: 1 });
    await runtime.hear("result", "c1");
    expect(entered).toBe(2);
  });

  test("a cancel is read while the handler waits for a child process, and the child is killed", async () => {
    let pid = 0;
    const { runtime } = await meet((worker) =>
      worker.tool("shell", { version: "1.0.0" }, async (_args, { signal, log }) => {
        const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000); console.log('up')"], { signal });
        pid = child.pid ?? 0;
        child.stdout.once("data", (data: Buffer) => log(data.toString()));
        await once(child, "exit");
      }),
    );
    runtime.say(invokeOf("shell"));
    await runtime.hear("output");
    runtime.say({ type: "cancel", callId: "c1", fence: 1, graceMs: 5_000, reason: "cancel" });
    const result = await runtime.hear("result");
    expect([result.status, result.outputJson, result.error]).toEqual(["cancelled", undefined, undefined]);
    await expect.poll(() => isAlive(pid)).toBe(false);
  });

  test("the signal says why, and a handler that is not asked to stop is left alone", async () => {
    const reasons: string[] = [];
    const { runtime } = await meet((worker) =>
      worker.tool("wait", { version: "1.0.0" }, (_args, { signal, callId, progress }) => {
        progress(0);
        return new Promise((_, reject) =>
          signal.addEventListener("abort", () => {
            reasons.push(`${callId}: ${(signal.reason as CallStopped).reason}`);
            reject(signal.reason as Error);
          }),
        );
      }),
    );
    for (const callId of ["c1", "c2", "c3"]) runtime.say(invokeOf("wait", { callId }));
    for (const callId of ["c1", "c2", "c3"]) await runtime.hear("progress", callId);
    runtime.say({ type: "cancel", callId: "c1", fence: 1, graceMs: 0, reason: "timeout" });
    expect((await runtime.hear("result", "c1")).error?.code).toBe("stopped_after_timeout");
    runtime.say({ type: "cancel", callId: "c2", fence: 1, graceMs: 0, reason: "lost" });
    await expect.poll(() => reasons).toEqual(["c1: timeout", "c2: lost"]);
  });

  test("a result of 50 MB fails its call with a code, and the stream lives", async () => {
    const { runtime } = await meet((worker) =>
      worker
        .tool("huge", { version: "1.0.0" }, () => "x".repeat(50_000_000))
        .tool("small", { version: "1.0.0" }, () => "ok"),
    );
    runtime.say(invokeOf("huge"));
    const result = await runtime.hear("result");
    expect([result.status, result.error?.code]).toEqual(["failed", "result_too_large"]);
    runtime.say(invokeOf("small", { callId: "c2" }));
    expect((await runtime.hear("result", "c2")).outputJson).toBe('"ok"');
    expect(runtime.ended).toEqual([]);
  });

  test.each<[string, () => unknown, string]>([
    [
      "throws a ToolError",
      () => {
        throw new ToolError("invalid_args", "no amount");
      },
      "invalid_args",
    ],
    [
      "throws at once",
      () => {
        throw new Error("boom");
      },
      "handler_error",
    ],
    [
      "rejects later",
      async () => {
        await Promise.resolve();
        throw new Error("boom");
      },
      "handler_error",
    ],
    ["returns what is not JSON", () => ({ f: () => {} }), "result_not_json"],
  ])("a handler that %s fails its call alone", async (_name, handler, code) => {
    const { runtime } = await meet((worker) =>
      worker.tool("bad", { version: "1.0.0" }, handler).tool("good", { version: "1.0.0" }, () => 1),
    );
    runtime.say(invokeOf("bad"));
    runtime.say(invokeOf("good", { callId: "c2" }));
    const result = await runtime.hear("result", "c1");
    expect([result.status, result.error?.code]).toEqual(["failed", code]);
    expect((await runtime.hear("result", "c2")).status).toBe("succeeded");
  });

  test("what a handler says on the way arrives in order", async () => {
    const { runtime } = await meet((worker) =>
      worker.tool("talk", { version: "1.0.0" }, (_args, ctx) => {
        ctx.log("line");
        ctx.output("partial", new Uint8Array([1, 2]));
        ctx.progress(150, "past the end");
        ctx.emit("charged", { n: 1 });
      }),
    );
    runtime.say(invokeOf("talk"));
    await runtime.hear("result");
    expect(
      runtime.heard
        .slice(3, 7)
        .map((message) => ("chunk" in message ? { ...message, chunk: [...message.chunk] } : message)),
    ).toEqual([
      { type: "output", callId: "c1", fence: 1, seq: 1, channel: "log", chunk: [108, 105, 110, 101] },
      { type: "output", callId: "c1", fence: 1, seq: 2, channel: "partial", chunk: [1, 2] },
      { type: "progress", callId: "c1", fence: 1, percent: 100, message: "past the end" },
      { type: "emit", callId: "c1", fence: 1, ordinal: 1, eventType: "charged", payloadJson: '{"n":1}' },
    ]);
  });

  test("secrets: granted by name, one request after the other; what is refused is an error with a next step", async () => {
    const { runtime } = await meet((worker) =>
      worker.tool("secret", { version: "1.0.0" }, async (_args, ctx) => {
        const [a, b] = await Promise.all([ctx.secrets(["A"]), ctx.secrets(["B"])]);
        const refused = await ctx.secrets(["C"]).catch((error: ToolError) => `${error.code}: ${error.message}`);
        return { ...a, ...b, refused };
      }),
    );
    runtime.say(invokeOf("secret"));
    for (const name of ["A", "B", "C"]) {
      expect((await runtime.hear("secret_request")).names).toEqual([name]);
      const granted = name === "C" ? {} : { [name]: name.toLowerCase() };
      runtime.say({
        type: "secret_grant",
        callId: "c1",
        fence: 1,
        secrets: granted,
        refused: name === "C" ? ["C"] : [],
      });
    }
    expect(JSON.parse((await runtime.hear("result")).outputJson ?? "")).toEqual({
      A: "a",
      B: "b",
      refused: "secret_refused: the runtime refused C: declare it under `secrets` in the tool's manifest",
    });
  });

  test("a stream that is cut comes back: same incarnation, the running call goes on, the finished one is told again", async () => {
    const { promise, finish } = later();
    const { runtime, transport, register } = await meet((worker) =>
      worker.tool("fast", { version: "1.0.0" }, () => "fast").tool("slow", { version: "1.0.0" }, () => promise),
    );
    runtime.say(invokeOf("fast", { callId: "fast" }));
    runtime.say(invokeOf("slow", { callId: "slow" }));
    await runtime.hear("result", "fast"); // and is not acknowledged
    runtime.onRegister = ({ inFlight }) => ({
      ...registered,
      resync: inFlight.map((lease) => ({ ...lease, verdict: "keep" })),
    });
    transport.cut();
    const again = await runtime.hear("register");
    expect(again.incarnation).toBe(register.incarnation);
    expect([...again.inFlight].sort((a, b) => a.callId.localeCompare(b.callId))).toEqual([
      { callId: "fast", fence: 1, state: "done" },
      { callId: "slow", fence: 1, state: "running" },
    ]);
    expect((await runtime.hear("result", "fast")).outputJson).toBe('"fast"');
    finish("slow");
    expect((await runtime.hear("result", "slow")).outputJson).toBe('"slow"');
    expect(runtime.heard.filter(({ type }) => type === "started")).toHaveLength(2);
  });

  test("leaving: the running call ends and is acknowledged, then run() resolves", async () => {
    const { promise, finish } = later();
    const { runtime, worker, run } = await meet((to) => to.tool("slow", { version: "1.0.0" }, () => promise), {
      drainMs: 10_000,
    });
    runtime.say(invokeOf("slow"));
    await runtime.hear("started");
    const closed = worker.close();
    await runtime.hear("draining");
    runtime.say(invokeOf("slow", { callId: "c2" }));
    expect((await runtime.hear("nack", "c2")).code).toBe("draining");
    finish("done");
    await runtime.hear("result");
    runtime.say({ type: "result_ack", callId: "c1", fence: 1, verdict: "stored" });
    await Promise.all([closed, run]);
    await expect.poll(() => runtime.ended.length).toBe(1);
  });

  test("leaving ends after drainMs, whoever still runs", async () => {
    let why: unknown;
    const { runtime, worker } = await meet((to) =>
      to.tool("deaf", { version: "1.0.0" }, (_args, { signal }) => {
        signal.addEventListener("abort", () => (why = (signal.reason as CallStopped).reason));
        return new Promise(() => {});
      }),
    );
    runtime.say(invokeOf("deaf"));
    await runtime.hear("started");
    await worker.close();
    expect(why).toBe("shutdown");
  });

  test("two thousand calls: each runs once, none beyond the slots", async () => {
    const runs = new Map<string, number>();
    let [now, most] = [0, 0];
    const { runtime } = await meet(
      (worker) =>
        worker.tool("count", { version: "1.0.0" }, async (_args, { callId }) => {
          most = Math.max(most, ++now);
          runs.set(callId, (runs.get(callId) ?? 0) + 1);
          await new Promise((resolve) => setImmediate(resolve));
          now -= 1;
        }),
      { capacity: 64 },
    );
    const one = async (n: number): Promise<void> => {
      for (let at = n; at < 2_000; at += 64) {
        runtime.say(invokeOf("count", { callId: `c${at}` }));
        await runtime.hear("result", `c${at}`);
        runtime.say({ type: "result_ack", callId: `c${at}`, fence: 1, verdict: "stored" });
      }
    };
    await Promise.all(Array.from({ length: 64 }, (_unused, n) => one(n)));
    expect(runs.size).toBe(2_000);
    expect(new Set(runs.values())).toEqual(new Set([1]));
    expect(most).toBeLessThanOrEqual(64);
    expect(runtime.heard.filter(({ type }) => type === "nack")).toEqual([]);
  });
});

/** A promise that the test keeps. */
function later(): { promise: Promise<unknown>; finish: (value: unknown) => void } {
  let finish: (value: unknown) => void = () => {};
  const promise = new Promise((resolve) => (finish = resolve));
  return { promise, finish: (value) => finish(value) };
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
