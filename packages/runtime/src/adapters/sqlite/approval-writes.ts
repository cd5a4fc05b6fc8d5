// Writes approvals under the guard of their revision, and the votes on them.
import type { DatabaseSync } from "node:sqlite";
import { encode, insertSql } from "./columns.ts";
import { approvalColumns, rowOfApproval, voteColumns } from "./governance-columns.ts";
import { pendingSql } from "./governance-schema.ts";
import type { WritersOf } from "./writers-of.ts";

type ApprovalWriters = WritersOf<"insert_approval" | "update_approval" | "store_vote">;

export function approvalWriters(db: DatabaseSync): ApprovalWriters {
  const insert = db.prepare(insertSql("approvals", approvalColumns, "ON CONFLICT DO NOTHING"));
  const moving = approvalColumns.filter(({ field }) => field !== "tenant" && field !== "approvalId");
  const update = db.prepare(
    `UPDATE approvals SET ${moving.map(({ name }) => `${name} = ?`).join(", ")}
      WHERE tenant = ? AND approval_id = ? AND ${pendingSql} AND revision = ?`,
  );
  const lastPosition = db.prepare(
    "SELECT COALESCE(max(position), 0) AS position FROM votes WHERE tenant = ? AND approval_id = ?",
  );
  const insertVote = db.prepare(insertSql("votes", [...voteColumns, { name: "position" }], "ON CONFLICT DO NOTHING"));
  return {
    insert_approval: ({ row }) => insert.run(...encode(approvalColumns, rowOfApproval(row))).changes === 1,
    update_approval: ({ row, expect }) => {
      const values = encode(moving, rowOfApproval(row));
      return update.run(...values, row.tenant, row.approvalId, expect.revision).changes === 1;
    },
    store_vote: ({ row }) => {
      const position = Number(lastPosition.get(row.tenant, row.approvalId)?.["position"]) + 1;
      const stored = insertVote.run(...encode(voteColumns, row), position).changes === 1;
      if (!stored && !row.late) {
        throw new Error(`a vote of ${row.voter} on approval ${row.approvalId} counts already in round ${row.round}`);
      }
      return true;
    },
  };
}
