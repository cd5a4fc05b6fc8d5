// A sealed text opens with its key at its place, and nowhere else.
import { createDecipheriv, createHmac } from "node:crypto";
import { expect, test } from "vitest";
import { createSeal } from "./seal.ts";

const key = Buffer.alloc(32, 7);
const seal = createSeal(key, "webhook secrets");
const at = ["acme", "whk_1"];

test("opens where it was sealed, with a seal made anew from the same key", () => {
  const shut = seal.seal(at, "whsec_ä€");
  expect(shut).toMatch(/^v1\.[A-Za-z0-9_-]+$/);
  expect(createSeal(Buffer.alloc(32, 7), "webhook secrets").open(at, shut)).toBe("whsec_ä€");
  expect(seal.open(at, seal.seal(at, ""))).toBe("");
});

test("no two sealed texts are alike, and none holds what it hides", () => {
  const shut = [seal.seal(at, "whsec_abcdef"), seal.seal(at, "whsec_abcdef")];
  expect(shut[0]).not.toBe(shut[1]);
  for (const one of shut) expect(Buffer.from(one.slice(3), "base64url").toString("latin1")).not.toContain("whsec");
});

test.each([
  ["another tenant's place", ["other", "whk_1"]],
  ["another webhook's place", ["acme", "whk_2"]],
  ["a place that is written the same when it is run together", ["acmewhk", "_1"]],
  ["no place", []],
])("does not open at %s", (_, place) => {
  expect(seal.open(place, seal.seal(at, "whsec_abc"))).toBeUndefined();
});

test("does not open with another key or for another purpose", () => {
  const shut = seal.seal(at, "whsec_abc");
  expect(createSeal(Buffer.alloc(32, 8), "webhook secrets").open(at, shut)).toBeUndefined();
  expect(createSeal(key, "other secrets").open(at, shut)).toBeUndefined();
});

test("does not open when any of it was changed, cut or never was one", () => {
  const shut = seal.seal(at, "whsec_abc");
  const bytes = Buffer.from(shut.slice(3), "base64url");
  const changed = [...bytes.keys()].map((place) => {
    const copy = Buffer.from(bytes);
    copy[place] = (copy[place] ?? 0) ^ 1;
    return `v1.${copy.toString("base64url")}`;
  });
  const cut = [...bytes.keys()].map((length) => `v1.${bytes.subarray(0, length).toString("base64url")}`);
  const strange = ["", "v1.", "whsec_abc", shut.slice(3), shut.replace("v1.", "v2."), `v1.${"!".repeat(60)}`];
  for (const one of [...changed, ...cut, ...strange]) expect(seal.open(at, one), one).toBeUndefined();
});

test("what it uses is derived from the key, by HKDF as RFC 5869 has it, and not the key itself", () => {
  const shut = Buffer.from(seal.seal(at, "whsec_abc").slice(3), "base64url");
  const mac = (secret: Buffer, text: Buffer): Buffer => createHmac("sha256", secret).update(text).digest();
  const derived = mac(mac(Buffer.alloc(32), key), Buffer.from("signalbox seal v1: webhook secrets\u0001"));
  const cipher = createDecipheriv("aes-256-gcm", derived, shut.subarray(0, 12));
  cipher.setAAD(Buffer.from('["acme","whk_1"]'));
  cipher.setAuthTag(shut.subarray(-16));
  expect(Buffer.concat([cipher.update(shut.subarray(12, -16)), cipher.final()]).toString()).toBe("whsec_abc");
});

test("a key of another length is refused", () => {
  expect(() => createSeal(Buffer.alloc(31), "webhook secrets")).toThrow(/32 bytes, not 31/);
});
