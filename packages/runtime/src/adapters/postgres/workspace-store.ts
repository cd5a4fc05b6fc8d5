// Keeps the paths of workspaces: guards that see what the commit sees, and pages in the order of paths.
import type { Ledger } from "../../ledger/port.ts";
import type { WorkspacePlace } from "../../ledger/workspace.ts";
import { foldersOf } from "../../registry/package/paths.ts";
import { behindSlash, fileOf, lastCharacter } from "../sqlite/workspace-store.ts";
import type { Db } from "./db.ts";
import type { WritersOf } from "./writers-of.ts";

export type WorkspaceWriters = WritersOf<
  "expect_workspace_file" | "expect_workspace_room" | "put_workspace_file" | "remove_workspace_file"
>;
export type WorkspaceReads = Pick<Ledger, "workspaceFile" | "workspaceFiles">;

const key = "tenant = ? AND project = ? AND path = ?";
const range = "tenant = ? AND project = ? AND path > ? AND path < ?";
const columns = "tenant, project, path, digest, bytes, updated_at, call_id";

const find = `SELECT digest, call_id FROM workspace_files WHERE ${key}`;
const inTheWay = `SELECT 1 FROM workspace_files WHERE ${range}
  UNION ALL SELECT 1 FROM workspace_files WHERE tenant = ? AND project = ? AND path = ANY (?) LIMIT 1`;
const count = "SELECT count(*) AS files FROM workspace_files WHERE tenant = ? AND project = ?";
const put = `INSERT INTO workspace_files (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant, project, path) DO UPDATE SET digest = excluded.digest, bytes = excluded.bytes,
    updated_at = excluded.updated_at, call_id = excluded.call_id`;
const remove = `DELETE FROM workspace_files WHERE ${key}`;

interface Found {
  readonly digest: string;
  readonly call_id: string;
}

async function found(tx: Db, { tenant, project, path }: WorkspacePlace): Promise<Found | undefined> {
  return (await tx.rows<Found>(find, [tenant, project, path]))[0];
}

/** That nobody else changes the workspace meanwhile is the business of the unit's lock. */
export const workspaceWriters: WorkspaceWriters = {
  async expect_workspace_file(tx, { place, digest, callId }) {
    const row = await found(tx, place);
    return (row?.digest ?? null) === digest || row?.call_id === callId;
  },
  async expect_workspace_room(tx, { place: { tenant, project, path } }) {
    const params = [tenant, project, `${path}/`, `${path}${behindSlash}`, tenant, project, foldersOf(path)];
    return (await tx.rows(inTheWay, params)).length === 0;
  },
  async put_workspace_file(tx, { row, filesMax }) {
    const { tenant, project, path, digest, bytes, updatedAt, callId } = row;
    if ((await found(tx, row)) === undefined) {
      const [counted] = await tx.rows<{ readonly files: number }>(count, [tenant, project]);
      if (Number(counted?.files) >= filesMax) return false;
    }
    await tx.run(put, [tenant, project, path, digest, bytes, updatedAt, callId]);
    return true;
  },
  async remove_workspace_file(tx, { place: { tenant, project, path } }) {
    await tx.run(remove, [tenant, project, path]);
    return true;
  },
};

export function workspaceReads(db: Db): WorkspaceReads {
  return {
    async workspaceFile({ tenant, project, path }) {
      const sql = `SELECT ${columns} FROM workspace_files WHERE ${key}`;
      const [row] = await db.rows(sql, [tenant, project, path]);
      return row === undefined ? undefined : fileOf(row);
    },
    async workspaceFiles({ tenant, project, prefix, after }, limit) {
      const rows = await db.rows(
        `SELECT ${columns} FROM workspace_files WHERE ${range} AND path >= ? ORDER BY path LIMIT ?`,
        [tenant, project, after, `${prefix}${lastCharacter}`, prefix, limit + 1],
      );
      return { items: rows.slice(0, limit).map(fileOf), more: rows.length > limit };
    },
  };
}
