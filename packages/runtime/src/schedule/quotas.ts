// Says which quota of the day a call would break, if any: those of its tenant and its project, by whoever set them.
import type { DayCounts, DayUse } from "./day-counts.ts";
import type { LimitBook, MatchedQuota, Place } from "./limit-book.ts";
import type { Day, QuotaName } from "./types.ts";

export const dayQuotaNames = ["executionsPerDay", "cpuSecondsPerDay", "egressBytesPerDay"] as const satisfies readonly QuotaName[];
export type DayQuotaName = (typeof dayQuotaNames)[number];

export interface BrokenQuota {
  readonly name: DayQuotaName;
  readonly quota: MatchedQuota;
  /** In the quota's own unit. */
  readonly used: number;
}

/** How much of a quota is used, in its unit. Of time and bytes the calls that still run have told nothing yet. */
const usedOf: { readonly [Name in DayQuotaName]: (use: DayUse) => number } = {
  executionsPerDay: ({ executions }) => executions,
  cpuSecondsPerDay: ({ cpuUs }) => cpuUs / 1_000_000,
  egressBytesPerDay: ({ egressBytes }) => egressBytes,
};

/** A quota that is used up lets nothing more in; the last call that it lets in may go over it by what that call uses. */
export function brokenQuota(book: LimitBook, counts: DayCounts, place: Pick<Place, "tenant" | "project">, day: Day): BrokenQuota | undefined {
  for (const name of dayQuotaNames) {
    for (const quota of book.quotasFor(name, place)) {
      const use = quota.scope === "tenant" ? counts.ofTenant(place.tenant, day) : counts.ofProject(place.tenant, place.project, day);
      const used = usedOf[name](use);
      if (used >= quota.max) return { name, quota, used };
    }
  }
  return undefined;
}
