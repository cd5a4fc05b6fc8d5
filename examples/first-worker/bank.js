// A payment provider as they are: it takes its time, and who sends the same idempotency key again gets the payment of the first time.
// @ts-check
import { createHash } from "node:crypto";
import { setTimeout as wait } from "node:timers/promises";

/**
 * @typedef {object} Order
 * @property {number} amount
 * @property {string} currency
 * @property {string} payee
 */

/**
 * @param {number} delayMs how long it takes to take the money
 * @returns what a provider's client library would be
 */
export function openBank(delayMs) {
  /** @type {Map<string, { status: string, payment_id: string }>} */
  const payments = new Map();
  return {
    /** How often money was taken. */
    taken: () => payments.size,
    /**
     * @param {Order} order
     * @param {{ idempotencyKey: string }} options
     */
    async charge(order, { idempotencyKey }) {
      const before = payments.get(idempotencyKey);
      if (before !== undefined) return before;
      await wait(delayMs);
      const hash = createHash("sha256").update(JSON.stringify([idempotencyKey, order]));
      const payment = { status: "processed", payment_id: `pay_${hash.digest("hex").slice(0, 12)}` };
      payments.set(idempotencyKey, payment);
      return payment;
    },
  };
}
