// Brings together what several matching rules demand: approvals add up, obligations only ever narrow.
import { narrowHosts, narrowPaths } from "./narrow.ts";
import {
  obligedLimits,
  sandboxRanks,
  type ApprovalDemand,
  type ObligedLimit,
  type Obligations,
  type OnReject,
  type OnTimeout,
  type SandboxName,
} from "./types.ts";

export interface RouteDemand {
  readonly route: string;
  readonly approvals: number;
  readonly distinctFromRequester: boolean;
  readonly comprehension: boolean;
  /** Set where the whole escalates and a rule of this route says to whom. */
  readonly escalateTo: readonly string[];
}

/** What must come together before a call may run: every route its quorum, before one common instant. */
export interface ApprovalNeed {
  readonly routes: readonly RouteDemand[];
  readonly timeoutMs: number;
  readonly onTimeout: OnTimeout;
  readonly onReject: OnReject;
}

/** From the strictest. */
const timeouts: readonly OnTimeout[] = ["deny", "escalate", "allow"];

/** Null for no demands. Routes stand in the order in which they first come. */
export function combineApprovals(demands: readonly ApprovalDemand[]): ApprovalNeed | null {
  if (demands.length === 0) return null;
  const onTimeout = timeouts.find((one) => demands.some((demand) => demand.onTimeout === one)) ?? "deny";
  const routes = [...new Set(demands.map(({ route }) => route))].map((route): RouteDemand => {
    const asked = demands.filter((demand) => demand.route === route);
    const next = asked.flatMap(({ escalateTo }) => (escalateTo === null ? [] : [escalateTo]));
    return {
      route,
      approvals: Math.max(...asked.map(({ approvals }) => approvals)),
      distinctFromRequester: asked.some((demand) => demand.distinctFromRequester),
      comprehension: asked.some((demand) => demand.comprehension),
      escalateTo: onTimeout === "escalate" ? [...new Set(next)] : [],
    };
  });
  return {
    routes,
    timeoutMs: Math.min(...demands.map(({ timeoutMs }) => timeoutMs)),
    onTimeout,
    onReject: demands.some(({ onReject }) => onReject === "fail") ? "fail" : "return_to_agent",
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
