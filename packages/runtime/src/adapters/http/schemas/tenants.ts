// What requests about tenants may say.
import { z } from "zod";
import type { NewTenant, TenantChange } from "../../../service-tenants.ts";
import { check, invalidInput } from "./check.ts";
import { defined } from "./defined.ts";
import { name, principalName, reason } from "./fields.ts";

/** Bounds and form of names and weights are the runtime's to say, for all doors alike. */
export const tenantBody = z
  .strictObject({
    tenant: name.describe("Letters, digits and _ . - between them"),
    weight: z.int().optional().describe("Its share of what all tenants wait for; 1 without it"),
    admin: z
      .strictObject({
        principal: principalName.optional().describe("`user:admin` without it"),
        label: name.optional().describe("For people"),
      })
      .optional()
      .describe("Whose its first key is"),
  })
  .meta({ id: "NewTenant", description: "A tenant to be made" });

export function newTenantOf(body: unknown): NewTenant {
  const { tenant, weight, admin } = check(tenantBody, body, "body");
  return defined({ tenant, weight, admin: admin === undefined ? undefined : defined(admin) });
}

export const tenantChangeBody = z
  .strictObject({
    weight: z.int().optional().describe("Its share of what all tenants wait for"),
    suspended: z.boolean().optional().describe("`true` stops it, `false` lets it go on"),
    reason: reason.optional().describe("Why it is suspended; with `suspended: true`"),
  })
  .meta({ id: "TenantChange", description: "What is left out stays as it is" });

export function tenantChangeOf(body: unknown): TenantChange {
  const change = check(tenantChangeBody, body, "body");
  if (change.weight === undefined && change.suspended === undefined)
    throw invalidInput("the body changes nothing: give weight, or suspended (true or false)");
  if (change.reason !== undefined && change.suspended !== true)
    throw invalidInput("field /reason says why a tenant is suspended; it goes with suspended: true", [
      { pointer: "/reason", keyword: "dependentRequired", message: "goes with suspended: true" },
    ]);
  return defined(change);
}
