// Asks the rules that name a routing outcome whether people should say what becomes of the call.
import type { Call, RoutingOutcome } from "../call/types.ts";
import { beginDecision, concludeTrigger, hearArgs, hearCounts } from "../policy/decide.ts";
import type { ApprovalRequirements } from "../policy/approval/types.ts";
import type { PolicySet } from "../policy/set.ts";
import { argsOf, readArgs } from "./args.ts";
import { count, countsOf, type GovernorPorts } from "./governor.ts";
import type { Log } from "./ports.ts";
import { subjectOf } from "./subject.ts";

/** Routing outcomes that some rule in force names: for all others nobody need be asked. */
export function triggersOf(set: PolicySet): ReadonlySet<RoutingOutcome> {
  const named = new Set<RoutingOutcome>();
  for (const { status, match } of set.versions()) {
    if (status !== "active") continue;
    for (const trigger of match.triggers) {
      if (trigger.startsWith("dispatch.")) named.add(trigger.slice("dispatch.".length) as RoutingOutcome);
    }
  }
  return named;
}

/**
 * What people are asked for; null when no rule asks anybody, or when the rules cannot be heard: then the outcome stands
 * as it is, which gives nothing away.
 */
export async function judgeTrigger(
  ports: GovernorPorts & { readonly log: Log },
  call: Call,
  outcome: RoutingOutcome,
): Promise<ApprovalRequirements | null> {
  try {
    return await judged(ports, call, outcome);
  } catch (error) {
    ports.log.error({ reason: String(error), execution_id: call.callId, outcome }, "the rules on a routing outcome could not be heard");
    return null;
  }
}

async function judged(ports: GovernorPorts, call: Call, outcome: RoutingOutcome): Promise<ApprovalRequirements | null> {
  const { clock, policies, ledger } = ports;
  const current = policies.current();
  const version = await ledger.toolVersion(call.toolTenant, call.tool, call.version);
  if (!current.ok || version === undefined) return null;
  const now = clock.now();
  const monotonic = (): number => clock.monotonic();
  const tool = await ports.agents.toolFor(call, ports.catalog.ready(version));
  const holdings = await ports.directory.holdingsByName(call.tenant, call.principal, call.project, now);
  const subject = subjectOf({
    tenant: call.tenant,
    project: call.project,
    environment: policies.environmentOf(call.tenant, call.project),
    tool: version,
    principal: call.principal,
    roles: holdings?.roles ?? [],
    context: JSON.parse(call.contextJson) as Readonly<Record<string, unknown>>,
    trigger: `dispatch.${outcome}`,
    ...(tool.bound === undefined ? {} : { attached: tool.bound.attached }),
  });
  const begun = beginDecision(current.set, subject, now, monotonic);
  const heard = hearArgs(begun, readArgs(argsOf(call)), tool.shape(), monotonic);
  const counted = await count(ledger, countsOf({ id: "", subject, rules: heard, failed: "", clearance: { epoch: 0, until: 0 } }, call, now), 1);
  const of = (key: "turn" | "session"): number => counted.find((one) => one.key === key)?.calls ?? 0;
  const windows = new Map(counted.flatMap(({ key, calls }) => (typeof key === "number" ? [[key, calls] as const] : [])));
  const all = hearCounts(heard, { turn: of("turn"), session: of("session"), windows }, monotonic);
  return concludeTrigger(all, call.decision.id)?.approval ?? null;
}
