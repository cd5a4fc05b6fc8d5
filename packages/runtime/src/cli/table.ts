// Lays rows out in aligned columns that fit the terminal.
import { cutToWidth, plainLine, textWidth } from "./text.ts";

export interface Column<Row> {
  readonly title: string;
  readonly cell: (row: Row) => string;
  readonly align?: "left" | "right";
  /** This column gives way first when the terminal is narrow. */
  readonly shrinks?: boolean;
  /** Colours the padded cell. */
  readonly paint?: (text: string, row: Row) => string;
}

export interface TableOptions {
  /** Undefined: as wide as needed, nothing is cut (a pipe must get whole values). */
  readonly columns: number | undefined;
  readonly paintTitle?: (text: string) => string;
}

const gap = "  ";
/** A column is never cut narrower than this: less would show nothing. */
const widthMin = 8;

/** Lines with a line feed each; the title line alone when there are no rows. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], options: TableOptions): string {
  const cells = rows.map((row) => columns.map((column) => plainLine(column.cell(row))));
  const widths = fitted(
    columns.map((column, index) =>
      Math.max(textWidth(column.title), ...cells.map((line) => textWidth(line[index] ?? ""))),
    ),
    columns,
    options.columns,
  );
  const paintTitle = options.paintTitle ?? ((text: string) => text);
  const title = line(
    columns.map((column, index) => ({
      text: column.title === "" ? "" : paintTitle(column.title),
      width: textWidth(column.title),
      to: widths[index] ?? 0,
      right: column.align === "right",
    })),
  );
  const body = rows.map((row, rowIndex) =>
    line(
      columns.map((column, index) => {
        const to = widths[index] ?? 0;
        const text = cutToWidth(cells[rowIndex]?.[index] ?? "", to);
        return {
          text: column.paint === undefined ? text : column.paint(text, row),
          width: textWidth(text),
          to,
          right: column.align === "right",
        };
      }),
    ),
  );
  return [title, ...body].map((text) => `${text}\n`).join("");
}

interface Cell {
  readonly text: string;
  readonly width: number;
  readonly to: number;
  readonly right: boolean;
}

function line(cells: readonly Cell[]): string {
  return cells
    .map(({ text, width, to, right }, index) => {
      const space = " ".repeat(Math.max(0, to - width));
      if (right) return space + text;
      // No blanks at the end of a line.
      return index === cells.length - 1 ? text : text + space;
    })
    .join(gap)
    .trimEnd();
}

/** Takes what is too much from the columns that may shrink, the widest first; a table that still is too wide stays so. */
function fitted<Row>(
  widths: readonly number[],
  columns: readonly Column<Row>[],
  available: number | undefined,
): readonly number[] {
  const fit = [...widths];
  if (available === undefined) return fit;
  let excess = fit.reduce((sum, width) => sum + width, 0) + gap.length * (fit.length - 1) - available;
  const order = columns
    .map((column, index) => ({ index, width: widths[index] ?? 0, shrinks: column.shrinks === true }))
    .filter((one) => one.shrinks)
    .sort((a, b) => b.width - a.width);
  for (const { index, width } of order) {
    if (excess <= 0) break;
    const taken = Math.min(excess, Math.max(0, width - widthMin));
    fit[index] = width - taken;
    excess -= taken;
  }
  return fit;
}

/** A fact's name and value; a value of undefined is left out. Colours are put on at the end, since values are made plain. */
export type Fact = readonly [name: string, value: string | undefined, paint?: (text: string) => string];

/** `name   value` lines for one thing's facts. */
export function facts(pairs: readonly Fact[], paintName: (text: string) => string = (text) => text): string {
  const shown = pairs.flatMap(([name, value, paint]) =>
    value === undefined ? [] : [{ name, value: plainLine(value), paint }],
  );
  const width = Math.max(0, ...shown.map(({ name }) => textWidth(name)));
  return shown
    .map(
      ({ name, value, paint }) =>
        `${paintName(name)}${" ".repeat(width - textWidth(name))}${gap}${paint === undefined ? value : paint(value)}\n`,
    )
    .join("");
}
