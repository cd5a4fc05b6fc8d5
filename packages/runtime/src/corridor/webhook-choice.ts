// Chooses which due deliveries are made now, so that neither one webhook nor one tenant takes every place.
import type { Delivery, DueDelivery } from "../ledger/webhooks.ts";
import { webhookLimits } from "./webhook-limits.ts";

/** Ids are unique in a tenant only. */
export const deliveryKey = ({ tenant, deliveryId }: Pick<Delivery, "tenant" | "deliveryId">): string => `${tenant}\n${deliveryId}`;

/**
 * In the order in which they are due.
 * @param busy what is being made now
 * @param ended keys of what ended while `due` was being read: those rows are old
 */
export function chooseDue(due: readonly DueDelivery[], busy: readonly Delivery[], ended: ReadonlySet<string>): readonly DueDelivery[] {
  const { atOnceMax, atOncePerTenantMax, atOncePerWebhookMax } = webhookLimits;
  const keys = new Set(busy.map(deliveryKey));
  const counts = new Map<string, number>();
  const take = ({ tenant, webhookId }: Delivery): void => {
    for (const name of [tenant, `${tenant}\n${webhookId}`]) counts.set(name, (counts.get(name) ?? 0) + 1);
  };
  for (const one of busy) take(one);
  const chosen: DueDelivery[] = [];
  for (const one of due) {
    if (busy.length + chosen.length >= atOnceMax) break;
    const { tenant, webhookId } = one.delivery;
    const key = deliveryKey(one.delivery);
    if (keys.has(key) || ended.has(key)) continue;
    if ((counts.get(tenant) ?? 0) >= atOncePerTenantMax) continue;
    if ((counts.get(`${tenant}\n${webhookId}`) ?? 0) >= atOncePerWebhookMax) continue;
    take(one.delivery);
    keys.add(key);
    chosen.push(one);
  }
  return chosen;
}

/**
 * What is put off when more is due than one read shows: every tenant's deliveries beyond its first few. Without it one
 * tenant's backlog would hide the others' for hours, if its receivers hang.
 */
export function putOff(due: readonly DueDelivery[], now: number): readonly Delivery[] {
  const { dueKeptPerTenant, putOffMs } = webhookLimits;
  const counts = new Map<string, number>();
  return due.flatMap(({ delivery }) => {
    const count = (counts.get(delivery.tenant) ?? 0) + 1;
    counts.set(delivery.tenant, count);
    return count > dueKeptPerTenant ? [{ ...delivery, nextAt: now + putOffMs }] : [];
  });
}
