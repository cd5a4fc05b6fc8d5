// What is fuzzed, and how: inputs out of a corpus and of chance, each held to a rule, for as long as there is time.
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { readCorpus, type CorpusFile } from "./corpus.ts";

export interface Target<Input = unknown> {
  readonly name: string;
  readonly about: string;
  open(): Promise<Session<Input>>;
}

export interface Session<Input> {
  readonly inputs: fc.Arbitrary<Input>;
  /** @throws Error that says which rule was broken */
  check(input: Input): Promise<void> | void;
  /** The bytes of a corpus file, and back. */
  write(input: Input): Uint8Array;
  read(bytes: Uint8Array): Input;
  /** @throws Error for what only shows at the end */
  close(): Promise<void>;
}

/** Keeps a list of targets free of what each of them takes. */
export function target<Input>(one: Target<Input>): Target {
  return one as unknown as Target;
}

export interface Outcome {
  readonly seed: number;
  readonly replayed: number;
  readonly runs: number;
  /** Undefined: nothing was found. */
  readonly found: Found | undefined;
}

export interface Found {
  readonly why: string;
  /** A file of the corpus, or an input of chance as it would stand in one. */
  readonly input: CorpusFile | Uint8Array;
}

export interface Budget {
  readonly seed: number;
  readonly msMax: number;
  /** What a check may take until it is taken for one that hangs; requests have shorter deadlines of their own. */
  readonly hangsMs?: number;
}

const hangsAfterMs = 60_000;
/** Memory that a target may leave behind when it is over and swept, above what it found. */
const leftBehindBytesMax = 200 * 1024 * 1024;

/** Held to the time that the work itself took, whatever else this machine does. @throws Error when that was too long */
export function within(cpuMsMax: number, work: () => void): void {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  const spent = (user + system) / 1_000;
  if (spent > cpuMsMax) throw new Error(`took ${Math.round(spent)} ms of CPU`);
}

/** The corpus first, then chance until the time is over; the first input that breaks a rule ends it. */
export async function fuzz(one: Target, budget: Budget): Promise<Outcome> {
  const { seed, hangsMs = hangsAfterMs } = budget;
  const session = await one.open();
  const stray: unknown[] = [];
  const gather = (reason: unknown): void => void stray.push(reason);
  process.on("unhandledRejection", gather);
  const before = process.memoryUsage().heapUsed;
  let replayed = 0;
  try {
    const corpus = await readCorpus(one.name);
    for (const file of corpus) {
      const why = await broken(session, session.read(file.bytes), hangsMs);
      replayed++;
      if (why !== undefined) return { seed, replayed, runs: 0, found: { why, input: file } };
    }
    const outcome = await byChance(session, { ...budget, hangsMs });
    const [first] = stray;
    const why = outcome.why ?? (first === undefined ? undefined : `an unhandled rejection: ${reasonOf(first)}`);
    const found = why === undefined ? undefined : { why, input: outcome.input };
    return { seed, replayed, runs: outcome.runs, found };
  } finally {
    process.off("unhandledRejection", gather);
    await session.close();
    checkMemory(before);
  }
}

async function byChance(
  session: Session<unknown>,
  { seed, msMax, hangsMs }: Required<Budget>,
): Promise<{ readonly runs: number; readonly why: string | undefined; readonly input: Uint8Array }> {
  let runs = 0;
  let last: { readonly input: unknown; readonly why: Promise<string | undefined> } | undefined;
  const property = fc.asyncProperty(session.inputs, async (input) => {
    runs++;
    last = { input, why: broken(session, input, hangsMs) };
    const why = await last.why;
    if (why !== undefined) throw new Error(why);
  });
  const report = await fc.check(property, {
    seed,
    numRuns: Number.MAX_SAFE_INTEGER,
    interruptAfterTimeLimit: msMax,
    // A run that is over in time is a good one; it is no failure that there was time for more.
    markInterruptAsFailure: false,
  });
  if (!report.failed || report.counterexample === null) {
    // The one that time ran out over is waited for too: it is still at work, and may be the one that hangs.
    const why = await last?.why;
    return { runs, why, input: why === undefined ? new Uint8Array(0) : session.write(last?.input) };
  }
  const [input] = report.counterexample;
  return { runs, why: (await broken(session, input, hangsMs)) ?? reasonOf(report.errorInstance), input: session.write(input) };
}

async function broken(session: Session<unknown>, input: unknown, hangsMs: number): Promise<string | undefined> {
  const late = new AbortController();
  const hangs = setTimeout(hangsMs, `hangs: nothing came of it in ${hangsMs} ms`, { signal: late.signal });
  try {
    return await Promise.race([Promise.resolve(session.check(input)).then(() => undefined), hangs]);
  } catch (error) {
    return reasonOf(error);
  } finally {
    late.abort();
    hangs.catch(() => undefined);
  }
}

/** In words, with where it came from. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? (error.stack ?? error.message) : JSON.stringify(error);
}

/** Only where the process was started with --expose-gc is there a way to tell what is kept from what is not swept yet. */
function checkMemory(before: number): void {
  const { gc } = globalThis as { gc?: () => void };
  if (gc === undefined) return;
  gc();
  const left = process.memoryUsage().heapUsed - before;
  if (left > leftBehindBytesMax) throw new Error(`${left} bytes are left behind`);
}
