// The store's clock, which decides who lives: replicas need not agree on the time.

/** Ms since 1970, whatever time zone the session is in. */
export const storeNowSql = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint";

/** Whether the replica that a column names lives. */
export const livesSql = (column: string): string =>
  `EXISTS (SELECT 1 FROM replicas AS living WHERE living.replica = ${column} AND living.lives_until > ${storeNowSql})`;
