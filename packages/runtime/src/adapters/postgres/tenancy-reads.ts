// Reads tenants with their projects, keys and grants.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";

export type TenancyReads = Pick<Ledger, "tenants" | "tenant" | "projects" | "keyByHash" | "keys" | "grants">;

export function tenancyReads(_db: Db): TenancyReads {
  return unwritten<TenancyReads>("tenancy");
}
