// The audit key as the function that the hash chain asks for.
import { createHmac, createSecretKey } from "node:crypto";
import type { Hmac } from "../../ledger/audit-chain.ts";

const auditKeyBytesMin = 32;

/** @throws RangeError when the key is too short to keep anybody from guessing it */
export function hmacWith(auditKey: Buffer): Hmac {
  if (auditKey.length < auditKeyBytesMin) {
    throw new RangeError(`the audit key has ${auditKey.length} bytes; make one of at least ${auditKeyBytesMin}`);
  }
  const secret = createSecretKey(auditKey);
  return (text) => createHmac("sha256", secret).update(text, "utf8").digest("hex");
}
