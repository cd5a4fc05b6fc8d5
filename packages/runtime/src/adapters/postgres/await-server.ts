// Waits, at a start, for a server that is away: with longer and longer pauses, up to a limit, and for nothing but that.
import type { Clock, Log } from "../../corridor/ports.ts";
import { LedgerUnavailable } from "../../ledger/port.ts";
import { isConnectionLoss } from "./store-errors.ts";

export interface Patience {
  /** 0: tried once. */
  readonly waitMs: number;
  readonly clock: Clock;
  readonly log: Log;
  /** Ends the wait; its reason is what is thrown then. */
  readonly signal?: AbortSignal | undefined;
}

const firstPauseMs = 200;
const pauseMsMax = 2_000;
const tellEveryMs = 20_000;

/** @throws LedgerUnavailable when the server was away for all of the time, or whatever else `open` throws, at once */
export async function whenServerAnswers<T>(url: string, patience: Patience, open: () => Promise<T>): Promise<T> {
  const { waitMs, clock, log, signal } = patience;
  const began = clock.monotonic();
  let toldAt: number | undefined;
  for (let pause = firstPauseMs; ; pause = Math.min(pause * 2, pauseMsMax)) {
    try {
      const opened = await open();
      if (toldAt !== undefined) log.info({ waited_ms: Math.round(clock.monotonic() - began) }, "PostgreSQL answers, and the start goes on");
      return opened;
    } catch (error) {
      const reason = awayBecause(error);
      if (reason === undefined) throw error;
      const now = clock.monotonic();
      const left = began + waitMs - now;
      if (left <= 0) throw gaveUp(url, waitMs, reason, error);
      if (toldAt === undefined || now - toldAt >= tellEveryMs) {
        log.warn({ server: placeOf(url), reason, waits_ms: Math.round(left) }, "PostgreSQL does not answer; the start waits for it");
        toldAt = now;
      }
      await pauseFor(Math.min(pause, left), clock, signal);
    }
  }
}

function gaveUp(url: string, waitMs: number, reason: string, cause: unknown): LedgerUnavailable {
  const how = waitMs === 0 ? "does not answer" : `did not answer for ${waitMs / 1_000} s`;
  return new LedgerUnavailable(`PostgreSQL at ${placeOf(url)} ${how} (${reason}).`, {
    cause,
    next: "start it, or correct the address in --ledger or SIGNALBOX_LEDGER; --ledger-wait says how long a start waits for it",
  });
}

/** Undefined for an error that a wait does not mend: a wrong password, a database that does not exist, a schema. */
function awayBecause(error: unknown): string | undefined {
  const cause: unknown = error instanceof LedgerUnavailable ? error.cause : error;
  if (!(cause instanceof Error) || !isConnectionLoss(cause) || /SSL/.test(cause.message)) return undefined;
  // Several addresses of one name fail with several errors, and none of their messages.
  return cause.message || String("code" in cause ? cause.code : cause.name);
}

/** Without user and password. */
function placeOf(url: string): string {
  const { host, pathname } = new URL(url);
  return `${host}${pathname}`;
}

/** @throws the signal's reason when it comes first */
async function pauseFor(ms: number, clock: Clock, signal: AbortSignal | undefined): Promise<void> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const takeBack = clock.after(ms, resolve);
  const stop = (): void => reject(signal?.reason as Error);
  signal?.addEventListener("abort", stop, { once: true });
  try {
    await promise;
  } finally {
    takeBack();
    signal?.removeEventListener("abort", stop);
  }
}
