// The picture on a terminal: drawn in its own place, cut to the terminal's size, and not drawn when nothing has changed.
import { expect, test } from "vitest";
import { createScreen } from "./screen.ts";

/** A screen, and what a terminal would show of it: enough of a terminal to obey what the screen says. */
function terminal(size: { columns: number; rows: number }) {
  const written: string[] = [];
  let lines: string[] = [];
  let row = 0;
  const obey = (text: string): void => {
    for (const [, up, clear, below, endOfLine, feed, other] of text.matchAll(
      // oxlint-disable-next-line no-control-regex -- a terminal is told by them
      /\u001b\[(?:(\d+)A|(2J\u001b\[H)|(J)|(K)|\?7[lh])|(\n)|([^\u001b\n]+)/g,
    )) {
      if (up !== undefined) row -= Number(up);
      else if (clear !== undefined) [lines, row] = [[], 0];
      else if (below !== undefined) lines = lines.slice(0, row);
      else if (endOfLine !== undefined) lines[row] = (lines[row] ?? "").slice(0, column);
      else if (feed !== undefined) [row, column] = [row + 1, 0];
      else if (other !== undefined) {
        lines[row] = other + (lines[row] ?? "").slice(other.length);
        column = other.length;
      }
    }
  };
  let column = 0;
  const screen = createScreen({
    stdout: {
      write(text) {
        written.push(text);
        obey(text);
      },
    },
    size: () => size,
  });
  return { screen, written, shown: () => lines, size };
}

test("the next picture takes the place of the last one, whatever their heights", () => {
  const { screen, shown } = terminal({ columns: 80, rows: 24 });
  screen.draw("TITLE\na long first line\nb\n");
  expect(shown()).toEqual(["TITLE", "a long first line", "b"]);
  screen.draw("TITLE\na\n");
  expect(shown()).toEqual(["TITLE", "a"]);
  screen.draw("TITLE\nx\ny\nz\n");
  expect(shown()).toEqual(["TITLE", "x", "y", "z"]);
});

test("the same picture again writes nothing", () => {
  const { screen, written } = terminal({ columns: 80, rows: 24 });
  screen.draw("a\n");
  screen.draw("a\n");
  expect(written).toHaveLength(1);
});

test("what is higher than the terminal is counted", () => {
  const { screen, shown } = terminal({ columns: 80, rows: 5 });
  screen.draw("T\n1\n2\n3\n4\n5\n");
  expect(shown()).toEqual(["T", "1", "2", "… and 3 more"]);
});

test("a terminal of another width is wiped, since nobody knows where its old lines are", () => {
  const { screen, shown, size, written } = terminal({ columns: 80, rows: 24 });
  screen.draw("a\nb\n");
  size.columns = 40;
  screen.draw("a\nb\n");
  expect(written[1]).toContain("\u001b[2J\u001b[H");
  expect(shown()).toEqual(["a", "b"]);
});

test("lines are not broken by the terminal while it draws, and are again afterwards", () => {
  const { screen, written } = terminal({ columns: 80, rows: 24 });
  screen.draw("a\n");
  expect(written[0]?.startsWith("\u001b[?7l")).toBe(true);
  expect(written[0]?.endsWith("\u001b[?7h")).toBe(true);
});
