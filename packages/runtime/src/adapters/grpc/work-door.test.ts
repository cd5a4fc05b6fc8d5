// The Work service of a gRPC server: who gets in, what a broken or hostile peer can do, and how streams and servers end.
import { Client, Metadata, credentials, status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { encodeWorker, workService, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import { ConnectRefused, connectGrpc } from "@signalbox/worker";
import { afterEach, expect, test } from "vitest";
import { ScriptedRuntime, invokeOf, registered } from "./scripted-runtime.ts";
import { startGrpcServer, type GrpcServer } from "./server.ts";
import { addWorkService, type WorkDoorOptions } from "./work-door.ts";

interface Identity {
  readonly tenant: string;
}

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

const letIn: WorkDoorOptions<Identity>["authenticate"] = async (key) => {
  if (key === "good") return { tenant: "acme" };
  if (key === "weak") return { refused: { code: "forbidden", message: "the key lacks workers:connect" } };
  return { refused: { code: "key_revoked", message: "the key was revoked" } };
};

async function open(
  more: Partial<WorkDoorOptions<Identity>> = {},
): Promise<{ server: GrpcServer; runtime: ScriptedRuntime; seen: [Identity, string][]; address: string }> {
  const runtime = new ScriptedRuntime();
  const seen: [Identity, string][] = [];
  const options: WorkDoorOptions<Identity> = {
    authenticate: letIn,
    onConnect(stream, identity, peer) {
      seen.push([identity, peer]);
      runtime.accept(stream);
    },
    ...more,
  };
  const server = await startGrpcServer({
    host: "127.0.0.1",
    port: 0,
    services: [(grpc) => addWorkService(grpc, options)],
  });
  cleanups.push(() => server.stop(0));
  return { server, runtime, seen, address: `127.0.0.1:${server.port}` };
}

type RawCall = ClientDuplexStream<Uint8Array, readonly FromRuntime[]>;

/** A peer that is no SDK: sends the bytes it is given, each time as a batch of one frame. */
function dial(address: string, headers: Record<string, string> = { authorization: "Bearer good" }): RawCall {
  const client = new Client(address, credentials.createInsecure());
  cleanups.push(() => client.close());
  const metadata = new Metadata();
  for (const [name, value] of Object.entries(headers)) metadata.set(name, value);
  const call: RawCall = client.makeBidiStreamRequest(
    "/signalbox.v1.Work/Connect",
    (frame: Uint8Array) => Buffer.from(new BinaryWriter().tag(1, WireType.LengthDelimited).bytes(frame).finish()),
    workService.connect.responseDeserialize,
    metadata,
  );
  call.on("error", () => {});
  return call;
}

const ending = (call: RawCall): Promise<ServiceError> =>
  new Promise((resolve) => {
    call.on("status", resolve);
    call.resume();
  });

const register: WorkerMessage = {
  type: "register",
  workerId: "w1",
  incarnation: "inc_1",
  imageDigest: "",
  pool: "",
  labels: {},
  handlers: [],
  backends: [],
  capacity: 1,
  inFlight: [],
};

test("a key lets in, and its owner goes along with the stream", async () => {
  const { runtime, seen, address } = await open();
  const call = dial(address, { authorization: "bearer  good" });
  call.write(encodeWorker(register));
  expect(await runtime.hear("register")).toEqual(register);
  expect(seen).toEqual([[{ tenant: "acme" }, expect.stringMatching(/^127\.0\.0\.1:\d+$/)]]);
});

test.each<[string, Record<string, string>, number, string, string]>([
  [
    "no key",
    {},
    status.UNAUTHENTICATED,
    "send the metadata `authorization: Bearer <key>` with a worker's key",
    "unauthenticated",
  ],
  [
    "another scheme",
    { authorization: "Basic Z29vZA==" },
    status.UNAUTHENTICATED,
    "send the metadata `authorization: Bearer <key>` with a worker's key",
    "unauthenticated",
  ],
  ["a revoked key", { authorization: "Bearer old" }, status.UNAUTHENTICATED, "the key was revoked", "key_revoked"],
  [
    "a key without the scope",
    { authorization: "Bearer weak" },
    status.PERMISSION_DENIED,
    "the key lacks workers:connect",
    "forbidden",
  ],
])("%s lets nobody in", async (_, headers, code, details, errorCode) => {
  const { seen, address } = await open();
  const ended = await ending(dial(address, headers));
  expect([ended.code, ended.details, ended.metadata.get("signalbox-error-code")]).toEqual([code, details, [errorCode]]);
  expect(seen).toEqual([]);
});

test.each<[string, WorkDoorOptions<Identity>["authenticate"]]>([
  ["rejects", () => Promise.reject(new Error("database gone"))],
  [
    "throws",
    () => {
      throw new Error("database gone");
    },
  ],
  ["never answers", () => new Promise(() => {})],
])("a key store that %s lets nobody in, for now", async (_, authenticate) => {
  const { seen, address } = await open({ authenticate, authenticateMsMax: 20 });
  const ended = await ending(dial(address));
  expect([ended.code, ended.details]).toEqual([status.UNAVAILABLE, "the key cannot be checked now: try again later"]);
  expect(seen).toEqual([]);
});

test("what arrives during authentication waits, in order", async () => {
  let answer: (identity: Identity) => void = () => {};
  const { runtime, address } = await open({ authenticate: () => new Promise((resolve) => (answer = resolve)) });
  const call = dial(address);
  call.write(encodeWorker(register));
  for (let seq = 1; seq <= 100; seq++) {
    call.write(
      encodeWorker({ type: "output", callId: "c1", fence: 1, seq, channel: "log", chunk: new Uint8Array(10_000) }),
    );
  }
  await expect.poll(() => answer.length).toBe(1); // resolve takes an argument; the placeholder takes none
  answer({ tenant: "acme" });
  for (let seq = 1; seq <= 100; seq++) expect((await runtime.hear("output")).seq).toBe(seq);
  expect(runtime.heard[0]?.type).toBe("register");
});

test("a peer that leaves during authentication is not handed on", async () => {
  const answers: ((identity: Identity) => void)[] = [];
  const { seen, address } = await open({ authenticate: () => new Promise((resolve) => answers.push(resolve)) });
  const call = dial(address);
  await expect.poll(() => answers.length).toBe(1);
  const ended = ending(call);
  call.cancel();
  await ended;
  dial(address, { authorization: "Bearer next" }); // on the same connection, so behind the cancellation
  await expect.poll(() => answers.length).toBe(2);
  await new Promise((resolve) => setImmediate(resolve));
  answers[0]?.({ tenant: "left" });
  answers[1]?.({ tenant: "stayed" });
  await expect.poll(() => seen.map(([identity]) => identity)).toEqual([{ tenant: "stayed" }]);
});

test("garbage and an empty frame are malformed messages, a result of 50 MB is a failed one, and the stream lives", async () => {
  const { runtime, address } = await open();
  const call = dial(address);
  call.write(Buffer.from("this is no protobuf message"));
  call.write(new Uint8Array(0));
  const outputJson = `"${"x".repeat(50_000_000)}"`;
  call.write(
    encodeWorker({ type: "result", callId: "c1", fence: 3, status: "succeeded", outputJson, usage: { durationMs: 1 } }),
  );
  call.write(encodeWorker(register));
  await runtime.hear("register");
  expect(runtime.heard).toEqual([
    { type: "malformed", reason: "the frame is no readable protobuf message" },
    { type: "malformed", reason: "the frame holds no message this side knows" },
    {
      type: "result",
      callId: "c1",
      fence: 3,
      status: "failed",
      error: {
        code: "result_too_large",
        message: "the result has 50000002 bytes, more than 1048576: return a reference to it instead",
        retryable: false,
      },
      usage: { durationMs: 1 },
    },
    register,
  ]);
  expect(runtime.ended).toEqual([]);
});

test("a message over 64 MiB ends its stream, and no other", async () => {
  const { runtime, address } = await open();
  const other = dial(address);
  other.write(encodeWorker(register));
  await runtime.hear("register");
  const call = dial(address);
  const ended = ending(call);
  call.write(new Uint8Array(64 * 1024 * 1024 + 1));
  expect((await ended).code).toBe(status.RESOURCE_EXHAUSTED);
  other.write(encodeWorker({ type: "draining" }));
  await runtime.hear("draining");
});

test("the runtime ends a stream: what it said before arrives, then the reason; its own listener hears it too", async () => {
  const { runtime, address } = await open();
  const call = dial(address);
  call.write(encodeWorker(register));
  await runtime.hear("register");
  const heard: FromRuntime[] = [];
  const ended = new Promise<ServiceError>((resolve) => void call.on("status", resolve));
  call.on("data", (messages: readonly FromRuntime[]) => heard.push(...messages));
  runtime.say({ type: "go_away", reason: "deploy", reconnectTo: "" });
  runtime.close("deploy: zwölf Uhr\n");
  runtime.say({ type: "drain" });
  call.write(encodeWorker({ type: "draining" }));
  const { code, details } = await ended;
  expect([code, details]).toEqual([status.UNAVAILABLE, "deploy: zwölf Uhr "]);
  expect(heard).toEqual([registered, { type: "go_away", reason: "deploy", reconnectTo: "" }]);
  expect(runtime.ended).toEqual(["deploy: zwölf Uhr\n"]);
  expect(runtime.heard).toEqual([register]);
});

test.each<[string, (call: RawCall) => void]>([
  ["ends", (call) => call.end()],
  ["breaks", (call) => call.cancel()],
])("a worker that %s its stream is told of once", async (_, leave) => {
  const { runtime, address } = await open();
  const call = dial(address);
  call.write(encodeWorker(register));
  await runtime.hear("register");
  const ended = ending(call);
  leave(call);
  await ended;
  await expect.poll(() => runtime.ended).toEqual(["the worker's side of the stream ended"]);
  runtime.say({ type: "drain" });
  runtime.close("again");
});

test("a peer that does not read is given up, rather than buffered without end", async () => {
  const { runtime, address } = await open();
  const call = dial(address); // no listener for data: flow control stops the runtime's writes
  call.write(encodeWorker(register));
  await runtime.hear("register");
  const argsJson = `"${"x".repeat(1_000_000)}"`;
  for (let n = 0; n < 100; n++) runtime.say(invokeOf("read", { callId: `c${n}`, argsJson }));
  await expect.poll(() => runtime.ended).toEqual([expect.stringContaining("the other side reads too slowly")]);
});

test("a runtime that cannot take a stream says so", async () => {
  const { address } = await open({
    onConnect() {
      throw new Error("full");
    },
  });
  const ended = await ending(dial(address));
  expect([ended.code, ended.details]).toEqual([
    status.UNAVAILABLE,
    "the runtime could not take the stream: try again later",
  ]);
});

test("the worker's side: refused for good, or only for now", async () => {
  const { address, server } = await open();
  const connect = (key: string): Promise<unknown> => connectGrpc({ address, key });
  await expect(connect("old")).rejects.toThrow(
    new ConnectRefused(
      `${address} does not accept the worker's key (the key was revoked): create one with the scope workers:connect and pass it as \`key\``,
    ),
  );
  await expect(connect("weak")).rejects.toThrow(ConnectRefused);
  await server.stop(0);
  const gone = await connect("good").catch((error: unknown) => error);
  expect(gone).toBeInstanceOf(Error);
  expect(gone).not.toBeInstanceOf(ConnectRefused);
});

test("the worker's side: a key never goes to another host in clear text, unless somebody says so", async () => {
  await expect(connectGrpc({ address: "signalbox.example:9090", key: "good" })).rejects.toThrow(ConnectRefused);
  await expect(connectGrpc({ address: "127.0.0.1.example:9090", key: "good" })).rejects.toThrow(ConnectRefused);
});
