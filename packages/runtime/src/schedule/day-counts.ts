// What each tenant and project has used of its day so far, in memory; a day that is over takes its counts with it.
import type { Day } from "./types.ts";

/** Calls that were admitted, and what the ended ones of them used. */
export interface DayUse {
  readonly executions: number;
  readonly cpuUs: number;
  readonly egressBytes: number;
}

type Counted = { -readonly [Field in keyof DayUse]: number };

interface TenantDay {
  readonly day: Day;
  readonly whole: Counted;
  readonly projects: Map<string, Counted>;
}

const nothing: DayUse = { executions: 0, cpuUs: 0, egressBytes: 0 };

export class DayCounts {
  readonly #tenants = new Map<string, TenantDay>();

  /** Forgets what was counted of the tenant: its day begins elsewhere now, and is read again. */
  forget(tenant: string): void {
    this.#tenants.delete(tenant);
  }

  /** Adds to a day that is the tenant's newest, or newer; what belongs to an older one counts nowhere. */
  add(tenant: string, project: string, day: Day, use: Partial<DayUse>): void {
    const known = this.#tenants.get(tenant);
    if (known !== undefined && day.from < known.day.from) return;
    const current = known?.day.label === day.label ? known : { day, whole: { ...nothing }, projects: new Map<string, Counted>() };
    if (current !== known) this.#tenants.set(tenant, current);
    let ofProject = current.projects.get(project);
    if (ofProject === undefined) current.projects.set(project, (ofProject = { ...nothing }));
    for (const counted of [current.whole, ofProject]) {
      // What is given back may be of a count that has been read anew since.
      counted.executions = Math.max(0, counted.executions + (use.executions ?? 0));
      counted.cpuUs += use.cpuUs ?? 0;
      counted.egressBytes += use.egressBytes ?? 0;
    }
  }

  ofTenant(tenant: string, day: Day): DayUse {
    const known = this.#tenants.get(tenant);
    return known?.day.label === day.label ? known.whole : nothing;
  }

  ofProject(tenant: string, project: string, day: Day): DayUse {
    const known = this.#tenants.get(tenant);
    return known?.day.label === day.label ? (known.projects.get(project) ?? nothing) : nothing;
  }
}
