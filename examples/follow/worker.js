// Serves report.build, and says what it does while it does it.
import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "@signalbox/worker";

const { SIGNALBOX_KEY: key, SIGNALBOX_WORKER_ADDRESS: address = "127.0.0.1:9090" } = process.env;
const worker = new Worker({ address, key, workerId: "reports-1" });

worker.tool("report.build", { version: "1.0.0", sideEffectClass: "idempotent_write" }, async ({ month }, ctx) => {
  // #region say
  ctx.output("stdout", `reading ${month}\n`);
  await wait(50, undefined, { signal: ctx.signal });
  ctx.progress(50, "half of the rows");
  ctx.output("stderr", "two rows without a date\n");
  await wait(50, undefined, { signal: ctx.signal });
  ctx.log("wrote the summary");
  return { rows: 1204 };
  // #endregion say
});

await worker.run();
