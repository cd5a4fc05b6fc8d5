// Asks permission and policy about a call: before it is admitted, when people change its arguments, and before it starts after a wait.
import { errorBody, type ErrorBody, type ErrorCode } from "@signalbox/protocol";
import type { Call, Decision } from "../call/types.ts";
import type { Clearance } from "../dispatch/types.ts";
import type { Hub } from "../dispatch/hub.ts";
import type { CallCount, GuardedWrite, Ledger } from "../ledger/port.ts";
import {
  beginDecision,
  conclude,
  countsNeeded,
  hearArgs,
  hearCounts,
  isDenied,
  policyFailure,
  type Deliberation,
  type Judgement,
} from "../policy/decide.ts";
import { missingPermissions } from "../policy/permission.ts";
import type { CallCounts, Subject } from "../policy/types.ts";
import type { Directory, Holdings } from "../tenancy/directory.ts";
import { readArgs } from "./args.ts";
import type { Catalog, ReadyTool } from "./catalog.ts";
import type { PolicyBook } from "./policy-book.ts";
import type { Clock } from "./ports.ts";
import type { AgentBook } from "./sessions/agent-book.ts";
import { subjectOf } from "./subject.ts";
import { offError } from "./switches.ts";

export interface GovernorPorts {
  readonly hub: Hub;
  readonly ledger: Ledger;
  readonly catalog: Catalog;
  readonly directory: Directory;
  readonly policies: PolicyBook;
  readonly agents: AgentBook;
  readonly clock: Clock;
}

/** How long a look at a waiting call is good for: what changes by time alone (a grant that expires) is seen this late at most. */
export const clearanceMs = 1_000;

/** Who asks for what, as far as rules are concerned. */
export interface Asking {
  readonly tenant: string;
  readonly project: string;
  readonly principal: string;
  readonly holdings: Holdings;
  readonly tool: ReadyTool;
  readonly context: Readonly<Record<string, unknown>>;
}

/** A call on its way through the rules. */
export interface Deliberating {
  readonly id: string;
  readonly subject: Subject;
  /** Undefined: the policies cannot be had; `failed` says why, and everything is denied. */
  readonly rules: Deliberation | undefined;
  readonly failed: string;
  readonly clearance: Clearance;
}

/** A denial, as the caller and the record get it. */
export interface Denial {
  readonly decision: Decision;
  readonly code: ErrorCode;
  readonly message: string;
  readonly details: Readonly<Record<string, unknown>>;
}

/** Permissions first: what the tool needs and the principal was not given. Empty = nothing is missing. */
export function missingFor({ tool, holdings }: Asking): readonly string[] {
  const needed = [`tool:invoke:${tool.version.tool}`, ...tool.version.spec.permissions];
  const missing = missingPermissions(holdings.permissions, needed);
  if (tool.bound === undefined) return missing;
  // An agent has no right that its manifest does not give it, whoever it works for.
  const beyond = missingPermissions(tool.bound.ceiling, needed);
  return [...new Set([...missing, ...beyond])];
}

/** Whose fault it is that these are missing: a grant would not help where the agent's own manifest stands against it. */
export function lackOf({ tool: { bound }, principal }: Asking, missing: readonly string[]): string {
  const beyond = bound === undefined ? [] : missingPermissions(bound.ceiling, missing);
  return beyond.length > 0 ? `the manifest of the agent ${bound?.agent} does not permit ${beyond.join(", ")}` : `${principal} has no grant for ${missing.join(", ")}`;
}

/** Hears the rules that read no arguments. */
export function begin(ports: GovernorPorts, asking: Asking, id: string): Deliberating {
  const { clock, policies } = ports;
  const now = clock.now();
  const clearance: Clearance = { epoch: ports.hub.epoch, until: now + clearanceMs };
  const subject = subjectOf({
    tenant: asking.tenant,
    project: asking.project,
    environment: policies.environmentOf(asking.tenant, asking.project),
    tool: asking.tool.version,
    principal: asking.principal,
    roles: asking.holdings.roles,
    context: asking.context,
    trigger: null,
    ...(asking.tool.bound === undefined ? {} : { attached: asking.tool.bound.attached }),
  });
  const current = policies.current();
  if (!current.ok) return { id, subject, rules: undefined, failed: current.failure, clearance };
  const rules = beginDecision(current.set, subject, now, () => clock.monotonic());
  return { id, subject, rules, failed: "", clearance };
}

/** Hears those that waited for the arguments, which have been validated. */
export function hear(ports: GovernorPorts, before: Deliberating, args: unknown, tool: ReadyTool): Deliberating {
  if (before.rules === undefined || before.rules.waiting.length === 0) return before;
  return { ...before, rules: hearArgs(before.rules, args, tool.shape(), () => ports.clock.monotonic()) };
}

/** True as soon as nothing that is still to be heard could let the call through. */
export function isOver({ rules }: Deliberating): boolean {
  return rules === undefined || isDenied(rules);
}

export function judge(ports: GovernorPorts, { rules, failed, id, subject }: Deliberating): Judgement {
  if (rules === undefined) return policyFailure(id, failed, 0);
  return conclude(rules, id, ports.policies.defaultsFor(subject.tenant, subject.project));
}

/** What must be counted for the rules that still wait; empty = nothing. */
export function countsOf({ rules, subject }: Deliberating, call: CallPlace, now: number): readonly Counting[] {
  if (rules === undefined || rules.waiting.length === 0) return [];
  const needed = countsNeeded(rules);
  const { tenant, tool, principal } = { tenant: subject.tenant, tool: subject.tool.name, principal: subject.principal.name };
  const { sessionId, turn } = call;
  // A call that is exactly as old as the window is long has left it.
  const list: Counting[] = needed.windowsMs.map((ms) => ({ key: ms, of: { tenant, tool, principal, within: { kind: "window", from: now - ms + 1 } } }));
  // A call outside of every session is alone in its own.
  if (sessionId === "") return list;
  if (needed.session) list.push({ key: "session", of: { tenant, tool, principal, within: { kind: "session", sessionId } } });
  if (needed.turn) list.push({ key: "turn", of: { tenant, tool, principal, within: { kind: "turn", sessionId, turn } } });
  return list;
}

export interface CallPlace {
  readonly sessionId: string;
  readonly turn: number;
}

export interface Counting {
  readonly key: "turn" | "session" | number;
  readonly of: CallCount;
}

export interface Counted extends Counting {
  readonly calls: number;
}

/** @param except calls that must not count: one, when it is the call itself that is decided about again */
export async function count(ledger: Pick<Ledger, "countCalls">, list: readonly Counting[], except = 0): Promise<readonly Counted[]> {
  return Promise.all(list.map(async (one) => ({ ...one, calls: Math.max(0, (await ledger.countCalls(one.of)) - except) })));
}

/** Hears the rules that count calls. */
export function hearCounted(ports: GovernorPorts, before: Deliberating, counted: readonly Counted[]): Deliberating {
  if (before.rules === undefined || before.rules.waiting.length === 0) return before;
  const of = (key: Counting["key"]): number => counted.find((one) => one.key === key)?.calls ?? 0;
  const windows = new Map(counted.flatMap(({ key, calls }) => (typeof key === "number" ? [[key, calls] as const] : [])));
  const counts: CallCounts = { turn: of("turn"), session: of("session"), windows };
  return { ...before, rules: hearCounts(before.rules, counts, () => ports.clock.monotonic()) };
}

/** In the admission's own unit: another call that was admitted in between makes the unit fail, and the rules are asked again. */
export function countGuards(counted: readonly Counted[]): readonly GuardedWrite[] {
  return counted.map(({ of, calls }) => ({ op: "expect_count", of, calls }));
}

/** A denial by rules, or by a level's default. */
export function denialOf({ decision, code, deciding }: Judgement): Denial {
  const details: Record<string, unknown> = { decision_id: decision.id };
  if (deciding !== null) Object.assign(details, { policy: `${deciding.policy}@${deciding.version}`, level: deciding.level });
  return { decision, code: code ?? "forbidden", message: `denied by policy: ${decision.reason}`, details };
}

/** What the record keeps of a judgement. */
export function decisionOf({ decision, obligations }: Judgement): Decision {
  const { limits, ...others } = obligations;
  const obliged = { ...(Object.keys(limits).length > 0 ? { limits } : {}), ...others };
  return Object.keys(obliged).length > 0 ? { ...decision, obligations: obliged } : decision;
}

export type Look =
  | { readonly ok: true; readonly clearance: Clearance }
  | { readonly ok: false; readonly error: ErrorBody };

/**
 * Whether a call that has waited may start today: its tool is there and enabled, its principal and grants are alive, and
 * no rule that denies matches. What was decided before (people to ask, obligations, counts) stands.
 * @param argsJson the arguments as they would run
 */
export async function lookAgain(ports: GovernorPorts, call: Call, argsJson: string): Promise<Look> {
  const now = ports.clock.now();
  const clearance: Clearance = { epoch: ports.hub.epoch, until: now + clearanceMs };
  const standing = await ports.catalog.standing(call);
  if (!standing.ok) return { ok: false, error: standingError(call, standing.reason) };
  const holdings = await ports.directory.holdingsByName(call.tenant, call.principal, call.project, now);
  if (holdings === undefined) return no("forbidden", `no key of ${call.principal} is valid any more`, { reason: "principal_gone" });
  const version = await ports.ledger.toolVersion(call.toolTenant, call.tool, call.version);
  if (version === undefined) return { ok: false, error: standingError(call, "gone") };
  const args = readArgs(argsJson);
  const off = offError(ports.catalog.switches, version, args);
  if (off !== undefined) return no(off.code, off.message, off.details ?? {});
  const tool = await ports.agents.toolFor(call, ports.catalog.ready(version));
  const context = JSON.parse(call.contextJson) as Readonly<Record<string, unknown>>;
  const asking: Asking = { tenant: call.tenant, project: call.project, principal: call.principal, holdings, tool, context };
  const missing = missingFor(asking);
  if (missing.length > 0) return no("forbidden", `${call.principal} has no grant for ${missing.join(", ")} any more`, { missing });
  const begun = begin(ports, asking, call.decision.id);
  const heard = isOver(begun) ? begun : hear(ports, begun, args, tool);
  if (heard.rules === undefined) return denied(judge(ports, heard));
  // Rules that count were asked when the call was admitted.
  const judgement = judge(ports, { ...heard, rules: { ...heard.rules, waiting: [] } });
  return judgement.decision.outcome === "deny" ? denied(judgement) : { ok: true, clearance };
}

function denied(judgement: Judgement): Look {
  const { code, message, details } = denialOf(judgement);
  return no(code, message, details);
}

function no(code: ErrorCode, message: string, details: Readonly<Record<string, unknown>>): Look {
  return { ok: false, error: errorBody(code, message, { ...details, checked: "before_start" }) };
}

function standingError(call: Call, reason: "quarantined" | "disabled" | "gone"): ErrorBody {
  const name = `${call.tool}@${call.version}`;
  if (reason === "quarantined") return errorBody("integrity_violation", `${name} was quarantined before the call could start`, { reason });
  if (reason === "disabled") return errorBody("forbidden", `${call.tool} was disabled in project ${call.project} before the call could start`, { reason: "tool_disabled", project: call.project });
  return errorBody("forbidden", `${name} is gone`, { reason });
}

