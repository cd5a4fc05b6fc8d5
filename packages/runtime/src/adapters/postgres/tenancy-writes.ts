// Writes who may ask: tenants, projects, keys and grants.
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type TenancyWriters = WritersOf<
  "insert_tenant" | "update_tenant" | "insert_project" | "put_project" | "insert_key" | "revoke_key" | "touch_key" | "insert_grant" | "revoke_grant"
>;

export const tenancyWriters: TenancyWriters = unwritten<TenancyWriters>("tenancy");
