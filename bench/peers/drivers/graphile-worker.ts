// graphile-worker: a call is added by a statement, and a worker in another process stores its output with a notification.
import pg from "pg";
import { randomUUID } from "node:crypto";
import { env, peerPackage, role, say, serveCalls } from "./front.ts";
import { hearResults, storeResults, type Call } from "./results.ts";

interface Graphile {
  readonly makeWorkerUtils: (options: object) => Promise<{ migrate(): Promise<void>; addJob(name: string, payload: Call): Promise<unknown> }>;
  readonly run: (options: object) => Promise<unknown>;
}

/** As its documentation has it for many short ones. */
const concurrency = 24;
const poolSize = concurrency + 1;
const batching = { localQueue: { size: 500 }, completeJobBatchDelay: 0, failJobBatchDelay: 0 };
const { makeWorkerUtils, run } = peerPackage<Graphile>("graphile-worker");
const url = env("SIGNALBOX_PEERS_POSTGRES");

if (role() === "worker") {
  const echo = (call: Call, { query }: { query(sql: string, values: readonly unknown[]): Promise<unknown> }): Promise<void> => storeResults(query, [call]);
  const pgPool = new pg.Pool({ connectionString: url, max: poolSize });
  const preset = { worker: { concurrentJobs: concurrency, ...batching } };
  await run({ pgPool, preset, noHandleSignals: true, taskList: { echo } });
  say({ ready: true });
} else {
  const utils = await makeWorkerUtils({ pgPool: new pg.Pool({ connectionString: url, max: poolSize }) });
  await utils.migrate();
  const results = await hearResults(url);
  await serveCalls(async (input) => {
    const id = randomUUID();
    const output = results.wait(id);
    await utils.addJob("echo", { id, input });
    return output;
  });
}
