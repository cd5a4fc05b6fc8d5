// The tables of who may ask: tenants, projects, keys, grants, and their limits.

export const tenancyTables: readonly string[] = [
  `CREATE TABLE tenants (
    tenant TEXT COLLATE "C" NOT NULL,
    weight DOUBLE PRECISION NOT NULL,
    created_at BIGINT NOT NULL,
    suspended_at BIGINT,
    suspended_by TEXT COLLATE "C",
    suspended_reason TEXT COLLATE "C",
    PRIMARY KEY (tenant)
  )`,
  `CREATE TABLE projects (
    tenant TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    environment TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (tenant, project)
  )`,
  `CREATE TABLE keys (
    tenant TEXT COLLATE "C" NOT NULL,
    key_id TEXT COLLATE "C" NOT NULL,
    hash TEXT COLLATE "C" NOT NULL UNIQUE,
    label TEXT COLLATE "C" NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    scopes_json TEXT COLLATE "C" NOT NULL,
    roles_json TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    last_used_at BIGINT,
    PRIMARY KEY (tenant, key_id)
  )`,
  `CREATE TABLE grants (
    tenant TEXT COLLATE "C" NOT NULL,
    grant_id TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    permissions_json TEXT COLLATE "C" NOT NULL,
    roles_json TEXT COLLATE "C" NOT NULL,
    created_at BIGINT NOT NULL,
    created_by TEXT COLLATE "C" NOT NULL,
    expires_at BIGINT,
    revoked_at BIGINT,
    PRIMARY KEY (tenant, grant_id)
  )`,
  `CREATE TABLE limits (
    tenant TEXT COLLATE "C" NOT NULL,
    set_by TEXT COLLATE "C" NOT NULL,
    scope TEXT COLLATE "C" NOT NULL,
    subject TEXT COLLATE "C" NOT NULL,
    rate_json TEXT COLLATE "C",
    quotas_json TEXT COLLATE "C" NOT NULL,
    time_zone TEXT COLLATE "C",
    changed_at BIGINT NOT NULL,
    changed_by TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, set_by, scope, subject)
  )`,
];
