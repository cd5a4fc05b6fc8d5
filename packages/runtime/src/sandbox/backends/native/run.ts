// One run in a box: starts the tool, passes its output on, watches its limits, ends it in time, and says how it ended.
import { closeSync, writeSync } from "node:fs";
import { setTimeout as after } from "node:timers/promises";
import { breachOf, classify } from "../../outcome.ts";
import type { BoxEnd, BoxIo, BoxLimits, BoxResult, Invocation } from "../../types.ts";
import type { Box } from "./box.ts";
import type { RunPipes } from "./cradle.ts";
import { CappedStream, readPipe, WholeText, writePipe, type Reading } from "./streams.ts";

/** A kernel holds memory and processes by itself; looking decides how soon a breach ends the tool. */
const lookEveryMs = 50;
/** What is left in the pipes of a dead tool is read this long at most: its reader may have gone to sleep. */
const drainMsMax = 2_000;
const tailBytes = 4_096;

/** Ends a run by its first reason. */
class Ending {
  readonly #box: Box;
  readonly #graceMs: number;
  #claimed: BoxEnd | undefined;
  #asked = false;
  #grace: NodeJS.Timeout | undefined;

  constructor(box: Box, graceMs: number) {
    this.#box = box;
    this.#graceMs = graceMs;
  }

  get claimed(): BoxEnd | undefined {
    return this.#claimed;
  }

  /** A limit was broken: nothing is asked any more. */
  force(end: BoxEnd): void {
    this.#claimed ??= end;
    this.#box.kill();
  }

  /** Time is up or nobody wants it: the tool may tidy up for a while. */
  ask(end: BoxEnd): void {
    this.#claimed ??= end;
    if (this.#asked) return;
    this.#asked = true;
    if (this.#graceMs === 0) return this.#box.kill();
    this.#box.ask("SIGTERM");
    this.#grace = setTimeout(() => this.#box.kill(), this.#graceMs);
  }

  done(): void {
    clearTimeout(this.#grace);
  }
}

interface Outputs {
  readonly stdout: CappedStream;
  readonly stderr: CappedStream;
  readonly result: WholeText;
  readonly readings: readonly Reading[];
}

interface Run {
  readonly box: Box;
  readonly limits: BoxLimits;
  readonly ending: Ending;
}

/** Reads all that the tool can write; after this the tool may start. */
function connect({ box, limits, ending }: Run, pipes: RunPipes, fromStdout: boolean, io: BoxIo): Outputs {
  const flood = (limit: number) => (observed: number) =>
    ending.force({ reason: "exceeded", resource: "output", limit, observed });
  const { outputBytesKill } = box.held;
  const streamLimits = { bytesMax: limits.outputBytes, bytesKill: outputBytesKill, onFlood: flood(outputBytesKill) };
  const stdout = new CappedStream(streamLimits, 0, (chunk) => io.stdout(chunk));
  const stderr = new CappedStream(streamLimits, tailBytes, (chunk) => io.stderr(chunk));
  const result = new WholeText(limits.resultBytes, flood(limits.resultBytes));
  let eventBytes = 0;
  box.readers.stderr = (chunk) => stderr.push(chunk);
  box.readers.overlongEvent = flood(limits.outputBytes);
  box.readers.event = (line) => {
    eventBytes += line.length;
    if (eventBytes <= outputBytesKill) return io.event(line);
    flood(outputBytesKill)(eventBytes);
  };
  const readings = [
    readPipe(pipes.stdout, (chunk) => (fromStdout ? result.push(chunk) : stdout.push(chunk))),
    readPipe(pipes.result, (chunk) => (fromStdout ? undefined : result.push(chunk))),
    ...box.early,
  ];
  return { stdout, stderr, result, readings };
}

/** Lets the tool go and resolves when its tree is dead, by itself or by us. */
async function live({ box, limits, ending }: Run, go: () => void, signal: AbortSignal): Promise<boolean> {
  const cancel = (): void => ending.ask({ reason: "cancelled" });
  const timeout = setTimeout(() => ending.ask({ reason: "timeout" }), limits.timeoutMs);
  const looking = setInterval(() => {
    const breach = breachOf(box.meter.look(true), limits);
    if (breach !== undefined) ending.force(breach);
  }, lookEveryMs);
  try {
    box.meter.start();
    go();
    if (signal.aborted) cancel();
    else signal.addEventListener("abort", cancel, { once: true });
    await box.exit;
    return await box.die();
  } finally {
    clearTimeout(timeout);
    clearInterval(looking);
    signal.removeEventListener("abort", cancel);
    ending.done();
  }
}

/** @param startMs what it took until the tool could be let go, as far as its caller had to wait for it */
export async function runTool(
  box: Box,
  limits: BoxLimits,
  { invocation, io, signal, startMs }: { invocation: Invocation; io: BoxIo; signal: AbortSignal; startMs: number },
): Promise<BoxResult> {
  const run: Run = { box, limits, ending: new Ending(box, limits.graceMs) };
  const pipes = box.takePipes();
  const outputs = connect(run, pipes, invocation.resultFrom === "stdout", io);
  const request = writePipe(pipes.stdin, invocation.requestJson);
  const startedAt = performance.now();
  const dead = await live(run, () => letGo(pipes.go), signal);
  const durationMs = performance.now() - startedAt;
  request.stop();
  await Promise.race([Promise.all(outputs.readings.map(({ ended }) => ended)), after(drainMsMax)]);
  for (const reading of outputs.readings) reading.stop();
  const counted = box.meter.look(false);
  const end = classify({
    claimed: run.ending.claimed,
    code: dead ? await box.exit : null,
    counted,
    limits,
    lostMessage: dead ? "the box ended without telling how its tool did" : "a process of the box could not be killed",
  });
  const { stdout, stderr, result } = outputs;
  return {
    end,
    resultText: result.text,
    truncated: [...(stdout.truncated ? (["stdout"] as const) : []), ...(stderr.truncated ? (["stderr"] as const) : [])],
    stderrTail: stderr.tail,
    usage: { startMs, durationMs, cpuMs: counted.cpuMs, peakMemoryBytes: counted.peakMemoryBytes, egressBytes: 0 },
  };
}

/** One byte, for which the pipe always has room. */
function letGo(fd: number): void {
  writeSync(fd, "\n");
  closeSync(fd);
}
