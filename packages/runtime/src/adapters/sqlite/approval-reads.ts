// Reads approvals with their votes, lists of them, and which ones are due.
import type { ApprovalFilter, Page } from "../../ledger/port.ts";
import type { Approval, ApprovalWithVotes, Vote } from "../../policy/approval/types.ts";
import { decode } from "./columns.ts";
import { approvalColumns, approvalOfRow, voteColumns, type ApprovalRow } from "./governance-columns.ts";
import { pendingSql } from "./governance-schema.ts";
import { conditions, pageOf } from "./paging.ts";
import { rowReader, type Prepared } from "./reads.ts";

export const listedApproval = approvalColumns.map(({ name }) => (name === "args_json" ? `'' AS ${name}` : name)).join(", ");

export function approvalReads(prepared: Prepared) {
  const rows = rowReader(prepared);
  return {
    approval(tenant: string, approvalId: string): ApprovalWithVotes | undefined {
      const [row] = rows<ApprovalRow>(
        approvalColumns,
        "approvals WHERE tenant = ? AND approval_id = ?",
        tenant,
        approvalId,
      );
      if (row === undefined) return undefined;
      const votes = rows<Vote>(
        voteColumns,
        "votes WHERE tenant = ? AND approval_id = ? ORDER BY position",
        tenant,
        approvalId,
      );
      return { approval: approvalOfRow(row), votes };
    },
    listApprovals(filter: ApprovalFilter, limit: number, cursor?: string): Page<Approval> {
      const where = conditions()
        .equal("tenant", filter.tenant)
        .equal("state", filter.state)
        .equal("project", filter.project)
        .equal("tool", filter.tool)
        .equal("call_id", filter.callId)
        .equal("requester", filter.requester)
        .before(["opened_at", "approval_id"], cursor);
      const found = prepared(
        `SELECT ${listedApproval} FROM approvals WHERE ${where.sql()}
          ORDER BY opened_at DESC, approval_id DESC LIMIT ?`,
      )
        .all(...where.values(), limit + 1)
        .map((row) => approvalOfRow(decode<ApprovalRow>(approvalColumns, row)));
      return pageOf(found, limit, ({ openedAt, approvalId }) => [openedAt, approvalId]);
    },
    dueApprovals: (until: number, limit: number) =>
      prepared(
        `SELECT tenant, approval_id FROM approvals WHERE ${pendingSql} AND expires_at <= ?
          ORDER BY expires_at, tenant, approval_id LIMIT ?`,
      )
        .all(until, limit)
        .map((row) => ({ tenant: String(row["tenant"]), approvalId: String(row["approval_id"]) })),
    nextApprovalAt(): number | undefined {
      const row = prepared(`SELECT expires_at FROM approvals WHERE ${pendingSql} ORDER BY expires_at LIMIT 1`).get();
      return row === undefined ? undefined : Number(row["expires_at"]);
    },
  };
}
