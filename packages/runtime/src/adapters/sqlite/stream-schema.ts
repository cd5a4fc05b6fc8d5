// The tables that came with streams of output: what calls said while they ran.

export const streamStatements: readonly string[] = [
  `CREATE TABLE stream_chunks (
    tenant TEXT NOT NULL,
    call_id TEXT NOT NULL,
    seq_from INTEGER NOT NULL,
    seq_to INTEGER NOT NULL,
    events_json TEXT NOT NULL,
    PRIMARY KEY (tenant, call_id, seq_from)
  ) STRICT, WITHOUT ROWID`,
];
