// The tables of the embedded ledger, as an ordered list of migrations.
//
// The SQL keeps to what PostgreSQL 15 also takes. These are all the differences; a second dialect changes only them:
//   SQLite                                  PostgreSQL 15
//   INTEGER (64 bits)                       BIGINT
//   REAL (8 bytes)                          DOUBLE PRECISION (its REAL has 4 bytes and would round tags)
//   BLOB                                    BYTEA
//   INTEGER PRIMARY KEY                     BIGINT PRIMARY KEY, numbered by a sequence where there are several writers
//   ) STRICT                                )
//   ) STRICT, WITHOUT ROWID                 )
//   x_json ->> 'a'                          CAST(x_json AS json) ->> 'a' (only where a migration fills a column from older rows)
//   text may hold U+0000                    it may not (the audit store replaces it, everything else is checked at the doors)
//   min(a, b), max(a, b)                    least(a, b), greatest(a, b)
//   text is ordered by its bytes            by the database's collation: make the database with collation C
//   one writer, so ids of events are visible in their order    they are not: a reader must not run ahead of open transactions
// There are no foreign keys: every write stands in a unit that brings its own parent, and a check per row costs the hot path.
// JSON stays text in both: digits and key order are part of what was hashed.

import { cacheStatements } from "./cache-schema.ts";
import { namedSeqMax } from "./event-text.ts";
import { governanceStatements } from "./governance-schema.ts";
import { meteringStatements } from "./metering-schema.ts";
import { retryStatements } from "./retry-schema.ts";
import { sessionStatements } from "./session-schema.ts";
import { boxStatements } from "./stream-schema.ts";
import { tenancyStatements } from "./tenancy-schema.ts";
import { workspaceStatements } from "./workspace-schema.ts";

export interface Migration {
  /** Counts from 1, without holes. */
  readonly version: number;
  readonly statements: readonly string[];
}

/** Conditions of partial indexes; a query must repeat one word for word to use its index. */
export const notSucceededSql = "state <> 'succeeded'";
export const longStreamSql = `seq_from > ${namedSeqMax}`;

// What may be long stands last: a read or a guard that does not ask for it need not walk through it. Three columns are the
// adapter's own: `event_rows` names rows of `events` (event-text.ts), and two tell the lease that settled the call
// (attempt-of.ts).
const calls = [
  `CREATE TABLE calls (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    tool_tenant TEXT NOT NULL,
    version TEXT NOT NULL,
    requested_version TEXT NOT NULL,
    manifest_digest TEXT NOT NULL,
    executor TEXT NOT NULL,
    side_effect_class TEXT NOT NULL,
    on_indeterminate TEXT NOT NULL,
    principal TEXT NOT NULL,
    on_behalf_of TEXT NOT NULL,
    session_id TEXT NOT NULL,
    turn INTEGER NOT NULL,
    step INTEGER NOT NULL,
    call_index INTEGER NOT NULL,
    context_json TEXT NOT NULL,
    traceparent TEXT NOT NULL,
    request_id TEXT NOT NULL,
    idempotency_key TEXT,
    fingerprint TEXT NOT NULL,
    input_hash TEXT NOT NULL,
    priority TEXT NOT NULL,
    decision_json TEXT NOT NULL,
    admitted_at INTEGER NOT NULL,
    timeout_ms INTEGER NOT NULL,
    grace_ms INTEGER NOT NULL,
    result_bytes_max INTEGER NOT NULL,
    total_deadline_at INTEGER,
    state TEXT NOT NULL,
    routing_outcome TEXT,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    placements INTEGER NOT NULL,
    may_have_run INTEGER NOT NULL,
    approval_id TEXT,
    start_tag REAL NOT NULL,
    not_before INTEGER NOT NULL,
    enqueued_at INTEGER NOT NULL,
    queue_deadline_at INTEGER,
    start_deadline_at INTEGER,
    provision_deadline_at INTEGER,
    run_deadline_at INTEGER,
    lease_expires_at INTEGER,
    grace_deadline_at INTEGER,
    dispatched_at INTEGER,
    started_at INTEGER,
    settled_at INTEGER,
    worker_id TEXT,
    incarnation TEXT,
    replica TEXT,
    cancel_requested_at INTEGER,
    cancel_requested_by TEXT,
    stop_reason TEXT,
    output_hash TEXT,
    output_bytes INTEGER NOT NULL,
    output_ill_formed INTEGER NOT NULL,
    error_json TEXT,
    usage_json TEXT,
    event_seq INTEGER NOT NULL,
    event_rows TEXT NOT NULL,
    lease_accepted_at INTEGER,
    lease_end_reason TEXT,
    input_json TEXT,
    effective_args_json TEXT,
    output_json TEXT,
    PRIMARY KEY (tenant, call_id)
  ) STRICT`,
  `CREATE UNIQUE INDEX calls_by_idempotency_key ON calls (tenant, project, idempotency_key)
    WHERE idempotency_key IS NOT NULL`,
  `CREATE INDEX calls_by_time ON calls (tenant, admitted_at, call_id)`,
  // Open calls and those that did not succeed: few beside the others, and what recovery, limits and people look for.
  `CREATE INDEX calls_by_state ON calls (state, tenant, admitted_at, call_id) WHERE ${notSucceededSql}`,
  `CREATE TABLE attempts (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    incarnation TEXT NOT NULL,
    replica TEXT NOT NULL,
    dispatched_at INTEGER NOT NULL,
    accepted_at INTEGER,
    started_at INTEGER,
    ended_at INTEGER,
    end_reason TEXT,
    error_json TEXT,
    usage_json TEXT,
    PRIMARY KEY (tenant, call_id, fence)
  ) STRICT, WITHOUT ROWID`,
  // One row for what a unit tells of a call, and the outbox at once: ids are given in the order of commits. They go on from
  // the greatest one, so whatever trims this table must leave its newest row.
  `CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    seq_from INTEGER NOT NULL,
    seq_to INTEGER NOT NULL,
    events_json TEXT NOT NULL
  ) STRICT`,
  `CREATE INDEX events_of_long_streams ON events (tenant, call_id, seq_to) WHERE ${longStreamSql}`,
  `CREATE TABLE late_results (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    fence INTEGER NOT NULL,
    at INTEGER NOT NULL,
    worker_id TEXT NOT NULL,
    status TEXT NOT NULL,
    output_json TEXT,
    error_json TEXT,
    PRIMARY KEY (tenant, call_id, fence)
  ) STRICT`,
  `CREATE TABLE blobs (
    tenant TEXT NOT NULL,
    hash TEXT NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (tenant, hash)
  ) STRICT`,
];

const approvals = [
  `CREATE TABLE approvals (
    approval_id TEXT NOT NULL,
    tenant TEXT NOT NULL,
    subject_kind TEXT NOT NULL CHECK (subject_kind IN ('call', 'limit', 'resolve')),
    call_id TEXT,
    session_id TEXT,
    route TEXT NOT NULL,
    quorum INTEGER NOT NULL,
    distinct_from_requester INTEGER NOT NULL,
    comprehension INTEGER NOT NULL,
    on_timeout TEXT NOT NULL,
    on_reject TEXT NOT NULL,
    escalate_to TEXT,
    depth INTEGER NOT NULL,
    args_hash TEXT NOT NULL,
    args_json TEXT,
    state TEXT NOT NULL,
    opened_at INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    closed_at INTEGER,
    closed_by TEXT,
    outcome TEXT,
    PRIMARY KEY (tenant, approval_id)
  ) STRICT`,
  `CREATE INDEX approvals_open ON approvals (expires_at) WHERE closed_at IS NULL`,
  `CREATE INDEX approvals_by_call ON approvals (tenant, call_id)`,
  `CREATE TABLE votes (
    tenant TEXT NOT NULL,
    approval_id TEXT NOT NULL,
    voter TEXT NOT NULL,
    args_hash TEXT NOT NULL,
    decision TEXT NOT NULL,
    comment TEXT NOT NULL,
    edited_args_json TEXT,
    at INTEGER NOT NULL,
    late INTEGER NOT NULL,
    PRIMARY KEY (tenant, approval_id, voter, args_hash)
  ) STRICT`,
];

// Column names and their order follow `auditFields` in ledger/audit-chain.ts; a test holds the two together.
const audit = [
  `CREATE TABLE audit (
    tenant TEXT NOT NULL,
    lane TEXT NOT NULL,
    seq INTEGER NOT NULL,
    ts INTEGER NOT NULL,
    project TEXT NOT NULL,
    principal TEXT NOT NULL,
    on_behalf_of TEXT,
    action TEXT NOT NULL,
    tool TEXT,
    version TEXT,
    manifest_digest TEXT,
    execution_id TEXT,
    call_id TEXT,
    attempt INTEGER,
    input_hash TEXT,
    output_hash TEXT,
    status TEXT,
    error_code TEXT,
    sandbox TEXT,
    worker TEXT,
    egress_json TEXT,
    secrets_used_json TEXT,
    policy_json TEXT,
    approval_json TEXT,
    cache TEXT,
    duration_ms REAL,
    resources_json TEXT,
    request_id TEXT,
    trace_id TEXT,
    details_json TEXT,
    prev_hash TEXT NOT NULL,
    hash TEXT NOT NULL,
    PRIMARY KEY (tenant, lane, seq)
  ) STRICT`,
  `CREATE INDEX audit_by_execution ON audit (tenant, execution_id) WHERE execution_id IS NOT NULL`,
  `CREATE TABLE audit_heads (
    tenant TEXT NOT NULL,
    lane TEXT NOT NULL,
    seq INTEGER NOT NULL,
    hash TEXT NOT NULL,
    mac TEXT NOT NULL,
    PRIMARY KEY (tenant, lane)
  ) STRICT, WITHOUT ROWID`,
];

const tenancy = [
  `CREATE TABLE tenants (
    tenant TEXT NOT NULL,
    weight REAL NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant)
  ) STRICT`,
  `CREATE TABLE projects (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    environment TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, project)
  ) STRICT`,
  `CREATE TABLE keys (
    tenant TEXT NOT NULL,
    key_id TEXT NOT NULL,
    hash TEXT NOT NULL UNIQUE,
    label TEXT NOT NULL,
    principal TEXT NOT NULL,
    project TEXT NOT NULL,
    scopes_json TEXT NOT NULL,
    roles_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (tenant, key_id)
  ) STRICT`,
  `CREATE TABLE grants (
    tenant TEXT NOT NULL,
    grant_id TEXT NOT NULL,
    subject TEXT NOT NULL,
    project TEXT NOT NULL,
    permissions_json TEXT NOT NULL,
    roles_json TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    PRIMARY KEY (tenant, grant_id)
  ) STRICT`,
];

const registry = [
  `CREATE TABLE tools (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    active_version TEXT,
    description TEXT NOT NULL,
    side_effect_class TEXT NOT NULL,
    executor_type TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, tool)
  ) STRICT`,
  `CREATE TABLE tool_versions (
    tenant TEXT NOT NULL,
    tool TEXT NOT NULL,
    version TEXT NOT NULL,
    metadata_json TEXT NOT NULL,
    spec_json TEXT NOT NULL,
    manifest_digest TEXT NOT NULL,
    trust TEXT NOT NULL,
    status TEXT NOT NULL,
    published_at INTEGER NOT NULL,
    published_by TEXT NOT NULL,
    description TEXT NOT NULL,
    side_effect_class TEXT NOT NULL,
    executor_type TEXT NOT NULL,
    PRIMARY KEY (tenant, tool, version)
  ) STRICT`,
  `CREATE TABLE project_tools (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (tenant, project, tool)
  ) STRICT`,
];

/** Applied in this order; a published entry never changes, a new version is a new entry. */
export const migrations: readonly Migration[] = [
  { version: 1, statements: [...calls, ...approvals, ...audit, ...tenancy, ...registry] },
  { version: 2, statements: governanceStatements },
  { version: 3, statements: boxStatements },
  { version: 4, statements: workspaceStatements },
  { version: 5, statements: [...tenancyStatements, ...meteringStatements, ...cacheStatements] },
  { version: 6, statements: [...retryStatements] },
  { version: 7, statements: [...sessionStatements] },
];

/** Holds the schema's own version, and so stands outside the list. */
export const metaTableSql = `CREATE TABLE IF NOT EXISTS meta (
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (name)
  ) STRICT`;
