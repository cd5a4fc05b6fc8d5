// Seals short texts for the ledger, so that whoever reads the database alone cannot read them: AES-256-GCM by a key from outside of it.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import type { Seal } from "../../corridor/webhook-ports.ts";

const keyBytes = 32;
const nonceBytes = 12;
const tagBytes = 16;
/** Stands before every sealed text; another cipher or derivation would get another. */
const form = "v1.";

/**
 * @param key 32 bytes; what is used is derived from it, so that one file can serve the audit chain too
 * @param purpose keeps the keys of different uses apart
 * @throws RangeError when the key is not 32 bytes long
 */
export function createSeal(key: Uint8Array, purpose: string): Seal {
  if (key.length !== keyBytes) throw new RangeError(`a sealing key has ${keyBytes} bytes, not ${key.length}`);
  const derived = Buffer.from(hkdfSync("sha256", key, "", `signalbox seal v1: ${purpose}`, keyBytes));
  return {
    seal(about, text) {
      // Random nonces of 96 bits are safe for some 2^32 texts a key; there are a handful of webhooks a tenant.
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", derived, nonce, { authTagLength: tagBytes });
      cipher.setAAD(place(about));
      const shut = Buffer.concat([nonce, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
      return `${form}${shut.toString("base64url")}`;
    },
    open(about, sealed) {
      if (!sealed.startsWith(form)) return undefined;
      const shut = Buffer.from(sealed.slice(form.length), "base64url");
      if (shut.length < nonceBytes + tagBytes) return undefined;
      const cipher = createDecipheriv("aes-256-gcm", derived, shut.subarray(0, nonceBytes), { authTagLength: tagBytes });
      cipher.setAAD(place(about));
      cipher.setAuthTag(shut.subarray(shut.length - tagBytes));
      try {
        return Buffer.concat([cipher.update(shut.subarray(nonceBytes, shut.length - tagBytes)), cipher.final()]).toString("utf8");
      } catch {
        return undefined;
      }
    },
  };
}

/** As JSON, so that no two places have the same bytes: ["a","bc"] is not ["ab","c"]. */
const place = (about: readonly string[]): Buffer => Buffer.from(JSON.stringify(about), "utf8");
