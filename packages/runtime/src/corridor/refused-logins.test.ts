// Who keeps asking with a refused credential waits; a good one is let in all the while.
import { afterEach, beforeEach, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import { loginBounds } from "./refused-logins.ts";

const wanted = { label: "shop", principal: "user:ann", scopes: ["*"] } as const;
const admin = asked({ scopes: new Set(["*"]), name: "user:root" });
let corridor: Corridor;
beforeEach(() => {
  corridor = new Corridor();
});
afterEach(() => corridor.close());

const madeUp = (n: number): string => `sbk_${String(n).padStart(26, "0")}_${"s".repeat(43)}`;

async function answers(times: number, token: (n: number) => string | undefined): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (let n = 0; n < times; n++) {
    const { code } = await refusal(corridor.service.authenticate(token(n), `req_${n}`));
    counts[code] = (counts[code] ?? 0) + 1;
  }
  return counts;
}

const { perKeyPerMinute: perMinute, perKeyBurst: burst, allPerMinute, allBurst } = loginBounds;

test("one key: as many as its bucket holds, then it is told how long to wait and what it was refused for", async () => {
  const { key, secret } = await corridor.service.createKey(admin, wanted);
  await corridor.service.revokeKey(admin, key.keyId);
  expect(await answers(burst + 5, () => secret)).toEqual({ key_revoked: burst, rate_limited: 5 });
  const told = await refusal(corridor.service.authenticate(secret, "req_1"));
  expect(told).toMatchObject({ code: "rate_limited", details: { scope: "login", refused_as: "key_revoked", retry_after_s: 60 / perMinute } });
  expect(told.message).not.toContain("sbk_");
  expect(corridor.figures.filter(([name]) => name === "limit_refusals_total")).toHaveLength(6);
  await corridor.clock.pass(60_000 / perMinute);
  expect(await answers(2, () => secret)).toEqual({ key_revoked: 1, rate_limited: 1 });
});

test("the secret part makes no other bucket: guesses at one key count together, and the key itself is still let in", async () => {
  const { secret } = await corridor.service.createKey(admin, wanted);
  const guess = (n: number): string => secret.slice(0, -5) + String(n).padStart(5, "0");
  expect(await answers(burst + 3, guess)).toEqual({ unauthenticated: burst, rate_limited: 3 });
  expect(await corridor.service.authenticate(secret, "req_1")).toMatchObject({ name: "user:ann" });
});

test("what looks like no key counts as one; another key does not wait for it", async () => {
  expect(await answers(burst + 2, (n) => (n % 2 === 0 ? undefined : `sbk_${n}`))).toEqual({ unauthenticated: burst, rate_limited: 2 });
  expect(await answers(1, madeUp)).toEqual({ unauthenticated: 1 });
});

test("keys that are made up, each another one, count together", async () => {
  expect(await answers(allBurst + 4, madeUp)).toEqual({ unauthenticated: allBurst, rate_limited: 4 });
  await corridor.clock.pass((60_000 / allPerMinute) * 2);
  expect(await answers(3, (n) => madeUp(n + allBurst + 4))).toEqual({ unauthenticated: 2, rate_limited: 1 });
});
