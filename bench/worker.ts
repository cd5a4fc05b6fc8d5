// The application worker of the echo figures: one handler that gives its arguments back.
import { Worker } from "@signalbox/worker";

const { SIGNALBOX_BENCH_ADDRESS: address, SIGNALBOX_BENCH_KEY: key } = process.env;
if (address === undefined || key === undefined) throw new Error("give SIGNALBOX_BENCH_ADDRESS and SIGNALBOX_BENCH_KEY");

const capacity = 256;

const worker = new Worker({ address: address.split(","), key, capacity });
worker.tool("bench.echo", { version: "1.0.0", sideEffectClass: "read_only" }, (args) => args);
await worker.run();
