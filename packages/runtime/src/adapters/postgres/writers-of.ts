// The shape of what applies writes on PostgreSQL: one function for each kind.
import type { Write } from "../../ledger/port.ts";
import type { PlannedUnit } from "../sqlite/unit-plan.ts";
import type { Db } from "./db.ts";

/** One function per kind of write; false = the guard did not hold and nothing was written. */
export type WritersOf<Op extends Write["op"]> = {
  readonly [Each in Op]: (tx: Db, write: Extract<Write, { readonly op: Each }>, unit: PlannedUnit) => Promise<boolean>;
};
