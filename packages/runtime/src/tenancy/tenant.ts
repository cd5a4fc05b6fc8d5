// What a tenant is made of: the names it may have, its weight, and how much a tenant may hold of keys, grants and projects.
import { limits } from "@signalbox/protocol";
import { platformTenant, type Tenant } from "./types.ts";

export const tenancyBounds = {
  /** Of one runtime; each of them is held in memory by name. */
  tenantsMax: 10_000,
  weightMin: 1,
  weightMax: 1_000,
  /** Keys that are alive; ended ones stay listed and are not counted. */
  keysPerTenantMax: 1_000,
  /** Grants that are alive. */
  grantsPerTenantMax: 10_000,
  projectsPerTenantMax: 1_000,
} as const;

/** Also the form of an environment's label: safe in paths, labels of figures, headers and log lines as it is. */
const namePattern = /^[A-Za-z0-9_](?:[A-Za-z0-9_.-]*[A-Za-z0-9_])?$/;

/** Why nobody can have this name; undefined: it is a good one. */
export function tenantNameProblem(name: string): string | undefined {
  if (name.length > limits.nameCharsMax || !namePattern.test(name))
    return `is no name: 1 to ${limits.nameCharsMax} letters, digits and _ . - between them, like acme`;
  // In whatever case: to people, Platform would look like the operator's own.
  if (name.toLowerCase() === platformTenant) return `is taken: ${platformTenant} is the operator's own tenant`;
  return undefined;
}

/** A whole number, for it is told and compared; fractions of a share are larger weights for the others. */
export function weightProblem(weight: number): string | undefined {
  const { weightMin, weightMax } = tenancyBounds;
  if (Number.isInteger(weight) && weight >= weightMin && weight <= weightMax) return undefined;
  return `must be a whole number from ${weightMin} to ${weightMax}`;
}

export function newTenant(tenant: string, weight: number, createdAt: number): Tenant {
  return { tenant, weight, createdAt, suspendedAt: null, suspendedBy: null, suspendedReason: null };
}
