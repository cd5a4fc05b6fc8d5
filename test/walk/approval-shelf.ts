// Approvals, votes, notices and counts of calls as a ledger in memory keeps them: the guards, and what is broken when nobody asks them.
import type { Call } from "../../packages/runtime/src/call/types.ts";
import type { CallCount, Write } from "../../packages/runtime/src/ledger/port.ts";
import type { Notice } from "../../packages/runtime/src/ledger/webhooks.ts";
import type { Approval, ApprovalWithVotes, Vote } from "../../packages/runtime/src/policy/approval/types.ts";

export type ApprovalWrite = Extract<
  Write,
  { op: "insert_approval" | "update_approval" | "store_vote" | "append_notice" }
>;

const approvalOps: readonly Write["op"][] = ["insert_approval", "update_approval", "store_vote", "append_notice"];

export function isApprovalWrite(write: Write): write is ApprovalWrite {
  return approvalOps.includes(write.op);
}

const keyOf = (row: { readonly tenant: string; readonly approvalId: string }): string =>
  `${row.tenant}/${row.approvalId}`;

export class ApprovalShelf {
  readonly approvals = new Map<string, Approval>();
  readonly votes: Vote[] = [];
  readonly notices: Notice[] = [];

  /** Whether the write's guard holds; a plain write has none. */
  holds(write: ApprovalWrite): boolean {
    if (write.op === "insert_approval") return !this.approvals.has(keyOf(write.row));
    if (write.op !== "update_approval") return true;
    const row = this.approvals.get(keyOf(write.row));
    return row !== undefined && row.state === "pending" && row.revision === write.expect.revision;
  }

  /** @returns the rule that this write broke; undefined = none */
  write(write: ApprovalWrite): string | undefined {
    switch (write.op) {
      case "insert_approval":
      case "update_approval":
        return this.#row(write.row);
      case "store_vote":
        return this.#vote(write.row);
      case "append_notice":
        this.notices.push(write.notice);
        return undefined;
    }
  }

  approval(tenant: string, approvalId: string): ApprovalWithVotes | undefined {
    const approval = this.approvals.get(keyOf({ tenant, approvalId }));
    const votes = this.votes.filter((vote) => vote.tenant === tenant && vote.approvalId === approvalId);
    return approval === undefined ? undefined : { approval, votes };
  }

  /** Pending, earliest first. */
  pending(): readonly Approval[] {
    const open = [...this.approvals.values()].filter(({ state }) => state === "pending");
    return open.toSorted((a, b) => a.expiresAt - b.expiresAt || (keyOf(a) < keyOf(b) ? -1 : 1));
  }

  #row(row: Approval): string | undefined {
    const before = this.approvals.get(keyOf(row));
    this.approvals.set(keyOf(row), row);
    if (before === undefined) return undefined;
    if (before.state !== "pending") return `${row.approvalId}: a closed approval was changed`;
    return row.revision > before.revision ? undefined : `${row.approvalId}: the revision did not grow`;
  }

  #vote(row: Vote): string | undefined {
    const own = this.votes.filter(
      (vote) => vote.voter === row.voter && keyOf(vote) === keyOf(row) && vote.late === row.late,
    );
    // A late vote that is there already is left alone; a person's counted vote is one a round.
    if (row.late && own.some(({ decision, round }) => decision === row.decision && round === row.round))
      return undefined;
    this.votes.push(row);
    const twice = !row.late && own.some(({ round }) => round === row.round);
    return twice ? `${row.approvalId}: ${row.voter} counts twice in round ${row.round}` : undefined;
  }
}

/** Whether the call is one of those that a rule counts. */
export function isCounted({ tenant, tool, principal, within }: CallCount, call: Call): boolean {
  if (call.tenant !== tenant || call.tool !== tool || call.principal !== principal || call.inputJson === null)
    return false;
  if (within.kind === "window") return call.admittedAt >= within.from;
  if (within.sessionId === "" || call.sessionId !== within.sessionId) return false;
  return within.kind === "session" || call.turn === within.turn;
}
