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
  } else if (!said("side_effect_class") && spec.executor.type !== "agent") {
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
  if (spec.executor.type === "agent") refuseForAgent(spec, path, notes);
  if ((spec.context ?? []).length > 0 && spec.cacheTtlMs > 0) {
    refuse(notes, `${path}.cache`, "keeps answers by their input, and this tool's depend on its session too", "leave out cache or context");
  }
  if (spec.executor.type === "worker") warnOfUnkept(spec, path, notes);
  if (spec.executor.type === "sandbox") refuseTooMuchForBox(spec, path, notes);
}

/** No code of the tool's own runs: what the agent does is done by its own tools, and those say all of this. */
function refuseForAgent(spec: ToolSpec, path: string, notes: Notes): void {
  const hint = "leave it out: the tools that the agent calls say it";
  for (const key of [...reachOf(spec), ...partsOfCode(spec)]) refuse(notes, `${path}.${key}`, "has no meaning for an agent", hint);
  if (spec.retry.attempts > 1)
    refuse(notes, `${path}.retry.attempts`, "has no meaning for an agent", "a call runs one session, and would find the very same again");
  if (spec.pure) refuse(notes, `${path}.pure`, "cannot be said of an agent", "no two answers of a model need be alike");
}

function partsOfCode({ secrets, events, placement, integrity }: ToolSpec): readonly string[] {
  return [
    ...(Object.keys(secrets).length > 0 ? ["secrets"] : []),
    ...(events.length > 0 ? ["events"] : []),
    ...(Object.keys({ ...placement.match, ...placement.prefer }).length > 0 ? ["placement"] : []),
    ...(integrity.identities.length + integrity.imageDigests.length > 0 ? ["integrity"] : []),
  ];
}

/** What of the world the tool reaches, and what it takes of the machine, that only a box can be held to. */
function reachOf(spec: ToolSpec): readonly string[] {
  return [
    ...(spec.networkAllow.length > 0 ? ["network"] : []),
    ...(spec.filesystem.read.length + spec.filesystem.write.length > 0 ? ["filesystem"] : []),
    ...(Object.keys(spec.env).length > 0 ? ["env"] : []),
    ...Object.keys(spec.limits).flatMap((name) => (keptAnywhere.includes(name) ? [] : [`limits.${name}`])),
  ];
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
  for (const key of reachOf(spec)) warn(notes, `${path}.${key}`, "has no effect: executor worker runs in the application's own process");
}
