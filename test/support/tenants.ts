// A second tenant for tests, made by the operator through the public door.
import type { Rest } from "./rest.ts";

/** @returns the secret of its first key, which may do everything in it. @throws Error with the answer when it is not made */
export async function addTenant(operator: Rest, tenant: string, principal: string): Promise<string> {
  const { status, text, body } = await operator.post("/v1/tenants", { tenant, admin: { principal } });
  if (status !== 201) throw new Error(`the tenant ${tenant} was not made: ${status} ${text}`);
  const key = body["admin_key"] as { readonly secret: string };
  return key.secret;
}
