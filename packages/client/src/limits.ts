// The client's part for rates, quotas and usage.
import { verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import { lister } from "./paged.ts";
import type { Lister } from "./paged.ts";
import type { Page, PageQuery } from "./types.ts";

export type LimitScope = "platform" | "tenant" | "project" | "principal" | "agent" | "tool";

/** A bucket of calls: so many at once, and filled again at so many a minute. */
export interface Rate {
  readonly per_minute: number;
  readonly burst: number;
}

/** What is left out is not limited here. */
export interface Quotas {
  readonly executions_per_day?: number;
  readonly cpu_seconds_per_day?: number;
  readonly egress_bytes_per_day?: number;
  /** Over it calls wait. */
  readonly concurrent_executions?: number;
  readonly queue_depth?: number;
}

/** Instants are ISO 8601 text. */
export interface Limit {
  /** Whose calls; `platform`: of every tenant. */
  readonly tenant: string;
  /** Both hold, side by side. */
  readonly set_by: "operator" | "tenant";
  readonly scope: LimitScope;
  /** Empty: of the scopes platform and tenant. `*`: each that has no limit of its own. */
  readonly subject: string;
  readonly rate: Rate | null;
  readonly quotas: Quotas;
  readonly time_zone: string | null;
  readonly changed_at: string;
  readonly changed_by: string;
}

/** Which limit; `subject` is left out for the scopes platform and tenant. */
export interface LimitTarget {
  readonly scope: LimitScope;
  readonly subject?: string;
  /** For a key of the tenant `platform`: whose. */
  readonly tenant?: string;
}

/** The whole of a limit: what is left out does not hold. */
export interface NewLimit extends LimitTarget {
  readonly rate?: Rate;
  /** Of a tenant or a project. */
  readonly quotas?: Quotas;
  /** Where the tenant's day begins, such as `Europe/Paris`; of scope tenant. */
  readonly time_zone?: string;
}

export interface LimitQuery extends PageQuery {
  /** For a key of the tenant `platform`: whose. */
  readonly tenant?: string;
}

export interface LimitsClient {
  /** What holds for the tenant's calls: its own, what the operator set for it, and the platform's. */
  readonly list: Lister<Limit, LimitQuery>;
  /** Holds from the next request on; the same again changes nothing. */
  set(limit: NewLimit, options?: AskOptions): Promise<Limit>;
  remove(target: LimitTarget, options?: AskOptions): Promise<{ readonly removed: boolean }>;
}

export type UsageGroup = "tenant" | "project" | "tool" | "day";

export interface UsageQuery extends PageQuery {
  /** For a key of the tenant `platform`: one tenant, or `*` for all. */
  readonly tenant?: string;
  readonly project?: string;
  readonly tool?: string;
  /** First and last day, both included, by the tenant's time zone: `2026-01-31`. */
  readonly from?: string;
  readonly to?: string;
  /** By what it is grouped, in this order; by tool if left out, and by nothing if empty. */
  readonly group_by?: readonly UsageGroup[];
}

/** It has the names by which it was grouped. */
export interface UsageRow {
  readonly tenant?: string;
  readonly project?: string;
  readonly tool?: string;
  readonly day?: string;
  /** Calls that were admitted on these days and have ended. */
  readonly executions: number;
  readonly succeeded: number;
  readonly failed: number;
  readonly timed_out: number;
  readonly cancelled: number;
  /** Also those that were refused before their admission, which are no executions. */
  readonly denied: number;
  readonly cache_hits: number;
  readonly duration_ms: number;
  readonly cpu_ms: number;
  /** The largest of one call. */
  readonly peak_memory_bytes: number;
  readonly egress_bytes: number;
  readonly input_bytes: number;
  readonly output_bytes: number;
}

export interface UsagePage extends Page<UsageRow> {
  readonly group_by: readonly UsageGroup[];
  /** In which the days are; null for all tenants, each of which has its own. */
  readonly time_zone: string | null;
}

export interface MeteringClient {
  readonly limits: LimitsClient;
  usage(query?: UsageQuery, options?: AskOptions): Promise<UsagePage>;
}

export function metering(ask: Ask): MeteringClient {
  const { get } = verbsOf(ask);
  return {
    limits: {
      list: lister(async (query, how) => (await get("/v1/limits", { ...query }, how)) as Page<Limit>),
      async set({ tenant, ...limit }, how) {
        const bodyText = ask.stringify(limit);
        return (await ask({ method: "PUT", path: "/v1/limits", query: { tenant }, bodyText, repeatable: true }, how)).body as Limit;
      },
      async remove({ tenant, scope, subject }, how) {
        const query = { scope, subject, tenant };
        return (await ask({ method: "DELETE", path: "/v1/limits", query, repeatable: true }, how)).body as { removed: boolean };
      },
    },
    usage: async ({ group_by: groups, ...query } = {}, how) =>
      (await get("/v1/usage", { ...query, group_by: groups?.join() }, how)) as UsagePage,
  };
}
