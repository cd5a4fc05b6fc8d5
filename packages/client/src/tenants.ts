// The client's part for the platform's operator: tenants, and the keys that it gives out for them.
import { segment, verbsOf } from "./ask.ts";
import type { Ask, AskOptions } from "./ask.ts";
import type { CreatedKey, Key, KeyQuery, NewKey, Page, PageQuery } from "./types.ts";

/** Instants are ISO 8601 text. */
export interface Tenant {
  readonly tenant: string;
  /** Its share of what all tenants wait for. */
  readonly weight: number;
  /** Its keys are refused, and nothing of it goes to a worker. */
  readonly suspended: boolean;
  readonly suspended_at: string | null;
  readonly suspended_by: string | null;
  readonly suspended_reason: string | null;
  readonly created_at: string;
}

export interface NewTenant {
  readonly tenant: string;
  readonly weight?: number;
  /** Whose its first key is; `user:admin` where that is left out. */
  readonly admin?: { readonly principal?: string; readonly label?: string };
}

export interface CreatedTenant extends Tenant {
  /** May do everything in its tenant. The secret is in this answer and nowhere else, ever. */
  readonly admin_key: CreatedKey;
}

/** What is left out stays as it is. */
export interface TenantChange {
  readonly weight?: number;
  readonly suspended?: boolean;
  /** Goes with `suspended: true`. */
  readonly reason?: string;
}

/** For a key of the tenant `platform`; with others `list` and `get` show their own tenant, and the rest is refused. */
export interface TenantsClient {
  list(query?: PageQuery, options?: AskOptions): Promise<Page<Tenant>>;
  get(tenant: string, options?: AskOptions): Promise<Tenant>;
  create(tenant: NewTenant, options?: AskOptions): Promise<CreatedTenant>;
  /** The same again changes nothing. */
  change(tenant: string, change: TenantChange, options?: AskOptions): Promise<Tenant>;
  readonly keys: {
    list(tenant: string, query?: KeyQuery, options?: AskOptions): Promise<Page<Key>>;
    /** The secret is in this answer and nowhere else, ever. */
    create(tenant: string, key: NewKey, options?: AskOptions): Promise<CreatedKey>;
    revoke(tenant: string, keyId: string, options?: AskOptions): Promise<Key>;
  };
}

export function tenants(ask: Ask): TenantsClient {
  const { get, post, put, remove } = verbsOf(ask);
  const place = (tenant: string): string => `/v1/tenants/${segment(tenant)}`;
  const keysOf = (tenant: string): string => `${place(tenant)}/keys`;
  return {
    list: async (query = {}, how) => (await get("/v1/tenants", { ...query }, how)) as Page<Tenant>,
    get: async (tenant, how) => (await get(place(tenant), undefined, how)) as Tenant,
    create: async (tenant, how) => (await post("/v1/tenants", tenant, false, how)) as CreatedTenant,
    change: async (tenant, change, how) => (await put(place(tenant), change, how)) as Tenant,
    keys: {
      list: async (tenant, query = {}, how) => (await get(keysOf(tenant), { ...query }, how)) as Page<Key>,
      create: async (tenant, key, how) => (await post(keysOf(tenant), key, false, how)) as CreatedKey,
      revoke: async (tenant, keyId, how) => (await remove(`${keysOf(tenant)}/${segment(keyId)}`, how)) as Key,
    },
  };
}
