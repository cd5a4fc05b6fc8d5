// What rules oblige a call to, as far as this runtime can hold it to that: what cannot be held is refused, never let by.
import { errorBody, type ErrorBody } from "@signalbox/protocol";
import type { ToolVersion } from "../registry/types.ts";
import type { Obligations } from "../policy/types.ts";

/** Limits that hold for every executor: the runtime itself watches over them. */
const heldHere = new Set(["timeoutMs", "outputBytes"]);

/** Time and size that are left to a call. */
export interface Allowance {
  readonly timeoutMs: number;
  readonly resultBytesMax: number;
}

export function allowanceOf({ limits }: Obligations, before: Allowance): Allowance {
  return {
    timeoutMs: Math.min(before.timeoutMs, limits.timeoutMs ?? before.timeoutMs),
    resultBytesMax: Math.min(before.resultBytesMax, limits.outputBytes ?? before.resultBytesMax),
  };
}

/**
 * An application worker is the application's own trust domain: nobody here boxes it, meters it or cuts its network. A rule
 * that demands it of such a tool asks for what does not exist.
 */
export function unheldObligation({ tool, version, spec }: ToolVersion, { limits, sandbox, egress, paths }: Obligations): ErrorBody | undefined {
  if (spec.executor.type === "sandbox") return undefined;
  const names = Object.keys(limits).filter((name) => !heldHere.has(name));
  const asked = [
    ...(sandbox === undefined ? [] : [`sandbox ${sandbox}`]),
    ...(egress === undefined ? [] : ["egress"]),
    ...(paths === undefined ? [] : ["paths"]),
    ...names.map((name) => `limit ${name}`),
  ];
  if (asked.length === 0) return undefined;
  const message = `a policy obliges ${tool}@${version} to ${asked.join(", ")}, which can be held in a sandbox only; its executor is ${spec.executor.type}`;
  return errorBody("sandbox_unavailable", message, { obligations: asked }, false);
}
