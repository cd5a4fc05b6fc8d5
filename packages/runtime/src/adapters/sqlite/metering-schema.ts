// What came with limits and usage: who may ask how much, and what was used.

/** Columns of `usage` that are added up; `peak_memory_bytes` is the largest instead. */
export const usageSumColumns = [
  "executions",
  "succeeded",
  "failed",
  "timed_out",
  "cancelled",
  "denied",
  "cache_hits",
  "duration_us",
  "cpu_us",
  "egress_bytes",
  "input_bytes",
  "output_bytes",
] as const;

export const meteringStatements: readonly string[] = [
  `CREATE TABLE limits (
    tenant TEXT NOT NULL,
    set_by TEXT NOT NULL CHECK (set_by IN ('operator', 'tenant')),
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    rate_json TEXT,
    quotas_json TEXT NOT NULL,
    time_zone TEXT,
    changed_at INTEGER NOT NULL,
    changed_by TEXT NOT NULL,
    PRIMARY KEY (tenant, set_by, scope, subject)
  ) STRICT, WITHOUT ROWID`,
  // The day first: what is asked for is a span of days, and what is written is nearly always the newest of them.
  `CREATE TABLE usage (
    tenant TEXT NOT NULL,
    day TEXT NOT NULL,
    project TEXT NOT NULL,
    tool TEXT NOT NULL,
    ${usageSumColumns.map((name) => `${name} INTEGER NOT NULL`).join(",\n    ")},
    peak_memory_bytes INTEGER NOT NULL,
    PRIMARY KEY (tenant, day, project, tool)
  ) STRICT, WITHOUT ROWID`,
];
