// What came with boxes: where a call was put, and the streams of what calls said while they ran.

export const boxStatements: readonly string[] = [
  `ALTER TABLE calls ADD COLUMN sandbox TEXT`,
  `ALTER TABLE calls ADD COLUMN box_json TEXT`,
  `ALTER TABLE calls ADD COLUMN files_json TEXT NOT NULL DEFAULT '[]'`,
  `ALTER TABLE tool_versions ADD COLUMN package_digest TEXT`,
  `CREATE TABLE stream_chunks (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    seq_from INTEGER NOT NULL,
    seq_to INTEGER NOT NULL,
    events_json TEXT NOT NULL,
    PRIMARY KEY (tenant, call_id, seq_from)
  ) STRICT, WITHOUT ROWID`,
];
