// The application worker of the stream figures: one handler that says a word at once, one that writes as fast as it can.
import { Worker } from "@signalbox/worker";

const { SIGNALBOX_BENCH_ADDRESS: address, SIGNALBOX_BENCH_KEY: key } = process.env;
if (address === undefined || key === undefined) throw new Error("give SIGNALBOX_BENCH_ADDRESS and SIGNALBOX_BENCH_KEY");

const version = "1.0.0";
const chunk = new Uint8Array(64 * 1024).fill("x".charCodeAt(0));

const worker = new Worker({ address, key });
worker.tool("stream.say", { version }, (_args, ctx) => {
  ctx.output("stdout", "word");
  return null;
});
worker.tool<{ readonly chunks: number }>("stream.flood", { version }, async ({ chunks }, ctx) => {
  for (let count = 0; count < chunks; count++) {
    ctx.output("stdout", chunk);
    await ctx.flushed();
  }
  return null;
});
await worker.run();
