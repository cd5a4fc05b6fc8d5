// What answers tell of tenants.
import { z } from "zod";
import { madeKey } from "./access.ts";
import { at, atOrNull, pageOf } from "./common.ts";

const tenantFields = {
  tenant: z.string(),
  weight: z.number().describe("Its share of what all tenants wait for"),
  suspended: z.boolean().describe("Its keys are refused, and nothing of it is started"),
  suspended_at: atOrNull,
  suspended_by: z.string().nullable(),
  suspended_reason: z.string().nullable(),
  created_at: at,
};

export const tenant = z.strictObject(tenantFields).meta({ id: "Tenant", description: "The boundary of isolation" });

export const madeTenant = z
  .strictObject({ ...tenantFields, admin_key: madeKey.describe("May do everything in it") })
  .meta({ id: "MadeTenant", description: "A new tenant with its first key" });

export const tenantPage = pageOf("TenantPage", tenant);
