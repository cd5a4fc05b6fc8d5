// The sums of what was used.

export const usageTables: readonly string[] = [
  `CREATE TABLE usage (
    tenant TEXT COLLATE "C" NOT NULL,
    day TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    tool TEXT COLLATE "C" NOT NULL,
    executions BIGINT NOT NULL,
    succeeded BIGINT NOT NULL,
    failed BIGINT NOT NULL,
    timed_out BIGINT NOT NULL,
    cancelled BIGINT NOT NULL,
    denied BIGINT NOT NULL,
    cache_hits BIGINT NOT NULL,
    duration_us BIGINT NOT NULL,
    cpu_us BIGINT NOT NULL,
    egress_bytes BIGINT NOT NULL,
    input_bytes BIGINT NOT NULL,
    output_bytes BIGINT NOT NULL,
    peak_memory_bytes BIGINT NOT NULL,
    PRIMARY KEY (tenant, day, project, tool)
  )`,
];
