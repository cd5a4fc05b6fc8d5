// The circuit breaker: a tool that is down for a tenant is not asked for a while, and then by one call first.

/** When it opens, and how long it stays open. */
export interface BreakerRule {
  /** So many in a row that say the tool is down. */
  readonly failures: number;
  readonly coolDownMs: number;
}

export interface Breaker {
  /** In a row. */
  readonly failures: number;
  /** Wall clock, ms since 1970; null: it is closed. From this instant on it is half open. */
  readonly openUntil: number | null;
  /** The one call that tries the tool while it is half open. */
  readonly probe: string | null;
}

export type BreakerState = "closed" | "open" | "half_open";

/** `down`: retryable errors, timeouts, lost leases. `up`: it answered, be it with a no. `unknown`: it was never reached. */
export type Evidence = "up" | "down" | "unknown";

export const closedBreaker: Breaker = { failures: 0, openUntil: null, probe: null };

/** How long a call is told to wait while another one tries the tool. */
const probeWaitMs = 1_000;

export function breakerState({ openUntil }: Breaker, now: number): BreakerState {
  if (openUntil === null) return "closed";
  return now < openUntil ? "open" : "half_open";
}

/** After how many ms to come again; null: the call may go to a worker. */
export function refusedForMs(breaker: Breaker, call: string, now: number): number | null {
  const { openUntil, probe } = breaker;
  if (openUntil === null) return null;
  if (now < openUntil) return openUntil - now;
  return probe === null || probe === call ? null : probeWaitMs;
}

/** A call goes to a worker. */
export function begun(breaker: Breaker, call: string, now: number): Breaker {
  return breakerState(breaker, now) === "half_open" ? { ...breaker, probe: call } : breaker;
}

/** The call will not tell how the tool is: another one may try it. */
export function released(breaker: Breaker, call: string): Breaker {
  return breaker.probe === call ? { ...breaker, probe: null } : breaker;
}

/** An attempt has ended. While it is not closed only its probe counts: the others began before. */
export function learned(breaker: Breaker, rule: BreakerRule, call: string, evidence: Evidence, now: number): Breaker {
  if (breaker.openUntil !== null && breaker.probe !== call) return breaker;
  if (evidence === "unknown") return released(breaker, call);
  if (evidence === "up") return closedBreaker;
  const failures = breaker.failures + 1;
  const opens = breaker.openUntil !== null || failures >= rule.failures;
  return { failures, openUntil: opens ? now + rule.coolDownMs : null, probe: null };
}
