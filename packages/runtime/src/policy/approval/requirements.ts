// What an approval may ask for: bounds on the requirements, and what an escalation makes of them.
import { timeInWords } from "@signalbox/protocol";
import { approvalLimits, type ApprovalRequirements, type ApprovalSubject, type Route } from "./types.ts";

function isCount(value: number, max: number): boolean {
  return Number.isInteger(value) && value >= 1 && value <= max;
}

/** Why these requirements cannot be asked for; undefined = they can. */
export function requirementsProblem(wanted: ApprovalRequirements, kind: ApprovalSubject["kind"]): string | undefined {
  const { routes, timeoutMs, onTimeout, escalateTo, reason } = wanted;
  if (!isCount(routes.length, approvalLimits.routesMax))
    return `an approval has 1 to ${approvalLimits.routesMax} routes`;
  const bad = routes.find(({ quorum }) => !isCount(quorum, approvalLimits.quorumMax));
  if (bad !== undefined)
    return `route "${bad.route}": approvals is a whole number from 1 to ${approvalLimits.quorumMax}`;
  if (!isCount(timeoutMs, approvalLimits.timeoutMsMax)) return `timeout is 1 ms to ${timeInWords(approvalLimits.timeoutMsMax)}`;
  if (onTimeout === "escalate" && (escalateTo === null || escalateTo === ""))
    return "on_timeout: escalate needs escalate_to";
  if (reason.length > approvalLimits.reasonCharsMax)
    return `a reason has at most ${approvalLimits.reasonCharsMax} characters`;
  // An unknown end is for a person to judge; time cannot say that something did not happen.
  if (kind === "resolve" && onTimeout === "allow")
    return "on_timeout: allow cannot resolve a call whose end is unknown";
  return undefined;
}

/** One route a role; of two rules that ask the same role, the larger quorum holds. */
export function mergeRoutes(routes: readonly Route[]): readonly Route[] {
  const quorums = new Map<string, number>();
  for (const { route, quorum } of routes) quorums.set(route, Math.max(quorum, quorums.get(route) ?? 0));
  return [...quorums].map(([route, quorum]) => ({ route, quorum }));
}

/** The role that an escalation asks stands in for all routes, with the largest quorum: fewer people would be a way around it. */
export function escalatedRoutes(routes: readonly Route[], escalateTo: string): readonly Route[] {
  return [{ route: escalateTo, quorum: Math.max(...routes.map(({ quorum }) => quorum)) }];
}
