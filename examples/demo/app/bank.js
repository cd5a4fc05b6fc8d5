// The payment provider of the demo: takes money once per call of `charge` and notes each time in a file of receipts.
// @ts-check
import { createHash } from "node:crypto";
import { appendFile } from "node:fs/promises";
import { setTimeout as wait } from "node:timers/promises";
import { ToolError } from "@signalbox/worker";

/**
 * @typedef {object} Bank
 * @property {string} receiptsFile one JSON line for every time that money was taken
 * @property {number} pauseBeforeMs how long the bank thinks before it takes the money
 * @property {number} pauseAfterMs how long it takes to say so
 */

/**
 * Deliberately knows nothing of idempotency: if it is entered twice, money is taken twice and the file shows it.
 * @param {Bank} bank
 * @param {{ amount: number, currency: string, payee: string }} args
 * @param {import("@signalbox/worker").ToolContext} ctx
 * @throws {ToolError} invalid_args
 */
export async function charge(bank, { amount, currency, payee }, ctx) {
  if (!(amount > 0)) throw new ToolError("invalid_args", "the amount must be above zero");
  if (currency === "") throw new ToolError("invalid_args", "the currency is empty");
  if (payee === "") throw new ToolError("invalid_args", "the payee is empty");
  // Up to here nothing has happened, so a stop is heard. After the line is written it would only hide the truth.
  if (bank.pauseBeforeMs > 0) await wait(bank.pauseBeforeMs, undefined, { signal: ctx.signal });
  ctx.signal.throwIfAborted();
  const paymentId = `pay_${createHash("sha256").update(ctx.idempotencyKey).digest("hex").slice(0, 12)}`;
  const receipt = { payment_id: paymentId, call_id: ctx.callId, attempt: ctx.attempt, amount, currency, payee };
  await appendFile(bank.receiptsFile, `${JSON.stringify(receipt)}\n`);
  if (bank.pauseAfterMs > 0) await wait(bank.pauseAfterMs);
  return { status: "processed", payment_id: paymentId };
}
