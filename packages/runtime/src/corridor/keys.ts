// API keys: made, listed and ended, by a tenant's administrators or by the platform's operator for them.
import { makeId, SignalboxError } from "@signalbox/protocol";
import type { Write } from "../ledger/port.ts";
import type { Asked, KeyQuery, KeyStatus, NewKey } from "../service.ts";
import { isAlive, makeKeyText } from "../tenancy/directory.ts";
import { tenancyBounds } from "../tenancy/tenant.ts";
import type { Key } from "../tenancy/types.ts";
import { actOn, makingIn, requireRoom, type AdminPorts } from "./admin.ts";
import { storable } from "./invoke.ts";
import { roomForProject } from "./projects.ts";

export interface MadeKey {
  readonly key: Key;
  /** Shown once, and stored nowhere. */
  readonly secret: string;
}

const secretBytes = 32;

/** A key that no ledger knows yet. */
export function freshKey(
  { clock, chance, hash, base64url }: Pick<AdminPorts, "clock" | "chance" | "hash" | "base64url">,
  tenant: string,
  wanted: NewKey & { readonly project: string },
): MadeKey {
  const now = clock.now();
  const keyId = makeId("key", now, chance.bytes(10));
  const secret = makeKeyText(keyId.slice("key_".length), base64url(chance.bytes(secretBytes)));
  const { label, principal, project, scopes, roles = [], expiresAt = null } = wanted;
  const life = { createdAt: now, expiresAt, revokedAt: null, lastUsedAt: null };
  return { key: { tenant, keyId, hash: hash(secret), label, principal, project, scopes, roles, ...life }, secret };
}

export async function createKey(ports: AdminPorts, asked: Asked, wanted: NewKey): Promise<MadeKey> {
  const { principal } = asked;
  await ports.refusals.requireScope(principal, "admin", asked.requestId);
  return makeKey(ports, asked, principal.tenant, { ...wanted, project: wanted.project ?? principal.project });
}

/** @param tenant whose key it is to be; the caller has seen to it that it may */
export async function makeKey(
  ports: AdminPorts,
  asked: Asked,
  tenant: string,
  wanted: NewKey & { readonly project: string },
): Promise<MadeKey> {
  await refuseBeyond(ports, asked, wanted);
  return ports.counting.run(makingIn(tenant), async () => {
    const now = ports.clock.now();
    const keys = await storable(ports.ledger.keys(tenant));
    const { keysPerTenantMax: max } = tenancyBounds;
    requireRoom(
      keys.filter((one) => isAlive(one, now)).length,
      max,
      `keys that are alive; end one first: signalbox keys revoke <id>`,
      "keys_per_tenant_max",
    );
    const made = freshKey(ports, tenant, wanted);
    const { key } = made;
    // Whoever gives out a key for a project has made the project.
    const known = ports.policies.knowsProject(tenant, key.project);
    const project = { tenant, project: key.project, environment: "", createdAt: now };
    if (!known) await requireNewProject(ports, tenant, key.project);
    const writes: readonly Write[] = [
      { op: "insert_key", row: key },
      ...(known ? [] : [{ op: "put_project" as const, row: project }]),
    ];
    if (!(await actOn(ports, asked, tenant, "key.created", writes, keyFacts(key))))
      throw new SignalboxError("conflict", "a key of this id exists already; try again");
    if (!known) ports.policies.projectChanged(project);
    ports.directory.changed(tenant);
    return made;
  });
}

export function keyFacts(key: Key): Readonly<Record<string, unknown>> {
  const { keyId, principal, project, scopes, roles, expiresAt } = key;
  return { key_id: keyId, for: principal, for_project: project, scopes, roles, expires_at: expiresAt };
}

async function refuseBeyond(ports: AdminPorts, { principal, requestId }: Asked, { scopes }: NewKey): Promise<void> {
  const beyond = scopes.filter((scope) => !principal.scopes.has("*") && !principal.scopes.has(scope));
  if (beyond.length === 0) return;
  const error = new SignalboxError("forbidden", `this key cannot give scopes that it lacks: ${beyond.join(", ")}`, {
    details: { missing_scope: beyond[0], beyond },
  });
  await ports.refusals.refuse(principal, requestId, error, { details: { beyond } });
}

async function requireNewProject(ports: AdminPorts, tenant: string, project: string): Promise<void> {
  const projects = await storable(ports.ledger.projects(tenant));
  if (projects.some((one) => one.project === project))
    throw new SignalboxError("policy_error", "the projects have not been read yet; try again");
  roomForProject(projects);
}

export async function listKeys(ports: AdminPorts, asked: Asked, query: KeyQuery = {}): Promise<readonly Key[]> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  return keysOf(ports, asked.principal.tenant, query);
}

export async function keysOf(ports: AdminPorts, tenant: string, query: KeyQuery): Promise<readonly Key[]> {
  const { principal, project, status } = query;
  const now = ports.clock.now();
  return (await storable(ports.ledger.keys(tenant))).filter(
    (key) =>
      (principal === undefined || key.principal === principal) &&
      (project === undefined || key.project === project) &&
      (status === undefined || statusOf(key, now) === status),
  );
}

function statusOf(key: Key, now: number): KeyStatus {
  if (key.revokedAt !== null) return "revoked";
  return isAlive(key, now) ? "active" : "expired";
}

export async function revokeKey(ports: AdminPorts, asked: Asked, keyId: string): Promise<Key> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  return endKey(ports, asked, asked.principal.tenant, keyId);
}

export async function endKey(ports: AdminPorts, asked: Asked, tenant: string, keyId: string): Promise<Key> {
  const write = { op: "revoke_key", tenant, keyId, at: ports.clock.now() } as const;
  const applied = await actOn(ports, asked, tenant, "key.revoked", write, { key_id: keyId });
  if (applied) ports.directory.changed(tenant);
  const key = applied ? (await storable(ports.ledger.keys(tenant))).find((one) => one.keyId === keyId) : undefined;
  if (key === undefined) throw new SignalboxError("key_not_found", "there is no such key");
  return key;
}
