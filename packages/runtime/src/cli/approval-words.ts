// The words for approvals that several commands share: who is asked, how far it has come, how it ended.
import type { Approval, ApprovalDetail, ApprovalRoute, ApprovalStatus } from "@signalbox/client";
import type { Paint } from "./paint.ts";

export function paintApproval(paint: Paint, status: ApprovalStatus): (text: string) => string {
  if (status === "approved") return paint.green;
  return status === "rejected" || status === "expired" ? paint.red : paint.yellow;
}

/** An empty route is everybody who may decide. */
export const roleText = (route: string): string => (route === "" ? "anybody" : route);

/** `2 of finance, 1 of legal`. */
export function askedText({ routes }: Pick<Approval, "routes">): string {
  return routes.map(({ route, quorum }) => `${quorum} of ${roleText(route)}`).join(", ");
}

const count = ({ voters }: ApprovalRoute): number => voters?.length ?? 0;

/** `1/2`, or `finance 1/2, legal 0/1` where several roles are asked. */
export function progressText({ routes }: Pick<Approval, "routes">): string {
  const parts = routes.map((one) => ({ role: roleText(one.route), text: `${count(one)}/${one.quorum}` }));
  return parts.length === 1 ? (parts[0]?.text ?? "") : parts.map(({ role, text }) => `${role} ${text}`).join(", ");
}

/** The same as words: `1 of 2`. */
export function progressWords(approval: Pick<Approval, "routes">): string {
  return progressText(approval).replaceAll(/(\d+)\/(\d+)/g, "$1 of $2");
}

/** What becomes of it when nobody decides. */
export function onTimeoutText({
  kind,
  on_timeout,
  escalate_to,
}: Pick<Approval, "kind" | "on_timeout" | "escalate_to">): string {
  if (on_timeout === "escalate") return `${escalate_to ?? "somebody else"} is asked`;
  // Time says nothing about what happened.
  if (kind === "resolve") return "its end stays unknown";
  return on_timeout === "allow" ? "it is allowed" : "it is denied";
}

/** How it ended; empty while it is open. */
export function endText(approval: Approval): string {
  const by = approval.closed_by ?? "somebody";
  switch (approval.outcome ?? approval.status) {
    case "approved":
      return `approved by ${by}`;
    case "rejected":
      return `rejected by ${by}`;
    case "expired":
      return "expired: nobody decided in time";
    case "timeout_allowed":
      return "approved by its rule: nobody decided in time";
    case "escalated":
      return `nobody decided in time; ${approval.escalated_to ?? "another approval"} asks on`;
    case "cancelled":
      return `cancelled by ${by}`;
    case "recheck_failed":
      return "approved, but by then the call was no longer allowed to run";
    case "pending":
      return "";
    default:
      return approval.status;
  }
}

/** What stands behind an end: `the call is queued`. Empty where there is nothing to say. */
export function afterText({ kind, execution }: ApprovalDetail): string {
  if (execution !== null) return `the call is ${execution.status}`;
  return kind === "limit" ? "the session hears of it" : "";
}
