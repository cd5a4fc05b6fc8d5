// Credentials and grants: who is let in, what counts for whom and where, and how soon a change is seen.
import { describe, expect, test } from "vitest";
import { Directory, makeKeyText, type DirectoryReads } from "./directory.ts";
import type { Grant, Key, Principal } from "./types.ts";

const secret = "s".repeat(43);
const token = makeKeyText("01KDY7MFG80000000000000000", secret);

const key: Key = {
  tenant: "acme",
  keyId: "key_1",
  hash: `hash of ${token}`,
  label: "",
  principal: "service:shop",
  project: "shop",
  scopes: ["tools:invoke"],
  roles: ["finance"],
  createdAt: 1,
  expiresAt: null,
  revokedAt: null,
  lastUsedAt: null,
};

const grant: Grant = {
  tenant: "acme",
  grantId: "grant_1",
  subject: "service:shop",
  project: "",
  permissions: ["tool:invoke:pay"],
  roles: [],
  createdAt: 1,
  createdBy: "user:admin",
  expiresAt: null,
  revokedAt: null,
};

const principal: Principal = { tenant: "acme", project: "shop", name: "service:shop", keyId: "key_1", scopes: new Set(), roles: [] };

/** A store that counts what is asked of it. */
function directoryOf(stored: { keys?: Key[]; grants?: Grant[] }): { directory: Directory; asked: string[]; stored: typeof stored } {
  const asked: string[] = [];
  const reads: DirectoryReads = {
    async keyByHash(hash) {
      asked.push(hash);
      return stored.keys?.find((one) => one.hash === hash);
    },
    async keys(tenant) {
      asked.push(`keys of ${tenant}`);
      return stored.keys?.filter((one) => one.tenant === tenant) ?? [];
    },
    async grants(tenant) {
      asked.push(tenant);
      return stored.grants?.filter((one) => one.tenant === tenant) ?? [];
    },
  };
  return { directory: new Directory(reads, (text) => `hash of ${text}`), asked, stored };
}

describe("authenticate", () => {
  test("a key says who it is, where it belongs and what it may ask for", async () => {
    const { directory } = directoryOf({ keys: [key] });
    expect(await directory.authenticate(token, 5)).toEqual({
      tenant: "acme",
      project: "shop",
      name: "service:shop",
      keyId: "key_1",
      scopes: new Set(["tools:invoke"]),
      roles: ["finance"],
    });
  });

  test.each([
    ["no key", undefined, "unauthenticated"],
    ["an empty one", "", "unauthenticated"],
    ["an unknown one", makeKeyText("01KDY7MFG80000000000000001", secret), "unauthenticated"],
    ["another secret", makeKeyText("01KDY7MFG80000000000000000", "t".repeat(43)), "unauthenticated"],
  ])("%s is refused", async (_, sent, code) => {
    const { directory } = directoryOf({ keys: [key] });
    await expect(directory.authenticate(sent, 5)).rejects.toMatchObject({ name: "SignalboxError", code });
  });

  test.each(["sbk_short", `${token} `, `Bearer ${token}`, token.replace("sbk_", "SBK_"), `sbk_01KDY7MFG8000000000000000U_${secret}`, `sbk_${"x".repeat(100_000)}`])(
    "text that is no key costs neither a hash nor a read: %.20s",
    async (sent) => {
      const { directory, asked } = directoryOf({ keys: [key] });
      await expect(directory.authenticate(sent, 5)).rejects.toMatchObject({ code: "unauthenticated" });
      expect(asked).toEqual([]);
    },
  );

  test("expired from its instant on, and revoked before all", async () => {
    const { directory } = directoryOf({ keys: [{ ...key, expiresAt: 100 }] });
    expect((await directory.authenticate(token, 99)).name).toBe("service:shop");
    await expect(directory.authenticate(token, 100)).rejects.toMatchObject({ code: "token_expired" });
    const revoked = directoryOf({ keys: [{ ...key, expiresAt: 100, revokedAt: 50 }] });
    await expect(revoked.directory.authenticate(token, 200)).rejects.toMatchObject({ code: "key_revoked" });
  });

  test("a known key is read once, an unknown one each time", async () => {
    const { directory, asked, stored } = directoryOf({ keys: [] });
    await expect(directory.authenticate(token, 5)).rejects.toMatchObject({ code: "unauthenticated" });
    stored.keys = [key];
    for (let n = 0; n < 3; n++) await directory.authenticate(token, 5);
    expect(asked).toEqual([key.hash, key.hash]);
  });

  test("a change of the tenant's keys is seen at once; another tenant's is not concerned", async () => {
    const { directory, asked, stored } = directoryOf({ keys: [key] });
    await directory.authenticate(token, 5);
    stored.keys = [{ ...key, revokedAt: 6 }];
    directory.changed("other");
    await directory.authenticate(token, 7);
    expect(asked).toHaveLength(1);
    directory.changed("acme");
    await expect(directory.authenticate(token, 7)).rejects.toMatchObject({ code: "key_revoked" });
  });

  test("a key that is revoked while it is being read is not remembered as good", async () => {
    const { promise, resolve } = Promise.withResolvers<Key | undefined>();
    const answers = [promise, Promise.resolve({ ...key, revokedAt: 6 })];
    const reads: DirectoryReads = { keyByHash: () => answers.shift() ?? Promise.resolve(undefined), grants: async () => [], keys: async () => [] };
    const directory = new Directory(reads, (text) => `hash of ${text}`);
    const entering = directory.authenticate(token, 5);
    directory.changed("acme");
    resolve(key);
    await entering;
    await expect(directory.authenticate(token, 7)).rejects.toMatchObject({ code: "key_revoked" });
  });

  test("ten thousand keys are remembered, and the oldest makes room", async () => {
    const texts = Array.from({ length: 10_001 }, (_, n) => makeKeyText("01KDY7MFG80000000000000000", String(n).padStart(43, "0")));
    const { directory, asked } = directoryOf({ keys: texts.map((text) => ({ ...key, hash: `hash of ${text}` })) });
    for (const text of texts.slice(0, 10_000)) await directory.authenticate(text, 5);
    await directory.authenticate(texts[0], 5);
    expect(asked).toHaveLength(10_000);
    await directory.authenticate(texts[10_000], 5);
    await directory.authenticate(texts[0], 5);
    expect(asked).toHaveLength(10_002);
  }, 60_000);
});

describe("requireAlive", () => {
  const alive = (keys: Key[], now = 5) => directoryOf({ keys }).directory.requireAlive(principal, now);

  test.each<[string, Partial<Key>, string]>([
    ["revoked", { revokedAt: 3 }, "key_revoked"],
    ["expired from its instant on", { expiresAt: 5 }, "token_expired"],
  ])("whose key was %s is out, whatever other keys it has, in the words of who comes in by it", async (_, changes, code) => {
    const { directory } = directoryOf({ keys: [{ ...key, keyId: "key_2", hash: "another" }, { ...key, ...changes }] });
    await expect(directory.requireAlive(principal, 5)).rejects.toMatchObject({ code });
    await expect(directory.authenticate(token, 5)).rejects.toMatchObject({ code });
  });

  test("whose key is alive stays in, and who has none came in by another credential", async () => {
    await alive([{ ...key, expiresAt: 6 }]);
    await alive([{ ...key, keyId: "key_2", revokedAt: 3 }]);
    await alive([{ ...key, principal: "service:other", revokedAt: 3 }, { ...key, tenant: "other", revokedAt: 3 }]);
  });

  test("read once, and anew after a change of the tenant's", async () => {
    const { directory, asked, stored } = directoryOf({ keys: [key] });
    for (let n = 0; n < 3; n++) await directory.requireAlive(principal, 5);
    expect(asked).toEqual(["keys of acme"]);
    stored.keys = [{ ...key, revokedAt: 4 }];
    directory.changed("acme");
    await expect(directory.requireAlive(principal, 5)).rejects.toMatchObject({ code: "key_revoked" });
  });
});

describe("permissionsOf", () => {
  test.each<[string, Partial<Grant>, readonly string[]]>([
    ["its own grant, for every project", {}, ["tool:invoke:pay"]],
    ["its own grant, for this project", { project: "shop" }, ["tool:invoke:pay"]],
    ["its own grant, for another project", { project: "office" }, []],
    ["somebody else's grant", { subject: "service:shop2" }, []],
    ["another tenant's grant for the same name", { tenant: "other" }, []],
    ["a revoked grant", { revokedAt: 3 }, []],
    ["a grant that expires after now", { expiresAt: 6 }, ["tool:invoke:pay"]],
    ["a grant that expires now", { expiresAt: 5 }, []],
  ])("%s", async (_, changes, expected) => {
    const { directory } = directoryOf({ grants: [{ ...grant, ...changes }] });
    expect(await directory.permissionsOf(principal, "shop", 5)).toEqual(expected);
  });

  test("all grants together, in the order of the store, read once until they change", async () => {
    const { directory, asked, stored } = directoryOf({ grants: [grant, { ...grant, grantId: "grant_2", permissions: ["tool:invoke:ship", "net:egress:*"] }] });
    expect(await directory.permissionsOf(principal, "shop", 5)).toEqual(["tool:invoke:pay", "tool:invoke:ship", "net:egress:*"]);
    stored.grants = [];
    expect(await directory.permissionsOf(principal, "shop", 5)).toHaveLength(3);
    expect(asked).toEqual(["acme"]);
    directory.changed("acme");
    expect(await directory.permissionsOf(principal, "shop", 5)).toEqual([]);
  });

  test("a read that failed is not remembered as an answer", async () => {
    let failing = true;
    const reads: DirectoryReads = {
      keyByHash: async () => undefined,
      keys: async () => [],
      async grants() {
        if (failing) throw new Error("no disk");
        return [grant];
      },
    };
    const directory = new Directory(reads, (text) => text);
    await expect(directory.permissionsOf(principal, "shop", 5)).rejects.toThrow("no disk");
    failing = false;
    expect(await directory.permissionsOf(principal, "shop", 5)).toEqual(["tool:invoke:pay"]);
  });
});

describe("holdingsOf", () => {
  const withRoles = (grantId: string, roles: readonly string[], changes: Partial<Grant> = {}): Grant => ({ ...grant, grantId, permissions: [], roles, ...changes });

  test("permissions by its grants, roles by its key and its grants, each once", async () => {
    const { directory } = directoryOf({ grants: [grant, withRoles("g2", ["finance", "ops"]), withRoles("g3", ["ops"])] });
    expect(await directory.holdingsOf({ ...principal, roles: ["clerk", "finance"] }, "shop", 5)).toEqual({
      permissions: ["tool:invoke:pay"],
      roles: ["clerk", "finance", "ops"],
    });
  });

  test("without grants: no permissions, and the roles of the key", async () => {
    const { directory } = directoryOf({});
    expect(await directory.holdingsOf({ ...principal, roles: ["clerk"] }, "shop", 5)).toEqual({ permissions: [], roles: ["clerk"] });
  });

  test.each<[string, Partial<Grant>]>([
    ["of another project", { project: "office" }],
    ["that was revoked", { revokedAt: 3 }],
    ["that expires now", { expiresAt: 5 }],
    ["of another tenant", { tenant: "other" }],
    ["of somebody else", { subject: "service:shop2" }],
  ])("a role by a grant %s does not count", async (_, changes) => {
    const { directory } = directoryOf({ grants: [withRoles("g2", ["ops"], changes)] });
    expect((await directory.holdingsOf(principal, "shop", 5)).roles).toEqual([]);
  });
});

describe("holdingsByName", () => {
  const holdings = (stored: { keys?: Key[]; grants?: Grant[] }, now = 5) => directoryOf(stored).directory.holdingsByName("acme", "service:shop", "shop", now);

  test("the roles of all its keys that are alive, whatever project they are for, and those of its grants", async () => {
    const keys = [key, { ...key, keyId: "key_2", project: "office", roles: ["ops", "finance"] }, { ...key, keyId: "key_3", roles: ["board"], revokedAt: 2 }];
    expect(await holdings({ keys, grants: [{ ...grant, roles: ["lead"] }] })).toEqual({ permissions: ["tool:invoke:pay"], roles: ["finance", "ops", "lead"] });
  });

  test.each<[string, Partial<Key>]>([
    ["revoked", { revokedAt: 3 }],
    ["expired from its instant on", { expiresAt: 5 }],
  ])("who had keys, and all of them are %s, is locked out, whatever its grants", async (_, changes) => {
    expect(await holdings({ keys: [{ ...key, ...changes }, { ...key, ...changes, keyId: "key_2" }], grants: [grant] })).toBeUndefined();
    expect(await holdings({ keys: [{ ...key, ...changes }, { ...key, keyId: "key_2" }], grants: [grant] })).toMatchObject({ permissions: ["tool:invoke:pay"] });
  });

  test("one moment before it expires a key is alive", async () => {
    expect(await holdings({ keys: [{ ...key, expiresAt: 6 }] })).toEqual({ permissions: [], roles: ["finance"] });
  });

  test("who never had a key came in by another credential: its grants are what counts", async () => {
    expect(await holdings({ keys: [{ ...key, principal: "service:other" }, { ...key, tenant: "other" }], grants: [grant] })).toEqual({ permissions: ["tool:invoke:pay"], roles: [] });
  });

  test("read once, and anew after a change of the tenant's", async () => {
    const { directory, asked, stored } = directoryOf({ keys: [key], grants: [grant] });
    const now = () => directory.holdingsByName("acme", "service:shop", "shop", 5);
    for (let n = 0; n < 3; n++) await now();
    expect(asked).toEqual(["keys of acme", "acme"]);
    stored.keys = [{ ...key, revokedAt: 4 }];
    directory.changed("other");
    expect(await now()).toBeDefined();
    directory.changed("acme");
    expect(await now()).toBeUndefined();
  });

  test("a read of keys that failed is not remembered as an answer", async () => {
    let failing = true;
    const reads: DirectoryReads = {
      keyByHash: async () => undefined,
      grants: async () => [grant],
      async keys() {
        if (failing) throw new Error("no disk");
        return [key];
      },
    };
    const directory = new Directory(reads, (text) => text);
    await expect(directory.holdingsByName("acme", "service:shop", "shop", 5)).rejects.toThrow("no disk");
    failing = false;
    expect(await directory.holdingsByName("acme", "service:shop", "shop", 5)).toEqual({ permissions: ["tool:invoke:pay"], roles: ["finance"] });
  });
});

test("every change is told, of whatever tenant", () => {
  let told = 0;
  const reads: DirectoryReads = { keyByHash: async () => undefined, grants: async () => [], keys: async () => [] };
  const directory = new Directory(reads, (text) => text, { changed: () => void told++ });
  directory.changed("acme");
  directory.changed("other");
  expect(told).toBe(2);
});

test("uses of a key are told at most once a minute, and from its last one that is kept", async () => {
  const told: number[] = [];
  const reads: DirectoryReads = { keyByHash: async () => ({ ...key, lastUsedAt: 1_000 }), grants: async () => [], keys: async () => [] };
  const directory = new Directory(reads, (text) => text, { used: ({ keyId }, at) => void (keyId === "key_1" && told.push(at)) });
  for (const now of [60_999, 61_000, 61_001, 120_999, 50, 121_000]) await directory.authenticate(token, now);
  expect(told).toEqual([61_000, 121_000]);
});
