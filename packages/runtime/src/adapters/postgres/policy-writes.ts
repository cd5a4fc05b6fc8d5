// Writes policies and defaults.
import { unwritten } from "./unwritten.ts";
import type { WritersOf } from "./writers-of.ts";

export type PolicyWriters = WritersOf<"insert_policy" | "set_policy_status" | "put_policy_default">;

export const policyWriters: PolicyWriters = unwritten<PolicyWriters>("policies");
