// Keeps the paths of workspaces: guards that see what the commit sees, and pages in the order of paths.
import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import type { WorkspaceFile, WorkspacePage, WorkspacePlace, WorkspaceQuery } from "../../ledger/workspace.ts";
import { foldersOf } from "../../registry/package/paths.ts";
import type { Prepared } from "./reads.ts";
import type { WritersOf } from "./writers-of.ts";

type WorkspaceOp = "expect_workspace_file" | "expect_workspace_room" | "put_workspace_file" | "remove_workspace_file";

const keySql = "tenant = ? AND project = ? AND path = ?";
const rangeSql = "tenant = ? AND project = ? AND path > ? AND path < ?";
/** The character behind `/`: what lies below a folder sorts between the two. */
export const behindSlash = "0";
/** No path holds it, and every path that goes on sorts before it. */
export const lastCharacter = "\u{10FFFF}";

export function workspaceWriters(db: DatabaseSync): WritersOf<WorkspaceOp> {
  const find = db.prepare(`SELECT digest, call_id FROM workspace_files WHERE ${keySql}`);
  const below = db.prepare(`SELECT 1 FROM workspace_files WHERE ${rangeSql} LIMIT 1`);
  const count = db.prepare("SELECT COUNT(*) AS files FROM workspace_files WHERE tenant = ? AND project = ?");
  const put = db.prepare(
    `INSERT INTO workspace_files (tenant, project, path, digest, bytes, updated_at, call_id) VALUES (?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (tenant, project, path) DO UPDATE SET digest = excluded.digest, bytes = excluded.bytes,
       updated_at = excluded.updated_at, call_id = excluded.call_id`,
  );
  const remove = db.prepare(`DELETE FROM workspace_files WHERE ${keySql}`);
  const found = ({ tenant, project, path }: WorkspacePlace) => find.get(tenant, project, path);
  return {
    expect_workspace_file({ place, digest, callId }) {
      const row = found(place);
      return (row?.["digest"] ?? null) === digest || row?.["call_id"] === callId;
    },
    expect_workspace_room({ place }) {
      const { tenant, project, path } = place;
      if (below.get(tenant, project, `${path}/`, `${path}${behindSlash}`) !== undefined) return false;
      return foldersOf(path).every((folder) => found({ tenant, project, path: folder }) === undefined);
    },
    put_workspace_file({ row, filesMax }) {
      const { tenant, project, path, digest, bytes, updatedAt, callId } = row;
      if (found(row) === undefined && Number(count.get(tenant, project)?.["files"]) >= filesMax) return false;
      put.run(tenant, project, path, digest, bytes, updatedAt, callId);
      return true;
    },
    remove_workspace_file({ place }) {
      remove.run(place.tenant, place.project, place.path);
      return true;
    },
  };
}

export function workspaceReads(prepared: Prepared) {
  const columns = "tenant, project, path, digest, bytes, updated_at, call_id";
  return {
    workspaceFile({ tenant, project, path }: WorkspacePlace): WorkspaceFile | undefined {
      const row = prepared(`SELECT ${columns} FROM workspace_files WHERE ${keySql}`).get(tenant, project, path);
      return row === undefined ? undefined : fileOf(row);
    },
    workspaceFiles({ tenant, project, prefix, after }: WorkspaceQuery, limit: number): WorkspacePage {
      const rows = prepared(
        `SELECT ${columns} FROM workspace_files WHERE ${rangeSql} AND path >= ? ORDER BY path LIMIT ?`,
      ).all(tenant, project, after, `${prefix}${lastCharacter}`, prefix, limit + 1);
      return { items: rows.slice(0, limit).map(fileOf), more: rows.length > limit };
    },
  };
}

export function fileOf(row: Readonly<Record<string, SQLOutputValue>>): WorkspaceFile {
  return {
    tenant: String(row["tenant"]),
    project: String(row["project"]),
    path: String(row["path"]),
    digest: String(row["digest"]),
    bytes: Number(row["bytes"]),
    updatedAt: Number(row["updated_at"]),
    callId: String(row["call_id"]),
  };
}
