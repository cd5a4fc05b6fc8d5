// Several keys of one principal: replaced without a gap, narrowed in a list, counted against their bounds, and when each was last used.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import { tenancyBounds } from "../tenancy/tenant.ts";
import type { Grant, Key } from "../tenancy/types.ts";

let corridor: Corridor;
beforeEach(() => {
  corridor = new Corridor();
});
afterEach(() => corridor.close());

const admin = asked({ name: "user:root", scopes: new Set(["*"]) });
const wanted = { label: "shop", principal: "service:shop", scopes: ["tools:invoke"] } as const;
const lastUses = async () => (await corridor.service.listKeys(admin)).map(({ lastUsedAt }) => lastUsedAt);

function key(n: number, changes: Partial<Key> = {}): Key {
  const life = { createdAt: 0, expiresAt: null, revokedAt: null, lastUsedAt: null };
  const who = { label: "", principal: "service:many", project: "shop", scopes: ["tools:invoke"], roles: [] } as const;
  return { tenant: "acme", keyId: `key_${n}`, hash: `hash ${n}`, ...who, ...life, ...changes };
}

function grant(n: number, changes: Partial<Grant> = {}): Grant {
  const life = { createdAt: 0, createdBy: "user:root", expiresAt: null, revokedAt: null };
  return {
    tenant: "acme",
    grantId: `grant_${n}`,
    subject: "user:x",
    project: "",
    permissions: ["*"],
    roles: [],
    ...life,
    ...changes,
  };
}

test("a key is replaced without a gap: the second works beside the first, and goes on when that is ended", async () => {
  const first = await corridor.service.createKey(admin, wanted);
  const second = await corridor.service.createKey(admin, wanted);
  for (const {
    secret,
    key: { keyId },
  } of [first, second])
    expect(await corridor.service.authenticate(secret, "r")).toMatchObject({ name: "service:shop", keyId });
  await corridor.service.revokeKey(admin, first.key.keyId);
  expect((await refusal(corridor.service.authenticate(first.secret, "r"))).code).toBe("key_revoked");
  expect((await corridor.service.authenticate(second.secret, "r")).keyId).toBe(second.key.keyId);
});

test("who was locked out is let in by a new key at once, and what waited for it may run", async () => {
  await corridor.tool();
  await corridor.grant(["*"], "service:shop");
  const first = await corridor.service.createKey(admin, wanted);
  const { call } = await corridor.invoke(
    {},
    { requestId: "r", principal: await corridor.service.authenticate(first.secret, "r") },
  );
  await corridor.service.revokeKey(admin, first.key.keyId);
  expect(
    await corridor.runtime.directory.holdingsByName("acme", "service:shop", "shop", corridor.clock.now()),
  ).toBeUndefined();
  await corridor.service.createKey(admin, wanted);
  const worker = corridor.worker("w1");
  await corridor.settle();
  expect(worker.words()).toContain(`invoke ${call.callId}#1`);
});

test("a list is narrowed by principal, project and what has become of a key", async () => {
  const make = async (principal: string, project: string, expiresAt?: number) => {
    // Keys of one millisecond come in no order.
    await corridor.clock.pass(1);
    return corridor.service.createKey(admin, {
      ...wanted,
      principal,
      project,
      ...(expiresAt === undefined ? {} : { expiresAt }),
    });
  };
  await make("service:a", "shop");
  await make("service:a", "lab", 1_005_000);
  const gone = await make("service:b", "lab");
  await corridor.service.revokeKey(admin, gone.key.keyId);
  await corridor.clock.pass(5_000);
  const listed = async (query: Parameters<typeof corridor.service.listKeys>[1]) =>
    (await corridor.service.listKeys(admin, query)).map(({ principal, project }) => `${principal} ${project}`);
  expect(await listed({})).toEqual(["service:a shop", "service:a lab", "service:b lab"]);
  expect(await listed({ principal: "service:a" })).toEqual(["service:a shop", "service:a lab"]);
  expect(await listed({ project: "lab" })).toEqual(["service:a lab", "service:b lab"]);
  expect(await listed({ status: "active" })).toEqual(["service:a shop"]);
  expect(await listed({ status: "expired" })).toEqual(["service:a lab"]);
  expect(await listed({ status: "revoked", principal: "service:b" })).toEqual(["service:b lab"]);
});

describe("the last use of a key", () => {
  const enter = async (secret: string): Promise<void> => {
    await corridor.service.authenticate(secret, "r");
    await corridor.settle();
  };

  test("is kept to the minute, and is none for a key that nobody has used", async () => {
    const { secret } = await corridor.service.createKey(admin, wanted);
    await corridor.clock.pass(1);
    await corridor.service.createKey(admin, wanted);
    await enter(secret);
    expect(await lastUses()).toEqual([1_000_001, null]);
    await corridor.clock.pass(59_999);
    await enter(secret);
    expect(await lastUses()).toEqual([1_000_001, null]);
    await corridor.clock.pass(1);
    await enter(secret);
    expect(await lastUses()).toEqual([1_060_001, null]);
  });

  test("goes on from what is kept when the key is read anew, and a refused key was not used", async () => {
    const { key: made, secret } = await corridor.service.createKey(admin, wanted);
    await enter(secret);
    corridor.runtime.directory.changed("acme");
    await corridor.clock.pass(30_000);
    await enter(secret);
    expect(await lastUses()).toEqual([1_000_000]);
    await corridor.service.revokeKey(admin, made.keyId);
    await corridor.clock.pass(60_000);
    await refusal(corridor.service.authenticate(secret, "r"));
    await corridor.settle();
    expect(await lastUses()).toEqual([1_000_000]);
  });

  test("that cannot be kept costs the caller nothing", async () => {
    const { secret } = await corridor.service.createKey(admin, wanted);
    corridor.ledger.full = true;
    await enter(secret);
    corridor.ledger.full = false;
    expect(await lastUses()).toEqual([null]);
    expect(corridor.logged).toContain("when a key was last used could not be kept");
  });
});

describe("bounds", () => {
  test("keys that are alive; ended ones make room", async () => {
    const { keysPerTenantMax: max } = tenancyBounds;
    const rows = Array.from({ length: max + 8 }, (_, n) =>
      key(n, n === 0 ? { revokedAt: 1 } : n < 10 ? { expiresAt: 1_000_000 } : {}),
    );
    await Promise.all(rows.map((row) => corridor.ledger.commit({ writes: [{ op: "insert_key", row }] })));
    // 998 of them are alive.
    const [first, second, third] = await Promise.all(
      [1, 2, 3].map((n) =>
        corridor.service.createKey(admin, { ...wanted, label: `${n}` }).catch((error: unknown) => error),
      ),
    );
    expect([first, second]).toMatchObject([{ key: { label: "1" } }, { key: { label: "2" } }]);
    expect(third).toMatchObject({ code: "conflict", details: { keys_per_tenant_max: 1_000 } });
    await corridor.service.revokeKey(admin, "key_500");
    await corridor.service.createKey(admin, wanted);
    expect(await refusal(corridor.service.createKey(admin, wanted))).toMatchObject({ code: "conflict" });
    await corridor.service.createKey(asked({ tenant: "other", scopes: new Set(["*"]) }), wanted);
  });

  test("grants that are alive", async () => {
    const { grantsPerTenantMax: max } = tenancyBounds;
    const rows = Array.from({ length: max + 1 }, (_, n) => grant(n, n < 2 ? { revokedAt: 1 } : {}));
    await Promise.all(rows.map((row) => corridor.ledger.commit({ writes: [{ op: "insert_grant", row }] })));
    const wish = { subject: "user:y", permissions: ["*"] };
    await corridor.service.createGrant(admin, wish);
    expect(await refusal(corridor.service.createGrant(admin, wish))).toMatchObject({
      code: "conflict",
      details: { grants_per_tenant_max: 10_000 },
    });
  });

  test("projects, by name and by a key for a new one; those there are go on", async () => {
    const { projectsPerTenantMax: max } = tenancyBounds;
    await corridor.service.putProject(admin, "shop", "production");
    const rows = Array.from({ length: max - 2 }, (_, n) => ({
      tenant: "acme",
      project: `p${n}`,
      environment: "",
      createdAt: 0,
    }));
    await Promise.all(rows.map((row) => corridor.ledger.commit({ writes: [{ op: "put_project", row }] })));
    await corridor.service.createKey(admin, { ...wanted, project: "last" });
    const over = { code: "conflict", details: { projects_per_tenant_max: 1_000 } };
    expect(await refusal(corridor.service.putProject(admin, "over", "x"))).toMatchObject(over);
    expect(await refusal(corridor.service.createKey(admin, { ...wanted, project: "over" }))).toMatchObject(over);
    await corridor.service.createKey(admin, { ...wanted, project: "last" });
    expect(await corridor.service.putProject(admin, "shop", "staging")).toMatchObject({ environment: "staging" });
    expect((await corridor.service.listKeys(admin)).map(({ project }) => project)).toEqual(["last", "last"]);
  });
});
