// What waits, limits and usage as data: who may ask how much, what was used, and where a tenant's day begins.
import type { Priority } from "../call/types.ts";

/** What is held back together: calls of one tenant, project and tool version. */
export interface CallPlace {
  readonly tenant: string;
  readonly project: string;
  readonly toolTenant: string;
  readonly tool: string;
  readonly version: string;
}

/** A call that waits for a worker, as the line has it. Instants are wall clock, ms since 1970. */
export interface Waiting extends CallPlace {
  readonly callId: string;
  readonly priority: Priority;
  readonly admittedAt: number;
  readonly startTag: number;
  /** Nobody gets it before this instant. */
  readonly notBefore: number;
}

/** Says what is held back now, whichever worker asks: by a cap, a freeze, a suspension. */
export interface Gate {
  holdsTenant(tenant: string): boolean;
  /** Asked of one call in place of all of its place, and not where the tenant is held as a whole. */
  holds(call: Waiting): boolean;
}

/** How wide a limit reaches; from the widest to the narrowest. */
export const limitScopes = ["platform", "tenant", "project", "principal", "agent", "tool"] as const;
export type LimitScope = (typeof limitScopes)[number];

/** A bucket that holds `burst` calls and is filled again at so many a minute. Whole numbers from 1. */
export interface Rate {
  readonly perMinute: number;
  readonly burst: number;
}

/** Those that end with the day refuse a call; the fourth lets it wait, the fifth refuses it while as many wait. */
export const quotaNames = ["executionsPerDay", "cpuSecondsPerDay", "egressBytesPerDay", "concurrentExecutions", "queueDepth"] as const;
export type QuotaName = (typeof quotaNames)[number];
export type Quotas = Readonly<Partial<Record<QuotaName, number>>>;

/** Names one limit: of a tenant, by whom it was set, and whom it is about. */
export interface LimitKey {
  /** Whose calls it is about; `platform` with the scopes `platform` and `tool`: those of every tenant. */
  readonly tenant: string;
  /** The platform's operator, or the tenant itself; both hold, side by side. */
  readonly setBy: "operator" | "tenant";
  readonly scope: LimitScope;
  /** Empty for `platform` and `tenant`. `*`: each by itself that has no limit of its own. */
  readonly subject: string;
}

export interface Limit extends LimitKey {
  readonly rate: Rate | null;
  /** Of scope `tenant` and `project` alone. */
  readonly quotas: Quotas;
  /** Where the tenant's day begins (an IANA name); of scope `tenant` alone, null = not said here. */
  readonly timeZone: string | null;
  readonly changedAt: number;
  readonly changedBy: string;
}

/** One day of a time zone, in wall clock ms: from its first instant to the first one of the next. */
export interface Day {
  /** `2026-01-31`. */
  readonly label: string;
  readonly from: number;
  readonly until: number;
}

export interface Calendar {
  /** The zone's name as it is kept; undefined for none that is known. */
  zoneNamed(text: string): string | undefined;
  dayAt(zone: string, at: number): Day;
}

/** Counts and sums of calls; times in whole microseconds, so that sums stay exact. */
export interface UsageSums {
  /** Calls that were admitted and have ended, however they did. */
  readonly executions: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly timedOut: number;
  readonly cancelled: number;
  /** Also those that were refused before their admission, which are no executions. */
  readonly denied: number;
  readonly cacheHits: number;
  readonly durationUs: number;
  readonly cpuUs: number;
  /** The largest of one call. */
  readonly peakMemoryBytes: number;
  readonly egressBytes: number;
  readonly inputBytes: number;
  readonly outputBytes: number;
}

/** What one ended call adds: to the day of its tenant on which it was admitted. */
export interface UsageDelta extends UsageSums {
  readonly tenant: string;
  readonly project: string;
  readonly tool: string;
  readonly day: string;
}

export const usageGroups = ["tenant", "project", "tool", "day"] as const;
export type UsageGroup = (typeof usageGroups)[number];

export interface UsageQuery {
  /** Null: of every tenant. */
  readonly tenant: string | null;
  readonly project?: string;
  readonly tool?: string;
  /** First and last day, both included. */
  readonly from?: string;
  readonly to?: string;
  readonly groupBy: readonly UsageGroup[];
}

/** Sums over what has these names in common; a name that was not grouped by is undefined. */
export interface UsageRow extends UsageSums {
  readonly tenant?: string;
  readonly project?: string;
  readonly tool?: string;
  readonly day?: string;
}
