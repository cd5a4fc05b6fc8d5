// The buckets of all limits: a call takes a token from every one that matches it or from none, and their number is bounded.
import { fullBucket, giveTokenBack, holdsToken, msToFull, msToToken, refill, takeToken, tokensIn, type Bucket } from "./bucket.ts";
import type { Rate } from "./types.ts";

/** One limit that a call must pass, and whose bucket of it. */
export interface Wanted {
  readonly limitKey: string;
  readonly subject: string;
  readonly rate: Rate;
}

/** How a bucket stands after a call; `at` is the place of its limit among those that were wanted. */
export interface Standing {
  readonly at: number;
  readonly remaining: number;
  /** Until it is full again. */
  readonly resetMs: number;
}

export type Taking =
  | {
      readonly ok: true;
      /** Of each bucket, in the order of what was wanted. */
      readonly standings: readonly Standing[];
      /** Puts the tokens back; once. */
      giveBack(): void;
    }
  /** The bucket that keeps the call waiting longest. */
  | { readonly ok: false; readonly standing: Standing; readonly waitMs: number };

/** All calls of one limit. */
interface Group {
  readonly rate: Rate;
  readonly buckets: Map<string, Bucket>;
  /** Of all subjects for which there is no room: nobody gets by without a limit because there are many. */
  shared: Bucket | undefined;
}

export interface BucketBounds {
  /** Subjects of one limit that have a bucket of their own. */
  readonly perLimitMax: number;
  readonly allMax: number;
}

/** A bucket takes about 150 bytes. */
export const bucketBounds: BucketBounds = { perLimitMax: 10_000, allMax: 200_000 };

/** For each new bucket so many old ones are looked at, and dropped when they are full again. */
const sweptPerNew = 2;

export class Buckets {
  readonly #bounds: BucketBounds;
  readonly #groups = new Map<string, Group>();
  #count = 0;

  constructor(bounds: BucketBounds = bucketBounds) {
    this.#bounds = bounds;
  }

  /** Buckets that are kept; full ones are as good as none. */
  get count(): number {
    return this.#count;
  }

  /**
   * Takes a token from each of the buckets, or from none.
   * @param now whole ms of a clock that never goes back
   */
  take(wanted: readonly Wanted[], now: number): Taking {
    const found = wanted.map(({ rate }, at) => ({ at, rate, bucket: this.#bucketOf(wanted[at] as Wanted, now) }));
    let [worst, waitMs] = [found[0], 0];
    for (const one of found) {
      const ms = holdsToken(one.bucket) ? 0 : msToToken(one.bucket, one.rate);
      if (ms > waitMs) [worst, waitMs] = [one, ms];
    }
    if (worst !== undefined && waitMs > 0) return { ok: false, standing: standingOf(worst), waitMs };
    for (const { bucket } of found) takeToken(bucket);
    return {
      ok: true,
      standings: found.map(standingOf),
      giveBack() {
        for (const { bucket, rate } of found) giveTokenBack(bucket, rate);
      },
    };
  }

  /** The limit is gone. One that has changed needs no word: its next call finds buckets of the new rate, full. */
  forget(limitKey: string): void {
    const group = this.#groups.get(limitKey);
    if (group === undefined) return;
    this.#count -= group.buckets.size;
    this.#groups.delete(limitKey);
  }

  #bucketOf({ limitKey, subject, rate }: Wanted, now: number): Bucket {
    const group = this.#groupOf(limitKey, rate);
    const bucket = group.buckets.get(subject) ?? this.#newBucket(group, subject, now);
    refill(bucket, rate, now);
    return bucket;
  }

  #groupOf(limitKey: string, rate: Rate): Group {
    const there = this.#groups.get(limitKey);
    if (there !== undefined && there.rate.perMinute === rate.perMinute && there.rate.burst === rate.burst) return there;
    this.forget(limitKey);
    const group: Group = { rate, buckets: new Map(), shared: undefined };
    this.#groups.set(limitKey, group);
    return group;
  }

  #newBucket(group: Group, subject: string, now: number): Bucket {
    this.#sweep(group, now);
    if (group.buckets.size >= this.#bounds.perLimitMax || this.#count >= this.#bounds.allMax)
      return (group.shared ??= fullBucket(group.rate, now));
    const bucket = fullBucket(group.rate, now);
    group.buckets.set(subject, bucket);
    this.#count++;
    return bucket;
  }

  /** The oldest ones; who is not full yet goes to the end, so that in time each is looked at. */
  #sweep({ buckets, rate }: Group, now: number): void {
    let left = sweptPerNew;
    for (const [subject, bucket] of buckets) {
      if (left-- === 0) return;
      buckets.delete(subject);
      if (msToFull(bucket, rate) <= now - bucket.at) this.#count--;
      else buckets.set(subject, bucket);
    }
  }
}

function standingOf({ at, rate, bucket }: { readonly at: number; readonly rate: Rate; readonly bucket: Bucket }): Standing {
  return { at, remaining: tokensIn(bucket), resetMs: msToFull(bucket, rate) };
}
