// Says what becomes of a delivery after an attempt: delivered, tried again at a stored instant, or dead.
import { retryAfterTextMs } from "../call/retry-after.ts";
import type { Delivery } from "../ledger/webhooks.ts";
import type { Hash } from "./ports.ts";
import { webhookLimits } from "./webhook-limits.ts";
import type { WebhookAnswer } from "./webhook-ports.ts";

/** The receiver says that nobody will ever listen here again. */
const gone = 410;

/** The row after this attempt. @param now wall clock, ms since 1970 */
export function afterAttempt(delivery: Delivery, answer: WebhookAnswer, now: number, hash: Hash): Delivery {
  const attempts = delivery.attempts + 1;
  const error = problemOf(answer);
  const tried = { ...delivery, attempts, lastStatus: answer.status, lastError: error };
  if (error === null) return { ...tried, state: "delivered", nextAt: null, endedAt: now };
  if (answer.status === gone || attempts >= webhookLimits.attemptsMax) return { ...tried, state: "dead", nextAt: null, endedAt: now };
  const asked = answer.status === null ? undefined : retryAfterMs(answer.retryAfter, now);
  return { ...tried, nextAt: now + (asked ?? retryDelayMs(delivery.deliveryId, attempts, hash)) };
}

/** null = delivered. */
function problemOf(answer: WebhookAnswer): string | null {
  if (answer.status === null) return answer.error.slice(0, webhookLimits.errorCharsMax);
  const { status } = answer;
  if (status >= 200 && status < 300) return null;
  return status >= 300 && status < 400 ? `answered ${status}; redirects are not followed` : `answered ${status}`;
}

/**
 * Doubles with every attempt up to its bound, and is spread a little. The spread comes from the delivery's name: a
 * restart computes the same, and a test knows it beforehand.
 * @param attempts made so far, from 1
 */
export function retryDelayMs(deliveryId: string, attempts: number, hash: Hash): number {
  const { firstRetryMs, retryMsMax, retryJitter } = webhookLimits;
  const delay = Math.min(firstRetryMs * 2 ** (attempts - 1), retryMsMax);
  const place = Number.parseInt(hash(`${deliveryId}.${attempts}`).slice(0, 8), 16) / 2 ** 32;
  return Math.round(delay * (1 - retryJitter + 2 * retryJitter * place));
}

/** The wait that a receiver asks for, in its bounds; undefined when it asks for none that can be read. */
export function retryAfterMs(text: string | null, now: number): number | undefined {
  const asked = retryAfterTextMs(text ?? "", now);
  if (asked === undefined) return undefined;
  return Math.min(Math.max(asked, webhookLimits.retryAfterMsMin), webhookLimits.retryAfterMsMax);
}
