// Makes one text of an envelope, names effects and their children, and says where two envelopes differ.
import { canonicalJson, jsonDepthCeiling, jsonPointer, parseJson } from "@signalbox/protocol";
import { EffectFailure } from "./failure.ts";
import type { EffectEnvelope, EffectHash } from "./types.ts";

/** Paths that one error names at most. */
export const differingPathsMax = 20;

export interface SealedEnvelope {
  readonly envelopeJson: string;
  readonly hash: string;
}

/** The key of effect `id` of a turn, e.g. `t2.e5`. */
export function effectKey(turn: number, id: number): string {
  return `t${turn}.e${id}`;
}

/** The key of a child of an effect, e.g. `t2.e5.c0`. */
export function childKey(parent: string, index: number): string {
  return `${parent}.c${index}`;
}

/** An effect that another one causes: same scope, its key from the parent's and its place. */
export function childOf(parent: EffectEnvelope, index: number, what: Pick<EffectEnvelope, "kind" | "subject" | "payload" | "volatile">): EffectEnvelope {
  return { ...what, scope: parent.scope, cause: parent.key, key: childKey(parent.key, index) };
}

/** @throws EffectFailure `effect_unserializable` when the payload is no JSON value */
export function sealed(envelope: EffectEnvelope, hash: EffectHash): SealedEnvelope {
  const { scope, kind, subject, cause, key, payload } = envelope;
  const { tenant, sessionId, turn, step } = scope;
  try {
    // A payload that is undefined would only be left out of the whole.
    canonicalJson(payload);
    const envelopeJson = canonicalJson({ scope: { tenant, sessionId, turn, step }, kind, subject, cause, key, payload });
    return { envelopeJson, hash: hash(envelopeJson) };
  } catch (cause) {
    throw new EffectFailure("effect_unserializable", key, `the payload of effect ${key} is no JSON value: pass plain data`, { cause });
  }
}

/** The value of a JSON text, or undefined where it is none. */
export function readJson(text: string): { readonly value: unknown } | undefined {
  const parsed = parseJson(text, { depthMax: jsonDepthCeiling, protoKeys: "keep" });
  return parsed.ok ? { value: parsed.value } : undefined;
}

type Container = Readonly<Record<string, unknown>>;

function membersOf(value: unknown): Container | undefined {
  // Exact numbers are objects of the engine's own, and compared as a whole.
  return typeof value === "object" && value !== null && !Object.isFrozen(value) ? (value as Container) : undefined;
}

function walk(one: unknown, other: unknown, path: readonly string[], found: string[]): void {
  if (found.length >= differingPathsMax || textOf(one) === textOf(other)) return;
  const [left, right] = [membersOf(one), membersOf(other)];
  if (left === undefined || right === undefined || Array.isArray(one) !== Array.isArray(other)) {
    found.push(jsonPointer(path));
    return;
  }
  for (const key of [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()) {
    if (Object.hasOwn(left, key) && Object.hasOwn(right, key)) walk(left[key], right[key], [...path, key], found);
    else if (found.length < differingPathsMax) found.push(jsonPointer([...path, key]));
  }
}

const textOf = (value: unknown): string => canonicalJson(value ?? null);

/** Where two envelopes differ, as JSON pointers in the order of their names; the first {@link differingPathsMax}. A text that cannot be read differs as a whole. */
export function differingPaths(recordedJson: string, askedJson: string): readonly string[] {
  const [recorded, asked] = [readJson(recordedJson), readJson(askedJson)];
  if (recorded === undefined || asked === undefined) return [""];
  const found: string[] = [];
  walk(recorded.value, asked.value, [], found);
  return found;
}
