// Limits as administrators set them: checked against what there is and against the operator's word, stored with their audit record.
import { fieldFault, limits as shared, SignalboxError } from "@signalbox/protocol";
import { limitBounds } from "../schedule/bounds.ts";
import { looserThanOperator, type Looser } from "../schedule/looser.ts";
import { dayQuotaNames } from "../schedule/quotas.ts";
import { quotaNames, type Calendar, type Limit, type LimitKey } from "../schedule/types.ts";
import type { LimitTarget, NewLimit } from "../service-limits.ts";
import { platformTenant, type Asked } from "../tenancy/types.ts";
import { actOn, requireRoom, type AdminPorts } from "./admin.ts";
import { storable } from "./invoke.ts";
import { quotaWords } from "./limit-errors.ts";

export interface LimitAdminPorts extends AdminPorts {
  readonly calendar: Calendar;
}

export async function listLimits(ports: LimitAdminPorts, asked: Asked, named: string | undefined): Promise<readonly Limit[]> {
  const tenant = await tenantOf(ports, asked, named);
  const own = await storable(ports.ledger.limits(tenant));
  if (tenant === platformTenant) return own;
  const platforms = await storable(ports.ledger.limits(platformTenant));
  return [...own, ...platforms.filter(({ scope }) => scope === "platform" || scope === "tool")];
}

export async function putLimit(ports: LimitAdminPorts, asked: Asked, wanted: NewLimit): Promise<Limit> {
  const tenant = await tenantOf(ports, asked, wanted.tenant);
  const key = await targetOf(ports, asked, tenant, wanted);
  checkParts(wanted);
  const timeZone = wanted.timeZone === null ? null : zoneNamed(ports, wanted.timeZone);
  const { rate, quotas } = wanted;
  const row: Limit = { ...key, rate, quotas, timeZone, changedAt: ports.clock.now(), changedBy: asked.principal.name };
  // One after the other, so that what is checked is what is stored over.
  return ports.counting.run(`limits\n${tenant}`, () => store(ports, asked, row));
}

async function store(ports: LimitAdminPorts, asked: Asked, row: Limit): Promise<Limit> {
  const { book } = ports.limits;
  const before = book.find(row);
  if (before !== undefined && saysTheSame(before, row)) return before;
  if (row.setBy === "tenant") {
    refuseLooser(looserThanOperator(book, row));
    refuseMovedDay(ports, row, row.timeZone);
  }
  if (before === undefined) {
    const { limitsPerTenantMax: max } = limitBounds;
    requireRoom(book.countOf(row.tenant, row.setBy), max, "limits of this tenant; remove one first: signalbox limits remove", "limits_per_tenant_max");
  }
  const details = { ...factsOf(row), ...(before === undefined ? {} : { before: saidBy(before) }) };
  await actOn(ports, asked, row.tenant, "limit.set", { op: "put_limit", row }, details);
  await storable(ports.limits.put(row));
  ports.driver.pump();
  return row;
}

export async function removeLimit(ports: LimitAdminPorts, asked: Asked, target: LimitTarget): Promise<{ readonly removed: boolean }> {
  const tenant = await tenantOf(ports, asked, target.tenant);
  const key: LimitKey = { tenant, setBy: setterOf(asked), scope: target.scope, subject: target.subject };
  return ports.counting.run(`limits\n${tenant}`, async () => {
    const before = ports.limits.book.find(key);
    if (before === undefined) return { removed: false };
    if (key.setBy === "tenant") refuseMovedDay(ports, key, null);
    if (!(await actOn(ports, asked, tenant, "limit.removed", { op: "remove_limit", key }, { ...factsOf(before) }))) return { removed: false };
    await storable(ports.limits.remove(key));
    ports.driver.pump();
    return { removed: true };
  });
}

const setterOf = ({ principal }: Asked): LimitKey["setBy"] => (principal.tenant === platformTenant ? "operator" : "tenant");

/** Whose limits: one's own, or for the platform's operator those of the tenant that is named. */
async function tenantOf(ports: LimitAdminPorts, asked: Asked, named: string | undefined): Promise<string> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "admin", requestId);
  if (named === undefined || named === principal.tenant) return principal.tenant;
  if (principal.tenant !== platformTenant) {
    const details = { field: "tenant", reason: "operator_only" };
    const error = new SignalboxError("forbidden", "only the platform's operator names another tenant", { details });
    return ports.refusals.refuse(principal, requestId, error, { details });
  }
  if ((await storable(ports.ledger.tenant(named))) === undefined) throw new SignalboxError("tenant_not_found", "there is no such tenant");
  return named;
}

/** A limit for a misspelt name would be said to hold, and hold nowhere: what it names must be there. */
async function targetOf(ports: LimitAdminPorts, asked: Asked, tenant: string, { scope, subject }: NewLimit): Promise<LimitKey> {
  const key: LimitKey = { tenant, setBy: setterOf(asked), scope, subject };
  if (scope === "platform" && tenant !== platformTenant)
    throw invalid("scope", "a limit of the whole platform is the operator's to set: use --platform, and name no tenant");
  if (scope === "platform" || scope === "tenant") {
    if (subject !== "") throw invalid("subject", `a limit of scope ${scope} has no subject; leave it out`);
    return key;
  }
  if (subject === "") throw invalid("subject", `say which ${scope}, or * for each of them`);
  if (subject.length > shared.nameCharsMax || /[\s\p{C}]/u.test(subject)) throw invalid("subject", `is no name of a ${scope}`);
  if (subject === "*") return key;
  if (scope === "project" && !ports.policies.knowsProject(tenant, subject))
    throw new SignalboxError("project_not_found", `there is no project ${subject}; 'signalbox projects list' shows those there are`, { details: { project: subject } });
  if (scope === "tool") await requireTool(ports, tenant, subject);
  if (scope === "principal" && !/^(?:user|service|agent):/.test(subject))
    throw invalid("subject", "a principal reads user:<name>, service:<name> or agent:<name>");
  return key;
}

async function requireTool(ports: LimitAdminPorts, tenant: string, tool: string): Promise<void> {
  if ((await storable(ports.ledger.tool(tenant, tool))) !== undefined) return;
  if ((await storable(ports.ledger.tool(platformTenant, tool))) !== undefined) return;
  throw new SignalboxError("tool_not_found", `there is no tool ${tool}; 'signalbox tools list' shows what there is`, { details: { tool } });
}

function checkParts({ scope, rate, quotas, timeZone }: NewLimit): void {
  const named = quotaNames.filter((name) => quotas[name] !== undefined);
  if (named.length > 0 && scope !== "tenant" && scope !== "project")
    throw invalid("quotas", `are kept of tenants and projects; a ${scope} has a rate`);
  if (timeZone !== null && scope !== "tenant") throw invalid("time_zone", "is a tenant's; leave it out here");
  if (rate === null && named.length === 0 && timeZone === null)
    throw invalid("rate", "says nothing: give a rate, a quota or a time zone, or remove the limit");
}

function zoneNamed({ calendar }: LimitAdminPorts, text: string): string {
  // Names of places only: an offset knows nothing of moved clocks.
  const zone = /^[A-Za-z]/.test(text) && text.length <= limitBounds.timeZoneCharsMax ? calendar.zoneNamed(text) : undefined;
  if (zone === undefined) throw invalid("time_zone", "is no time zone that is known here; it reads like Europe/Paris or UTC");
  return zone;
}

function refuseLooser(looser: readonly Looser[]): void {
  if (looser.length === 0) return;
  const fields = looser.map(({ field, max }) => ({ ...fieldFault(fieldPlace(field), "maximum", `must be at most ${max}`), max }));
  const told = looser.map(({ field, max }) => `${fieldWords(field)} at most ${max}`).join(", ");
  throw new SignalboxError("forbidden", `the platform's operator allows this tenant less: ${told}`, {
    details: { reason: "over_operator_limit", fields },
  });
}

/** Where the operator counts a tenant's days, the tenant cannot begin a fresh one by moving to another zone. */
function refuseMovedDay(ports: LimitAdminPorts, { tenant, scope }: LimitKey, timeZone: string | null): void {
  if (scope !== "tenant") return;
  const { book } = ports.limits;
  const ofOperator = book.find({ tenant, setBy: "operator", scope: "tenant", subject: "" })?.timeZone ?? null;
  const moves = ofOperator === null && (timeZone ?? "UTC") !== book.zoneOf(tenant);
  if (!moves || !book.countsDays(tenant, dayQuotaNames)) return;
  throw new SignalboxError("forbidden", "the platform's operator has set quotas by the day, so the operator says where the day begins", {
    details: { reason: "over_operator_limit", fields: [fieldFault("/time_zone", "const", "must be the operator's")] },
  });
}

const fieldPlace = (field: Looser["field"]): string => `/${field === "perMinute" || field === "burst" ? "rate" : "quotas"}/${fieldWords(field)}`;

const fieldWords = (field: Looser["field"]): string => (field === "perMinute" ? "per_minute" : field === "burst" ? "burst" : quotaWords[field]);

/** What a limit says, in the words of the doors. */
function saidBy({ rate, quotas, timeZone }: Limit): Record<string, unknown> {
  return {
    rate: rate === null ? null : { per_minute: rate.perMinute, burst: rate.burst },
    quotas: quotasInWords(quotas),
    time_zone: timeZone,
  };
}

function factsOf(limit: Limit): Record<string, unknown> {
  return { scope: limit.scope, subject: limit.subject, set_by: limit.setBy, ...saidBy(limit) };
}

/** Those that are set, by the names they have at the doors. */
export function quotasInWords(quotas: Limit["quotas"]): Record<string, number> {
  const words: Record<string, number> = {};
  for (const name of quotaNames) {
    const max = quotas[name];
    if (max !== undefined) words[quotaWords[name]] = max;
  }
  return words;
}

function saysTheSame(one: Limit, other: Limit): boolean {
  return JSON.stringify(saidBy(one)) === JSON.stringify(saidBy(other));
}

const invalid = (field: string, problem: string): SignalboxError =>
  new SignalboxError("invalid_input", `${field} ${problem}`, { details: { fields: [fieldFault(`/${field}`, "format", problem)] } });
