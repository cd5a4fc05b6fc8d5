// Reads events of a provider, of which nothing is certain: what is not of its kind is as good as absent.
import { isRecord } from "../../document/problems.ts";

export type Loose = Readonly<Record<string, unknown>>;

/** What came breaks the provider's own protocol. The message names places, never content. */
export class Malformed extends Error {
  override readonly name = "Malformed";
}

export const recordOf = (value: unknown): Loose | undefined => (isRecord(value) ? value : undefined);

export function member(value: unknown, key: string): unknown {
  return isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
}

export function textIn(value: unknown, key: string): string | undefined {
  const text = member(value, key);
  return typeof text === "string" ? text : undefined;
}

export function listIn(value: unknown, key: string): readonly unknown[] {
  const list = member(value, key);
  return Array.isArray(list) ? (list as readonly unknown[]) : [];
}

/** A whole number of at least 0. */
export function countIn(value: unknown, key: string): number | undefined {
  const count = member(value, key);
  return typeof count === "number" && Number.isSafeInteger(count) && count >= 0 ? count : undefined;
}
