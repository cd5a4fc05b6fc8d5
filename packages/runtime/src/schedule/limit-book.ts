// The limits in force, in memory: which of them a call must pass, and what they leave of its tenant's and project's quotas.
import type { Limit, LimitKey, LimitScope, QuotaName, Rate } from "./types.ts";

/** Whose call of what, as far as limits look at it. */
export interface Place {
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  /** Empty: no agent. */
  readonly agent: string;
  readonly tool: string;
  /** Whose tool it is: the tenant's own, or `platform`. */
  readonly toolTenant: string;
}

/** A rate that a call must pass. */
export interface MatchedRate {
  readonly limitKey: string;
  readonly limit: Limit;
  readonly rate: Rate;
  /** Whose bucket: the limit's subject, or for `*` the one that the call is of. */
  readonly subject: string;
  /** It counts other tenants' calls too: what is left of it is not the caller's to know. */
  readonly foreign: boolean;
}

/** A quota of a tenant or a project that a call must keep to. */
export interface MatchedQuota {
  readonly limit: Limit;
  readonly scope: "tenant" | "project";
  readonly subject: string;
  readonly max: number;
}

interface Entry {
  readonly key: string;
  readonly limit: Limit;
}

type Shelf = Map<LimitScope, Map<string, Entry>>;

/** What one tenant's calls are held to: by the platform's operator, and by the tenant itself. */
interface Shelves {
  readonly operator: Shelf;
  readonly tenant: Shelf;
  count: number;
}

const setters = ["operator", "tenant"] as const;
const platform = "platform";

export const utc = "UTC";

export class LimitBook {
  readonly #tenants = new Map<string, Shelves>();

  put(limit: Limit): void {
    const shelves = this.#shelvesOf(limit.tenant);
    const shelf = shelves[limit.setBy];
    let subjects = shelf.get(limit.scope);
    if (subjects === undefined) shelf.set(limit.scope, (subjects = new Map()));
    if (!subjects.has(limit.subject)) shelves.count++;
    subjects.set(limit.subject, { key: limitKeyText(limit), limit });
  }

  clear(): void {
    this.#tenants.clear();
  }

  /** Every quota of this name that somebody set, for a tenant (`project` null) or a project (`*`: each that has none of its own). */
  quotasNamed(name: QuotaName): readonly { readonly tenant: string; readonly project: string | null; readonly max: number }[] {
    const found: { tenant: string; project: string | null; max: number }[] = [];
    for (const { operator, tenant } of this.#tenants.values())
      for (const shelf of [operator, tenant])
        for (const { limit } of [...(shelf.get("tenant")?.values() ?? []), ...(shelf.get("project")?.values() ?? [])]) {
          const max = limit.quotas[name];
          if (max !== undefined) found.push({ tenant: limit.tenant, project: limit.scope === "tenant" ? null : limit.subject, max });
        }
    return found;
  }

  remove({ tenant, setBy, scope, subject }: LimitKey): void {
    const shelves = this.#tenants.get(tenant);
    if (shelves?.[setBy].get(scope)?.delete(subject) !== true) return;
    if (--shelves.count === 0) this.#tenants.delete(tenant);
  }

  find({ tenant, setBy, scope, subject }: LimitKey): Limit | undefined {
    return this.#tenants.get(tenant)?.[setBy].get(scope)?.get(subject)?.limit;
  }

  /** How many limits one of the two has set for a tenant. */
  countOf(tenant: string, setBy: LimitKey["setBy"]): number {
    let count = 0;
    for (const subjects of this.#tenants.get(tenant)?.[setBy].values() ?? []) count += subjects.size;
    return count;
  }

  /** From the widest to the narrowest; of one scope the operator's first. */
  ratesFor(place: Place): readonly MatchedRate[] {
    const { tenant, project, principal, agent, tool, toolTenant } = place;
    const rates: MatchedRate[] = [];
    const ofAll = this.#tenants.get(platform)?.operator;
    if (ofAll !== undefined) {
      addRate(rates, ofAll.get("platform"), "", true);
      if (toolTenant === platform) addRate(rates, ofAll.get("tool"), tool, true);
    }
    const shelves = this.#tenants.get(tenant);
    if (shelves === undefined) return rates;
    for (const setBy of setters) {
      const shelf = shelves[setBy];
      addRate(rates, shelf.get("tenant"), "");
      addRate(rates, shelf.get("project"), project);
      addRate(rates, shelf.get("principal"), principal);
      if (agent !== "") addRate(rates, shelf.get("agent"), agent);
      // The platform's own tools of this name have been counted above.
      if (tenant !== platform || toolTenant !== platform) addRate(rates, shelf.get("tool"), tool);
    }
    return rates;
  }

  quotasFor(name: QuotaName, { tenant, project }: Pick<Place, "tenant" | "project">): readonly MatchedQuota[] {
    const shelves = this.#tenants.get(tenant);
    if (shelves === undefined) return [];
    return setters.flatMap((setBy) => [
      ...quotaOf(shelves[setBy], name, "tenant", ""),
      ...quotaOf(shelves[setBy], name, "project", project),
    ]);
  }

  /** The smallest that anybody set, for the whole tenant; Infinity where nobody did. */
  quotaOfTenant(name: QuotaName, tenant: string): number {
    return this.#smallest(name, tenant, "tenant", "");
  }

  quotaOfProject(name: QuotaName, tenant: string, project: string): number {
    return this.#smallest(name, tenant, "project", project);
  }

  /** Whether any limit says anything of this quota. */
  hasQuota(name: QuotaName): boolean {
    for (const { operator, tenant } of this.#tenants.values())
      for (const shelf of [operator, tenant])
        for (const subjects of shelf.values())
          for (const { limit } of subjects.values()) if (limit.quotas[name] !== undefined) return true;
    return false;
  }

  /** Whether the operator has set one of these quotas for the tenant or a project of it. */
  countsDays(tenant: string, names: readonly QuotaName[]): boolean {
    for (const subjects of this.#tenants.get(tenant)?.operator.values() ?? [])
      for (const { limit } of subjects.values()) if (names.some((name) => limit.quotas[name] !== undefined)) return true;
    return false;
  }

  /** The operator's word goes before the tenant's own. */
  zoneOf(tenant: string): string {
    const shelves = this.#tenants.get(tenant);
    const zoneBy = (setBy: LimitKey["setBy"]): string | null =>
      shelves?.[setBy].get("tenant")?.get("")?.limit.timeZone ?? null;
    return zoneBy("operator") ?? zoneBy("tenant") ?? utc;
  }

  #smallest(name: QuotaName, tenant: string, scope: "tenant" | "project", subject: string): number {
    let smallest = Number.POSITIVE_INFINITY;
    const shelves = this.#tenants.get(tenant);
    if (shelves === undefined) return smallest;
    for (const setBy of setters)
      for (const { max } of quotaOf(shelves[setBy], name, scope, subject)) smallest = Math.min(smallest, max);
    return smallest;
  }

  #shelvesOf(tenant: string): Shelves {
    let shelves = this.#tenants.get(tenant);
    if (shelves === undefined) {
      this.#tenants.set(tenant, (shelves = { operator: new Map(), tenant: new Map(), count: 0 }));
    }
    return shelves;
  }
}

/** No name holds a line feed. */
export function limitKeyText({ tenant, setBy, scope, subject }: LimitKey): string {
  return `${tenant}\n${setBy}\n${scope}\n${subject}`;
}

/** The limit of this very subject; else the one for each that has none of its own. */
function entryFor(subjects: Map<string, Entry> | undefined, subject: string): Entry | undefined {
  return subjects?.get(subject) ?? subjects?.get("*");
}

function addRate(rates: MatchedRate[], subjects: Map<string, Entry> | undefined, subject: string, foreign = false): void {
  const entry = entryFor(subjects, subject);
  if (entry === undefined || entry.limit.rate === null) return;
  rates.push({ limitKey: entry.key, limit: entry.limit, rate: entry.limit.rate, subject, foreign });
}

function quotaOf(shelf: Shelf, name: QuotaName, scope: "tenant" | "project", subject: string): MatchedQuota[] {
  const entry = entryFor(shelf.get(scope), subject);
  const max = entry?.limit.quotas[name];
  return entry === undefined || max === undefined ? [] : [{ limit: entry.limit, scope, subject, max }];
}
