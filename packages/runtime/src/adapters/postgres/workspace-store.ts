// Keeps which path of a project names which content.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type WorkspaceWriters = WritersOf<"expect_workspace_file" | "expect_workspace_room" | "put_workspace_file" | "remove_workspace_file">;
export type WorkspaceReads = Pick<Ledger, "workspaceFile" | "workspaceFiles">;

export const workspaceWriters: WorkspaceWriters = unwritten<WorkspaceWriters>("workspaces");

export function workspaceReads(_db: Db): WorkspaceReads {
  return unwritten<WorkspaceReads>("workspaces");
}
