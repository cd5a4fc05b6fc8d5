// Behind a load balancer that cuts what stands still (report 197): signs of life come often enough, and who is cut loses nothing.
import { createServer as createHttp2Server } from "node:http2";
import { createClient, type CallStreamEvent } from "@signalbox/client";
import { limits } from "@signalbox/protocol";
import { FollowExecutionRequestSchema, StreamEventSchema, ToolRuntime } from "@signalbox/protocol/v1/tool_runtime";
import { Worker } from "@signalbox/worker";
import { fromBinary } from "@bufbuild/protobuf";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { ScriptedRuntime, registered } from "../../packages/runtime/src/adapters/grpc/scripted-runtime.ts";
import { startGrpcServer } from "../../packages/runtime/src/adapters/grpc/server.ts";
import { addWorkService } from "../../packages/runtime/src/adapters/grpc/work-door.ts";
import { httpLimits } from "../../packages/runtime/src/adapters/http/http-limits.ts";
import { finish } from "../support/finish.ts";
import { createGates } from "../support/gates.ts";
import { codes, gather, GrpcCaller } from "../support/grpc-caller.ts";
import { message, pathOf } from "../support/grpc-door.ts";
import { openDoor } from "../support/http-door.ts";
import { workerTool } from "../support/manifests.ts";
import { openStream, startScriptedWorker } from "../support/scripted-worker.ts";
import { slowly, startStack, type Stack } from "../support/stack.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";

const gates = createGates();
let stack: Stack;

beforeAll(async () => {
  stack = await startStack();
  await stack.register(workerTool("quiet", "1.0.0", { side_effect_class: "non_idempotent_write" }));
});
afterAll(() => finish(stack, gates));

/** Closed at the end of the test. */
async function balancer(target: string, idleMs: number, http2: boolean): Promise<TcpProxy> {
  const proxy = await startTcpProxy(target);
  onTestFinished(() => proxy.close());
  proxy.cutIdle({ idleMs, http2 });
  return proxy;
}

test("report 197: workers and readers are told something every 20 s at the latest", async () => {
  expect([limits.heartbeatMs, httpLimits.streamAliveMs]).toEqual([5_000, 15_000]);
  const worker = await startScriptedWorker({ address: stack.grpc(), key: stack.adminKey, workerId: "w-asks", tools: ["quiet"] });
  onTestFinished(() => worker.hangUp());
  expect(worker.heard).toMatchObject([{ type: "registered", heartbeatMs: 5_000 }]);
  worker.send({ type: "heartbeat", load: 0, inFlight: [] });
  expect(await worker.next("heartbeat_ack")).toEqual({ type: "heartbeat_ack" });
});

test("report 197: a worker's heartbeats are answered on its stream, which pings alone would not save", { timeout: 30_000 }, async () => {
  const runtime = new ScriptedRuntime();
  runtime.onRegister = () => ({ ...registered, heartbeatMs: 100 });
  const server = await startGrpcServer({
    host: "127.0.0.1",
    port: 0,
    services: [(grpc) => addWorkService(grpc, { authenticate: async () => ({ tenant: "acme" }), onConnect: (stream) => runtime.accept(stream) })],
  });
  onTestFinished(() => server.stop(0));
  const proxy = await balancer(`127.0.0.1:${server.port}`, 1_500, true);
  const worker = new Worker({ address: proxy.address, key: "k", workerId: "w-beats", signals: false, log: () => undefined });
  worker.tool("quiet", { version: "1.0.0" }, () => null);
  const running = worker.run();
  onTestFinished(async () => {
    await worker.close();
    await running;
  });
  // Heartbeats go with the worker's tick of 250 ms: these take more than twice as long as the balancer's patience.
  for (let count = 0; count < 16; count++) {
    await runtime.hear("heartbeat");
    runtime.say({ type: "heartbeat_ack" });
  }
  expect([runtime.heard.filter(({ type }) => type === "register").length, proxy.idleCutsSoFar]).toEqual([1, 0]);

  // Who says nothing on its stream is cut there.
  const silent = openStream(proxy.address, "k");
  await silent.closed;
  expect(proxy.idleCutsSoFar).toBe(1);
});

test("report 197: pings of HTTP/2 do not count at this balancer", async () => {
  const server = createHttp2Server();
  server.on("session", (session) => {
    const timer = setInterval(() => void (session.destroyed || session.ping(() => undefined)), 20);
    session.on("close", () => clearInterval(timer)).on("error", () => undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  const proxy = await balancer(`127.0.0.1:${(server.address() as { port: number }).port}`, 300, true);
  const caller = new GrpcCaller(proxy.address);
  onTestFinished(() => caller.close());
  const { status } = await caller.ask("/any.Service/Any", [new Uint8Array()]);
  expect([status.code, proxy.idleCutsSoFar]).toEqual([codes.UNAVAILABLE, 1]);
});

test("report 197: a silent call's readers over HTTP outlast the balancer, forty times as fast", { timeout: 30_000 }, async () => {
  const asked: number[] = [];
  let rushed = 40;
  const door = await openDoor({
    follow: async () => ({
      over: false,
      async next(ms) {
        asked.push(ms);
        await new Promise((resolve) => setTimeout(resolve, ms / rushed));
        return { gap: null, events: [], end: null, leaving: asked.length === 12 };
      },
      close: () => undefined,
      abandon: () => undefined,
    }),
  });
  // 60 s.
  const proxy = await balancer(`127.0.0.1:${door.port}`, 1_500, false);
  const follow = () => fetch(`http://${proxy.address}/v1/executions/exec_01KDY7MFG80000000000000000/stream`, { headers: { authorization: "Bearer alice-token" } });
  const text = await (await follow()).text();
  expect([asked.length, text.split("\n").filter((line) => line.startsWith(":")).length > 10, proxy.idleCutsSoFar]).toEqual([12, true, 0]);

  // One whose signs of life came every 75 s would not.
  rushed = 8;
  await expect((await follow()).text()).rejects.toThrow();
  expect(proxy.idleCutsSoFar).toBeGreaterThan(0);
});

test("report 197: whoever is cut all the same comes back and loses nothing: a worker, a reader over SSE, a reader over gRPC", { timeout: 30_000 }, async () => {
  const work = await balancer(stack.grpc(), 700, true);
  const web = await balancer(new URL(stack.url()).host, 500, false);
  const api = await balancer(stack.grpc(), 500, true);
  let say: (text: string) => void = () => undefined;
  let ends = 0;
  await stack.startWorker(
    "w-cut",
    [{
      tool: "quiet",
      handler(args: { readonly gate: string }, ctx) {
        say = (text) => ctx.output("stdout", text);
        say("before");
        return gates.hold(args, ctx);
      },
    }],
    { address: work.address, log: () => void ends++ },
  );
  const { body } = await stack.admin.invoke({ tool: "quiet", input: { gate: "cut" }, mode: "async" });
  const id = body.execution_id ?? "";
  await gates.entered("cut");

  const overSse: CallStreamEvent[] = [];
  const reading = (async () => {
    for await (const event of createClient({ url: `http://${web.address}`, key: stack.adminKey }).follow(id)) overSse.push(event);
  })();
  const overGrpc: string[] = [];
  const caller = new GrpcCaller(api.address);
  onTestFinished(() => caller.close());
  const follow = async (afterSeq: number): Promise<number> => {
    const request = message(FollowExecutionRequestSchema, { executionId: id, afterSeq: BigInt(afterSeq) });
    const call = caller.open(pathOf(ToolRuntime.method.followExecution), { metadata: { authorization: `Bearer ${stack.adminKey}` } });
    call.write(request);
    call.end();
    const { messages, status } = await gather(call);
    overGrpc.push(...messages.map((bytes) => fromBinary(StreamEventSchema, bytes)).map(({ seq, type }) => `${seq} ${type}`));
    return status.code;
  };
  expect(await follow(0)).toBe(codes.UNAVAILABLE);
  expect(overGrpc).toEqual(["1 start", "2 stdout"]);

  await Promise.all([work.idleCuts(2), web.idleCuts(2)]);
  for (const one of [work, web, api]) one.cutIdle();
  // What is said into a stream that has just broken may be lost with it; once the worker knows, it keeps its words for the next one.
  await expect.poll(() => ends, slowly).toBe(work.idleCutsSoFar);
  const rest = follow(2);
  say("after");
  gates.open("cut", { ran: "once" });
  await reading;
  expect(await rest).toBe(codes.OK);
  expect(overSse.map((event) => `${event.type === "gap" ? event.from : event.seq} ${event.type}`)).toEqual(["1 start", "2 stdout", "3 stdout", "4 done"]);
  expect(overGrpc).toEqual(["1 start", "2 stdout", "3 stdout", "4 done"]);
  expect(gates.entriesOf(id).map(({ attempt, fence }) => [attempt, fence])).toEqual([[1, 1]]);
  expect(await stack.admin.call(id)).toMatchObject({ status: "succeeded", output: { ran: "once" }, execution: { attempt: 1 } });
});
