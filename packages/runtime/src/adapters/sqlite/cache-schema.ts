// What came with cached results and with retention.

export const cacheStatements: readonly string[] = [];
