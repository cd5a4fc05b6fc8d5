// A picture on a terminal that is drawn again in its own place, without flicker and without a trail.
import type { Io } from "./io.ts";

const escape = "\u001b[";
const eraseLineEnd = `${escape}K`;
const eraseBelow = `${escape}J`;
const eraseAll = `${escape}2J${escape}H`;
/** A line that is too long is cut by the terminal, not broken: else the picture would be higher than we think. */
const wrapOff = `${escape}?7l`;
const wrapOn = `${escape}?7h`;

export interface Screen {
  /** @param text lines with a line feed each; what does not fit the terminal's height is counted, not shown */
  draw(text: string): void;
}

export function createScreen({ stdout, size }: Pick<Io, "stdout" | "size">): Screen {
  let height = 0;
  let width = 0;
  let last = "";
  return {
    draw(text) {
      const { columns, rows } = size() ?? { columns: 80, rows: 24 };
      const lines = fitting(text, rows - 1);
      const picture = lines.map((line) => `${line}${eraseLineEnd}\n`).join("");
      if (picture === last && columns === width) return;
      // A terminal that became narrower has broken the old lines, and nobody knows where.
      const home = width !== 0 && columns !== width ? eraseAll : height === 0 ? "" : `${escape}${height}A`;
      stdout.write(`${wrapOff}${home}${picture}${eraseBelow}${wrapOn}`);
      height = lines.length;
      width = columns;
      last = picture;
    },
  };
}

function fitting(text: string, heightMax: number): readonly string[] {
  const lines = text.split("\n").slice(0, -1);
  const max = Math.max(2, heightMax);
  if (lines.length <= max) return lines;
  return [...lines.slice(0, max - 1), `… and ${lines.length - max + 1} more`];
}
