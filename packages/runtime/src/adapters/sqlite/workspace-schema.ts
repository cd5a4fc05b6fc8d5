// What came with workspaces: which path of a project names which content.

export const workspaceStatements: readonly string[] = [
  `CREATE TABLE workspace_files (
    tenant TEXT NOT NULL,
    project TEXT NOT NULL,
    path TEXT NOT NULL,
    digest TEXT NOT NULL,
    bytes INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    call_id TEXT NOT NULL,
    PRIMARY KEY (tenant, project, path)
  ) STRICT, WITHOUT ROWID`,
];
