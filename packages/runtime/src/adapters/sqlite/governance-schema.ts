// The second migration: people's part of the ledger, which is policies, approvals, notices, the registry's choices and the brakes.

/** Conditions of partial indexes; a query must repeat one word for word to use its index. */
export const pendingSql = "state = 'pending'";
/** Of a call that was admitted: one that was denied at the door keeps no input, and nothing else lacks it. */
export const admittedSql = "input_json IS NOT NULL";
/** Counts of sessions do not concern calls without one, and those need not pay for the index. */
export const inSessionSql = "session_id <> ''";

/**
 * What counting goes by. Every admitted call would pay for them and most ledgers have no rule that counts, so they come
 * with the first policy that does. No update of a call touches a column of theirs.
 */
export const countIndexes: readonly string[] = [
  `CREATE INDEX IF NOT EXISTS calls_by_window ON calls (tenant, tool, principal, admitted_at, call_id)
    WHERE ${admittedSql}`,
  `CREATE INDEX IF NOT EXISTS calls_by_session ON calls (tenant, session_id, tool, principal, turn, call_id)
    WHERE ${inSessionSql} AND ${admittedSql}`,
];

/** Whether there is a policy that needs them. */
export const countingPolicySql = "SELECT 1 FROM policies WHERE when_source LIKE '%calls.%' LIMIT 1";

// Behind the long columns, for a column that is added stands last; only lists and whole rows ask for it.
const calls = [`ALTER TABLE calls ADD COLUMN args_edited_by TEXT`, `ALTER TABLE calls ADD COLUMN approval_json TEXT`];

// The first migration's tables of these names were never written to.
const approvals = [
  `DROP TABLE votes`,
  `DROP TABLE approvals`,
  `CREATE TABLE approvals (
    tenant TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    project TEXT NOT NULL,
    subject_kind TEXT NOT NULL CHECK (subject_kind IN ('call', 'limit', 'resolve')),
    call_id TEXT,
    session_id TEXT,
    tool TEXT NOT NULL,
    version TEXT NOT NULL,
    requester TEXT NOT NULL,
    on_behalf_of TEXT NOT NULL,
    routes_json TEXT NOT NULL,
    distinct_from_requester INTEGER NOT NULL,
    comprehension INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    on_timeout TEXT NOT NULL,
    on_reject TEXT NOT NULL,
    escalate_to TEXT,
    reason TEXT NOT NULL,
    depth INTEGER NOT NULL,
    escalated_from TEXT,
    escalated_to TEXT,
    args_hash TEXT NOT NULL,
    edited INTEGER NOT NULL,
    round INTEGER NOT NULL,
    state TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT,
    outcome TEXT,
    revision INTEGER NOT NULL,
    args_json TEXT NOT NULL,
    PRIMARY KEY (tenant, approval_id)
  ) STRICT`,
  `CREATE INDEX approvals_due ON approvals (expires_at, tenant, approval_id) WHERE ${pendingSql}`,
  `CREATE INDEX approvals_by_time ON approvals (tenant, opened_at, approval_id)`,
  `CREATE INDEX approvals_by_state ON approvals (tenant, state, opened_at, approval_id)`,
  `CREATE INDEX approvals_by_call ON approvals (tenant, call_id, opened_at, approval_id)`,
  // `position`: the order in which an approval's votes were stored.
  `CREATE TABLE votes (
    tenant TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    voter TEXT NOT NULL,
    roles_json TEXT NOT NULL,
    decision TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    round INTEGER NOT NULL,
    comment TEXT NOT NULL,
    edited_args_json TEXT,
    edited_args_hash TEXT,
    comprehended INTEGER NOT NULL,
    at INTEGER NOT NULL,
    late INTEGER NOT NULL,
    position INTEGER NOT NULL,
    PRIMARY KEY (tenant, approval_id, voter, round, late, decision)
  ) STRICT`,
  // Yes and no of one person in one round would both fit the key above.
  `CREATE UNIQUE INDEX votes_counted ON votes (tenant, approval_id, voter, round) WHERE late = 0`,
  `CREATE INDEX votes_in_order ON votes (tenant, approval_id, position)`,
];

const policies = [
  `CREATE TABLE policies (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    version TEXT NOT NULL,
    level TEXT NOT NULL,
    project TEXT NOT NULL,
    mode TEXT NOT NULL,
    match_json TEXT NOT NULL,
    when_source TEXT,
    missing TEXT,
    decision TEXT NOT NULL,
    reason TEXT NOT NULL,
    approval_json TEXT,
    obligations_json TEXT NOT NULL,
    digest TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    published_by TEXT NOT NULL,
    status TEXT NOT NULL,
    document_json TEXT NOT NULL,
    PRIMARY KEY (tenant, name, version)
  ) STRICT`,
  `CREATE INDEX policies_by_name ON policies (tenant, name, published_at DESC, version DESC)`,
  `CREATE TABLE policy_defaults (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    decision TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (tenant, project)
  ) STRICT`,
];

const notices = [
  `CREATE TABLE webhooks (
    tenant TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    url TEXT NOT NULL,
    sealed_secret TEXT NOT NULL,
    types_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    PRIMARY KEY (tenant, webhook_id)
  ) STRICT`,
  `CREATE TABLE notices (
    id INTEGER PRIMARY KEY,
    type TEXT NOT NULL,
    tenant TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    at INTEGER NOT NULL,
    data_json TEXT NOT NULL
  ) STRICT`,
  `CREATE TABLE deliveries (
    tenant TEXT NOT NULL,
    delivery_id TEXT NOT NULL,
    webhook_id TEXT NOT NULL,
    notice_id INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    next_at INTEGER,
    ended_at INTEGER,
    last_status INTEGER,
    last_error TEXT,
    PRIMARY KEY (tenant, delivery_id)
  ) STRICT`,
  `CREATE INDEX deliveries_due ON deliveries (next_at, notice_id, delivery_id) WHERE ${pendingSql}`,
  `CREATE INDEX deliveries_in_order ON deliveries (tenant, notice_id, delivery_id)`,
  `CREATE INDEX deliveries_by_state ON deliveries (tenant, state, notice_id, delivery_id)`,
  `CREATE INDEX deliveries_by_webhook ON deliveries (tenant, webhook_id, notice_id, delivery_id)`,
];

/** What a list of tools shows, once beside each version and once in the record of the active one. */
const shownColumns = [
  "owner TEXT NOT NULL DEFAULT ''",
  "category TEXT NOT NULL DEFAULT ''",
  "labels_json TEXT NOT NULL DEFAULT '{}'",
];

const registry = [
  ...["tool_versions", "tools"].flatMap((table) =>
    shownColumns.map((column) => `ALTER TABLE ${table} ADD COLUMN ${column}`),
  ),
  `UPDATE tool_versions SET owner = COALESCE(metadata_json ->> 'owner', ''),
    category = COALESCE(metadata_json ->> 'category', ''), labels_json = COALESCE(metadata_json -> 'labels', '{}')`,
  // All that a choice among many versions looks at: their rows hold whole schemas, and would be read page by page.
  `CREATE INDEX tool_versions_listed ON tool_versions (tenant, tool, published_at, version, status)`,
  // A tool without an active version tells of its first one.
  `UPDATE tools SET owner = v.owner, category = v.category, labels_json = v.labels_json
    FROM tool_versions AS v
    WHERE v.tenant = tools.tenant AND v.tool = tools.tool AND v.version = COALESCE(tools.active_version,
      (SELECT f.version FROM tool_versions AS f WHERE f.tenant = tools.tenant AND f.tool = tools.tool
        ORDER BY f.published_at, f.version LIMIT 1))`,
  `CREATE TABLE activations (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    version TEXT NOT NULL,
    at INTEGER NOT NULL,
    changed_by TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX activations_of_tool ON activations (tenant, tool, id)`,
  `INSERT INTO activations (tenant, tool, version, at, changed_by)
    SELECT t.tenant, t.tool, v.version, v.published_at, v.published_by FROM tools AS t
      JOIN tool_versions AS v ON v.tenant = t.tenant AND v.tool = t.tool AND v.version = t.active_version`,
  `CREATE TABLE tool_pins (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    requested TEXT NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (tenant, tool)
  ) STRICT`,
  `CREATE TABLE freezes (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    reason TEXT NOT NULL,
    at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (tenant, tool)
  ) STRICT`,
];

export const governanceStatements: readonly string[] = [...calls, ...approvals, ...policies, ...notices, ...registry];
