// Readers for the parts that documents are made of; each notes what is wrong and goes on, so that all problems are seen.
import { timeInWords } from "@signalbox/protocol";
import { documentBounds } from "./bounds.ts";
import { didYouMean } from "./nearest.ts";
import { isRecord, refuse, shown, under, type Notes } from "./problems.ts";
import { parseDuration, parseSize, type Reading } from "./units.ts";

export type Fields = Readonly<Record<string, unknown>>;

/**
 * The mapping at `path` with its unknown keys refused; undefined (and noted) when it is none.
 * @param hint what to say of an unknown key, where there is more to say than which keys are known
 */
export function readFields(
  value: unknown,
  path: string,
  known: readonly string[],
  notes: Notes,
  hint?: (key: string) => string | undefined,
): Fields | undefined {
  if (!isRecord(value)) {
    refuse(notes, path, `must be a mapping, not ${shown(value)}`);
    return undefined;
  }
  for (const key of Object.keys(value)) {
    if (known.includes(key)) continue;
    const advice = hint?.(key) ?? didYouMean(key, known) ?? `known keys: ${known.join(", ")}`;
    refuse(notes, under(path, key), "is an unknown key", advice);
  }
  return value;
}

/** Own keys only: a manifest has no `constructor` because objects have one. */
export function field(fields: Fields | undefined, key: string): unknown {
  return fields !== undefined && Object.hasOwn(fields, key) ? fields[key] : undefined;
}

export interface TextRule {
  readonly charsMax: number;
  /** What the whole text must match, and how to say so. */
  readonly pattern?: RegExp;
  readonly hint?: string;
  readonly empty?: "allowed";
}

// Control characters other than tab and line feed would garble terminals and logs.
const controls = /[^\P{Cc}\t\n]/u;

export function readText(value: unknown, path: string, rule: TextRule, notes: Notes): string | undefined {
  if (typeof value !== "string") {
    const quote =
      typeof value === "number" || typeof value === "boolean" ? `put it in quotes: "${String(value)}"` : rule.hint;
    refuse(notes, path, `must be text, not ${shown(value)}`, quote);
  } else if (value.trim() === "" && rule.empty !== "allowed") refuse(notes, path, "must not be empty", rule.hint);
  else if (value.length > rule.charsMax) refuse(notes, path, `is longer than ${rule.charsMax} characters`);
  else if (controls.test(value)) refuse(notes, path, "holds control characters");
  else if (rule.pattern !== undefined && !rule.pattern.test(value))
    refuse(notes, path, `${shown(value)} is not valid here`, rule.hint);
  else return value;
  return undefined;
}

export function readRequiredText(
  fields: Fields | undefined,
  key: string,
  path: string,
  rule: TextRule,
  notes: Notes,
): string | undefined {
  const value = field(fields, key);
  if (value !== undefined) return readText(value, under(path, key), rule, notes);
  // When the mapping itself is missing that has been said.
  if (fields !== undefined) refuse(notes, under(path, key), "is required", rule.hint);
  return undefined;
}

export function readChoice<Choice extends string>(
  value: unknown,
  path: string,
  choices: readonly Choice[],
  notes: Notes,
): Choice | undefined {
  const chosen = choices.find((choice) => choice === value);
  if (chosen !== undefined) return chosen;
  const near = typeof value === "string" ? didYouMean(value, choices) : undefined;
  refuse(notes, path, `must be one of ${choices.join(", ")}, not ${shown(value)}`, near);
  return undefined;
}

export interface Range {
  readonly min: number;
  readonly max: number;
}

/** `inWords` says the bounds: `at most 24 h`. */
function ranged(
  reading: Reading,
  path: string,
  range: Range,
  inWords: (bound: number) => string,
  notes: Notes,
): number | undefined {
  if (!reading.ok) refuse(notes, path, reading.message, reading.hint);
  else if (reading.value < range.min) refuse(notes, path, `must be at least ${inWords(range.min)}`);
  else if (reading.value > range.max) refuse(notes, path, `must be at most ${inWords(range.max)}`);
  else return reading.value;
  return undefined;
}

export function readDuration(value: unknown, path: string, range: Range, notes: Notes): number | undefined {
  return ranged(parseDuration(value), path, range, timeInWords, notes);
}

export function readSize(value: unknown, path: string, range: Range, notes: Notes): number | undefined {
  return ranged(parseSize(value), path, range, (bytes) => `${bytes} bytes`, notes);
}

export function readInteger(value: unknown, path: string, range: Range, notes: Notes): number | undefined {
  const reading: Reading =
    typeof value === "number" && Number.isSafeInteger(value)
      ? { ok: true, value }
      : { ok: false, message: `must be a whole number, not ${shown(value)}`, hint: `${range.min} to ${range.max}` };
  return ranged(reading, path, range, String, notes);
}

export function readBoolean(value: unknown, path: string, notes: Notes): boolean | undefined {
  if (typeof value === "boolean") return value;
  refuse(notes, path, `must be true or false, not ${shown(value)}`);
  return undefined;
}

/** A list without repetitions; absent = empty. */
export function readList<T extends string>(
  value: unknown,
  path: string,
  notes: Notes,
  readItem: (item: unknown, path: string) => T | undefined,
): readonly T[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) {
    refuse(notes, path, `must be a list, not ${shown(value)}`);
    return [];
  }
  if (value.length > documentBounds.listItemsMax)
    refuse(notes, path, `has more than ${documentBounds.listItemsMax} entries`);
  const items = new Set<T>();
  for (const [index, entry] of value.slice(0, documentBounds.listItemsMax).entries()) {
    const item = readItem(entry, under(path, index));
    if (item === undefined) continue;
    if (items.has(item)) refuse(notes, under(path, index), `${shown(item)} stands there twice`);
    items.add(item);
  }
  return [...items];
}

/** A mapping of names to texts; absent = empty. */
export function readTextMap(
  value: unknown,
  path: string,
  names: TextRule,
  texts: TextRule,
  notes: Notes,
): Readonly<Record<string, string>> {
  if (value === undefined) return {};
  if (!isRecord(value)) {
    refuse(notes, path, `must be a mapping, not ${shown(value)}`);
    return {};
  }
  const entries = Object.entries(value);
  if (entries.length > documentBounds.mapEntriesMax)
    refuse(notes, path, `has more than ${documentBounds.mapEntriesMax} entries`);
  const read = entries.slice(0, documentBounds.mapEntriesMax).flatMap(([name, text]): [string, string][] => {
    const here = under(path, name);
    if (readText(name, here, names, notes) === undefined) return [];
    const good = readText(text, here, texts, notes);
    return good === undefined ? [] : [[name, good]];
  });
  return Object.fromEntries(read);
}
