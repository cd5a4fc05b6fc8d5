// Finds the names that somebody may have meant, by edit distance.
import { documentBounds } from "./bounds.ts";

/**
 * Edits (insert, delete, replace, swap of neighbours) between two texts.
 * Gives `max + 1` as soon as the distance must be over `max`.
 */
export function editDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return max + 1;
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const next = [row];
    let least = row;
    for (let column = 1; column <= b.length; column++) {
      const same = a[row - 1] === b[column - 1];
      let cost = Math.min(at(last, column) + 1, at(next, column - 1) + 1, at(last, column - 1) + (same ? 0 : 1));
      const swapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      if (swapped) cost = Math.min(cost, at(beforeLast, column - 2) + 1);
      next.push(cost);
      least = Math.min(least, cost);
    }
    if (least > max) return max + 1;
    beforeLast = last;
    last = next;
  }
  return Math.min(at(last, b.length), max + 1);
}

const at = (row: readonly number[], column: number): number => row[column] ?? Number.POSITIVE_INFINITY;

const plain = (name: string): string => name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");

/**
 * At most three of `names` that are close to `name`, nearest first (ties in the order given).
 * Case and separators do not count: `getDate` is near `get_date`.
 */
export function nearNames(name: string, names: Iterable<string>): readonly string[] {
  const wanted = plain(name.slice(0, 128));
  const max = wanted.length <= 3 ? 1 : wanted.length <= 8 ? 2 : 3;
  const found: { readonly candidate: string; readonly distance: number }[] = [];
  let seen = 0;
  for (const candidate of names) {
    if (++seen > documentBounds.nearNamesLookedAtMax) break;
    const distance = editDistance(wanted, plain(candidate.slice(0, 128)), max);
    if (distance <= max) found.push({ candidate, distance });
  }
  return found
    .sort((one, other) => one.distance - other.distance)
    .slice(0, documentBounds.nearNamesMax)
    .map(({ candidate }) => candidate);
}

/** `did you mean "timeout"?`, or undefined where nothing is near. */
export function didYouMean(name: string, names: Iterable<string>): string | undefined {
  const near = nearNames(name, names);
  if (near.length === 0) return undefined;
  return `did you mean ${near.map((one) => JSON.stringify(one)).join(" or ")}?`;
}
