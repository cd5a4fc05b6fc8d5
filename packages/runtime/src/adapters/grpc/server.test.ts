// The gRPC server: its port, what it says of its health, and how it stops.
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { Client, Metadata, credentials, status, type ClientDuplexStream, type ServiceError } from "@grpc/grpc-js";
import { workService, type FromRuntime, type WorkerMessage } from "@signalbox/protocol";
import { afterEach, expect, test } from "vitest";
import { ScriptedRuntime } from "./scripted-runtime.ts";
import { startGrpcServer, type GrpcServer } from "./server.ts";
import { addWorkService } from "./work-door.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function open(): Promise<{ server: GrpcServer; runtime: ScriptedRuntime; client: Client }> {
  const runtime = new ScriptedRuntime();
  const server = await startGrpcServer({
    host: "127.0.0.1",
    port: 0,
    services: [
      (grpc) => addWorkService(grpc, { authenticate: async () => ({}), onConnect: (stream) => runtime.accept(stream) }),
    ],
  });
  const client = new Client(`127.0.0.1:${server.port}`, credentials.createInsecure());
  cleanups.push(
    () => server.stop(0),
    () => client.close(),
  );
  return { server, runtime, client };
}

/** grpc.health.v1: an empty request asks for the whole server; field 1 of the answer is 1 (serving) or 2 (not serving). */
function health(client: Client): Promise<number[]> {
  return new Promise((resolve, reject) => {
    const asIs = (bytes: Buffer): Buffer => bytes;
    client.makeUnaryRequest("/grpc.health.v1.Health/Check", asIs, asIs, Buffer.alloc(0), (error, answer) => {
      if (error === null) resolve([...(answer ?? [])]);
      else reject(error);
    });
  });
}

/** A stream that has been let in. */
async function connected(client: Client): Promise<{
  call: ClientDuplexStream<readonly WorkerMessage[], readonly FromRuntime[]>;
  ended: Promise<ServiceError>;
}> {
  const { path, requestSerialize, responseDeserialize } = workService.connect;
  const metadata = new Metadata();
  metadata.set("authorization", "Bearer k");
  const call = client.makeBidiStreamRequest<readonly WorkerMessage[], readonly FromRuntime[]>(
    path,
    requestSerialize,
    responseDeserialize,
    metadata,
  );
  call.on("error", () => {});
  const ended = new Promise<ServiceError>((resolve) => void call.on("status", resolve));
  call.resume();
  await once(call, "metadata");
  return { call, ended };
}

test("health: not serving until somebody says so", async () => {
  const { server, client } = await open();
  expect(server.port).toBeGreaterThan(0);
  expect(await health(client)).toEqual([8, 2]);
  server.setServing(true);
  expect(await health(client)).toEqual([8, 1]);
  server.setServing(false);
  expect(await health(client)).toEqual([8, 2]);
});

test("a port that is taken is named", async () => {
  const other = createServer();
  cleanups.push(() => other.close());
  await once(other.listen(0, "127.0.0.1"), "listening");
  const { port } = other.address() as AddressInfo;
  await expect(startGrpcServer({ host: "127.0.0.1", port, services: [] })).rejects.toThrow(
    `the gRPC port 127.0.0.1:${port} cannot be opened`,
  );
});

test("IPv6", async () => {
  const server = await startGrpcServer({ host: "::1", port: 0, services: [] });
  expect(server.port).toBeGreaterThan(0);
  await server.stop(0);
});

test("a stop waits for streams to end, and takes no new ones", async () => {
  const { server, runtime, client } = await open();
  const { call, ended } = await connected(client);
  let stopped = false;
  const stop = server.stop(60_000).then(() => (stopped = true));
  call.write([{ type: "draining" }]);
  await runtime.hear("draining"); // still heard: the stream lives
  expect(stopped).toBe(false);
  runtime.close("shutting down");
  expect((await ended).details).toBe("shutting down");
  await stop;
  await expect(health(client)).rejects.toThrow("UNAVAILABLE");
});

test("a stop cuts what is left after its time", async () => {
  const { server, client } = await open();
  const { ended } = await connected(client);
  await server.stop(10);
  expect((await ended).code).not.toBe(status.OK);
});
