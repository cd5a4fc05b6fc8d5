// What a front door can ask about tenants: list, make, change and suspend them, and the keys that the operator gives out for them.
import type { Asked, Key, KeyQuery, NewKey, Tenant } from "./tenancy/types.ts";

export interface NewTenant {
  readonly tenant: string;
  /** 1 where it is left out. */
  readonly weight?: number;
  /** Whose the first key is, and what it is called; `user:admin` and `first admin key` where they are left out. */
  readonly admin?: { readonly principal?: string; readonly label?: string };
}

/** What is left out stays as it is. */
export interface TenantChange {
  readonly weight?: number;
  readonly suspended?: boolean;
  /** Why it is suspended; for people and the audit. */
  readonly reason?: string;
}

export interface MadeTenant {
  readonly tenant: Tenant;
  /** May do everything in its tenant. */
  readonly key: Key;
  readonly secret: string;
}

/**
 * Scope admin throughout. Who is not the platform's operator reads its own tenant and nothing else: every other name is
 * answered alike, whether or not somebody has it.
 */
export interface TenantService {
  listTenants(asked: Asked): Promise<readonly Tenant[]>;
  /** @throws SignalboxError tenant_not_found */
  getTenant(asked: Asked, tenant: string): Promise<Tenant>;
  /** The tenant, its project `default`, and a key with a grant of everything. The secret is shown once. */
  createTenant(asked: Asked, wanted: NewTenant): Promise<MadeTenant>;
  /** Suspending a tenant again, or resuming one that runs, changes nothing. */
  changeTenant(asked: Asked, tenant: string, change: TenantChange): Promise<Tenant>;
  listTenantKeys(asked: Asked, tenant: string, query: KeyQuery): Promise<readonly Key[]>;
  /** Of the project `default` where none is named. */
  createTenantKey(
    asked: Asked,
    tenant: string,
    wanted: NewKey,
  ): Promise<{ readonly key: Key; readonly secret: string }>;
  revokeTenantKey(asked: Asked, tenant: string, keyId: string): Promise<Key>;
}
