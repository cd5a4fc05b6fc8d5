// Conformance: tenants, projects, keys, grants and tools are made once, revoked once, and versions never change.
import { expect } from "vitest";
import type { GuardedWrite, Unit } from "../../packages/runtime/src/ledger/port.ts";
import { newTenant } from "../../packages/runtime/src/tenancy/tenant.ts";
import type { Tenant } from "../../packages/runtime/src/tenancy/types.ts";
import type { LedgerCase } from "./ledger-case.ts";
import { dayStart, sampleGrant, sampleKey, sampleToolVersion } from "./ledger-rows.ts";

const unit = (...writes: GuardedWrite[]): Unit => ({ writes });
const applied = { applied: true };
const refused = { applied: false, write: 0 };

export function recordCases(ledgerCase: LedgerCase): void {
  ledgerCase("tenants and projects are made once", async ({ ledger }) => {
    const acme = newTenant("acme", 2.5, dayStart);
    const globex = newTenant("globex", 1, dayStart);
    const shop = { tenant: "acme", project: "shop", environment: "production", createdAt: dayStart };
    const help = { tenant: "acme", project: "help", environment: "staging", createdAt: dayStart };
    expect(await ledger.commit(unit({ op: "insert_tenant", row: globex }))).toEqual(applied);
    expect(await ledger.commit(unit({ op: "insert_tenant", row: acme }, { op: "insert_project", row: shop }))).toEqual(
      applied,
    );
    expect(await ledger.commit(unit({ op: "insert_tenant", row: { ...acme, weight: 9 } }))).toEqual(refused);
    expect(await ledger.commit(unit({ op: "insert_project", row: { ...shop, environment: "staging" } }))).toEqual(
      refused,
    );
    expect(await ledger.commit(unit({ op: "insert_project", row: help }))).toEqual(applied);
    expect(await ledger.tenants()).toEqual([acme, globex]);
    expect(await ledger.tenant("acme")).toEqual(acme);
    expect(await ledger.tenant("Acme")).toBeUndefined();
    expect(await ledger.projects("acme")).toEqual([help, shop]);
  });

  ledgerCase("weight and suspension of a tenant change, and nothing else of it", async ({ ledger }) => {
    const acme = newTenant("acme", 1, dayStart);
    const globex = newTenant("globex", 1, dayStart);
    for (const row of [acme, globex]) await ledger.commit(unit({ op: "insert_tenant", row }));
    const update = (row: Tenant) => ledger.commit(unit({ op: "update_tenant", row }));
    const suspended = { suspendedAt: dayStart + 5, suspendedBy: "user:op", suspendedReason: "unpaid" };
    expect(await update({ ...acme, weight: 3, createdAt: 1, ...suspended })).toEqual(applied);
    expect(await ledger.tenants()).toEqual([{ ...acme, weight: 3, ...suspended }, globex]);
    expect(await update({ ...acme, weight: 3 })).toEqual(applied);
    expect(await ledger.tenant("acme")).toEqual({ ...acme, weight: 3 });
    expect(await update(newTenant("initech", 1, dayStart))).toEqual(refused);
    expect(await ledger.tenant("initech")).toBeUndefined();
  });

  ledgerCase("the last use of a key is kept, in its own tenant, and never goes back", async ({ ledger }) => {
    const key = sampleKey({ keyId: "key_1", hash: "h1" });
    const foreign = sampleKey({ keyId: "key_1", hash: "h2", tenant: "globex" });
    for (const row of [key, foreign]) await ledger.commit(unit({ op: "insert_key", row }));
    const touch = (keyId: string, at: number) =>
      ledger.commit({ writes: [{ op: "touch_key", tenant: "acme", keyId, at }], lazy: true });
    for (const at of [dayStart + 7, dayStart + 6]) expect(await touch("key_1", at)).toEqual(applied);
    expect(await touch("key_2", dayStart + 8)).toEqual(applied);
    expect(await ledger.keys("acme")).toEqual([{ ...key, lastUsedAt: dayStart + 7 }]);
    expect(await ledger.keyByHash("h2")).toEqual(foreign);
  });

  ledgerCase("a key is found by the hash of its text, in whatever tenant it is", async ({ ledger }) => {
    const key = sampleKey({ keyId: "key_1", hash: "h1", expiresAt: dayStart + 1 });
    const second = sampleKey({ keyId: "key_2", hash: "h2", scopes: ["*"], roles: [], createdAt: dayStart + 1 });
    const foreign = sampleKey({ keyId: "key_1", hash: "h3", tenant: "globex" });
    for (const row of [second, key, foreign])
      expect(await ledger.commit(unit({ op: "insert_key", row }))).toEqual(applied);
    expect(await ledger.keyByHash("h1")).toEqual(key);
    expect(await ledger.keyByHash("h3")).toEqual(foreign);
    expect(await ledger.keyByHash("h4")).toBeUndefined();
    expect(await ledger.keys("acme")).toEqual([key, second]);
  });

  ledgerCase("two keys share neither id nor hash", async ({ ledger }) => {
    const key = sampleKey({ keyId: "key_1", hash: "h1" });
    await ledger.commit(unit({ op: "insert_key", row: key }));
    expect(await ledger.commit(unit({ op: "insert_key", row: { ...key, hash: "h2" } }))).toEqual(refused);
    expect(await ledger.commit(unit({ op: "insert_key", row: { ...key, keyId: "key_2" } }))).toEqual(refused);
    expect(await ledger.commit(unit({ op: "insert_key", row: { ...key, tenant: "globex" } }))).toEqual(refused);
  });

  ledgerCase("a key is revoked at the first instant that was given, in its own tenant", async ({ ledger }) => {
    await ledger.commit(unit({ op: "insert_key", row: sampleKey({ keyId: "key_1", hash: "h1" }) }));
    const revoke = (tenant: string, keyId: string, at: number) =>
      ledger.commit(unit({ op: "revoke_key", tenant, keyId, at }));
    expect(await revoke("globex", "key_1", 4)).toEqual(refused);
    expect(await revoke("acme", "key_2", 5)).toEqual(refused);
    expect((await ledger.keyByHash("h1"))?.revokedAt).toBeNull();
    expect(await revoke("acme", "key_1", 6)).toEqual(applied);
    expect(await revoke("acme", "key_1", 7)).toEqual(applied);
    expect((await ledger.keyByHash("h1"))?.revokedAt).toBe(6);
  });

  ledgerCase("a grant is made once and revoked at the first instant", async ({ ledger }) => {
    const first = sampleGrant({ grantId: "grant_1" });
    const second = sampleGrant({
      grantId: "grant_2",
      permissions: ["*"],
      roles: ["finance"],
      project: "shop",
      expiresAt: null,
    });
    for (const row of [first, second]) expect(await ledger.commit(unit({ op: "insert_grant", row }))).toEqual(applied);
    expect(await ledger.commit(unit({ op: "insert_grant", row: { ...first, permissions: ["*"] } }))).toEqual(refused);
    const revoke = (tenant: string, grantId: string, at: number) =>
      ledger.commit(unit({ op: "revoke_grant", tenant, grantId, at }));
    expect(await revoke("globex", "grant_1", 4)).toEqual(refused);
    expect(await revoke("acme", "grant_1", 6)).toEqual(applied);
    expect(await revoke("acme", "grant_1", 7)).toEqual(applied);
    expect(await ledger.grants("acme")).toEqual([{ ...first, revokedAt: 6 }, second]);
  });

  ledgerCase("a published version comes back as it was and never changes", async ({ ledger }) => {
    const row = sampleToolVersion("1.0.0");
    const withOutput = sampleToolVersion("1.1.0", {
      spec: { ...row.spec, output: { type: "object" }, executor: { type: "sandbox", runtime: "js", entry: "main.js" } },
      publishedAt: dayStart + 1,
    });
    const publish = (version: typeof row) =>
      ledger.commit(unit({ op: "insert_tool_version", row: version, activate: false }));
    expect(await publish(withOutput)).toEqual(applied);
    expect(await publish(row)).toEqual(applied);
    expect(await publish({ ...row, manifestDigest: "00".repeat(32) })).toEqual(refused);
    expect(await ledger.toolVersion("acme", "orders.find", "1.0.0")).toEqual(row);
    expect(await ledger.toolVersion("acme", "orders.find", "1.1.0")).toEqual(withOutput);
    expect(await ledger.toolVersion("acme", "orders.find", "2.0.0")).toBeUndefined();
    expect(await ledger.toolVersions("acme", "orders.find")).toEqual([
      { version: "1.0.0", status: "active" },
      { version: "1.1.0", status: "active" },
    ]);
  });

  ledgerCase("a tool's record tells of its active version", async ({ ledger }) => {
    const first = sampleToolVersion("1.0.0");
    const second = sampleToolVersion("2.0.0", {
      metadata: {
        ...first.metadata,
        version: "2.0.0",
        owner: "",
        description: "Findet Aufträge",
        category: "",
        labels: {},
      },
      spec: {
        ...first.spec,
        sideEffectClass: "idempotent_write",
        executor: { type: "mcp", server: "erp", tool: "find" },
      },
      publishedAt: dayStart + 5,
    });
    await ledger.commit(unit({ op: "insert_tool_version", row: first, activate: false }));
    const record = {
      tenant: "acme",
      tool: "orders.find",
      activeVersion: null,
      description: "Finds orders (1.0.0)",
      sideEffectClass: "read_only",
      executorType: "worker",
      owner: "team-orders",
      category: "orders",
      labels: { tier: "1" },
      createdAt: dayStart,
    };
    expect(await ledger.tool("acme", "orders.find")).toEqual(record);
    await ledger.commit(unit({ op: "insert_tool_version", row: second, activate: true }));
    const active = {
      ...record,
      activeVersion: "2.0.0",
      description: "Findet Aufträge",
      sideEffectClass: "idempotent_write",
      executorType: "mcp",
      owner: "",
      category: "",
      labels: {},
    };
    expect(await ledger.tool("acme", "orders.find")).toEqual(active);
    const activate = (tenant: string, version: string) =>
      ledger.commit(unit({ op: "activate_tool", tenant, tool: "orders.find", version, at: 7, by: "user:bo" }));
    expect(await activate("acme", "3.0.0")).toEqual(refused);
    expect(await activate("globex", "1.0.0")).toEqual(refused);
    expect(await ledger.tool("acme", "orders.find")).toEqual(active);
    expect(await activate("acme", "1.0.0")).toEqual(applied);
    expect(await ledger.tool("acme", "orders.find")).toEqual({ ...record, activeVersion: "1.0.0" });
  });

  ledgerCase("tools are listed by name, page by page", async ({ ledger }) => {
    for (const tool of ["b.two", "a.one", "c.three"]) {
      await ledger.commit(
        unit({ op: "insert_tool_version", row: sampleToolVersion("1.0.0", { tool }), activate: true }),
      );
    }
    const first = await ledger.listTools("acme", 2);
    expect(first.items.map((record) => record.tool)).toEqual(["a.one", "b.two"]);
    const second = await ledger.listTools("acme", 2, first.next);
    expect(second.items.map((record) => record.tool)).toEqual(["c.three"]);
    expect(second.next).toBeUndefined();
  });
}
