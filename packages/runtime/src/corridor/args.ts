// The arguments of a call as JSON text: read with their digits, and hashed the same way wherever people see them.
import { canonicalJson, limits, parseJson } from "@signalbox/protocol";
import type { Call } from "../call/types.ts";
import type { HashedArgs } from "../policy/approval/machine.ts";
import type { Hash } from "./ports.ts";

/** What runs: a person's arguments, or those that were sent, nulls for optional fields taken out. */
export function argsOf(call: Pick<Call, "effectiveArgsJson" | "inputJson">): string {
  return call.effectiveArgsJson ?? call.inputJson ?? "null";
}

/** Text that this runtime has stored itself. @throws Error when it is no JSON: the row was changed by another hand */
export function readArgs(argsJson: string): unknown {
  const parsed = parseJson(argsJson, { depthMax: limits.jsonDepthMax, protoKeys: "keep" });
  if (!parsed.ok) throw new Error("stored arguments are no JSON");
  return parsed.value;
}

/** The hash that voters are shown and votes are bound to: SHA-256 over canonical JSON. */
export function hashedArgs(hash: Hash, argsJson: string): HashedArgs {
  return { argsJson, argsHash: hash(canonicalJson(readArgs(argsJson))) };
}
