// Says whether a notice really comes from the runtime, without a library.
// #region genuine
import { createHmac, timingSafeEqual } from "node:crypto";

/** @param body the bytes as they came, before any JSON parser */
export function isGenuine(headers, body, secret, nowSeconds = Date.now() / 1000) {
  const id = headers["webhook-id"];
  const timestamp = headers["webhook-timestamp"];
  if (!(Math.abs(nowSeconds - Number(timestamp)) < 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const wanted = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest();
  return String(headers["webhook-signature"])
    .split(" ")
    .some((one) => {
      const given = Buffer.from(one.replace(/^v1,/, ""), "base64");
      return given.length === wanted.length && timingSafeEqual(given, wanted);
    });
}
// #endregion genuine
