// The table of workspaces: which path of a project names which content.

export const workspaceTables: readonly string[] = [
  `CREATE TABLE workspace_files (
    tenant TEXT COLLATE "C" NOT NULL,
    project TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    bytes BIGINT NOT NULL,
    updated_at BIGINT NOT NULL,
    call_id TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, project, path)
  )`,
];
