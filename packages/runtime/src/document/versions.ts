// Versions (SemVer 2.0.0), their order, and ranges of them.
import { documentBounds } from "./bounds.ts";

export interface Version {
  readonly major: number;
  readonly minor: number;
  readonly patch: number;
  readonly pre: readonly (string | number)[];
}

const number = "(0|[1-9][0-9]{0,14})";
const identifier = "(?:0|[1-9][0-9]*|[0-9]*[A-Za-z-][0-9A-Za-z-]*)";
const tail = `(?:-(${identifier}(?:\\.${identifier})*))?(?:\\+[0-9A-Za-z-]+(?:\\.[0-9A-Za-z-]+)*)?`;
const versionPattern = new RegExp(`^${number}\\.${number}\\.${number}${tail}$`);

function preOf(text: string | undefined): readonly (string | number)[] {
  // A number past a double's precision stays text; it still has an order.
  return text === undefined ? [] : text.split(".").map((part) => (/^[0-9]{1,15}$/.test(part) ? Number(part) : part));
}

/** Undefined for anything but one exact version: no `v`, no missing parts, no spaces. */
export function parseVersion(text: string): Version | undefined {
  const match = text.length > documentBounds.versionCharsMax ? null : versionPattern.exec(text);
  if (match === null) return undefined;
  return { major: Number(match[1]), minor: Number(match[2]), patch: Number(match[3]), pre: preOf(match[4]) };
}

function comparePre(one: readonly (string | number)[], other: readonly (string | number)[]): number {
  // No pre-release ranks above every pre-release.
  if (one.length === 0 || other.length === 0) return other.length - one.length;
  for (const [index, mine] of one.entries()) {
    const theirs = other[index];
    if (theirs === undefined) return 1;
    if (mine === theirs) continue;
    if (typeof mine !== typeof theirs) return typeof mine === "number" ? -1 : 1;
    return mine < theirs ? -1 : 1;
  }
  return one.length - other.length;
}

/** Negative, 0 or positive, by SemVer precedence; build metadata does not count. */
export function compareVersions(one: Version, other: Version): number {
  return (
    one.major - other.major ||
    one.minor - other.minor ||
    one.patch - other.patch ||
    Math.sign(comparePre(one.pre, other.pre))
  );
}

interface Comparator {
  readonly op: ">=" | "<" | ">" | "<=" | "=";
  readonly version: Version;
}

/** Comparators that must all hold. */
export type VersionRange = readonly Comparator[];

const part = "(0|[1-9][0-9]{0,14}|[xX*])";
const clausePattern = new RegExp(`^(\\^|~|>=|<=|>|<|=)?${part}(?:\\.${part}(?:\\.${part}${tail})?)?$`);

const release = (major: number, minor = 0, patch = 0): Version => ({ major, minor, patch, pre: [] });
const between = (low: Version, high: Version): Comparator[] => [
  { op: ">=", version: low },
  { op: "<", version: high },
];

/** The first release that a clause with missing parts no longer means: 1 → 2.0.0, 1.2 → 1.3.0. */
function after([major = 0, minor]: readonly number[]): Version {
  return minor === undefined ? release(major + 1) : release(major, minor + 1);
}

function caret(low: Version, given: number): Version {
  if (low.major > 0 || given === 1) return release(low.major + 1);
  if (low.minor > 0 || given === 2) return release(0, low.minor + 1);
  return release(0, 0, low.patch + 1);
}

/** `numbers` are the leading parts that are no wildcard. */
function comparators(
  op: string,
  numbers: readonly number[],
  pre: readonly (string | number)[],
): Comparator[] | undefined {
  const [major, minor, patch] = numbers;
  // `>*` and `<*` match nothing; the other operators make no difference to "any".
  if (major === undefined) return op === ">" || op === "<" ? undefined : [];
  const low: Version = { ...release(major, minor, patch), pre };
  if (op === "^") return between(low, caret(low, numbers.length));
  if (op === "~") return between(low, minor === undefined ? release(major + 1) : release(major, minor + 1));
  if (patch !== undefined) return [{ op: op === "" ? "=" : (op as Comparator["op"]), version: low }];
  if (op === ">=" || op === "<") return [{ op, version: low }];
  if (op === ">") return [{ op: ">=", version: after(numbers) }];
  if (op === "<=") return [{ op: "<", version: after(numbers) }];
  return between(low, after(numbers));
}

function parseClause(text: string): Comparator[] | undefined {
  const match = clausePattern.exec(text);
  if (match === null) return undefined;
  const parts = [match[2], match[3], match[4]].filter((one) => one !== undefined);
  const wild = parts.findIndex((one) => !/^[0-9]+$/.test(one));
  const numbers = (wild === -1 ? parts : parts.slice(0, wild)).map(Number);
  // `1.x.3` and `1.x.x-beta` say nothing sensible.
  const sensible = wild === -1 || (parts.slice(wild).every((one) => !/^[0-9]+$/.test(one)) && match[5] === undefined);
  return sensible ? comparators(match[1] ?? "", numbers, preOf(match[5])) : undefined;
}

/** `^1.2.0`, `~1.2`, `1.x`, `1`, `*`, `>=1 <2`, `1.2.0`: clauses apart by spaces, all of which must hold. */
export function parseRange(text: string): VersionRange | undefined {
  if (text.length > documentBounds.versionCharsMax) return undefined;
  const clauses = text
    .trim()
    .replaceAll(/([<>=~^])\s+/g, "$1")
    .split(/\s+/)
    .map(parseClause);
  const range: Comparator[] = [];
  for (const clause of clauses) {
    if (clause === undefined) return undefined;
    range.push(...clause);
  }
  return range;
}

function holds({ op, version }: Comparator, candidate: Version): boolean {
  const order = compareVersions(candidate, version);
  if (op === ">=") return order >= 0;
  if (op === "<=") return order <= 0;
  if (op === ">") return order > 0;
  return op === "<" ? order < 0 : order === 0;
}

/** A pre-release is only in a range that names a pre-release of the same release. */
export function inRange(range: VersionRange, candidate: Version): boolean {
  if (!range.every((comparator) => holds(comparator, candidate))) return false;
  if (candidate.pre.length === 0) return true;
  return range.some(
    ({ version }) =>
      version.pre.length > 0 &&
      compareVersions(
        release(version.major, version.minor, version.patch),
        release(candidate.major, candidate.minor, candidate.patch),
      ) === 0,
  );
}
