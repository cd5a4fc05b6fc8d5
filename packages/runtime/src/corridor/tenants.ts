// Tenants as the platform's operator handles them: made with a first key, given a weight, suspended and resumed; never removed.
import { fieldFault, SignalboxError } from "@signalbox/protocol";
import type { Write } from "../ledger/port.ts";
import type { MadeTenant, NewTenant, TenantChange, TenantService } from "../service-tenants.ts";
import { newTenant, tenancyBounds, tenantNameProblem, weightProblem } from "../tenancy/tenant.ts";
import { platformTenant, type Asked, type Project, type Tenant } from "../tenancy/types.ts";
import { actOn, freshGrant, requireRoom, type AdminPorts } from "./admin.ts";
import { storable } from "./invoke.ts";
import { endKey, freshKey, keyFacts, keysOf, makeKey } from "./keys.ts";

const firstProject = "default";
const firstAdmin = { principal: "user:admin", label: "first admin key" } as const;

export function tenantService(ports: AdminPorts): TenantService {
  return {
    listTenants: (asked) => listTenants(ports, asked),
    getTenant: (asked, tenant) => getTenant(ports, asked, tenant),
    createTenant: (asked, wanted) => createTenant(ports, asked, wanted),
    changeTenant: (asked, tenant, change) => changeTenant(ports, asked, tenant, change),
    async listTenantKeys(asked, tenant, query) {
      await existing(ports, asked, tenant);
      return keysOf(ports, tenant, query);
    },
    async createTenantKey(asked, tenant, wanted) {
      await existing(ports, asked, tenant);
      return makeKey(ports, asked, tenant, { ...wanted, project: wanted.project ?? firstProject });
    },
    async revokeTenantKey(asked, tenant, keyId) {
      await existing(ports, asked, tenant);
      return endKey(ports, asked, tenant, keyId);
    },
  };
}

function isOperator({ principal }: Asked): boolean {
  return principal.tenant === platformTenant;
}

/** Before anything is read: whoever may not do it learns nothing of which tenants there are. */
async function requireOperator(ports: AdminPorts, asked: Asked): Promise<void> {
  const { principal, requestId } = asked;
  await ports.refusals.requireScope(principal, "admin", requestId);
  if (isOperator(asked)) return;
  const details = { field: "tenant", reason: "operator_only" };
  const error = new SignalboxError(
    "forbidden",
    "only the platform's operator does this: use a key of the tenant platform (signalbox … --platform)",
    { details },
  );
  await ports.refusals.refuse(principal, requestId, error, { details });
}

function notFound(): SignalboxError {
  return new SignalboxError("tenant_not_found", "there is no such tenant");
}

/** One that the operator names. */
async function existing(ports: AdminPorts, asked: Asked, name: string): Promise<Tenant> {
  await requireOperator(ports, asked);
  const tenant = await storable(ports.ledger.tenant(name));
  if (tenant === undefined) throw notFound();
  return tenant;
}

async function listTenants(ports: AdminPorts, asked: Asked): Promise<readonly Tenant[]> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  if (isOperator(asked)) return storable(ports.ledger.tenants());
  const own = await storable(ports.ledger.tenant(asked.principal.tenant));
  return own === undefined ? [] : [own];
}

async function getTenant(ports: AdminPorts, asked: Asked, name: string): Promise<Tenant> {
  await ports.refusals.requireScope(asked.principal, "admin", asked.requestId);
  if (!isOperator(asked) && name !== asked.principal.tenant) throw notFound();
  const tenant = await storable(ports.ledger.tenant(name));
  if (tenant === undefined) throw notFound();
  return tenant;
}

async function createTenant(ports: AdminPorts, asked: Asked, wanted: NewTenant): Promise<MadeTenant> {
  await requireOperator(ports, asked);
  const { tenant: name, weight = tenancyBounds.weightMin } = wanted;
  requireGood("tenant", "pattern", tenantNameProblem(name));
  requireGood("weight", "format", weightProblem(weight));
  return ports.counting.run("tenants", () => storeTenant(ports, asked, { name, weight, admin: wanted.admin ?? {} }));
}

async function storeTenant(
  ports: AdminPorts,
  asked: Asked,
  {
    name,
    weight,
    admin,
  }: { readonly name: string; readonly weight: number; readonly admin: NonNullable<NewTenant["admin"]> },
): Promise<MadeTenant> {
  const { tenantsMax: max } = tenancyBounds;
  const count = (await storable(ports.ledger.tenants())).length;
  requireRoom(count, max, "tenants, as many as one runtime has; start another one", "tenants_max");
  const { principal, label } = { ...firstAdmin, ...admin };
  const tenant = newTenant(name, weight, ports.clock.now());
  const project: Project = {
    tenant: name,
    project: firstProject,
    environment: "development",
    createdAt: tenant.createdAt,
  };
  const { key, secret } = freshKey(ports, name, { label, principal, project: firstProject, scopes: ["*"] });
  const grant = freshGrant(ports, asked, name, { subject: principal, permissions: ["*"] });
  const writes: readonly Write[] = [
    { op: "insert_tenant", row: tenant },
    { op: "insert_project", row: project },
    { op: "insert_key", row: key },
    { op: "insert_grant", row: grant },
  ];
  const details = { weight, ...keyFacts(key), grant_id: grant.grantId };
  if (!(await actOn(ports, asked, name, "tenant.created", writes, details)))
    throw new SignalboxError("conflict", `the tenant ${name} exists already; choose another name`, {
      details: { tenant: name },
    });
  ports.policies.projectChanged(project);
  ports.directory.changed(name);
  ports.hub.weigh(name, weight);
  return { tenant, key, secret };
}

async function changeTenant(ports: AdminPorts, asked: Asked, name: string, change: TenantChange): Promise<Tenant> {
  await requireOperator(ports, asked);
  if (change.weight !== undefined) requireGood("weight", "format", weightProblem(change.weight));
  if (name === platformTenant)
    throw new SignalboxError(
      "invalid_input",
      `${platformTenant} is the operator's own tenant: it has no share and is never suspended`,
      {
        details: { fields: [fieldFault("/tenant", "not", "must not be the operator's own tenant")] },
      },
    );
  // One after the other: memory must end as the ledger does.
  return ports.counting.run(`tenant\n${name}`, async () => {
    const before = await existing(ports, asked, name);
    // Memory first: from here on nothing goes out, whether or not the ledger can write it down.
    if (change.suspended === true) ports.hub.suspend(name);
    const after = changed(ports, asked, before, change);
    await store(ports, asked, before, after);
    ports.hub.weigh(name, after.weight);
    // Stored first: what goes on must not stop again by itself after a restart.
    if (change.suspended === false) {
      ports.hub.resume(name, ports.clock.now());
      ports.driver.pump();
    }
    return after;
  });
}

function changed(ports: AdminPorts, { principal }: Asked, before: Tenant, change: TenantChange): Tenant {
  const { weight = before.weight, suspended, reason = "" } = change;
  if (suspended === undefined || suspended === (before.suspendedAt !== null)) return { ...before, weight };
  if (!suspended) return { ...before, weight, suspendedAt: null, suspendedBy: null, suspendedReason: null };
  return { ...before, weight, suspendedAt: ports.clock.now(), suspendedBy: principal.name, suspendedReason: reason };
}

/** Each change is an act of its own, stored with its record in the audit. */
async function store(ports: AdminPorts, asked: Asked, before: Tenant, after: Tenant): Promise<void> {
  const { tenant, suspendedAt, suspendedReason, weight } = after;
  const steps: [action: string, row: Tenant, details: Readonly<Record<string, unknown>>][] = [];
  if (weight !== before.weight) steps.push(["tenant.changed", { ...before, weight }, { weight, from: before.weight }]);
  if (before.suspendedAt === null && suspendedAt !== null)
    steps.push(["tenant.suspended", after, { reason: suspendedReason }]);
  if (before.suspendedAt !== null && suspendedAt === null) steps.push(["tenant.resumed", after, {}]);
  for (const [action, row, details] of steps)
    if (!(await actOn(ports, asked, tenant, action, { op: "update_tenant", row }, details))) throw notFound();
}

function requireGood(field: string, keyword: string, problem: string | undefined): void {
  if (problem === undefined) return;
  throw new SignalboxError("invalid_input", `${field} ${problem}`, { details: { fields: [fieldFault(`/${field}`, keyword, problem)] } });
}
