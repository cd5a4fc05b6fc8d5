// Retention: what has ended and is older than is kept goes, a little at a time, and with it the content that nobody names any more.
import type { Ledger } from "../ledger/port.ts";
import type { ContentStore } from "./files-ports.ts";
import type { Clock, Log, Meters } from "./ports.ts";

export interface RetentionPorts {
  readonly ledger: Pick<Ledger, "tenants" | "trim" | "wantedContent">;
  readonly store: Pick<ContentStore, "collect">;
  readonly clock: Clock;
  readonly log: Log;
  readonly meters: Meters;
}

/** What goes in one transaction: it holds up everybody who wants to write, for some milliseconds. */
const callsPerStepMax = 100;
/** Between two steps others have the ledger to themselves. */
const stepMs = 20;
const sweepMsMin = 1_000;
const sweepMsMax = 3_600_000;

/** How often is looked for what is too old. */
export function sweepEveryMs(retentionMs: number): number {
  return Math.min(sweepMsMax, Math.max(sweepMsMin, Math.floor(retentionMs / 10)));
}

/** @param retentionMs how long an ended call is kept, and with it its idempotency key, its events and its stream */
export class Retention {
  readonly #ports: RetentionPorts;
  readonly #retentionMs: number;
  #disarm: () => void = () => undefined;
  #sweeping: Promise<void> | undefined;
  #stopped = false;

  constructor(ports: RetentionPorts, retentionMs: number) {
    this.#ports = ports;
    this.#retentionMs = retentionMs;
  }

  start(): void {
    this.#disarm = this.#ports.clock.after(sweepEveryMs(this.#retentionMs), () => void this.sweep().then(() => !this.#stopped && this.start()));
  }

  /** One pass over all tenants. What fails is said and is tried again by the next one. */
  sweep(): Promise<void> {
    this.#sweeping ??= this.#sweep().finally(() => {
      this.#sweeping = undefined;
    });
    return this.#sweeping;
  }

  async #sweep(): Promise<void> {
    const { ledger, clock, log } = this.#ports;
    const before = clock.now() - this.#retentionMs;
    try {
      for (const { tenant } of await ledger.tenants()) if (!this.#stopped) await this.#sweepTenant(tenant, before);
    } catch (error) {
      log.error({ reason: String(error) }, "what is past its retention could not be removed; the next sweep tries again");
    }
  }

  async #sweepTenant(tenant: string, before: number): Promise<void> {
    const { ledger, store, log, meters } = this.#ports;
    let [calls, deliveries] = [0, 0];
    for (let more = true; more && !this.#stopped; ) {
      const step = await ledger.trim(tenant, before, callsPerStepMax);
      calls += step.calls;
      deliveries += step.deliveries;
      more = step.more;
      if (more) await this.#pause();
    }
    const { files } = await store.collect(tenant, await ledger.wantedContent(tenant), before);
    for (const [what, count] of [["call", calls], ["delivery", deliveries], ["file", files]] as const) {
      if (count > 0) meters.count("retention_removed_total", { what }, count);
    }
    if (calls + deliveries + files > 0) log.info({ tenant, calls, deliveries, files }, "what is past its retention was removed");
  }

  #pause(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ports.clock.after(stepMs, resolve);
    return promise;
  }

  /** Resolves when nothing of it touches the ledger any more. */
  async stop(): Promise<void> {
    this.#stopped = true;
    this.#disarm();
    await this.#sweeping;
  }
}
