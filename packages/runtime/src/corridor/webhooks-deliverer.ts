// Carries notices to the webhooks that want them: looks for what is due, attempts it, and stores what came of it.
import type { Ledger } from "../ledger/port.ts";
import type { Delivery, DueDelivery } from "../ledger/webhooks.ts";
import type { Clock, Hash, Log, Meters } from "./ports.ts";
import { chooseDue, deliveryKey, putOff } from "./webhook-choice.ts";
import { webhookLimits } from "./webhook-limits.ts";
import { messageBody, messageHeaders, secretKey } from "./webhook-message.ts";
import type { Seal, WebhookAnswer, WebhookDoor } from "./webhook-ports.ts";
import { afterAttempt } from "./webhook-retry.ts";

export interface DelivererPorts {
  readonly replica: string;
  readonly ledger: Pick<Ledger, "commit" | "dueDeliveries" | "nextDeliveryAt">;
  readonly clock: Clock;
  readonly hash: Hash;
  readonly meters: Pick<Meters, "count">;
  readonly log: Log;
  readonly door: Pick<WebhookDoor, "send" | "sign">;
  readonly seal: Pick<Seal, "open">;
}

interface Busy {
  readonly delivery: Delivery;
  readonly abort: AbortController;
  readonly ended: Promise<void>;
}

/**
 * At least once: an attempt that could not be stored, or that a stop cut short, is made again under the same id. All
 * that is known of a delivery stands in the ledger; what is kept here is only which attempts are under way.
 */
export class Deliverer {
  readonly #ports: DelivererPorts;
  readonly #busy = new Map<string, Busy>();
  /** Keys of what ended since the look under way began to read. */
  readonly #ended = new Set<string>();
  readonly #leaving = new AbortController();
  #running = false;
  #looking: Promise<void> | undefined;
  #again = false;
  #takeTimerBack: (() => void) | undefined;
  #widenedAt = Number.NEGATIVE_INFINITY;
  #readFailing = false;

  constructor(ports: DelivererPorts) {
    this.#ports = ports;
  }

  /** Goes on with what the ledger has; not after `stop`. */
  start(): void {
    if (this.#leaving.signal.aborted) return;
    this.#running = true;
    this.poke();
  }

  /** Nothing new begins until it is started again. */
  rest(): void {
    this.#running = false;
    this.#takeTimerBack?.();
  }

  /** Something may have become due; cheap, and heard only between start and stop. */
  poke(): void {
    if (!this.#running) return;
    this.#again = true;
    if (this.#looking !== undefined) return;
    this.#takeTimerBack?.();
    this.#looking = this.#lookOn();
  }

  /** Ends the attempts under way without counting them; resolves when nothing of this is at work any more. */
  async stop(): Promise<void> {
    this.#running = false;
    this.#takeTimerBack?.();
    this.#leaving.abort();
    for (const { abort } of this.#busy.values()) abort.abort(new Error("the runtime is stopping"));
    await Promise.all([this.#looking, ...[...this.#busy.values()].map(({ ended }) => ended)]);
  }

  async #lookOn(): Promise<void> {
    const { clock, ledger, log } = this.#ports;
    let waitMs: number | undefined = webhookLimits.ledgerRetryMs;
    try {
      while (this.#again && this.#running) {
        this.#again = false;
        await this.#look();
        waitMs = waitFor(await ledger.nextDeliveryAt(), clock.now());
      }
      if (this.#readFailing) log.info({}, "webhook deliveries go on");
      this.#readFailing = false;
    } catch (error) {
      waitMs = webhookLimits.ledgerRetryMs;
      if (!this.#readFailing) log.error({ reason: String(error) }, "webhook deliveries wait, the ledger cannot be read");
      this.#readFailing = true;
    }
    this.#looking = undefined;
    if (waitMs !== undefined && this.#running) this.#takeTimerBack = clock.after(waitMs, () => this.poke());
  }

  async #look(): Promise<void> {
    const { clock, ledger } = this.#ports;
    const { duePage, wideLookMs, atOnceMax } = webhookLimits;
    const now = clock.now();
    this.#ended.clear();
    const page = await ledger.dueDeliveries(now, duePage);
    this.#startSome(page);
    const since = clock.monotonic() - this.#widenedAt;
    if (page.length < duePage || this.#busy.size >= atOnceMax || since < wideLookMs || !this.#running) return;
    this.#widenedAt = clock.monotonic();
    await this.#lookWide(now);
  }

  async #lookWide(now: number): Promise<void> {
    const { ledger } = this.#ports;
    const page = await ledger.dueDeliveries(now, webhookLimits.duePageWide);
    this.#startSome(page);
    if (page.length < webhookLimits.duePageWide || !this.#running) return;
    const rows = putOff(page, now).filter((row) => !this.#busy.has(deliveryKey(row)) && !this.#ended.has(deliveryKey(row)));
    await ledger.commit({ writes: rows.map((row) => ({ op: "put_delivery", row })) });
  }

  #startSome(due: readonly DueDelivery[]): void {
    if (!this.#running) return;
    const busy = [...this.#busy.values()].map(({ delivery }) => delivery);
    for (const one of chooseDue(due, busy, this.#ended)) {
      const key = deliveryKey(one.delivery);
      const abort = new AbortController();
      const ended = this.#deliver(one, abort).then(() => {
        this.#busy.delete(key);
        this.#ended.add(key);
        this.poke();
      });
      this.#busy.set(key, { delivery: one.delivery, abort, ended });
    }
  }

  async #deliver(due: DueDelivery, abort: AbortController): Promise<void> {
    const { clock, hash } = this.#ports;
    const answer = await this.#attempt(due, abort);
    // Cut short by the stop: nobody knows what the receiver made of it, so it is not an attempt.
    if (answer.status === null && !this.#running) return;
    const after = afterAttempt(due.delivery, answer, clock.now(), hash);
    if (await this.#store(after)) this.#tell(after);
  }

  async #attempt(due: DueDelivery, abort: AbortController): Promise<WebhookAnswer> {
    const { attemptMsMax } = webhookLimits;
    const takeBack = this.#ports.clock.after(attemptMsMax, () => abort.abort(new Error(`no answer within ${attemptMsMax / 1000} s`)));
    try {
      return await this.#send(due, abort.signal);
    } catch (error) {
      return { status: null, error: `the attempt could not be made: ${error instanceof Error ? error.message : "unknown"}` };
    } finally {
      takeBack();
    }
  }

  async #send({ delivery, webhook }: DueDelivery, signal: AbortSignal): Promise<WebhookAnswer> {
    const { clock, door, seal, replica } = this.#ports;
    const { tenant, webhookId, deliveryId, notice } = delivery;
    if (webhook.tenant !== tenant || webhook.webhookId !== webhookId || notice.tenant !== tenant) {
      return { status: null, error: "the delivery and its webhook do not belong together" };
    }
    const secret = seal.open([tenant, webhookId], webhook.sealedSecret);
    if (secret === undefined) return { status: null, error: "the signing secret cannot be opened" };
    const body = messageBody(delivery, replica);
    const headers = messageHeaders(deliveryId, clock.now(), body, (text) => door.sign(secretKey(secret), text));
    return door.send({ url: webhook.url, headers, body, signal });
  }

  /** Tries until it is stored, and holds its place meanwhile: what nobody can write down is not attempted again and again. */
  async #store(row: Delivery): Promise<boolean> {
    const { ledger, log } = this.#ports;
    for (let tries = 1; ; tries++) {
      try {
        await ledger.commit({ writes: [{ op: "put_delivery", row }] });
        return true;
      } catch (error) {
        if (tries === 1) log.error({ reason: String(error), delivery_id: row.deliveryId }, "what came of a webhook delivery cannot be stored yet");
      }
      if (!this.#running) return false;
      await this.#pause(webhookLimits.ledgerRetryMs);
    }
  }

  /** Ends early when the deliverer stops. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#leaving;
    const { promise, resolve } = Promise.withResolvers<void>();
    const wake = (): void => resolve();
    const takeBack = this.#ports.clock.after(ms, wake);
    signal.addEventListener("abort", wake, { once: true });
    await promise;
    takeBack();
    signal.removeEventListener("abort", wake);
  }

  #tell(row: Delivery): void {
    const { log, meters } = this.#ports;
    meters.count("webhook_deliveries_total", { outcome: row.state === "pending" ? "retry" : row.state });
    if (row.state !== "dead") return;
    const { tenant, webhookId, deliveryId, notice, attempts, lastError } = row;
    const names = { tenant, webhook_id: webhookId, delivery_id: deliveryId, type: notice.type, approval_id: notice.approvalId };
    log.warn({ ...names, attempts, reason: lastError }, "a webhook delivery is dead and is not tried again");
  }
}

/** Until the next look; undefined = until somebody pokes. What is due and still there is busy, or found no place. */
function waitFor(next: number | undefined, now: number): number | undefined {
  if (next === undefined) return undefined;
  return next <= now ? webhookLimits.crowdedLookMs : Math.min(next - now, webhookLimits.lookMsMax);
}
