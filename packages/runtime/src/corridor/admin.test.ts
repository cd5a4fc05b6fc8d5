// Keys and grants: who may make them, what they may give, how soon they count, and the record that each act leaves.
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { asked, Corridor, refusal } from "../../../../test/support/corridor.ts";
import type { Asked } from "../tenancy/types.ts";

let corridor: Corridor;
beforeEach(() => {
  corridor = new Corridor();
});
afterEach(() => corridor.close());

const admin = asked({ name: "user:root", scopes: new Set(["*"]) });
const lesser = asked({ name: "user:lead", scopes: new Set(["admin", "tools:read", "audit:read"]) });
const wanted = { label: "shop", principal: "service:shop", scopes: ["tools:invoke"] } as const;

describe("keys", () => {
  test("a new key opens the door at once; its text is told once and stored nowhere", async () => {
    const { key, secret } = await corridor.service.createKey(admin, { ...wanted, roles: ["finance"], expiresAt: 1_005_000 });
    expect(secret).toMatch(/^sbk_[0-9A-Z]{26}_[A-Za-z0-9_-]{43}$/);
    expect(key).toMatchObject({
      tenant: "acme",
      keyId: `key_${secret.slice(4, 30)}`,
      project: "shop",
      principal: "service:shop",
      scopes: ["tools:invoke"],
      roles: ["finance"],
      createdAt: 1_000_000,
      expiresAt: 1_005_000,
      revokedAt: null,
    });
    expect(await corridor.service.authenticate(secret, "req_1")).toMatchObject({ tenant: "acme", project: "shop", name: "service:shop", scopes: new Set(["tools:invoke"]) });
    expect(JSON.stringify([await corridor.service.listKeys(admin), await corridor.audit()])).not.toContain(secret.slice(-43));
    expect(await corridor.audit()).toMatchObject([
      { action: "key.created", principal: "user:root", status: "done", details: { key_id: key.keyId, for: "service:shop", scopes: ["tools:invoke"], roles: ["finance"], expires_at: 1_005_000 } },
    ]);
    await corridor.clock.pass(5_000);
    expect((await refusal(corridor.service.authenticate(secret, "req_1"))).code).toBe("token_expired");
  });

  test("nobody gives scopes that he lacks; the try is audited", async () => {
    for (const scopes of [["*"], ["tools:read", "tools:invoke"]] as const) {
      const refused = await refusal(corridor.service.createKey(lesser, { ...wanted, scopes }));
      const beyond = scopes.filter((scope) => scope !== "tools:read");
      expect(refused).toMatchObject({ code: "forbidden", details: { beyond } });
      expect((await corridor.audit())[0]).toMatchObject({ errorCode: "forbidden", principal: "user:lead", details: { beyond } });
    }
    expect((await corridor.service.createKey(lesser, { ...wanted, scopes: ["tools:read", "audit:read"] })).key.scopes).toEqual(["tools:read", "audit:read"]);
    expect(await corridor.service.listKeys(admin)).toHaveLength(1);
  });

  test("a revoked key is refused from the next request on; revoking again keeps the first instant", async () => {
    const { key, secret } = await corridor.service.createKey(admin, wanted);
    await corridor.service.authenticate(secret, "req_1");
    expect((await corridor.service.revokeKey(admin, key.keyId)).revokedAt).toBe(1_000_000);
    expect((await refusal(corridor.service.authenticate(secret, "req_2"))).code).toBe("key_revoked");
    await corridor.clock.pass(50);
    expect((await corridor.service.revokeKey(admin, key.keyId)).revokedAt).toBe(1_000_000);
    expect(await corridor.audit("platform")).toMatchObject([{ action: "auth.refused", errorCode: "key_revoked", principal: "anonymous", requestId: "req_2" }]);
  });

  test("an unknown key, and one of another tenant, are the same not found", async () => {
    const { key } = await corridor.service.createKey(admin, wanted);
    const unknown = await refusal(corridor.service.revokeKey(admin, "key_none"));
    expect(unknown).toMatchObject({ code: "key_not_found" });
    expect(await refusal(corridor.service.revokeKey(asked({ tenant: "other", scopes: new Set(["*"]) }), key.keyId))).toEqual(unknown);
    expect((await corridor.service.listKeys(admin))[0]?.revokedAt).toBeNull();
  });
});

describe("grants", () => {
  test("a new grant counts from the next call on, and is audited", async () => {
    await corridor.tool();
    expect((await refusal(corridor.invoke())).code).toBe("forbidden");
    const grant = await corridor.service.createGrant(admin, { subject: "user:ann", permissions: ["tool:invoke:pay"], roles: ["finance"], expiresAt: 1_005_000 });
    expect(grant).toMatchObject({ tenant: "acme", project: "", createdBy: "user:root", createdAt: 1_000_000, revokedAt: null });
    expect((await corridor.invoke()).call.state).toBe("queued");
    expect((await corridor.audit()).find(({ action }) => action === "grant.created")).toMatchObject({
      principal: "user:root",
      details: { grant_id: grant.grantId, subject: "user:ann", permissions: ["tool:invoke:pay"], roles: ["finance"], expires_at: 1_005_000 },
    });
    await corridor.clock.pass(5_000);
    expect((await refusal(corridor.invoke())).code).toBe("forbidden");
  });

  test("permissions that mean nothing are refused, each with its reason", async () => {
    const refused = await refusal(corridor.service.createGrant(admin, { subject: "user:ann", permissions: ["tool:invoke:pay", "tool:invoke", "net:egress:*.*"] }));
    expect(refused).toMatchObject({ code: "invalid_input", details: { problems: [{ permission: "tool:invoke" }, { permission: "net:egress:*.*" }] } });
    expect(await corridor.service.listGrants(admin)).toEqual([]);
  });

  test("an unknown grant, and one of another tenant, are the same not found", async () => {
    const grant = await corridor.service.createGrant(admin, { subject: "user:ann", permissions: ["*"] });
    const unknown = await refusal(corridor.service.revokeGrant(admin, "grant_none"));
    expect(unknown).toMatchObject({ code: "grant_not_found" });
    expect(await refusal(corridor.service.revokeGrant(asked({ tenant: "other", scopes: new Set(["*"]) }), grant.grantId))).toEqual(unknown);
  });
});

test.each<[string, (corridor: Corridor) => Promise<unknown>, string]>([
  ["createKey", ({ service }) => service.createKey(asked(), wanted), "admin"],
  ["listKeys", ({ service }) => service.listKeys(asked()), "admin"],
  ["revokeKey", ({ service }) => service.revokeKey(asked(), "key_1"), "admin"],
  ["createGrant", ({ service }) => service.createGrant(asked(), { subject: "user:ann", permissions: ["*"] }), "admin"],
  ["listGrants", ({ service }) => service.listGrants(asked()), "admin"],
  ["revokeGrant", ({ service }) => service.revokeGrant(asked(), "grant_1"), "admin"],
  ["listAudit", ({ service }) => service.listAudit(asked(), {}, 10), "audit:read"],
  ["verifyAudit", ({ service }) => service.verifyAudit(asked()), "audit:read"],
  ["listWorkers", ({ service }) => service.listWorkers(asked()), "calls:read"],
  ["registerTool", ({ service }) => service.registerTool(asked(), {}, {}), "tools:write"],
  ["activateTool", ({ service }) => service.activateTool(asked(), "pay", "1.0.0"), "tools:write"],
  ["listTools", ({ service }) => service.listTools(asked(), 10), "tools:read"],
  ["getTool", ({ service }) => service.getTool(asked(), "pay"), "tools:read"],
])("%s needs its scope before anything is looked at", async (_, ask, scope) => {
  expect(await refusal(ask(corridor))).toMatchObject({ code: "forbidden", details: { missing_scope: scope } });
  expect(await corridor.audit()).toMatchObject([{ status: "refused", details: { missing_scope: scope } }]);
});

test("the audit is the tenant's own, and holds", async () => {
  await corridor.service.createKey(admin, wanted);
  await corridor.service.createKey(asked({ tenant: "other", scopes: new Set(["*"]) }), wanted);
  const { items } = await corridor.service.listAudit(lesser, {}, 10);
  expect(items.map(({ tenant, action }) => [tenant, action])).toEqual([["acme", "key.created"]]);
  expect(await corridor.service.verifyAudit(lesser)).toEqual({ ok: true, records: 1, lanes: 1, problems: [] });
});

test("an act that cannot be stored did not happen", async () => {
  corridor.ledger.full = true;
  expect((await refusal(corridor.service.createKey(admin, wanted))).code).toBe("ledger_unavailable");
  corridor.ledger.full = false;
  expect(await corridor.service.listKeys(admin)).toEqual([]);
});

test("how busy others are is not told: status and workers count one's own; the operator's count all", async () => {
  const other = asked({ tenant: "other", scopes: new Set(["*"]) });
  const operator = asked({ tenant: "platform", scopes: new Set(["*"]) });
  for (const tenant of ["platform", "other"]) await corridor.grant(["*"], "user:ann", tenant);
  await corridor.grant(["*"]);
  await corridor.tool({ name: "shared" }, "platform");
  await corridor.tool({ name: "own" }, "other");
  corridor.worker("w-other", { tenant: "other" });
  corridor.worker("w-platform", { tenant: "platform", tools: { shared: 4 } });
  for (const by of [asked(), other, other]) await corridor.invoke({ tool: "shared" }, by);
  await corridor.invoke({ tool: "own" }, other);
  await corridor.settle();
  const told = (by?: Asked) => {
    const { calls, workers } = corridor.service.status(by);
    return { calls, workers };
  };
  expect(told(admin)).toEqual({ calls: { dispatched: 1 }, workers: 1 });
  expect(told(other)).toEqual({ calls: { dispatched: 2, queued: 1 }, workers: 2 });
  expect(told(operator)).toEqual({ calls: { dispatched: 3, queued: 1 }, workers: 2 });
  expect(told()).toEqual(told(operator));
  const holding = async (by: Asked) => (await corridor.service.listWorkers(by)).map((one) => [one.workerId, one.holding]);
  expect(await holding(admin)).toEqual([["w-platform", 1]]);
  expect(await holding(other)).toEqual([
    ["w-other", 0],
    ["w-platform", 2],
  ]);
  expect(await holding(operator)).toEqual([
    ["w-other", 0],
    ["w-platform", 3],
  ]);
});
