// Reads policies and defaults.
import type { Ledger } from "../../ledger/port.ts";
import type { Db } from "./db.ts";
import { unwritten } from "./unwritten.ts";

export type PolicyReads = Pick<Ledger, "policies" | "policy" | "listPolicies" | "policyDefaults">;

export function policyReads(_db: Db): PolicyReads {
  return unwritten<PolicyReads>("policies");
}
