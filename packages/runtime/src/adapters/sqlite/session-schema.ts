// What came with agents and sessions: agents and their versions, sessions, what they said and told, and the journal of their effects.

/** Conditions of partial indexes; a query must repeat one word for word to use its index. */
export const ofSessionSql = "session_id <> ''";
export const isChildSql = "parent_session_id <> ''";
/** Sessions that may have something to do; the others wait for a word, or have ended. */
export const mayWorkSql = "(state IN ('running', 'awaiting_tool', 'awaiting_approval') OR inbox_seq > inbox_taken)";
export const notEndedSql = "state NOT IN ('completed', 'failed', 'cancelled')";

const agents = [
  `CREATE TABLE agents (
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    deployed_version TEXT,
    latest_version TEXT NOT NULL,
    description TEXT NOT NULL,
    owner TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    archived_at INTEGER,
    PRIMARY KEY (tenant, agent)
  ) STRICT`,
  `CREATE TABLE agent_versions (
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    version TEXT NOT NULL,
    version_id TEXT NOT NULL,
    manifest_digest TEXT NOT NULL,
    status TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    published_by TEXT NOT NULL,
    metadata_json TEXT NOT NULL,
    children_json TEXT NOT NULL,
    spec_json TEXT NOT NULL,
    PRIMARY KEY (tenant, agent, version)
  ) STRICT`,
  `CREATE TABLE agent_changes (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    agent TEXT NOT NULL,
    action TEXT NOT NULL,
    version TEXT NOT NULL,
    at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    comment TEXT NOT NULL
  ) STRICT`,
  "CREATE INDEX agent_changes_of_agent ON agent_changes (tenant, agent, id)",
];

// `root_session_id` is the adapter's own: retention takes a tree at once, and asks whether all of it has ended.
const sessions = [
  `CREATE TABLE sessions (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    project TEXT NOT NULL,
    agent TEXT NOT NULL,
    agent_version TEXT NOT NULL,
    agent_version_id TEXT NOT NULL,
    principal TEXT NOT NULL,
    key_id TEXT NOT NULL,
    parent_session_id TEXT NOT NULL,
    parent_call_id TEXT NOT NULL,
    root_session_id TEXT NOT NULL,
    depth INTEGER NOT NULL,
    idempotency_key TEXT,
    created_at INTEGER NOT NULL,
    deadline_at INTEGER,
    state TEXT NOT NULL,
    turn INTEGER NOT NULL,
    history_length INTEGER NOT NULL,
    inbox_taken INTEGER NOT NULL,
    inbox_seq INTEGER NOT NULL,
    event_seq INTEGER NOT NULL,
    approval_id TEXT,
    updated_at INTEGER NOT NULL,
    ended_at INTEGER,
    fence INTEGER NOT NULL,
    replica TEXT,
    lease_expires_at INTEGER,
    usage_json TEXT NOT NULL,
    reason_json TEXT,
    context_json TEXT NOT NULL,
    snapshot_json TEXT,
    PRIMARY KEY (tenant, session_id)
  ) STRICT`,
  `CREATE UNIQUE INDEX sessions_by_idempotency_key ON sessions (tenant, project, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  "CREATE INDEX sessions_by_time ON sessions (tenant, created_at, session_id)",
  `CREATE INDEX sessions_by_parent ON sessions (tenant, parent_session_id, created_at, session_id) WHERE ${isChildSql}`,
  "CREATE INDEX sessions_by_root ON sessions (tenant, root_session_id)",
  `CREATE INDEX sessions_at_work ON sessions (updated_at, tenant, session_id) WHERE ${notEndedSql} AND ${mayWorkSql}`,
];

const ofSessions = [
  `CREATE TABLE session_history (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    place INTEGER NOT NULL,
    item_json TEXT NOT NULL,
    PRIMARY KEY (tenant, session_id, place)
  ) STRICT`,
  `CREATE TABLE session_inbox (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    put_by TEXT NOT NULL,
    idempotency_key TEXT,
    wish_json TEXT NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
  ) STRICT`,
  `CREATE UNIQUE INDEX session_inbox_by_key ON session_inbox (tenant, session_id, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  `CREATE TABLE session_events (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    at INTEGER NOT NULL,
    type TEXT NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    data_json TEXT NOT NULL,
    PRIMARY KEY (tenant, session_id, seq)
  ) STRICT`,
  `CREATE TABLE session_journal (
    tenant TEXT NOT NULL,
    session_id TEXT NOT NULL,
    effect_key TEXT NOT NULL,
    kind TEXT NOT NULL,
    hash TEXT NOT NULL,
    state TEXT NOT NULL,
    fence INTEGER NOT NULL,
    claimed_at INTEGER NOT NULL,
    claim_expires_at INTEGER NOT NULL,
    completed_at INTEGER,
    envelope_json TEXT NOT NULL,
    outcome_json TEXT,
    PRIMARY KEY (tenant, session_id, effect_key)
  ) STRICT`,
  `CREATE TABLE host_events (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    ordinal INTEGER NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    payload_json TEXT NOT NULL,
    PRIMARY KEY (tenant, call_id, ordinal, type)
  ) STRICT`,
  `CREATE INDEX calls_of_sessions ON calls (tenant, session_id, turn, step, call_index) WHERE ${ofSessionSql}`,
  "CREATE INDEX approvals_of_sessions ON approvals (tenant, session_id, opened_at, approval_id) WHERE session_id IS NOT NULL",
];

export const sessionStatements: readonly string[] = [...agents, ...sessions, ...ofSessions];
