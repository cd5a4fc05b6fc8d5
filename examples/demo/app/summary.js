// Says what is in a table: its columns, sums of the numbers, and the most frequent values of the rest.
// @ts-check

/** A column with more different values than this is no category; its values are not counted out. */
const categoriesMax = 20;
const topMax = 3;
const decimalNumber = /^-?\d{1,12}(?:\.(\d{1,6}))?$/;

/**
 * @typedef {object} NumberFacts
 * @property {number} sum
 * @property {number} min
 * @property {number} max
 */

/**
 * @param {import("./csv.js").Table} table
 */
export function summarize({ columns, rows }) {
  /** @type {Record<string, NumberFacts>} */
  const numbers = {};
  /** @type {Record<string, { value: string, rows: number }[]>} */
  const top = {};
  for (const [index, column] of columns.entries()) {
    const values = rows.flatMap((row) => (row[index] ? [row[index]] : []));
    const facts = numberFacts(values);
    if (facts !== undefined) numbers[column] = facts;
    else if (new Set(values).size <= categoriesMax) top[column] = mostFrequent(values);
  }
  return { rows: rows.length, columns, numbers, top };
}

/**
 * Sums whole units of the finest decimal place, so that prices add up to the cent.
 * @param {readonly string[]} values
 * @returns {NumberFacts | undefined} undefined where one of them is no number
 */
function numberFacts(values) {
  let places = 0;
  for (const value of values) {
    const found = decimalNumber.exec(value);
    if (found === null) return undefined;
    places = Math.max(places, found[1]?.length ?? 0);
  }
  if (values.length === 0) return undefined;
  const scale = 10 ** places;
  let [sum, min, max] = [0, Infinity, -Infinity];
  for (const value of values) {
    const units = Math.round(Number(value) * scale);
    sum += units;
    min = Math.min(min, units);
    max = Math.max(max, units);
  }
  return { sum: sum / scale, min: min / scale, max: max / scale };
}

/**
 * @param {readonly string[]} values
 */
function mostFrequent(values) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1);
  return [...counts]
    .map(([value, rows]) => ({ value, rows }))
    .sort((a, b) => b.rows - a.rows || (a.value < b.value ? -1 : 1))
    .slice(0, topMax);
}
