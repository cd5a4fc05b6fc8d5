// BullMQ: a call is added to its queue, a worker in another process returns it, and the caller waits for its end.
import { env, peerPackage, role, say, serveCalls } from "./front.ts";

interface Bull {
  readonly Queue: new (name: string, options: object) => {
    add(name: string, data: unknown): Promise<{ waitUntilFinished(events: object, msMax: number): Promise<unknown> }>;
  };
  readonly QueueEvents: new (name: string, options: object) => { waitUntilReady(): Promise<unknown> };
  readonly Worker: new (name: string, run: (of: { readonly data: unknown }) => Promise<unknown>, options: object) => {
    waitUntilReady(): Promise<unknown>;
  };
}

const queueName = "echo";
const concurrency = 256;
const waitMsMax = 30_000;
const { Queue, QueueEvents, Worker } = peerPackage<Bull>("bullmq");
const connection = { host: "127.0.0.1", port: Number(env("SIGNALBOX_PEERS_REDIS_PORT")), maxRetriesPerRequest: null };

if (role() === "worker") {
  await new Worker(queueName, async ({ data }) => data, { connection, concurrency }).waitUntilReady();
  say({ ready: true });
} else {
  const queue = new Queue(queueName, { connection });
  const events = new QueueEvents(queueName, { connection });
  await events.waitUntilReady();
  await serveCalls(async (input) => (await queue.add("echo", input)).waitUntilFinished(events, waitMsMax));
}
