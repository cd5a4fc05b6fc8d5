// Holds what was told against what must be there of it, for cases that run under the test runner and without it.
import { must } from "../kit.ts";

/**
 * Every field of `wanted` must be there; fields beside them are nobody's concern, entries of lists are.
 * A regular expression stands for any text that it matches.
 */
export function mustMatch(seen: unknown, wanted: unknown): void {
  const difference = differ(seen, wanted, "it");
  must(difference === undefined, difference ?? "", seen);
}

function differ(seen: unknown, wanted: unknown, at: string): string | undefined {
  if (wanted instanceof RegExp) {
    return typeof seen === "string" && wanted.test(seen) ? undefined : `${at} should match ${wanted}`;
  }
  if (typeof wanted !== "object" || wanted === null) {
    return Object.is(seen, wanted) ? undefined : `${at} should be ${JSON.stringify(wanted)}`;
  }
  if (typeof seen !== "object" || seen === null) return `${at} should be ${JSON.stringify(wanted)}`;
  if (Array.isArray(wanted) && (!Array.isArray(seen) || seen.length !== wanted.length)) {
    return `${at} should have ${wanted.length} entries`;
  }
  for (const [key, value] of Object.entries(wanted)) {
    const difference = differ((seen as Readonly<Record<string, unknown>>)[key], value, `${at}.${key}`);
    if (difference !== undefined) return difference;
  }
  return undefined;
}
