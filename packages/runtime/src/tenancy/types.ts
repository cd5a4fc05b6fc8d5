// Who may ask: tenants, projects, keys, grants and the principal that a request turns out to be.

export const scopes = [
  "tools:read",
  "tools:invoke",
  "tools:write",
  "calls:read",
  "calls:cancel",
  "policies:write",
  "approvals:decide",
  "sessions:read",
  "sessions:run",
  "workers:connect",
  "secrets:write",
  "usage:read",
  "audit:read",
  "admin",
] as const;
export type Scope = (typeof scopes)[number];

/** The tenant of shared, read-only tools and of what concerns no other tenant (a refused login). */
export const platformTenant = "platform";

export interface Tenant {
  readonly tenant: string;
  /** Its share of what all tenants wait for; at least 1. */
  readonly weight: number;
  readonly createdAt: number;
  /** Set while it is suspended: its keys are refused, and nothing of it goes to a worker. */
  readonly suspendedAt: number | null;
  readonly suspendedBy: string | null;
  readonly suspendedReason: string | null;
}

export interface Project {
  readonly tenant: string;
  readonly project: string;
  readonly environment: string;
  readonly createdAt: number;
}

/** An API key; the secret itself is never stored. */
export interface Key {
  readonly tenant: string;
  readonly keyId: string;
  /** SHA-256 (hex) of the whole key text. */
  readonly hash: string;
  readonly label: string;
  /** `user:…`, `service:…` or `agent:…`. */
  readonly principal: string;
  readonly project: string;
  /** `*` stands for all of them. */
  readonly scopes: readonly (Scope | "*")[];
  readonly roles: readonly string[];
  readonly createdAt: number;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
  /** Kept at most once a minute; null: never. */
  readonly lastUsedAt: number | null;
}

export interface NewKey {
  readonly label: string;
  readonly principal: string;
  readonly project?: string;
  readonly scopes: readonly (Scope | "*")[];
  readonly roles?: readonly string[];
  readonly expiresAt?: number;
}

export interface KeyQuery {
  readonly principal?: string;
  readonly project?: string;
  /** As of now. */
  readonly status?: KeyStatus;
}

export type KeyStatus = "active" | "expired" | "revoked";

export interface Grant {
  readonly tenant: string;
  readonly grantId: string;
  /** The principal it is given to. */
  readonly subject: string;
  /** Empty: every project of the tenant. */
  readonly project: string;
  /** `domain:action:resource` strings, or `*`. */
  readonly permissions: readonly string[];
  readonly roles: readonly string[];
  readonly createdAt: number;
  readonly createdBy: string;
  readonly expiresAt: number | null;
  readonly revokedAt: number | null;
}

/** Who a request comes from, after authentication. */
export interface Principal {
  readonly tenant: string;
  readonly project: string;
  readonly name: string;
  readonly keyId: string;
  readonly scopes: ReadonlySet<Scope | "*">;
  readonly roles: readonly string[];
}

/** Who asks, in which request. */
export interface Asked {
  readonly principal: Principal;
  readonly requestId: string;
  /** Aborts when the caller goes away; only heeded where the request says `cancelOnDisconnect`, and to stop waiting. */
  readonly signal?: AbortSignal;
}
