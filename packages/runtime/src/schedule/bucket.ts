// One token bucket in whole numbers: how full it is, what it lets through, and how long until the next call fits.
import type { Rate } from "./types.ts";

/** A token in units: so a rate of n a minute adds n units each millisecond, and no fraction is ever lost. */
const unitsPerToken = 60_000;

/** Times are whole ms of a clock that never goes back. */
export interface Bucket {
  units: number;
  at: number;
}

export function fullBucket(rate: Rate, now: number): Bucket {
  return { units: capacityOf(rate), at: now };
}

/** Adds what has come since the last look, up to the brim. */
export function refill(bucket: Bucket, rate: Rate, now: number): void {
  const elapsed = now - bucket.at;
  if (elapsed <= 0) return;
  // By time, not by units: an hour times a high rate is beyond what a number holds exactly.
  bucket.units = elapsed >= msToFull(bucket, rate) ? capacityOf(rate) : bucket.units + elapsed * rate.perMinute;
  bucket.at = now;
}

export function holdsToken(bucket: Bucket): boolean {
  return bucket.units >= unitsPerToken;
}

/** @param bucket refilled, and holding a token */
export function takeToken(bucket: Bucket): void {
  bucket.units -= unitsPerToken;
}

export function giveTokenBack(bucket: Bucket, rate: Rate): void {
  bucket.units = Math.min(capacityOf(rate), bucket.units + unitsPerToken);
}

export function tokensIn(bucket: Bucket): number {
  return Math.floor(bucket.units / unitsPerToken);
}

/** Until it holds a token; 0 = it does. */
export function msToToken(bucket: Bucket, { perMinute }: Rate): number {
  return Math.max(0, Math.ceil((unitsPerToken - bucket.units) / perMinute));
}

export function msToFull(bucket: Bucket, rate: Rate): number {
  return Math.max(0, Math.ceil((capacityOf(rate) - bucket.units) / rate.perMinute));
}

const capacityOf = ({ burst }: Rate): number => burst * unitsPerToken;
