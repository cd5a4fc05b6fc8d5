// What came with cached results and with retention.

/** Conditions of the partial index over results that may serve later calls; a query must repeat them word for word to use it. */
export const servesLaterSql = "cache_key IS NOT NULL AND cached_from IS NULL AND state = 'succeeded'";

/** Condition of the partial index over results that stand in a blob. */
export const inBlobSql = "output_json IS NULL AND output_hash IS NOT NULL";

export const cacheStatements: readonly string[] = [
  "ALTER TABLE calls ADD COLUMN cache_key TEXT",
  "ALTER TABLE calls ADD COLUMN cached_from TEXT",
  `CREATE INDEX calls_by_cache_key ON calls (tenant, cache_key, settled_at) WHERE ${servesLaterSql}`,
  `CREATE INDEX calls_by_blob ON calls (tenant, output_hash) WHERE ${inBlobSql}`,
  "CREATE INDEX notices_by_time ON notices (tenant, at)",
];
