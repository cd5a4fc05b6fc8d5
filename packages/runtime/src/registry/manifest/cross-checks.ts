// Checks that look at more than one field: contradictions are problems, words without effect are warnings.
import { isSafe, limits, sideEffectClassDefault, utf8Bytes } from "@signalbox/protocol";
import { isRecord, refuse, warn, type Notes } from "../../document/problems.ts";
import { bounds } from "../bounds.ts";
import type { ToolSpec } from "../types.ts";

/** Limits that the runtime keeps itself, whoever runs the tool. */
const keptAnywhere = ["timeout_ms", "output_bytes", "concurrent_calls"];

/** @param given the spec as written, to tell a default from a choice */
export function crossCheck(spec: ToolSpec, given: unknown, path: string, notes: Notes): void {
  const said = (key: string): boolean => isRecord(given) && Object.hasOwn(given, key);
  if (spec.cacheTtlMs > 0 && !spec.pure) {
    refuse(
      notes,
      `${path}.cache.ttl`,
      "needs pure: true",
      "only tools whose output depends on nothing but their input can be cached",
    );
  }
  if (spec.pure && spec.sideEffectClass !== "read_only") {
    const hint = "a pure tool changes nothing: side_effect_class: read_only";
    if (said("side_effect_class"))
      refuse(notes, `${path}.pure`, `contradicts side_effect_class: ${spec.sideEffectClass}`, hint);
    else
      warn(
        notes,
        `${path}.side_effect_class`,
        `is not set, so this pure tool counts as ${sideEffectClassDefault}`,
        hint,
      );
  } else if (!said("side_effect_class")) {
    warn(
      notes,
      `${path}.side_effect_class`,
      `is not set and counts as ${sideEffectClassDefault}: a lost call waits for a person`,
      "say what repeating a call could do",
    );
  }
  if (!isSafe(spec.sideEffectClass) && spec.retry.attempts > 1) {
    warn(notes, `${path}.retry.attempts`, `has no effect: ${spec.sideEffectClass} is never repeated by the runtime`);
  }
  for (const name of Object.keys(spec.env)) {
    if (Object.hasOwn(spec.secrets, name))
      refuse(notes, `${path}.env.${name}`, "is a secret of the same name too", "keep one of the two");
  }
  if (isRecord(spec.input) && spec.input["type"] !== undefined && spec.input["type"] !== "object") {
    warn(notes, `${path}.input`, "does not describe an object; models and MCP clients can only send objects");
  }
  if (spec.executor.type === "worker") warnOfUnkept(spec, path, notes);
  if (spec.executor.type === "sandbox") refuseTooMuchForBox(spec, path, notes);
}

/** What a worker is told of a box travels with every call; one that could not be told would fail at every call. */
function refuseTooMuchForBox({ env, events }: ToolSpec, path: string, notes: Notes): void {
  const bytes = utf8Bytes(JSON.stringify({ env, events }));
  const most = limits.boxBytesMax - bounds.boxRestBytes;
  if (bytes <= most) return;
  const hint = "put what is large into a file of the package";
  refuse(notes, `${path}.env`, `takes ${bytes} bytes of JSON together with events; at most ${most} go into a box`, hint);
}

/** An application worker is its owner's process: nothing here can fence it in, and nobody should think so. */
function warnOfUnkept(spec: ToolSpec, path: string, notes: Notes): void {
  const unkept = [
    spec.networkAllow.length > 0 ? "network" : undefined,
    spec.filesystem.read.length + spec.filesystem.write.length > 0 ? "filesystem" : undefined,
    Object.keys(spec.env).length > 0 ? "env" : undefined,
    ...Object.keys(spec.limits).map((name) => (keptAnywhere.includes(name) ? undefined : `limits.${name}`)),
  ];
  for (const key of unkept) {
    if (key !== undefined)
      warn(notes, `${path}.${key}`, "has no effect: executor worker runs in the application's own process");
  }
}
