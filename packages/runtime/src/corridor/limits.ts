// The limits at work: what a call costs before it is admitted, what is given back when it is not, and what a day has seen so far.
import { isTerminal, type Call } from "../call/types.ts";
import { microseconds } from "../call/usage-of.ts";
import type { Hub } from "../dispatch/hub.ts";
import type { CapBook } from "../dispatch/types.ts";
import type { Ledger } from "../ledger/port.ts";
import { Buckets, type Standing, type Taking } from "../schedule/buckets.ts";
import { DayCounts } from "../schedule/day-counts.ts";
import { LimitBook, limitKeyText, type MatchedRate, type Place } from "../schedule/limit-book.ts";
import { brokenQuota } from "../schedule/quotas.ts";
import type { Calendar, Day, Limit, LimitKey } from "../schedule/types.ts";
import { queueFull, quotaExceeded, quotaWords, rateLimited } from "./limit-errors.ts";
import type { Clock, Meters } from "./ports.ts";

export interface LimitsPorts {
  readonly hub: Hub;
  readonly ledger: Pick<Ledger, "limits" | "usage" | "tenants">;
  readonly clock: Clock;
  readonly meters: Meters;
  readonly calendar: Calendar;
}

/** How the tightest rate stands that a call has passed; those that count other tenants' calls are left out. */
export interface RateStanding {
  /** Calls at once. */
  readonly limit: number;
  readonly remaining: number;
  /** Until the whole of it is there again. */
  readonly resetS: number;
}

/** What one call costs, till it is known whether it came to be. */
export interface Charge {
  /** Null: no rate applies to the call. */
  readonly rate: RateStanding | null;
  /** The call is in the ledger, admitted at this instant. */
  keep(admittedAt: number): void;
  /** Gives everything back, unless the call is kept. */
  settle(): void;
}

/** Rows of usage that are read at once when a day is counted anew. */
const usageRowsMax = 1_000;

export class Limits {
  readonly book = new LimitBook();
  readonly #ports: LimitsPorts;
  readonly #buckets = new Buckets();
  readonly #days = new DayCounts();

  constructor(ports: LimitsPorts) {
    this.#ports = ports;
    ports.hub.daysAre((tenant, at) => this.#dayOf(tenant, at).label);
  }

  /** Reads the limits, and what today has seen of every tenant; open calls are told of by {@link found}. Before any door opens, and whenever another replica has changed some. */
  async load(): Promise<void> {
    const { ledger, hub } = this.#ports;
    const all = await ledger.limits();
    this.book.clear();
    for (const limit of all) this.book.put(limit);
    // Open calls of this process stand in no row of usage yet; at a start there are none.
    for (const { tenant } of await ledger.tenants()) await this.#readToday(tenant, hub);
    this.#tellCaps();
  }

  /** An open call that was found at start: admitted by an earlier process, and counted by its day. */
  found({ tenant, project, admittedAt }: Call): void {
    this.#days.add(tenant, project, this.#dayOf(tenant, admittedAt), { executions: 1 });
  }

  /** @throws SignalboxError queue_full */
  requireRoom({ tenant, project }: Pick<Place, "tenant" | "project">): void {
    const { hub } = this.#ports;
    const max = this.#queueDepthMax(tenant);
    const ofProject = this.book.quotaOfProject("queueDepth", tenant, project);
    if (hub.queueDepth(tenant) >= max) throw this.#refused("tenant", "queue_depth", queueFull("tenant", tenant, max));
    if (hub.queueDepthOfProject(tenant, project) >= ofProject) throw this.#refused("project", "queue_depth", queueFull("project", project, ofProject));
  }

  /** The operator's word for a tenant stands in place of the runtime's default, and may be more; the tenant's own can only be less. */
  #queueDepthMax(tenant: string): number {
    const own = { tenant, scope: "tenant", subject: "" } as const;
    const operator = this.book.find({ ...own, setBy: "operator" })?.quotas.queueDepth ?? this.#ports.hub.queueDepthMax;
    return Math.min(operator, this.book.find({ ...own, setBy: "tenant" })?.quotas.queueDepth ?? operator);
  }

  /**
   * A new call is about to be admitted: takes a token of every rate that it matches and counts it on its day, or does neither.
   * @throws SignalboxError quota_exceeded · rate_limited
   */
  charge(place: Place): Charge {
    const { clock } = this.#ports;
    const { tenant, project } = place;
    const now = clock.now();
    const day = this.#dayOf(tenant, now);
    const broken = brokenQuota(this.book, this.#days, place, day);
    if (broken !== undefined) {
      const error = quotaExceeded(broken, day, this.book.zoneOf(tenant), now);
      throw this.#refused(broken.quota.scope, quotaWords[broken.name], error);
    }
    const rates = this.book.ratesFor(place);
    const taken = rates.length === 0 ? undefined : this.#take(rates);
    this.#days.add(tenant, project, day, { executions: 1 });
    let open = true;
    return {
      rate: taken === undefined ? null : tightest(rates, taken.standings),
      keep: (admittedAt) => {
        open = false;
        const admitted = this.#dayOf(tenant, admittedAt);
        if (admitted.label !== day.label) this.#days.add(tenant, project, admitted, { executions: 1 });
      },
      settle: () => {
        if (!open) return;
        open = false;
        taken?.giveBack();
        this.#days.add(tenant, project, day, { executions: -1 });
      },
    };
  }

  #take(rates: readonly MatchedRate[]): Extract<Taking, { ok: true }> {
    const taken = this.#buckets.take(rates, Math.floor(this.#ports.clock.monotonic()));
    if (taken.ok) return taken;
    const { standing, waitMs } = taken;
    const met = rates[standing.at] as MatchedRate;
    throw this.#refused(met.limit.scope, "rate", rateLimited(met, standing, waitMs));
  }

  /** A call has ended or parked, and that is stored. */
  told(call: Call): void {
    if (!isTerminal(call.state) || call.usage === null) return;
    const { tenant, project, admittedAt, usage } = call;
    this.#days.add(tenant, project, this.#dayOf(tenant, admittedAt), { cpuUs: microseconds(usage.cpuMs) });
  }

  /** After its commit: the next call is held to it. */
  async put(limit: Limit): Promise<void> {
    const zone = this.book.zoneOf(limit.tenant);
    this.book.put(limit);
    await this.#changed(limit, zone);
  }

  async remove(key: LimitKey): Promise<void> {
    const zone = this.book.zoneOf(key.tenant);
    this.book.remove(key);
    this.#buckets.forget(limitKeyText(key));
    await this.#changed(key, zone);
  }

  async #changed({ tenant }: LimitKey, zoneBefore: string): Promise<void> {
    this.#tellCaps();
    if (this.book.zoneOf(tenant) !== zoneBefore) await this.#readToday(tenant, this.#ports.hub);
  }

  /** @param hub whose open calls are counted too */
  async #readToday(tenant: string, hub?: Hub): Promise<void> {
    const day = this.#dayOf(tenant, this.#ports.clock.now());
    const query = { tenant, from: day.label, to: day.label, groupBy: ["project"] } as const;
    let cursor: string | undefined;
    const rows = [];
    do {
      const page = await this.#ports.ledger.usage(query, usageRowsMax, cursor);
      rows.push(...page.items);
      cursor = page.next;
    } while (cursor !== undefined);
    this.#days.forget(tenant);
    for (const { project = "", ...use } of rows) this.#days.add(tenant, project, day, use);
    for (const call of hub?.openCallsOf(tenant) ?? []) this.found(call);
  }

  #dayOf(tenant: string, at: number): Day {
    return this.#ports.calendar.dayAt(this.book.zoneOf(tenant), at);
  }

  #tellCaps(): void {
    const { book } = this;
    const caps: CapBook = {
      any: book.hasQuota("concurrentExecutions"),
      concurrentMax: (tenant) => book.quotaOfTenant("concurrentExecutions", tenant),
      concurrentMaxOfProject: (tenant, project) => book.quotaOfProject("concurrentExecutions", tenant, project),
    };
    this.#ports.hub.capsAre(caps, this.#ports.clock.now());
  }

  #refused<E extends Error>(scope: string, limit: string, error: E): E {
    this.#ports.meters.count("limit_refusals_total", { scope, limit });
    return error;
  }
}

function tightest(rates: readonly MatchedRate[], standings: readonly Standing[]): RateStanding | null {
  let found: RateStanding | null = null;
  for (const { at, remaining, resetMs } of standings) {
    const { rate, foreign } = rates[at] as MatchedRate;
    if (foreign || (found !== null && found.remaining <= remaining)) continue;
    found = { limit: rate.burst, remaining, resetS: Math.ceil(resetMs / 1_000) };
  }
  return found;
}
