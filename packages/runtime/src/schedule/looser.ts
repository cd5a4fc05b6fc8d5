// Finds where a tenant's own limit would say more than what the platform's operator has set for it.
import type { LimitBook } from "./limit-book.ts";
import { quotaNames, type Limit, type QuotaName } from "./types.ts";

export interface Looser {
  readonly field: "perMinute" | "burst" | QuotaName;
  readonly max: number;
}

/** Against what the operator set for the whole tenant, and for the very same target. */
export function looserThanOperator(book: LimitBook, wanted: Pick<Limit, "tenant" | "scope" | "subject" | "rate" | "quotas">): readonly Looser[] {
  const { tenant, scope, subject } = wanted;
  const above = [
    { scope: "tenant", subject: "" } as const,
    { scope, subject },
    // A limit for each holds for the one that is named, too.
    { scope, subject: "*" },
  ];
  const found = new Map<Looser["field"], Looser>();
  for (const one of above) {
    const operator = book.find({ tenant, setBy: "operator", ...one });
    if (operator === undefined) continue;
    for (const looser of beyond(wanted, operator)) {
      const known = found.get(looser.field);
      if (known === undefined || looser.max < known.max) found.set(looser.field, looser);
    }
  }
  return [...found.values()];
}

function beyond({ rate, quotas }: Pick<Limit, "rate" | "quotas">, operator: Limit): Looser[] {
  const found: Looser[] = [];
  const check = (field: Looser["field"], own: number | undefined, max: number | undefined): void => {
    if (own !== undefined && max !== undefined && own > max) found.push({ field, max });
  };
  check("perMinute", rate?.perMinute, operator.rate?.perMinute);
  check("burst", rate?.burst, operator.rate?.burst);
  for (const name of quotaNames) check(name, quotas[name], operator.quotas[name]);
  return found;
}
