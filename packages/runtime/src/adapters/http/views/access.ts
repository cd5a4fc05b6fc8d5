// Keys and grants as callers see them; a key's hash stays inside.
import { iso } from "../../../call/view.ts";
import type { Grant, Key } from "../../../tenancy/types.ts";
import { isoOrNull } from "./times.ts";

export function keyView(key: Key): Record<string, unknown> {
  return {
    key_id: key.keyId,
    label: key.label,
    principal: key.principal,
    project: key.project,
    scopes: key.scopes,
    roles: key.roles,
    created_at: iso(key.createdAt),
    expires_at: isoOrNull(key.expiresAt),
    revoked_at: isoOrNull(key.revokedAt),
    last_used_at: isoOrNull(key.lastUsedAt),
  };
}

export function grantView(grant: Grant): Record<string, unknown> {
  return {
    grant_id: grant.grantId,
    subject: grant.subject,
    project: grant.project,
    permissions: grant.permissions,
    roles: grant.roles,
    created_at: iso(grant.createdAt),
    created_by: grant.createdBy,
    expires_at: isoOrNull(grant.expiresAt),
    revoked_at: isoOrNull(grant.revokedAt),
  };
}
