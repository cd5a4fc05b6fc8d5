// What came with the API of tenants: suspension, and when a key was last used.

export const tenancyStatements: readonly string[] = [
  "ALTER TABLE tenants ADD COLUMN suspended_at INTEGER",
  "ALTER TABLE tenants ADD COLUMN suspended_by TEXT",
  "ALTER TABLE tenants ADD COLUMN suspended_reason TEXT",
  "ALTER TABLE keys ADD COLUMN last_used_at INTEGER",
];
