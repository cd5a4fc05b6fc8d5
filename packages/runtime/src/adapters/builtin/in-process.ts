// Keeps the workers that are part of this process at work until it ends.
import type { Worker } from "@signalbox/worker";
import type { Log } from "../../corridor/ports.ts";

export interface InProcess {
  /** Resolves when they have left, at the latest when their time to drain is over. */
  close(): Promise<void>;
}

export function keepInProcess(workers: readonly Worker[], log: Log): InProcess {
  const runs = workers.map((worker) => worker.run().catch((error: unknown) => log.error({ reason: String(error) }, "the built-in tools stopped")));
  return {
    async close() {
      await Promise.all(workers.map((worker) => worker.close()));
      await Promise.all(runs);
    },
  };
}
