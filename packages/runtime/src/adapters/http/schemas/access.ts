// What requests about keys and grants may say.
import { z } from "zod";
import type { NewGrant, NewKey } from "../../../service.ts";
import { check } from "./check.ts";
import { defined } from "./defined.ts";
import { instant, name, principalName, roles, scopeName } from "./fields.ts";

const permissionsMax = 200;
const permissionCharsMax = 512;

export const newKeyBody = z.strictObject({
  label: name,
  principal: principalName,
  project: name.optional(),
  scopes: z.array(scopeName).min(1).max(scopeName.options.length),
  roles: roles.optional(),
  expires_at: instant.optional(),
});

export function newKey(body: unknown): NewKey {
  const { label, principal, project, scopes, roles: given, expires_at } = check(newKeyBody, body, "body");
  return defined({ label, principal, project, scopes, roles: given, expiresAt: expires_at });
}

export const newGrantBody = z.strictObject({
  subject: principalName,
  project: name.optional(),
  permissions: z.array(z.string().min(1).max(permissionCharsMax)).min(1).max(permissionsMax),
  roles: roles.optional(),
  expires_at: instant.optional(),
});

export function newGrant(body: unknown): NewGrant {
  const { subject, project, permissions, roles: given, expires_at } = check(newGrantBody, body, "body");
  return defined({ subject, project, permissions, roles: given, expiresAt: expires_at });
}
