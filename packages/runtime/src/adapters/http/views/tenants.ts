// Tenants as callers see them.
import { iso } from "../../../call/view.ts";
import type { MadeTenant } from "../../../service-tenants.ts";
import type { Tenant } from "../../../tenancy/types.ts";
import { keyView } from "./access.ts";
import { isoOrNull } from "./times.ts";

export function tenantView(one: Tenant): Record<string, unknown> {
  const { tenant, weight, createdAt, suspendedAt, suspendedBy, suspendedReason } = one;
  return {
    tenant,
    weight,
    suspended: suspendedAt !== null,
    suspended_at: isoOrNull(suspendedAt),
    suspended_by: suspendedBy,
    suspended_reason: suspendedReason,
    created_at: iso(createdAt),
  };
}

export function madeTenantView({ tenant, key, secret }: MadeTenant): Record<string, unknown> {
  return { ...tenantView(tenant), admin_key: { ...keyView(key), secret } };
}
