// A null for an optional field that does not allow it counts as absent; models and generated clients send them.
import type { ErrorObject } from "ajv";
import { isRawNumber, jsonPointer } from "@signalbox/protocol";
import { isRecord } from "../../document/problems.ts";
import { keysOf } from "./errors.ts";

/** One null that was taken out, or replaced by the schema's `default`. */
export interface NullEdit {
  /** RFC 6901. */
  readonly pointer: string;
  readonly keys: readonly string[];
  readonly used: "absent" | "default";
  readonly value?: unknown;
}

/**
 * The nulls that errors are about. Only properties are changed by `applyEdits`: an item of a list cannot be absent.
 * The `default` is looked for in the schema that refused the null; one that stands beside a `$ref` is not seen.
 */
export function nullEdits(errors: readonly ErrorObject[]): readonly NullEdit[] {
  const edits = new Map<string, NullEdit>();
  for (const { instancePath, data, parentSchema, propertyName } of errors) {
    if (data !== null || instancePath === "" || propertyName !== undefined) continue;
    const keys = keysOf(instancePath);
    // A default of null would be refused like the null it stands for.
    const hasDefault = isRecord(parentSchema) && (parentSchema["default"] ?? null) !== null;
    if (edits.has(instancePath) && !hasDefault) continue;
    const place = { pointer: jsonPointer(keys), keys };
    edits.set(
      instancePath,
      hasDefault ? { ...place, used: "default", value: parentSchema["default"] } : { ...place, used: "absent" },
    );
  }
  return [...edits.values()];
}

/** A copy with the edits made; what they do not touch is shared with the original. */
export function applyEdits(value: unknown, edits: readonly NullEdit[]): unknown {
  return edits.reduce<unknown>((current, edit) => applied(current, edit, edit.keys), value);
}

function applied(value: unknown, edit: NullEdit, [key, ...rest]: readonly string[]): unknown {
  if (key === undefined) return value;
  if (Array.isArray(value))
    return value.map((item: unknown, index) => (String(index) === key ? applied(item, edit, rest) : item));
  if (!isRecord(value) || isRawNumber(value)) return value;
  const members = Object.entries(value).flatMap(([name, member]): [string, unknown][] => {
    if (name !== key) return [[name, member]];
    if (rest.length > 0) return [[name, applied(member, edit, rest)]];
    return edit.used === "default" ? [[name, edit.value]] : [];
  });
  // fromEntries defines its properties: a key `__proto__` stays a key.
  return Object.fromEntries(members);
}
