// Brings together what several matching rules demand: approvals add up, obligations only ever narrow.
import { cutText } from "@signalbox/protocol";
import { mergeRoutes } from "./approval/requirements.ts";
import { approvalLimits, type ApprovalRequirements } from "./approval/types.ts";
import { narrowHosts, narrowPaths } from "./narrow.ts";
import {
  obligedLimits,
  sandboxRanks,
  type ApprovalDemand,
  type ObligedLimit,
  type Obligations,
  type OnTimeout,
  type SandboxName,
} from "./types.ts";

/** From the strictest. */
const timeouts: readonly OnTimeout[] = ["deny", "escalate", "allow"];

/** One rule's demand, with the words that tell people why they are asked. */
export interface Asking {
  readonly demand: ApprovalDemand;
  readonly reason: string;
}

/**
 * What must come together before a call may run: every route its quorum, before one common instant. Null for no demands.
 * @param asking from the highest level down; where several rules escalate, the first says to whom
 */
export function combineApprovals(asking: readonly Asking[]): ApprovalRequirements | null {
  if (asking.length === 0) return null;
  const demands = asking.map(({ demand }) => demand);
  const onTimeout = timeouts.find((one) => demands.some((demand) => demand.onTimeout === one)) ?? "deny";
  const next = demands.find(({ escalateTo }) => escalateTo !== null)?.escalateTo ?? null;
  const reasons = [...new Set(asking.map(({ reason }) => reason))].join("; ");
  return {
    routes: mergeRoutes(demands.map(({ route, approvals }) => ({ route, quorum: approvals }))),
    distinctFromRequester: demands.some((demand) => demand.distinctFromRequester),
    comprehension: demands.some((demand) => demand.comprehension),
    timeoutMs: Math.min(...demands.map(({ timeoutMs }) => timeoutMs)),
    onTimeout,
    onReject: demands.some(({ onReject }) => onReject === "fail") ? "fail" : "return_to_agent",
    escalateTo: onTimeout === "escalate" ? next : null,
    reason: cutText(reasons, approvalLimits.reasonCharsMax),
  };
}

/** Numbers take the minimum, backends the highest rank, lists what all of them leave. */
export function combineObligations(all: readonly Obligations[]): Obligations {
  const limits: Partial<Record<ObligedLimit, number>> = {};
  for (const name of obligedLimits) {
    const given = all.flatMap((one) => one.limits[name] ?? []);
    if (given.length > 0) limits[name] = Math.min(...given);
  }
  const sandbox = strongest(all.flatMap((one) => one.sandbox ?? []));
  const egress = narrowed(
    all.map((one) => one.egress),
    narrowHosts,
  );
  const read = narrowed(
    all.map((one) => one.paths?.read),
    narrowPaths,
  );
  const write = narrowed(
    all.map((one) => one.paths?.write),
    narrowPaths,
  );
  const paths = { ...(read === undefined ? {} : { read }), ...(write === undefined ? {} : { write }) };
  return {
    limits,
    ...(sandbox === undefined ? {} : { sandbox }),
    ...(egress === undefined ? {} : { egress }),
    ...(read === undefined && write === undefined ? {} : { paths }),
  };
}

/** Of two with one rank the first; each satisfies the other. */
function strongest(names: readonly SandboxName[]): SandboxName | undefined {
  const [first, ...others] = names;
  if (first === undefined) return undefined;
  return others.reduce((best, name) => (sandboxRanks[name] > sandboxRanks[best] ? name : best), first);
}

/** A list that is not given narrows nothing; an empty one leaves nothing. */
function narrowed(
  lists: readonly (readonly string[] | undefined)[],
  narrow: (one: readonly string[], other: readonly string[]) => readonly string[],
): readonly string[] | undefined {
  const [first, ...others] = lists.filter((list) => list !== undefined);
  return first === undefined ? undefined : others.reduce(narrow, first);
}
