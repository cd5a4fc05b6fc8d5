// The id of a call as a path names it.
import { isCallId, SignalboxError } from "@signalbox/protocol";
import { executionId } from "../schemas/fields.ts";
import type { Ask } from "./route.ts";

export const executionIdParam = { id: executionId.describe("`execution_id` of the call") };

/** An id that no call can have is answered like one that no call has, and costs the ledger nothing. */
export function idIn(params: Ask["params"]): string {
  const id = params["id"] ?? "";
  if (!isCallId(id)) throw new SignalboxError("execution_not_found", "not an execution id");
  return id;
}
