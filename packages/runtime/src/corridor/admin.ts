// Keys, grants and the audit: what an administrator does, each act stored together with its audit record.
import { makeId, SignalboxError } from "@signalbox/protocol";
import type { AuditDraft } from "../call/audit-draft.ts";
import type { AuditFilter, AuditRecord, AuditVerdict } from "../ledger/audit.ts";
import type { Page, Write } from "../ledger/port.ts";
import { parsePermission } from "../policy/permission.ts";
import type { Asked, NewGrant } from "../service.ts";
import { isAlive } from "../tenancy/directory.ts";
import { tenancyBounds } from "../tenancy/tenant.ts";
import type { Grant } from "../tenancy/types.ts";
import { storable, type InvokePorts } from "./invoke.ts";

export interface AdminPorts extends InvokePorts {
  /** Base64url without padding. */
  base64url(bytes: Uint8Array): string;
}

/** Stores one administrative act and its audit record; false when its guard did not hold. */
export async function act(
  ports: Pick<InvokePorts, "clock" | "ledger">,
  asked: Asked,
  action: string,
  write: Write | readonly Write[],
  details: Readonly<Record<string, unknown>>,
  facts: Partial<AuditDraft> = {},
): Promise<boolean> {
  const { tenant, project, name } = asked.principal;
  const base = { ts: ports.clock.now(), tenant, project, principal: name, action, status: "done", requestId: asked.requestId, details };
  const writes = "op" in write ? [write] : write;
  const outcome = await storable(ports.ledger.commit({ writes: [...writes, { op: "append_audit", draft: { ...base, ...facts } }] }));
  return outcome.applied;
}

/**
 * The same for an act on a tenant that need not be the caller's own: then it stands in both tenants' audit, for who did it
 * and for whom it was done to.
 */
export async function actOn(
  ports: Pick<InvokePorts, "clock" | "ledger">,
  asked: Asked,
  tenant: string,
  action: string,
  write: Write | readonly Write[],
  details: Readonly<Record<string, unknown>>,
): Promise<boolean> {
  const { principal, requestId } = asked;
  if (tenant === principal.tenant) return act(ports, asked, action, write, details);
  const theirs: AuditDraft = {
    ts: ports.clock.now(),
    tenant,
    project: "",
    principal: principal.name,
    action,
    status: "done",
    requestId,
    details: { ...details, by_tenant: principal.tenant },
  };
  const writes = "op" in write ? [write] : write;
  return act(ports, asked, action, [...writes, { op: "append_audit", draft: theirs }], { ...details, tenant });
}

/** The lock under which keys, grants and projects of a tenant are counted and made: two at once must not pass a bound together. */
export function makingIn(tenant: string): string {
  return `making\n${tenant}`;
}

/** @throws SignalboxError conflict when there are as many as there may be */
export function requireRoom(count: number, max: number, ofWhat: string, limit: string): void {
  if (count < max) return;
  throw new SignalboxError("conflict", `there are ${max} ${ofWhat}`, { details: { [limit]: max } });
}

export async function createGrant(ports: AdminPorts, asked: Asked, wanted: NewGrant): Promise<Grant> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "admin", asked.requestId);
  const problems = wanted.permissions.flatMap((permission) => {
    const parsed = parsePermission(permission);
    return parsed.ok ? [] : [{ permission, problem: parsed.reason }];
  });
  if (problems.length > 0) {
    throw new SignalboxError("invalid_input", "a permission reads 'domain:action:resource', e.g. tool:invoke:echo", { details: { problems } });
  }
  return ports.counting.run(makingIn(principal.tenant), () => storeGrant(ports, asked, wanted));
}

async function storeGrant(ports: AdminPorts, asked: Asked, wanted: NewGrant): Promise<Grant> {
  const { tenant } = asked.principal;
  const now = ports.clock.now();
  const alive = (await storable(ports.ledger.grants(tenant))).filter((one) => isAlive(one, now)).length;
  const { grantsPerTenantMax: max } = tenancyBounds;
  requireRoom(alive, max, "grants that are alive; end one first: signalbox grants revoke <id>", "grants_per_tenant_max");
  const grant = freshGrant(ports, asked, tenant, wanted);
  if (!(await act(ports, asked, "grant.created", { op: "insert_grant", row: grant }, grantFacts(grant)))) {
    throw new SignalboxError("conflict", "a grant of this id exists already; try again");
  }
  ports.directory.changed(tenant);
  return grant;
}

/** A grant that no ledger knows yet. */
export function freshGrant(
  { clock, chance }: Pick<AdminPorts, "clock" | "chance">,
  { principal }: Asked,
  tenant: string,
  wanted: NewGrant,
): Grant {
  const { subject, project = "", permissions, roles = [], expiresAt = null } = wanted;
  const now = clock.now();
  const grantId = makeId("grant", now, chance.bytes(10));
  const life = { createdAt: now, createdBy: principal.name, expiresAt, revokedAt: null };
  return { tenant, grantId, subject, project, permissions, roles, ...life };
}

function grantFacts({ grantId, subject, permissions, roles, expiresAt }: Grant): Readonly<Record<string, unknown>> {
  return { grant_id: grantId, subject, permissions, roles, expires_at: expiresAt };
}

export async function listGrants(ports: AdminPorts, asked: Asked): Promise<readonly Grant[]> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  return storable(ports.ledger.grants(asked.principal.tenant));
}

export async function revokeGrant(ports: AdminPorts, asked: Asked, grantId: string): Promise<Grant> {
  const { tenant } = asked.principal;
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  const write = { op: "revoke_grant", tenant, grantId, at: ports.clock.now() } as const;
  const applied = await act(ports, asked, "grant.revoked", write, { grant_id: grantId });
  ports.directory.changed(tenant);
  const grant = (await storable(ports.ledger.grants(tenant))).find((one) => one.grantId === grantId);
  if (!applied || grant === undefined) throw new SignalboxError("grant_not_found", "there is no such grant");
  return grant;
}

export async function listAudit(
  ports: AdminPorts,
  asked: Asked,
  filter: Omit<AuditFilter, "tenant">,
  limit: number,
  cursor?: string,
): Promise<Page<AuditRecord>> {
  await ports.refusals.requireScope(asked.principal, "audit:read", asked.requestId);
  return storable(ports.ledger.listAudit({ ...filter, tenant: asked.principal.tenant }, limit, cursor));
}

export async function verifyAudit(ports: AdminPorts, asked: Asked): Promise<AuditVerdict> {
  await ports.refusals.requireScope(asked.principal, "audit:read", asked.requestId);
  return storable(ports.ledger.verifyAudit(asked.principal.tenant));
}
