// Writes approvals under the guard of their revision, and the votes on them.
import { encode, insertSql } from "../sqlite/columns.ts";
import { approvalColumns, rowOfApproval, voteColumns } from "../sqlite/governance-columns.ts";
import { pendingSql } from "../sqlite/governance-schema.ts";
import type { WritersOf } from "./writers-of.ts";

export type ApprovalWriters = WritersOf<"insert_approval" | "update_approval" | "store_vote">;

const insert = insertSql("approvals", approvalColumns, "ON CONFLICT DO NOTHING");
const moving = approvalColumns.filter(({ field }) => field !== "tenant" && field !== "approvalId");
const update = `UPDATE approvals SET ${moving.map(({ name }) => `${name} = ?`).join(", ")}
  WHERE tenant = ? AND approval_id = ? AND ${pendingSql} AND revision = ?`;
// Counted votes of one approval follow one another, since each stands in a unit with an update of the approval. Late ones
// of one instant may draw the same position; they are facts, and their order decides nothing.
const insertVote = `INSERT INTO votes (${voteColumns.map(({ name }) => name).join(", ")}, position)
  VALUES (${voteColumns.map(() => "?").join(", ")},
    (SELECT COALESCE(max(v.position), 0) + 1 FROM votes AS v WHERE v.tenant = ? AND v.approval_id = ?))
  ON CONFLICT DO NOTHING`;

export const approvalWriters: ApprovalWriters = {
  insert_approval: async (tx, { row }) => (await tx.run(insert, encode(approvalColumns, rowOfApproval(row)))) === 1,
  async update_approval(tx, { row, expect }) {
    const values = encode(moving, rowOfApproval(row));
    return (await tx.run(update, [...values, row.tenant, row.approvalId, expect.revision])) === 1;
  },
  async store_vote(tx, { row }) {
    const values = [...encode(voteColumns, row), row.tenant, row.approvalId];
    if ((await tx.run(insertVote, values)) !== 1 && !row.late) {
      throw new Error(`a vote of ${row.voter} on approval ${row.approvalId} counts already in round ${row.round}`);
    }
    return true;
  },
};
