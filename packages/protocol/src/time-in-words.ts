// Says a length of time the way people do: `200 ms`, `1.5 s`, `30 s`, `5 min`, `24 h`, `30 days`.

const dayMs = 86_400_000;
const units: readonly (readonly [word: string, ms: number])[] = [
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1_000],
];

/**
 * In the largest unit in which it is a whole number; what is none of seconds gets a decimal point.
 * @param ms a finite number, 0 or more
 */
export function timeInWords(ms: number): string {
  if (ms < 1_000) return `${Math.round(ms)} ms`;
  // A day alone is told in hours.
  if (ms >= 2 * dayMs && ms % dayMs === 0) return `${ms / dayMs} days`;
  const [word, size] = units.find(([, one]) => ms % one === 0) ?? ["s", 1_000];
  return `${Math.round(ms) / size} ${word}`;
}
