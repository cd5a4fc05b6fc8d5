// What a front door can ask about limits and usage: set and remove rates and quotas, and read what was used.
import type { Page } from "./ledger/port.ts";
import type { Limit, LimitScope, Quotas, Rate, UsageGroup, UsageRow } from "./schedule/types.ts";
import type { Asked } from "./tenancy/types.ts";

/** Whom a limit is about; `subject` is empty for the scopes platform and tenant. */
export interface LimitTarget {
  readonly scope: LimitScope;
  readonly subject: string;
  /** For the platform's operator: whose calls. Absent: of the scopes platform and tool every tenant's, else the operator's own. */
  readonly tenant?: string;
}

/** The whole of a limit; what is not in it does not hold. */
export interface NewLimit extends LimitTarget {
  readonly rate: Rate | null;
  readonly quotas: Quotas;
  /** An IANA name; of scope tenant alone. */
  readonly timeZone: string | null;
}

export interface UsageQuestion {
  /** For the platform's operator: one tenant, or `*` for all of them. */
  readonly tenant?: string;
  readonly project?: string;
  readonly tool?: string;
  /** First and last day, both included: `2026-01-31`. */
  readonly from?: string;
  readonly to?: string;
  readonly groupBy: readonly UsageGroup[];
}

export interface UsageAnswer extends Page<UsageRow> {
  /** In which the days of the tenant are; null for all tenants, each of which has its own. */
  readonly timeZone: string | null;
}

export interface LimitService {
  /** Scope admin. What holds for the tenant's calls: what it set itself, what the operator set for it, and the platform's. */
  listLimits(asked: Asked, tenant: string | undefined): Promise<readonly Limit[]>;
  /**
   * Scope admin. Holds from the next request on, and takes the place of what the same setter has said of the same target.
   * @throws SignalboxError forbidden, where a tenant would loosen what the operator set
   */
  putLimit(asked: Asked, limit: NewLimit): Promise<Limit>;
  /** Scope admin. A tenant removes what it set, the operator what the operator set. */
  removeLimit(asked: Asked, target: LimitTarget): Promise<{ readonly removed: boolean }>;
  /** Scope usage:read. */
  usage(asked: Asked, question: UsageQuestion, limit: number, cursor?: string): Promise<UsageAnswer>;
}
