// What requests about keys and grants may say.
import { z } from "zod";
import type { NewGrant, NewKey } from "../../../service.ts";
import { httpLimits } from "../http-limits.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { cursor, instant, listLimit, name, principalName, roles, scopeName } from "./fields.ts";

export const newKeyBody = z
  .strictObject({
    label: name.describe("For people"),
    principal: principalName,
    project: name.optional().describe("Where its calls belong; the caller's own without it"),
    scopes: z
      .array(scopeName)
      .min(1)
      .max(scopeName.options.length)
      .describe("What it may ask of the API; `*` stands for all"),
    roles: roles.optional().describe("Roles in which its principal decides approvals"),
    expires_at: instant.optional().describe("Never, without it"),
  })
  .meta({ id: "NewKey", description: "A key to be made" });

export function newKey(body: unknown): NewKey {
  const { label, principal, project, scopes, roles: given, expires_at } = check(newKeyBody, body, "body");
  return defined({ label, principal, project, scopes, roles: given, expiresAt: expires_at });
}

export const keysQuery = z.strictObject({
  principal: principalName.optional().describe("Keys of this principal"),
  project: name.optional().describe("Keys of this project"),
  status: z.enum(["active", "expired", "revoked"]).optional().describe("Keys of which this has become"),
  limit: listLimit,
  cursor: cursor.optional(),
});

export const newGrantBody = z
  .strictObject({
    subject: principalName,
    project: name.optional().describe("Every project of the tenant, without it"),
    permissions: z
      .array(z.string().min(1).max(httpLimits.permissionCharsMax))
      .min(1)
      .max(httpLimits.permissionsMax)
      .describe("`domain:action:resource`, such as `tool:invoke:payments.*`"),
    roles: roles.optional().describe("Roles in which the principal decides approvals"),
    expires_at: instant.optional().describe("Never, without it"),
  })
  .meta({ id: "NewGrant", description: "A grant to be made" });

export function newGrant(body: unknown): NewGrant {
  const { subject, project, permissions, roles: given, expires_at } = check(newGrantBody, body, "body");
  return defined({ subject, project, permissions, roles: given, expiresAt: expires_at });
}
