// The floor's server process: an HTTP call, one commit, the worker's echo, one commit, the reply; nothing that governs.
import { Server, ServerCredentials, type ServerDuplexStream } from "@grpc/grpc-js";
import fastify from "fastify";
import { floorService, type Frame } from "./frames.ts";
import { openFloorLedgerOnPostgres } from "./ledger-pg.ts";
import { openFloorLedger } from "./ledger.ts";

interface CallBody {
  readonly tool: string;
  readonly input: unknown;
}

const where = required(process.argv[2], "the database file, or a postgres:// address");
const ledger = where.startsWith("postgres://") ? await openFloorLedgerOnPostgres(where) : openFloorLedger(where);
const pending = new Map<string, (payload: unknown) => void>();
let worker: ServerDuplexStream<Frame, Frame> | undefined;
let calls = 0;

const app = fastify();
app.post("/call", async (request, reply) => {
  const { tool, input } = request.body as CallBody;
  // Ids grow, as ours do: random keys would cost the floor page writes that we do not have.
  const callId = `exec_${String(++calls).padStart(26, "0")}`;
  await ledger.admit(callId, JSON.stringify(input), Date.now());
  const output = await runOnWorker(callId, input);
  await ledger.settle(callId, JSON.stringify(output), Date.now());
  return reply.send({ execution_id: callId, tool, status: "succeeded", output });
});

function runOnWorker(callId: string, payload: unknown): Promise<unknown> {
  const stream = worker;
  if (stream === undefined) throw new Error("no worker is connected");
  return new Promise((resolve) => {
    pending.set(callId, resolve);
    stream.write({ callId, fence: 1, payload });
  });
}

function serveWorker(stream: ServerDuplexStream<Frame, Frame>): void {
  worker = stream;
  stream.on("data", (frame: Frame) => {
    const resolve = pending.get(frame.callId);
    pending.delete(frame.callId);
    resolve?.(frame.payload);
  });
  stream.on("error", () => process.exit(1));
  stream.on("end", () => stream.end());
  process.stdout.write(`${JSON.stringify({ worker: true })}\n`);
}

const grpc = new Server();
grpc.addService(floorService, { work: serveWorker });
const grpcPort = await new Promise<number>((resolve, reject) => {
  grpc.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) =>
    error === null ? resolve(port) : reject(error),
  );
});
await app.listen({ host: "127.0.0.1", port: 0 });
const address = app.server.address();
if (address === null || typeof address === "string") throw new Error("the HTTP server has no port");
const ready = { ready: true, url: `http://127.0.0.1:${address.port}`, grpc: `127.0.0.1:${grpcPort}` };
process.stdout.write(`${JSON.stringify(ready)}\n`);

process.on("SIGTERM", () => {
  ledger.close();
  process.exit(0);
});

function required(value: string | undefined, what: string): string {
  if (value === undefined) throw new Error(`give ${what} as the argument`);
  return value;
}
