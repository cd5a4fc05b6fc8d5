// Tells two versions of an agent apart, field by field.
import { canonicalJson, isRawNumber } from "@signalbox/protocol";
import { isRecord, under } from "../../document/problems.ts";
import { agentBounds } from "./bounds.ts";
import { comparable } from "./told.ts";
import type { AgentVersion } from "./types.ts";

export interface Difference {
  /** Where, like a problem's: `spec.tools["payments.charge"].version`. */
  readonly path: string;
  /** Null: it is not there. */
  readonly before: unknown;
  readonly after: unknown;
}

/** Mappings are compared key by key, everything else whole. In the order of the fields. */
export function differencesOf(from: AgentVersion, to: AgentVersion): { readonly differences: readonly Difference[]; readonly more: number } {
  const found: Difference[] = [];
  compare("", comparable(from), comparable(to), found);
  const differences = found.slice(0, agentBounds.differencesMax);
  return { differences, more: found.length - differences.length };
}

/** A manifest is of bounded depth and size, so this may recurse. */
function compare(path: string, before: unknown, after: unknown, found: Difference[]): void {
  if (isRecord(before) && isRecord(after) && !isRawNumber(before) && !isRawNumber(after)) {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) compare(under(path, key), own(before, key), own(after, key), found);
  } else if (!same(before, after)) found.push({ path, before: before ?? null, after: after ?? null });
}

function own(fields: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(fields, key) ? fields[key] : undefined;
}

function same(one: unknown, other: unknown): boolean {
  if (one === undefined || other === undefined) return (one ?? null) === (other ?? null);
  return canonicalJson(one) === canonicalJson(other);
}
