// The Worker itself, with a scripted runtime and a clock by hand: what it refuses, how it dials, and how it leaves.
import {
  createPipe,
  type FromRuntime,
  type RuntimeMessage,
  type WorkStream,
  type WorkerMessage,
} from "@signalbox/protocol";
import { describe, expect, test } from "vitest";
import { invokeOf, registered, safe } from "./core-driver.ts";
import { ConnectRefused, type Connect, type World } from "./ports.ts";
import { Worker, type WorkerOptions } from "./worker.ts";

/** Lets everything that is ready run: user code is entered by setImmediate, and all else by microtask. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Clocks and timers that stand still until the test moves them. */
function handWorld(): World & {
  pass(ms: number): Promise<void>;
  readonly log: (message: string) => void;
  lines: string[];
} {
  let nowMs = 0;
  const timers = new Set<{ atMs: number; everyMs: number | undefined; call: () => void }>();
  const lines: string[] = [];
  const plan = (ms: number, everyMs: number | undefined, call: () => void): (() => void) => {
    const timer = { atMs: nowMs + ms, everyMs, call };
    timers.add(timer);
    return () => timers.delete(timer);
  };
  return {
    lines,
    monotonicMs: () => nowMs,
    wallMs: () => 1_800_000_000_000 + nowMs,
    chance: () => 0.5,
    randomBytes: (count) => new Uint8Array(count),
    after: (ms, call) => plan(ms, undefined, call),
    every: (ms, call) => plan(ms, ms, call),
    soon: (call) => void setImmediate(call),
    log: (message) => void lines.push(message),
    async pass(ms) {
      await settle();
      const endMs = nowMs + ms;
      for (;;) {
        const [next] = [...timers].filter(({ atMs }) => atMs <= endMs).sort((a, b) => a.atMs - b.atMs);
        if (next === undefined) break;
        nowMs = next.atMs;
        if (next.everyMs === undefined) timers.delete(next);
        else next.atMs += next.everyMs;
        next.call();
        await settle();
      }
      nowMs = endMs;
    },
  };
}

/** Plays the runtime on pipes; every dial is noted. */
function scripted(answer: (address: string, dial: number) => Error | undefined = () => undefined) {
  const dials: string[] = [];
  const heard: WorkerMessage[] = [];
  let end: WorkStream<WorkerMessage, FromRuntime> | undefined;
  const connect: Connect = (address) => {
    dials.push(address);
    const error = answer(address, dials.length);
    if (error !== undefined) throw error;
    const [worker, runtime] = createPipe<WorkerMessage, FromRuntime>();
    end = runtime;
    runtime.listen({
      message(message) {
        heard.push(message);
        if (message.type === "register") runtime.send(registered);
      },
      closed: () => {},
    });
    return worker;
  };
  return { connect, dials, heard, say: (message: RuntimeMessage) => end?.send(message), cut: () => end?.close("cut") };
}

function start(script: ReturnType<typeof scripted>, more: Partial<WorkerOptions> = {}) {
  const world = handWorld();
  const worker = new Worker({ connect: script.connect, signals: false, world, address: "a:1", ...more });
  worker.tool("read", { version: "1.0.0" }, () => "read");
  return { world, worker };
}

describe("what is wrong is said at once", () => {
  test("no key", () => {
    expect(() => new Worker({})).toThrow("a worker needs `key`: create one with the scope workers:connect");
    expect(() => new Worker({ key: "k", address: [] })).toThrow("a worker needs at least one `address`, `host:port`");
  });

  test("no handler, a handler twice, a handler too late, a second run", async () => {
    const script = scripted();
    const empty = new Worker({ connect: script.connect, signals: false });
    expect(() => empty.run()).toThrow("register a handler with worker.tool(…) before run()");
    const { worker } = start(script);
    expect(() => worker.tool("read", { version: "1.0.0" }, () => 1)).toThrow("read@1.0.0 has a handler already");
    const run = worker.run();
    expect(() => worker.tool("late", { version: "1.0.0" }, () => 1)).toThrow("register late@1.0.0 before run()");
    expect(() => worker.run()).toThrow("a worker runs once: make a new one");
    await worker.close();
    await run;
  });

  test("what the runtime would not understand", async () => {
    const { worker } = start(scripted(), { capacity: 0 });
    await expect(worker.run()).rejects.toThrow("the worker cannot register:");
  });
});

describe("a call that brings its box", () => {
  const boxed = { ...safe, boxJson: "{}" };
  const told = (script: ReturnType<typeof scripted>): readonly string[] => script.heard.map(({ type }) => type);

  test("is told to run when its runner says that the box stands", async () => {
    const script = scripted();
    const stands = Promise.withResolvers<void>();
    const { world, worker } = start(script, {
      boxes: {
        backends: ["native"],
        async run(_ctx, started) {
          await stands.promise;
          started();
          return { status: "succeeded", outputJson: "1", usage: { cpuMs: 2 } };
        },
      },
    });
    const run = worker.run();
    await settle();
    script.say(boxed);
    await world.pass(10);
    expect(told(script)).toEqual(["register", "accepted"]);
    stands.resolve();
    await settle();
    expect(told(script)).toEqual(["register", "accepted", "started", "result"]);
    expect(script.heard.at(-1)).toMatchObject({ outputJson: "1", usage: { durationMs: 0, cpuMs: 2 } });
    script.say({ type: "result_ack", callId: "c1", fence: 1, verdict: "stored" });
    await worker.close();
    await run;
  });

  test("of which its runner loses track is no result", async () => {
    const script = scripted();
    const { world, worker } = start(script, {
      boxes: {
        backends: ["native"],
        async run(_ctx, started) {
          started();
          throw new Error("the helper died");
        },
      },
    });
    const run = worker.run();
    await settle();
    script.say(boxed);
    await settle();
    expect(told(script)).toEqual(["register", "accepted", "started"]);
    expect(world.lines).toEqual(["what became of c1 is not known: the helper died"]);
    await worker.close();
    await run;
  });
});

describe("dialling", () => {
  test("again and again, with growing and jittered delays; a stream that was registered starts over", async () => {
    const script = scripted((_, dial) => (dial === 4 ? undefined : new Error(`no answer ${dial}`)));
    const { world, worker } = start(script);
    const run = worker.run();
    const passed: number[] = [];
    for (let ms = 0; ms < 1_000; ms += 25) {
      await world.pass(25);
      if (script.dials.length > passed.length) passed.push(ms);
    }
    // 75 ms after the first failure (half of 100, and half of the other half), then 150, then 300; seen in steps of 25.
    expect(passed).toEqual([0, 50, 200, 500]);
    expect(world.lines).toEqual(["no answer 1", "no answer 2", "no answer 3"]);
    script.cut();
    await world.pass(74);
    expect(script.dials.length).toBe(4);
    await world.pass(1);
    expect(script.dials.length).toBe(5);
    expect(world.lines.slice(3)).toEqual(["the stream to a:1 ended: cut", "no answer 5"]);
    await worker.close();
    await run;
  });

  test("never again when it is refused for good", async () => {
    const script = scripted((_, dial) => (dial === 1 ? new Error("not yet") : new ConnectRefused("no such key")));
    const { world, worker } = start(script);
    const run = worker.run().catch((error: unknown) => error);
    await world.pass(10_000);
    expect(await run).toEqual(new ConnectRefused("no such key"));
    expect(script.dials.length).toBe(2);
    await worker.close();
  });

  test("GoAway: the address it names, once, then the own one again; a refusal there is not the end", async () => {
    const script = scripted((address) => (address === "b:2" ? new ConnectRefused("unknown here") : undefined));
    const { world, worker } = start(script);
    const run = worker.run();
    await world.pass(0);
    script.say({ type: "go_away", reason: "deploy", reconnectTo: "b:2" });
    await world.pass(1_000);
    expect(script.dials).toEqual(["a:1", "b:2", "a:1"]);
    await worker.close();
    await run;
  });

  test("several addresses: the next one at once when a stream breaks, with what the worker holds", async () => {
    const script = scripted((address, dial) => (address === "a:1" && dial > 1 ? new Error("gone") : undefined));
    const world = handWorld();
    // By chance (0.5) it begins in the middle.
    const address = ["c:3", "a:1", "b:2"];
    const worker = new Worker({ connect: script.connect, signals: false, world, address });
    const never = new Promise<never>(() => undefined);
    worker.tool("read", { version: "1.0.0" }, () => never);
    const run = worker.run();
    await world.pass(2_000);
    script.say(safe);
    await world.pass(0);
    script.cut();
    await world.pass(0);
    expect(script.dials).toEqual(["a:1", "b:2"]);
    const inFlight = [{ callId: "c1", fence: 1, state: "running" }];
    expect(script.heard.at(-1)).toMatchObject({ type: "register", inFlight });
    const closed = worker.close();
    await world.pass(30_000);
    await Promise.all([closed, run]);
  });

  test("several addresses: one that refuses the key is passed over; all of them are the end", async () => {
    let letIn = true;
    const script = scripted((address) => (address === "b:2" || !letIn ? new ConnectRefused(`not at ${address}`) : undefined));
    const { world, worker } = start(script, { address: ["a:1", "b:2"] });
    const run = worker.run().catch((error: unknown) => error);
    await world.pass(2_000);
    expect(script.dials).toEqual(["b:2", "a:1"]);
    letIn = false;
    script.cut();
    await world.pass(5_000);
    expect(await run).toEqual(new ConnectRefused("not at a:1"));
    expect(script.dials).toEqual(["b:2", "a:1", "b:2", "a:1"]);
  });

  test("a runtime that answers no heartbeat is left and dialled again", async () => {
    const script = scripted();
    const { world, worker } = start(script);
    const run = worker.run();
    await world.pass(20_500);
    expect(script.heard.map(({ type }) => type)).toEqual([
      "register",
      "heartbeat",
      "heartbeat",
      "heartbeat",
      "register",
    ]);
    await worker.close();
    await run;
  });
});

describe("leaving", () => {
  test("by close() before anything was dialled, while waiting to dial, or twice", async () => {
    const early = start(scripted());
    const run = early.worker.run();
    await early.worker.close();
    await run;
    const waiting = start(scripted(() => new Error("down")));
    const second = waiting.worker.run();
    await waiting.world.pass(0);
    await Promise.all([waiting.worker.close(), waiting.worker.close(), second]);
    await new Worker({ key: "k" }).close(); // never ran
  });

  test("by the run's signal, also one that was aborted before", async () => {
    const abort = new AbortController();
    const { world, worker } = start(scripted());
    const run = worker.run({ signal: abort.signal });
    await world.pass(0);
    abort.abort();
    await run;
    await start(scripted()).worker.run({ signal: AbortSignal.abort() });
  });

  test("an unacknowledged result holds it back for drainMs, and no longer", async () => {
    const script = scripted();
    const { world, worker } = start(script, { drainMs: 3_000 });
    let left = false;
    const run = worker.run().then(() => (left = true));
    await world.pass(0);
    script.say(safe);
    await world.pass(0);
    expect(script.heard.at(-1)?.type).toBe("result");
    const closed = worker.close();
    await world.pass(2_999);
    expect(left).toBe(false);
    await world.pass(1);
    await Promise.all([run, closed]);
  });

  test("SIGTERM drains; run() takes its listeners away again", async () => {
    const before = process.listenerCount("SIGTERM");
    const script = scripted();
    const { world, worker } = start(script, { signals: true });
    const run = worker.run();
    await world.pass(0);
    expect(process.listenerCount("SIGTERM")).toBe(before + 1);
    process.emit("SIGTERM");
    await run;
    expect(script.heard.at(-1)).toEqual({ type: "draining" });
    expect(process.listenerCount("SIGTERM")).toBe(before);
  });

  test("a second SIGTERM leaves at once", async () => {
    const script = scripted();
    const { world, worker } = start(script, { signals: true });
    const run = worker.run();
    await world.pass(0);
    script.say(safe); // its result will not be acknowledged
    await world.pass(0);
    process.emit("SIGTERM");
    await world.pass(100);
    process.emit("SIGTERM");
    await run;
  });
});

describe("handlers", () => {
  test("get what the context promises", async () => {
    const script = scripted();
    const world = handWorld();
    const worker = new Worker({ connect: script.connect, signals: false, world });
    const seen: unknown[] = [];
    worker.tool("read", { version: "1.0.0" }, (args, ctx) => {
      seen.push(args, ctx.callId, ctx.attempt, ctx.idempotencyKey, ctx.deadline.getTime(), ctx.invoke.tenant);
      // An event never costs the call: what it cannot be is said in the log.
      ctx.emit("", 1);
      ctx.emit("big", "x".repeat(262_143));
      ctx.emit("odd", { f: Number.NaN });
    });
    const run = worker.run();
    await world.pass(1_000);
    script.say(invokeOf("read_only", { attempt: 3, argsJson: '{"n":1}', timeoutMs: 2_000 }));
    script.say(invokeOf("read_only", { callId: "c2", deadlineAtMs: 1_800_000_001_500, argsJson: "[]" }));
    await world.pass(0);
    expect(seen).toEqual([
      { n: 1 },
      "c1",
      3,
      "c1",
      1_800_000_003_000,
      "acme",
      [],
      "c2",
      1,
      "c1",
      1_800_000_001_500,
      "acme",
    ]);
    const results = script.heard.filter((message) => message.type === "result");
    expect(results.map(({ status }) => status)).toEqual(["succeeded", "succeeded"]);
    for (const { callId, fence } of results) script.say({ type: "result_ack", callId, fence, verdict: "stored" });
    await worker.close();
    await run;
  });

  test("are not entered for a call that was stopped on the way, nor with arguments that are not JSON", async () => {
    const script = scripted();
    const { world, worker } = start(script, { drainMs: 0 });
    const run = worker.run();
    await world.pass(0);
    script.say(safe);
    script.say({ type: "cancel", callId: "c1", fence: 1, graceMs: 0, reason: "cancel" });
    script.say({ ...safe, callId: "c2", argsJson: '{"a":' });
    await world.pass(0);
    const results = script.heard.filter((message) => message.type === "result");
    expect(results.map(({ callId, status, error }) => [callId, status, error?.code])).toEqual([
      ["c1", "cancelled", undefined],
      ["c2", "failed", "args_not_json"],
    ]);
    const closed = worker.close();
    await world.pass(0);
    await Promise.all([closed, run]);
  });
});
