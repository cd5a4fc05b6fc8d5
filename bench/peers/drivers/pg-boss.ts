// pg-boss: a call is sent to its queue, and a worker in another process stores its output in the transaction that completes it.
import { randomUUID } from "node:crypto";
import { env, peerPackage, role, say, serveCalls } from "./front.ts";
import { hearResults, storeResults, type Call } from "./results.ts";

interface Sql {
  executeSql(sql: string, values: readonly unknown[]): Promise<unknown>;
}
interface Boss {
  on(event: "error", hear: (error: Error) => void): void;
  start(): Promise<unknown>;
  createQueue(name: string, options: object): Promise<void>;
  send(name: string, data: Call): Promise<unknown>;
  work(name: string, options: object, handler: (of: readonly { readonly data: Call }[], tx: Sql) => Promise<void>): Promise<unknown>;
}

const queueName = "echo";
const poolSize = 16;
const batches = { localConcurrency: 1, batchSize: 128, burstWhenBatchFull: true };
const { PgBoss } = peerPackage<{ readonly PgBoss: new (options: object) => Boss }>("pg-boss");
const url = env("SIGNALBOX_PEERS_POSTGRES");

const boss = new PgBoss({ connectionString: url, max: poolSize, useListenNotify: true });
boss.on("error", (error) => process.stderr.write(`${error.message}\n`));
await boss.start();
if (role() === "worker") {
  await boss.work(queueName, { ...batches, transactional: true, pollingIntervalSeconds: 0.5 }, async (calls, tx) => {
    await storeResults(
      (sql, values) => tx.executeSql(sql, values),
      calls.map(({ data }) => data),
    );
  });
  say({ ready: true });
} else {
  await boss.createQueue(queueName, { notify: true });
  const results = await hearResults(url);
  await serveCalls(async (input) => {
    const id = randomUUID();
    const output = results.wait(id);
    await boss.send(queueName, { id, input });
    return output;
  });
}
