// What the hub takes in: a call that has passed every stage before its admission.
import type { EditedArgs } from "../call/machine.ts";
import type { CallIdentity } from "../call/types.ts";
import type { Beside } from "./apply.ts";
import type { Clearance, ToolFacts } from "./types.ts";

/** A call that has passed all stages before its admission. */
export interface Admission {
  readonly identity: CallIdentity;
  /** Nulls for optional fields, taken out or replaced by the default. */
  readonly edited: EditedArgs | null;
  readonly facts: ToolFacts;
  readonly clearance: Clearance;
  readonly beside?: Beside | undefined;
}
