// The platform's worker of the neighbour figure: an echo, and a call that takes its time, in sixteen slots.
import { setTimeout as wait } from "node:timers/promises";
import { Worker } from "@signalbox/worker";

const { SIGNALBOX_BENCH_ADDRESS: address, SIGNALBOX_BENCH_KEY: key } = process.env;
if (address === undefined || key === undefined) throw new Error("give SIGNALBOX_BENCH_ADDRESS and SIGNALBOX_BENCH_KEY");

const [version, waitMs] = ["1.0.0", 20];

const worker = new Worker({ address, key, capacity: 16 });
worker.tool("neighbour.echo", { version }, (args) => args);
worker.tool("neighbour.wait", { version }, async () => {
  await wait(waitMs);
  return null;
});
await worker.run();
