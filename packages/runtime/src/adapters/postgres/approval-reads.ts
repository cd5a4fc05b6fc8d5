// Reads approvals with their votes, lists of them, and which ones are due.
import type { ApprovalFilter, Ledger } from "../../ledger/port.ts";
import type { Vote } from "../../policy/approval/types.ts";
import { decode } from "../sqlite/columns.ts";
import { approvalColumns, approvalOfRow, voteColumns, type ApprovalRow } from "../sqlite/governance-columns.ts";
import { pendingSql } from "../sqlite/governance-schema.ts";
import { conditions, pageOf } from "../sqlite/paging.ts";
import { rowsOf } from "./call-reads.ts";
import { fittingCursor } from "./cursors.ts";
import type { Db } from "./db.ts";
import { approvalsByStateSql, approvalsByTimeSql, approvalsDueSql } from "./schema/guarded-indexes.ts";

const listedApproval = approvalColumns.map(({ name }) => (name === "args_json" ? `'' AS ${name}` : name)).join(", ");

export type ApprovalReads = Pick<Ledger, "approval" | "listApprovals" | "dueApprovals" | "nextApprovalAt">;

export function approvalReads(db: Db): ApprovalReads {
  return {
    // The approval first: a vote that comes in between raises its revision, and a decision on the older one is refused. The
    // other way round the newer revision would go with too few votes.
    async approval(tenant, approvalId) {
      const one = "approvals WHERE tenant = ? AND approval_id = ?";
      const [row] = await rowsOf<ApprovalRow>(db, approvalColumns, one, tenant, approvalId);
      if (row === undefined) return undefined;
      const cast = "votes WHERE tenant = ? AND approval_id = ? ORDER BY position, voter, decision";
      return { approval: approvalOfRow(row), votes: await rowsOf<Vote>(db, voteColumns, cast, tenant, approvalId) };
    },
    async listApprovals(filter, limit, cursor) {
      const where = conditions()
        .equal("tenant", filter.tenant)
        .equal("state", filter.state)
        .equal("project", filter.project)
        .equal("tool", filter.tool)
        .equal("call_id", filter.callId)
        .equal("requester", filter.requester)
        .also(listedBy(filter))
        .before(["opened_at", "approval_id"], fittingCursor(cursor, "number", "text"));
      const sql = `SELECT ${listedApproval} FROM approvals WHERE ${where.sql()}
        ORDER BY opened_at DESC, approval_id DESC LIMIT ?`;
      const rows = await db.rows(sql, [...where.values(), limit + 1]);
      const found = rows.map((row) => approvalOfRow(decode<ApprovalRow>(approvalColumns, row)));
      return pageOf(found, limit, ({ openedAt, approvalId }) => [openedAt, approvalId]);
    },
    dueApprovals: (until, limit) =>
      db.rows<{ readonly tenant: string; readonly approvalId: string }>(
        `SELECT tenant, approval_id AS "approvalId" FROM approvals WHERE ${pendingSql} AND ${approvalsDueSql} AND expires_at <= ?
          ORDER BY expires_at, tenant, approval_id LIMIT ?`,
        [until, limit],
      ),
    async nextApprovalAt() {
      const sql = `SELECT expires_at FROM approvals WHERE ${pendingSql} AND ${approvalsDueSql} ORDER BY expires_at LIMIT 1`;
      return (await db.rows<{ readonly expires_at: number }>(sql, []))[0]?.expires_at;
    },
  };
}

/** What the index says that the list is read along. */
function listedBy({ callId, state }: ApprovalFilter): string {
  if (callId !== undefined) return "call_id IS NOT NULL";
  return state === undefined ? approvalsByTimeSql : approvalsByStateSql;
}
