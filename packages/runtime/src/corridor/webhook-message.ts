// Turns a notice into what is posted: a CloudEvent as JSON, and the three headers of Standard Webhooks that prove where it comes from.
import type { Delivery } from "../ledger/webhooks.ts";

const secretPrefix = "whsec_";

/** The text that the receiver gets. @param bytesBase64url 32 random bytes; receivers expect plain base64 with its padding */
export function secretText(bytesBase64url: string): string {
  const plain = bytesBase64url.replaceAll("-", "+").replaceAll("_", "/");
  return `${secretPrefix}${plain}${"=".repeat((4 - (plain.length % 4)) % 4)}`;
}

/** The key inside a secret, as base64. */
export function secretKey(secret: string): string {
  return secret.startsWith(secretPrefix) ? secret.slice(secretPrefix.length) : secret;
}

/** A CloudEvents 1.0 event in JSON. It says the same on every attempt that this replica makes. */
export function messageBody(delivery: Delivery, replica: string): string {
  const { type, tenant, approvalId, at, data } = delivery.notice;
  return JSON.stringify({
    specversion: "1.0",
    id: delivery.deliveryId,
    source: `signalbox/${encodeURIComponent(replica)}`,
    type: `dev.signalbox.${type}`,
    subject: approvalId,
    time: new Date(at).toISOString(),
    datacontenttype: "application/json",
    signalboxtenant: tenant,
    data: { approval_id: approvalId, ...Object.fromEntries(Object.entries(data).map(told)) },
  });
}

/** Instants leave the runtime in one form only, as text. */
function told([name, value]: [string, unknown]): [string, unknown] {
  return [name, name.endsWith("_at") && typeof value === "number" ? new Date(value).toISOString() : value];
}

/**
 * @param atMs wall clock of this attempt: a receiver refuses old timestamps, so a retry must bring a new one
 * @param sign makes the base64 MAC of a text
 * @throws RangeError for an id with a full stop in it, which would make the signed text ambiguous
 */
export function messageHeaders(id: string, atMs: number, body: string, sign: (text: string) => string): Readonly<Record<string, string>> {
  if (id.includes(".")) throw new RangeError("the id of a delivery holds no full stop");
  const timestamp = String(Math.floor(atMs / 1000));
  return {
    "content-type": "application/cloudevents+json; charset=utf-8",
    "webhook-id": id,
    "webhook-timestamp": timestamp,
    "webhook-signature": `v1,${sign(`${id}.${timestamp}.${body}`)}`,
  };
}
