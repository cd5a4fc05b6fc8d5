// Writes approvals and votes.
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type ApprovalWriters = WritersOf<"insert_approval" | "update_approval" | "store_vote">;

export const approvalWriters: ApprovalWriters = unwritten<ApprovalWriters>("approvals");
