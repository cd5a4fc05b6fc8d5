// Blocks that show a file: what a marker `cut: <file>#<region>` stands for, taken from the file itself.
import type { Block } from "./markdown.ts";

/** What opens and closes a region inside of a file, in whatever kind of comment: `#region name`, `#endregion name`. */
const opening = (region: string): RegExp => new RegExp(String.raw`#region ${region}(?![\w-])`);
const closing = (region: string): RegExp => new RegExp(String.raw`#endregion ${region}(?![\w-])`);
const anyEdge = /#(?:end)?region [\w-]+/;

/**
 * @param read the text of a file by its path from the root of the repository, or undefined
 * @returns the lines that the block has to show
 * @throws Error that says what is wrong with the marker or with the file
 */
export function cutOf(marker: string, read: (path: string) => string | undefined): readonly string[] {
  const [path = "", region] = marker.split("#");
  const text = read(path);
  if (text === undefined) throw new Error(`there is no file ${path}`);
  const lines = text.trimEnd().split("\n");
  if (region === undefined) return lines.filter((line) => !anyEdge.test(line));
  const from = lines.findIndex((line) => opening(region).test(line));
  const to = lines.findIndex((line) => closing(region).test(line));
  if (from < 0 || to <= from)
    throw new Error(`${path} has no region "${region}": #region ${region} … #endregion ${region}`);
  return outdented(lines.slice(from + 1, to).filter((line) => !anyEdge.test(line)));
}

function outdented(lines: readonly string[]): readonly string[] {
  const depths = lines.filter((line) => line.trim() !== "").map((line) => /^ */.exec(line)?.[0].length ?? 0);
  const depth = Math.min(...depths);
  return lines.map((line) => line.slice(depth));
}

export function cutMarker(block: Block): string | undefined {
  return block.marker?.word === "cut" ? block.marker.text : undefined;
}
