// Writes what calls say into the ledger, for late readers: in groups, one after the other, and nobody waits for it.
import { sizeOf, type CallStream } from "../stream/call-stream.ts";
import type { Ledger, Write } from "../ledger/port.ts";
import type { Clock, Log } from "./ports.ts";

export const keeperBounds = {
  /** What a call said is on its way to the ledger this long after it, or as soon as this much has gathered over all calls … */
  saveMs: 100,
  saveChars: 65_536,
  /**
   * … but not sooner than this after the last time, and never for more than a tenth of the time: a flood would fill the
   * disk with what is trimmed a moment later, and hold up what calls wait for.
   */
  savePauseMs: 50,
  pausePerSave: 9,
  savePauseMsMax: 2_000,
  /** One unit's share of the event loop and of the disk; what is left over comes with the next. */
  unitCharsMax: 524_288,
  /** What the ledger keeps of one call, as in memory. */
  keptCharsMax: 1_048_576,
  /** What waits for the ledger over all calls; beyond it the calls that have waited longest lose theirs. */
  waitingCharsMax: 64 * 1_048_576,
  /** Between two warnings that something is lost. */
  quietMs: 60_000,
} as const;

/** One call's part. */
export interface Kept {
  readonly tenant: string;
  readonly callId: string;
  readonly stream: CallStream;
  /** What the ledger has of this process, oldest first: where a run ends, and its size. */
  readonly runs: { readonly seqTo: number; readonly chars: number }[];
  runsChars: number;
  /** What waits for the ledger, about. */
  waitingChars: number;
  /** The number of the end is written down. */
  marked: boolean;
}

export interface KeeperPorts {
  readonly ledger: Pick<Ledger, "commit">;
  readonly clock: Clock;
  readonly log: Log;
  /** These events are in the ledger, or lost to it: memory need not hold them for it. */
  readonly settled: (kept: Kept, upToSeq: number) => void;
}

interface Taken {
  readonly kept: Kept;
  readonly upToSeq: number;
}

export class StreamKeeper {
  readonly #ports: KeeperPorts;
  /** In the order in which they get their turn. */
  readonly #dirty = new Set<Kept>();
  #gathered = 0;
  #waiting = 0;
  #saving: Promise<void> | undefined;
  #notBefore = 0;
  #armedFor = Number.POSITIVE_INFINITY;
  #disarm: () => void = () => {};
  #quietUntil = 0;
  #leftOver = false;

  constructor(ports: KeeperPorts) {
    this.#ports = ports;
  }

  /** Something new is in this stream. */
  note(kept: Kept, chars: number): void {
    this.#dirty.add(kept);
    this.#gathered += chars;
    // The stream itself has trimmed what goes beyond.
    const more = Math.min(chars, keeperBounds.keptCharsMax - kept.waitingChars);
    kept.waitingChars += more;
    this.#waiting += more;
    if (this.#waiting > keeperBounds.waitingCharsMax) this.#shed();
    this.#arm();
  }

  /** More is said than can be written: half of it goes, the oldest first. The number of an end is kept all the same. */
  #shed(): void {
    this.#tell("output of calls is not kept for late readers: more comes than the ledger can write", {});
    for (const kept of this.#dirty) {
      if (this.#waiting <= keeperBounds.waitingCharsMax / 2) return;
      const last = kept.stream.takeUnsaved(Number.POSITIVE_INFINITY).at(-1);
      this.#taken(kept, kept.waitingChars);
      if (last !== undefined) this.#ports.settled(kept, last.seq);
    }
  }

  #taken(kept: Kept, chars: number): void {
    const fewer = kept.stream.hasUnsaved ? Math.min(chars, kept.waitingChars) : kept.waitingChars;
    kept.waitingChars -= fewer;
    this.#waiting -= fewer;
  }

  #tell(message: string, fields: Readonly<Record<string, unknown>>): void {
    const { clock, log } = this.#ports;
    if (clock.now() < this.#quietUntil) return;
    this.#quietUntil = clock.now() + keeperBounds.quietMs;
    log.warn(fields, message);
  }

  /** Writes what there is, now; for the end of the process. */
  async flush(): Promise<void> {
    while (this.#saving !== undefined || this.#dirty.size > 0) {
      if (this.#saving === undefined) this.#save();
      await this.#saving;
    }
    this.#disarm();
  }

  #arm(): void {
    if (this.#saving !== undefined || this.#dirty.size === 0) return;
    const { clock } = this.#ports;
    const now = clock.monotonic();
    const wait = this.#gathered >= keeperBounds.saveChars ? 0 : keeperBounds.saveMs;
    const at = Math.max(now + wait, this.#notBefore);
    if (at >= this.#armedFor) return;
    this.#disarm();
    if (at <= now) return this.#save();
    this.#armedFor = at;
    this.#disarm = clock.after(at - now, () => this.#save());
  }

  #save(): void {
    this.#disarm();
    this.#disarm = () => {};
    this.#armedFor = Number.POSITIVE_INFINITY;
    const { ledger, clock, settled } = this.#ports;
    const began = clock.monotonic();
    this.#notBefore = began + keeperBounds.savePauseMs;
    this.#gathered = 0;
    const { writes, taken } = this.#unit();
    if (writes.length === 0) return;
    const done = ledger.commit({ writes }).then(
      () => undefined,
      // Output is no promise: what a ledger cannot write is lost to it.
      (error: unknown) =>
        this.#tell("output of calls is not kept for late readers: the ledger cannot write", { reason: String(error) }),
    );
    this.#saving = done.then(() => {
      this.#saving = undefined;
      const pauseMs = Math.min((clock.monotonic() - began) * keeperBounds.pausePerSave, keeperBounds.savePauseMsMax);
      this.#notBefore = Math.max(this.#notBefore, clock.monotonic() + pauseMs);
      for (const { kept, upToSeq } of taken) settled(kept, upToSeq);
      // What was left over waits out the pause, and no more.
      if (this.#leftOver) this.#gathered = Math.max(this.#gathered, keeperBounds.saveChars);
      this.#arm();
    });
  }

  /** As much as one unit may hold, each call in turn. */
  #unit(): { readonly writes: readonly Write[]; readonly taken: readonly Taken[] } {
    const writes: Write[] = [];
    const taken: Taken[] = [];
    let left: number = keeperBounds.unitCharsMax;
    this.#leftOver = false;
    for (const kept of Array.from(this.#dirty)) {
      if (left <= 0) {
        this.#leftOver = true;
        break;
      }
      this.#dirty.delete(kept);
      const { chars, upToSeq } = takeOf(kept, left, writes);
      this.#taken(kept, chars);
      left -= chars;
      if (upToSeq > 0) taken.push({ kept, upToSeq });
      if (!kept.stream.hasUnsaved && (kept.marked || kept.stream.endSeq === undefined)) continue;
      this.#dirty.add(kept);
      this.#leftOver = true;
    }
    return { writes, taken };
  }
}

/** One run of a call's events and, behind the last one, the mark of the end. */
function takeOf(kept: Kept, charsMax: number, writes: Write[]): { readonly chars: number; readonly upToSeq: number } {
  const { tenant, callId, stream, runs } = kept;
  const events = stream.takeUnsaved(charsMax);
  const [first, last] = [events[0], events.at(-1)];
  const chars = events.reduce((sum, event) => sum + sizeOf(event), 0);
  let upToSeq = 0;
  if (first !== undefined && last !== undefined) {
    upToSeq = last.seq;
    runs.push({ seqTo: last.seq, chars });
    kept.runsChars += chars;
    const chunk = { tenant, callId, seqFrom: first.seq, seqTo: last.seq, events };
    writes.push({ op: "append_stream", chunk, dropBefore: trimmed(kept) });
  }
  if (stream.endSeq !== undefined && !stream.hasUnsaved && !kept.marked) {
    kept.marked = true;
    upToSeq = stream.endSeq;
    writes.push({
      op: "append_stream",
      chunk: { tenant, callId, seqFrom: upToSeq, seqTo: upToSeq, events: [] },
      dropBefore: 0,
    });
  }
  return { chars, upToSeq };
}

/** Whatever lies before it goes; 0 = nothing does. The newest run stays whatever its size. */
function trimmed(kept: Kept): number {
  let before = 0;
  while (kept.runsChars > keeperBounds.keptCharsMax && kept.runs.length > 1) {
    const oldest = kept.runs.shift();
    if (oldest === undefined) break;
    kept.runsChars -= oldest.chars;
    before = oldest.seqTo + 1;
  }
  return before;
}
