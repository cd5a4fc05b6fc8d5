// A second tenant for tests: no door makes tenants yet, so its rows are written into the ledger of the running runtime.
import { createHash, randomBytes } from "node:crypto";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { makeId } from "@signalbox/protocol";

export interface TenantWanted {
  readonly tenant: string;
  readonly principal: string;
  readonly scopes: readonly string[];
  readonly grants: readonly string[];
}

/** @returns the secret of its key, of the project `default` */
export function addTenant(dataDir: string, wanted: TenantWanted): string {
  const { tenant, principal, scopes, grants } = wanted;
  const now = Date.now();
  const keyId = makeId("key", now, randomBytes(10));
  const secret = `sbk_${keyId.slice("key_".length)}_${randomBytes(32).toString("base64url")}`;
  const hash = createHash("sha256").update(secret).digest("hex");
  const db = new DatabaseSync(join(dataDir, "ledger.db"), { timeout: 5_000 });
  try {
    db.exec("BEGIN IMMEDIATE");
    db.prepare("INSERT INTO tenants VALUES (?, ?, ?)").run(tenant, 1, now);
    db.prepare("INSERT INTO projects VALUES (?, ?, ?, ?)").run(tenant, "default", "development", now);
    db.prepare(
      `INSERT INTO keys (tenant, key_id, hash, label, principal, project, scopes_json, roles_json, created_at)
       VALUES (?, ?, ?, 'first key', ?, 'default', ?, '[]', ?)`,
    ).run(tenant, keyId, hash, principal, JSON.stringify(scopes), now);
    db.prepare(
      `INSERT INTO grants (tenant, grant_id, subject, project, permissions_json, roles_json, created_at, created_by)
       VALUES (?, ?, ?, '', ?, '[]', ?, 'service:signalbox')`,
    ).run(tenant, makeId("grant", now, randomBytes(10)), principal, JSON.stringify(grants), now);
    db.exec("COMMIT");
  } finally {
    db.close();
  }
  return secret;
}
