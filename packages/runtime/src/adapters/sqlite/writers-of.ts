// The shape of what applies writes: one function for each kind.
import type { Write } from "../../ledger/port.ts";
import type { PlannedUnit } from "./unit-plan.ts";

/** One function per kind of write; false = the guard did not hold and nothing was written. */
export type WritersOf<Op extends Write["op"]> = {
  readonly [Each in Op]: (write: Extract<Write, { readonly op: Each }>, unit: PlannedUnit) => boolean;
};
