// Reads approvals with their votes.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";

export type ApprovalReads = Pick<Ledger, "approval" | "listApprovals" | "dueApprovals" | "nextApprovalAt">;

export function approvalReads(_db: Db): ApprovalReads {
  return unwritten<ApprovalReads>("approvals");
}
