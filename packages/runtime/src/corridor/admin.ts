// Keys, grants and the audit: what an administrator does, each act stored together with its audit record.
import { makeId, SignalboxError } from "@signalbox/protocol";
import type { AuditDraft } from "../call/audit-draft.ts";
import type { AuditFilter, AuditRecord, AuditVerdict } from "../ledger/audit.ts";
import type { Page, Write } from "../ledger/port.ts";
import { parsePermission } from "../policy/permission.ts";
import type { Asked, NewGrant, NewKey } from "../service.ts";
import { makeKeyText } from "../tenancy/directory.ts";
import type { Grant, Key } from "../tenancy/types.ts";
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

const secretBytes = 32;

export async function createKey(ports: AdminPorts, asked: Asked, wanted: NewKey): Promise<{ key: Key; secret: string }> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "admin", requestId);
  const beyond = wanted.scopes.filter((scope) => !principal.scopes.has("*") && !principal.scopes.has(scope));
  if (beyond.length > 0) {
    const error = new SignalboxError("forbidden", `this key cannot give scopes that it lacks: ${beyond.join(", ")}`, {
      details: { missing_scope: beyond[0], beyond },
    });
    await ports.refusals.refuse(principal, requestId, error, { details: { beyond } });
  }
  const now = ports.clock.now();
  const id = makeId("key", now, ports.chance.bytes(10));
  const secret = makeKeyText(id.slice("key_".length), ports.base64url(ports.chance.bytes(secretBytes)));
  const key: Key = {
    tenant: principal.tenant,
    keyId: id,
    hash: ports.hash(secret),
    label: wanted.label,
    principal: wanted.principal,
    project: wanted.project ?? principal.project,
    scopes: wanted.scopes,
    roles: wanted.roles ?? [],
    createdAt: now,
    expiresAt: wanted.expiresAt ?? null,
    revokedAt: null,
  };
  const details = { key_id: id, for: key.principal, scopes: key.scopes, roles: key.roles, expires_at: key.expiresAt };
  // Whoever gives out a key for a project has made the project.
  const project = ports.policies.knowsProject(key.tenant, key.project)
    ? undefined
    : { tenant: key.tenant, project: key.project, environment: "", createdAt: now };
  const writes: readonly Write[] = [
    { op: "insert_key", row: key },
    ...(project === undefined ? [] : [{ op: "put_project" as const, row: project }]),
  ];
  if (project !== undefined && (await storable(ports.ledger.projects(key.tenant))).some((one) => one.project === key.project))
    throw new SignalboxError("policy_error", "the projects have not been read yet; try again");
  if (!(await act(ports, asked, "key.created", writes, details))) {
    throw new SignalboxError("conflict", "a key of this id exists already; try again");
  }
  if (project !== undefined) ports.policies.projectChanged(project);
  return { key, secret };
}

export async function listKeys(ports: AdminPorts, asked: Asked): Promise<readonly Key[]> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  return storable(ports.ledger.keys(asked.principal.tenant));
}

export async function revokeKey(ports: AdminPorts, asked: Asked, keyId: string): Promise<Key> {
  const { tenant } = asked.principal;
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  const write = { op: "revoke_key", tenant, keyId, at: ports.clock.now() } as const;
  const applied = await act(ports, asked, "key.revoked", write, { key_id: keyId });
  ports.directory.changed(tenant);
  const key = (await storable(ports.ledger.keys(tenant))).find((one) => one.keyId === keyId);
  if (!applied || key === undefined) throw new SignalboxError("key_not_found", "there is no such key");
  return key;
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
  const now = ports.clock.now();
  const grant: Grant = {
    tenant: principal.tenant,
    grantId: makeId("grant", now, ports.chance.bytes(10)),
    subject: wanted.subject,
    project: wanted.project ?? "",
    permissions: wanted.permissions,
    roles: wanted.roles ?? [],
    createdAt: now,
    createdBy: principal.name,
    expiresAt: wanted.expiresAt ?? null,
    revokedAt: null,
  };
  const { grantId, subject, permissions, roles, expiresAt } = grant;
  const details = { grant_id: grantId, subject, permissions, roles, expires_at: expiresAt };
  if (!(await act(ports, asked, "grant.created", { op: "insert_grant", row: grant }, details))) {
    throw new SignalboxError("conflict", "a grant of this id exists already; try again");
  }
  ports.directory.changed(principal.tenant);
  return grant;
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
