// When a request is sent again, and after how long: bounded tries, growing waits, and what a server asked for.
import type { SignalboxApiError } from "./errors.ts";

/** Every field is optional; what is left out keeps its default. */
export interface RetryOptions {
  /** How often a request is sent at most, the first time included (20). 1 = never again. */
  readonly attemptsMax?: number;
  /** The first wait; every further one is twice as long, and half of each is chance (200). */
  readonly initialDelayMs?: number;
  /** No wait of our own is longer (5 000). */
  readonly maxDelayMs?: number;
  /** How long after the first failure the last try may begin; a `Retry-After` beyond it is not waited for (30 000). */
  readonly deadlineMs?: number;
}

export type RetrySettings = Required<RetryOptions>;

/** Outlast a runtime that starts again: with the longest waits from the sixth on, the deadline ends it and not the count. */
export const retryDefaults: RetrySettings = {
  attemptsMax: 20,
  initialDelayMs: 200,
  maxDelayMs: 5_000,
  deadlineMs: 30_000,
};

/** @throws TypeError that names the option which is no such number */
export function retrySettings(base: RetrySettings, given: RetryOptions | undefined): RetrySettings {
  if (given === undefined) return base;
  const set = (name: keyof RetrySettings, min: number): number => {
    const value = given[name] ?? base[name];
    if (Number.isFinite(value) && value >= min) return value;
    throw new TypeError(`retry.${name} must be a number of at least ${min}, not ${String(value)}`);
  };
  return {
    attemptsMax: set("attemptsMax", 1),
    initialDelayMs: set("initialDelayMs", 0),
    maxDelayMs: set("maxDelayMs", 0),
    deadlineMs: set("deadlineMs", 0),
  };
}

/** Half fixed, half chance, so that many clients do not come back in step. `attempt` counts from 1. */
export function backoffMs({ initialDelayMs, maxDelayMs }: RetrySettings, attempt: number, random: number): number {
  const full = Math.min(maxDelayMs, initialDelayMs * 2 ** (attempt - 1));
  return Math.round(full / 2 + (full / 2) * random);
}

/** Whether the same request, under the same key, can help and cannot do anything twice. */
export function isWorthRepeating(error: SignalboxApiError): boolean {
  return error.retryable && error.details["may_have_executed"] !== true;
}

/**
 * `Retry-After`, which is seconds or an HTTP date. A date is measured against the answer's own `Date` where it has one:
 * the two clocks may be minutes apart.
 * @param wallMs our own clock, ms since 1970
 */
export function retryAfterMs(headers: Headers, wallMs: number): number | undefined {
  const asked = headers.get("retry-after")?.trim() ?? "";
  if (/^\d{1,9}$/.test(asked)) return Number(asked) * 1_000;
  const at = httpDateMs(asked);
  if (at === undefined) return undefined;
  return Math.max(0, at - (httpDateMs(headers.get("date") ?? "") ?? wallMs));
}

const httpDate = /^(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d{2} [A-Z][a-z]{2} \d{4} \d{2}:\d{2}:\d{2} GMT$/;

/** The one form that servers still write; anything else is no date for us. */
function httpDateMs(text: string): number | undefined {
  const ms = httpDate.test(text) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms) ? undefined : ms;
}

export interface Failure {
  readonly error: SignalboxApiError;
  readonly retryAfterMs?: number | undefined;
}

/** Counts the failures in a row of one undertaking, and says how long to wait before the next try; undefined = no more. */
export class Patience {
  readonly #settings: RetrySettings;
  #failures = 0;
  #lastStartMs: number | undefined;

  constructor(settings: RetrySettings) {
    this.#settings = settings;
  }

  /** The try did some of its work before it broke: its end is no failure, and what follows counts anew. */
  renew(): void {
    this.#failures = -1;
    this.#lastStartMs = undefined;
  }

  /** @param nowMs of a clock that only goes forward */
  waitMs({ error, retryAfterMs: asked }: Failure, nowMs: number, random: number): number | undefined {
    this.#failures += 1;
    this.#lastStartMs ??= nowMs + this.#settings.deadlineMs;
    if (!isWorthRepeating(error) || this.#failures >= this.#settings.attemptsMax) return undefined;
    const wait = Math.max(asked ?? 0, backoffMs(this.#settings, Math.max(1, this.#failures), random));
    return nowMs + wait > this.#lastStartMs ? undefined : wait;
  }
}
